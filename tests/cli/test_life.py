"""The program where administrators meet it: in pipes, in logs, with signals, with models that misbehave."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import keyplayers as kp

EDGES = "source,target\na,b\nb,c\n"
BELIEFS = ["beliefs", "e.csv", "--homophily", "0.8"]
EXPLAIN = ["explain", "e.csv", "--homophily", "0.8", "--observe", "a=1", "--target", "b"]
MODEL = """
import os, sys
import numpy as np

def shout(rows):
    print("from Python")
    os.write(1, b"from below\\n")
    return np.full((len(rows), 2), 0.5) + (np.asarray(rows)[:, :1] > 1) * [[-0.4, 0.4]]

def leave(rows):
    sys.exit(0)

def end(rows):
    raise EOFError
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text(EDGES)
    Path("mymodel.py").write_text(MODEL)
    Path("rows.csv").write_text("x,y\n3,1\n4,2\n5,3\n")
    return tmp_path


def environment(**more):
    places = [os.path.abspath(place) for place in sys.path if place]
    return os.environ | {"PYTHONPATH": os.pathsep.join(places), "COLUMNS": "120"} | more


def shell(arguments, redirection="", **more):
    """Run the program in a shell, with its redirections."""
    command = " ".join(["exec", sys.executable, "-m", "keyplayers", *arguments, redirection])
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=200, env=environment(**more)
    )


@pytest.mark.parametrize(
    ("redirection", "status", "message"),
    [
        (">&-", 1, "keyplayers: standard output: it is closed\n"),
        (">/dev/full", 1, "keyplayers: standard output: No space left on device\n"),
        ("--json >/dev/full", 1, "keyplayers: standard output: No space left on device\n"),
        ("-q -o out.csv >&-", 0, ""),
        ("2>&-", 0, ""),
        ("2>/dev/full", 0, ""),
        ("<&-", 0, None),
    ],
)
def test_closed_and_full_streams(folder, redirection, status, message):
    done = shell(BELIEFS, redirection)
    told = "".join(line for line in done.stderr.splitlines(keepends=True) if "compiling" not in line)
    assert done.returncode == status, told
    assert "Traceback" not in told
    if message is not None:
        assert told.endswith(message)
    if ">&-" in redirection and status == 0 and "out.csv" in redirection:
        assert len(pd.read_csv("out.csv")) == 3


def test_json_is_json_on_every_code_page(folder):
    Path("e.csv").write_text("source,target\nzoë,日本\n", encoding="utf-8")
    done = shell([*BELIEFS, "--json"], PYTHONIOENCODING="ascii")
    assert done.stdout.isascii()
    assert {row["name"] for row in json.loads(done.stdout)["beliefs"]} == {"zoë", "日本"}
    assert "日本" in shell([*BELIEFS, "--json"], PYTHONIOENCODING="utf-8").stdout


def explain_model(function, *options):
    return shell(["explain-model", f"mymodel:{function}", "rows.csv", "--array", *options])


@pytest.mark.parametrize("which", [["--row", "0"], ["--rows", "all", "--jobs", "2", "--prefer", "processes"]])
def test_what_a_model_prints_is_no_result(folder, which):
    done = explain_model("shout", *which, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] in ("mcxai", "batch")
    assert "from below" in done.stderr


def test_a_column_that_only_the_data_have_can_be_dropped(folder):
    Path("labelled.csv").write_text("x,y,label\n3,1,a\n4,2,b\n")
    model = ["explain-model", "mymodel:shout", "labelled.csv", "--array", "--row", "0", "--background", "rows.csv"]
    done = shell([*model, "--drop", "label", "--quiet"])
    assert done.returncode == 0, done.stderr
    assert "--drop lable" in shell([*model, "--drop", "lable"]).stderr


def test_a_model_that_ends_the_program_has_failed(folder):
    done = explain_model("leave", "--row", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the model raised SystemExit: 0" in done.stderr
    done = explain_model("leave", "--rows", "all", "--store", "s")
    assert done.returncode == 1
    assert kp.open_store("s").counts == {"failed": 3}
    done = explain_model("end", "--row", "0")
    assert (done.returncode, "Aborted" in done.stderr) == (1, False)


N = 3000
MANY = "source,target\n" + "".join(f"v{i},v{(i * 7 + 1) % N}\n" for i in range(N))
SLOW = ["e.csv", "--homophily", "0.8", "--duplicates", "merge", "--self-loops", "drop"]


def children(pid):
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True).stdout.split()
    pairs = list(zip(listed[::2], listed[1::2], strict=True))
    found, new = set(), {str(pid)}
    while new:
        new = {child for child, parent in pairs if parent in new} - found
        found |= new
    return {int(child) for child in found}


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("number", "prefer"),
    [(signal.SIGTERM, "processes"), (signal.SIGHUP, "threads"), (signal.SIGINT, "processes")],
)
def test_a_batch_that_is_asked_to_end_leaves_nothing_behind(folder, number, prefer):
    Path("e.csv").write_text(MANY)
    (folder / "tmp").mkdir()
    options = ["--targets", "all", "--store", "s", "--jobs", "2", "--prefer", prefer, "--radius", "6"]
    process = subprocess.Popen(
        [sys.executable, "-m", "keyplayers", "explain", *SLOW, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(TMPDIR=str(folder / "tmp"), JOBLIB_TEMP_FOLDER=str(folder / "tmp")),
    )
    targets = folder / "s" / "targets"
    while process.poll() is None and not (targets.exists() and list(targets.glob("part-*"))):
        time.sleep(0.1)
    started = children(process.pid)
    assert started or prefer == "threads"
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert out == ""
    told = "keyplayers: interrupted; what was done is in s, and the same command goes on"
    assert [line for line in err.splitlines() if "compiling" not in line and "targets on" not in line] == [told]
    deadline = time.monotonic() + 20
    while any(map(alive, started)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, started))
    assert list((folder / "tmp").iterdir()) == []
    assert not [entry for entry in (folder / "s").iterdir() if entry.name.startswith(".")]
    assert 0 < len(kp.open_store("s")) < N


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_single_explanation_that_is_asked_to_end_says_so(folder, number):
    Path("e.csv").write_text(MANY)
    options = ["--target", "v1", "--radius", "9", "--method", "sampling", "--max-evals", "1000000000", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "keyplayers", "explain", *SLOW, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    time.sleep(12)
    assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert ("interrupted: the result is what was found until then" in err) == ("v1" in out)


def test_options(cli, folder):
    done = cli(*EXPLAIN, "--target", "c")
    assert (done.status, "--target is given twice" in done.err) == (2, True)
    assert cli(*EXPLAIN[:-1], "--debug").err.startswith("keyplayers: there is no variable '--debug'")
    assert cli(*EXPLAIN, "-q", "-o", "x.json").out == ""
    assert "b" in cli(*EXPLAIN, "-o", "x.json").out
    found = json.loads(cli(*EXPLAIN, "--json", "--top", "1").out)
    assert (len(found["players"]), found["n_players"]) == (1, 2)
    assert len(json.loads(cli(*EXPLAIN, "--json").out)["players"]) == 2


BAD = "a\x1b[31m\u202ez\u2066\x9b\u200b"


def test_nothing_that_is_shown_commands_the_terminal(cli, folder):
    Path("e.csv").write_text(f"source,target\n{BAD},b\nb,{BAD}c\n", encoding="utf-8")
    Path("t.txt").write_text(f"b\n{BAD}d\n", encoding="utf-8")
    options = ["--homophily", "0.8", "--observe", f"{BAD}c=1"]
    runs = [
        cli("beliefs", "e.csv", *options),
        cli("explain", "e.csv", *options, "--target", "b"),
        cli("explain", "e.csv", *options, "--targets", "t.txt", "--store", f"s{BAD}"),
        cli("store", "summary", f"s{BAD}"),
        cli("store", "top", f"s{BAD}"),
        cli("ball", "e.csv", *options, "--target", BAD, "--top", "3"),
        cli("ball", "e.csv", *options, "--target", f"no{BAD}"),
        cli("beliefs", f"{BAD}.csv"),
    ]
    for run in runs:
        shown = run.out + run.err
        assert not set(shown) & set(BAD[1:] + "\x1b") - set("[31mz"), ascii(shown)
        assert "\\x1b[31m\\u202ez" in shown


def test_formulas_in_text_tables_are_harmless(cli, folder):
    names = ["=cmd|' /C calc'!A0", "@SUM(1)", "+cmd", "-cmd", "-5", "+3.5", "plain"]
    rows = "".join(f'"{name}",hub\n' for name in names)
    Path("e.csv").write_text(f"source,target\n{rows}")
    cli(*BELIEFS, "-o", "x.csv")
    written = set(pd.read_csv("x.csv", dtype=str)["name"])
    assert written == {"'" + name for name in names[:4]} | {"-5", "+3.5", "plain", "hub"}
    cli(*BELIEFS, "-o", "x.parquet")
    assert set(map(str, pd.read_parquet("x.parquet")["name"])) >= set(names[:4])
