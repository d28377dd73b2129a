import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pyarrow.parquet as pq
import pytest

import keyplayers as kp

EDGES = "source,target\nann,bob\nbob,cy\ncy,7\nbob,7\n"
FLAGS = [
    "--homophily",
    "0.8",
    "--states",
    "honest,fraud",
    "--observe",
    "ann=fraud",
    "--worth",
    "log_odds",
    "--coalitions",
    "subtrees",
    "--exact",
]


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text(EDGES)
    return path


@pytest.fixture
def explainer():
    pairs = [("ann", "bob"), ("bob", "cy"), ("cy", 7), ("bob", 7)]
    mrf = kp.MarkovRandomField.from_edges(pairs, homophily=0.8, states=["honest", "fraud"]).observe(
        {"ann": "fraud"}
    )
    return kp.GraphShapley(mrf, coalitions="subtrees", worth="log_odds", beliefs=kp.exact_marginals(mrf))


@pytest.fixture
def store(cli, edges):
    done = cli("explain", edges, *FLAGS, "--targets", "all", "--store", "s", "--jobs", "2", "--seed", "3")
    assert done.status == 0
    assert "The field believes that bob is fraud" in done.out
    assert done.err == "3 targets: 3 explained\n"
    return kp.open_store("s")


def test_all_that_is_not_observed_is_explained_into_a_store(store, explainer):
    assert set(store) == {"bob", "cy", 7}
    for name, found in store.items():
        expected = explainer.explain(name)
        assert found.values.tobytes() == expected.values.tobytes()
        assert found.belief.tobytes() == expected.belief.tobytes()
    assert store.manifest["seed"]["entropy"] == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "target,note\ncy,x\n7,y\n"),
        ("t.tsv", "name\tx\ncy\t1\n7\t2\n"),
        ("t.txt", "cy\n\n7\n"),
        ("u.csv", "who\ncy\n7\n"),
    ],
)
def test_targets_of_a_file(cli, edges, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    done = cli("explain", edges, *FLAGS, "--targets", name, "--json", "--quiet")
    assert done.status == 0
    assert [row["target"] for row in json.loads(done.out)["targets"]] == ["cy", 7]


def test_a_table_of_players_needs_no_store(cli, edges, tmp_path, explainer):
    assert cli("explain", edges, *FLAGS, "--targets", "all", "-o", "p.csv", "--quiet").out == ""
    frame = pd.read_csv("p.csv")
    first = frame[frame["target"] == "cy"].sort_values("rank")
    assert first["player"].tolist() == [str(name) for name in explainer.explain("cy").players]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["e.csv", "p.csv"]


def test_failures_are_counted_and_change_the_exit_status(cli, edges, tmp_path):
    (tmp_path / "t.txt").write_text("cy\nzed\n")
    done = cli("explain", edges, *FLAGS, "--targets", "t.txt", "--store", "s", "--json")
    assert done.status == 1
    found = json.loads(done.out)
    assert (found["n_targets"], found["n_done"], found["n_failed"]) == (2, 1, 1)
    assert found["targets"][1]["error"].startswith("there is no variable 'zed'")
    assert "2 targets: 1 explained, 1 FAILED (the first, zed: UnknownNameError" in done.err
    assert cli("store", "summary", "s", "--top", "5").status == 0
    assert "zed" in cli("store", "summary", "s").out


def test_other_settings_and_other_fields_are_refused(cli, edges, store):
    refused = cli("explain", edges, *FLAGS, "--targets", "all", "--store", "s", "--radius", "1")
    assert refused.status == 1
    assert "radius was 2 and is now 1" in refused.err
    edges.write_text(EDGES + "cy,dan\n")
    refused = cli("explain", edges, *FLAGS, "--targets", "all", "--store", "s")
    assert "the field, model or data is not the same" in refused.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --target NAME, or --targets FILE"),
        (["--target", "cy", "--targets", "all"], "give --target NAME, or --targets FILE"),
        (["--target", "cy", "--store", "s"], "--store is for many targets"),
        (["--targets", "all", "--list-coalitions", "c.csv"], "--list-coalitions is for a single target"),
        (["--targets", "all", "--prefer", "both"], "--prefer must be threads or processes"),
    ],
)
def test_wrong_usage(cli, edges, options, message):
    done = cli("explain", edges, *FLAGS, *options)
    assert done.status == 2
    assert message in " ".join(done.err.replace("│", " ").split())


def test_summary_of_a_store(cli, store):
    done = cli("store", "summary", "s")
    assert "Targets" in done.out
    assert "GraphShapley(radius=2, coalitions=subtrees" in done.err
    found = json.loads(cli("store", "summary", "s", "--json").out)
    assert found["n_done"] == 3
    assert found["settings"]["worth"] == "log_odds"
    assert {row["target"] for row in found["targets"]} == {"bob", "cy", 7}
    assert cli("store", "summary", "s", "-o", "x.csv").status == 0
    assert len(pd.read_csv("x.csv")) == 3
    assert cli("store", "summary", "s", "-o", "x.parquet").status == 0


def test_recurring_players_of_a_store(cli, store):
    found = json.loads(cli("store", "top", "s", "--json").out)
    frame = store.recurring()
    assert [row["player"] for row in found["rows"]] == frame["player"].tolist()
    assert [row["total"] for row in found["rows"]] == frame["total"].tolist()
    within = json.loads(cli("store", "top", "s", "--within", "1", "--json").out)["rows"]
    assert sum(row["n_targets"] for row in within) == 3
    assert "mean_absolute" in cli("store", "top", "s", "--top", "1").out


def test_similar_explanations_of_a_store(cli, store):
    found = json.loads(cli("store", "similar", "s", "--json").out)["rows"]
    assert [row["similarity"] for row in found] == store.similar()["similarity"].tolist()
    mine = json.loads(cli("store", "similar", "s", "--target", "7", "--json").out)["rows"]
    assert {row["target"] for row in mine} == {7}
    assert cli("store", "similar", "s", "--target", "nobody").status == 1


def test_export_of_a_store(cli, store):
    assert cli("store", "export", "s", "-o", "p.parquet").status == 0
    assert pq.read_table("p.parquet").num_rows == store.players.count_rows()
    assert cli("store", "export", "s", "--target", "7", "-o", "x.json").status == 0
    assert kp.load("x.json").to_dict() == store[7].to_dict()
    assert json.loads(cli("store", "export", "s", "--target", "bob").out) == store["bob"].to_dict()
    rows = json.loads(cli("store", "export", "s", "--json", "--top", "1").out)["players"]
    assert [row["rank"] for row in rows] == [1, 1, 1]
    assert "say where to" in cli("store", "export", "s").err
    assert "is no store" in cli("store", "summary", "nowhere").err


def test_ctrl_c_says_how_to_go_on(tmp_path):
    n = 4000
    edges = "source,target\n" + "".join(f"v{i},v{(i * 7 + 1) % n}\n" for i in range(n))
    (tmp_path / "e.csv").write_text(edges)
    options = ["--homophily", "0.8", "--duplicates", "merge", "--self-loops", "drop", "--radius", "6"]
    process = subprocess.Popen(
        [sys.executable, "-m", "keyplayers", "explain", "e.csv", *options, "--targets", "all", "--store", "s"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in ["src", *sys.path])},
    )
    path = tmp_path / "s" / "targets"
    while process.poll() is None and not (path.exists() and list(path.glob("part-*"))):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "keyplayers: interrupted; what was done is in s, and the same command goes on"
    assert 0 < len(kp.open_store(tmp_path / "s")) < n
