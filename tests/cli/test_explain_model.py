import gzip
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import keyplayers as kp

MODULE = """
import numpy as np

def risk(rows):
    return 1 / (1 + np.exp(-(rows["debt"] - rows["income"] + 2 * (rows["home"] == "none"))))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "risky_module.py").write_text(MODULE)
    (tmp_path / "d.csv").write_text("debt,income,home,label\n3,1,none,bad\n1,4,own,good\n2,1,rent,bad\n")
    (tmp_path / "syntax_module.py").write_text("def f(:")
    (tmp_path / "raising_module.py").write_text("raise RuntimeError('no')")
    (tmp_path / "lacking_module.py").write_text("import lacked_package")
    (tmp_path / "leaving_module.py").write_text("import sys\nsys.exit(7)")
    (tmp_path / "shouting_module.py").write_text("def f(rows):\n    raise ValueError('loud \\x1b[31m')")
    (tmp_path / "foreign.pkl").write_bytes(b"clacked_package\nThing\n.")
    (tmp_path / "no_rows.csv").write_text("debt,income,home,label\n")
    return tmp_path


@pytest.fixture
def wine(tmp_path):
    data = load_wine(as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.data, data.target)
    data.data.head(20).to_csv(tmp_path / "wine.csv", index=False)
    (tmp_path / "wine.pkl").write_bytes(pickle.dumps(model))
    return data, model


ASK = ["risky_module:risk", "d.csv", "--row", "0", "--drop", "label", "--seed", "0"]


def test_a_sentence_a_table_and_what_it_cost(cli, folder):
    done = cli("explain-model", *ASK, "--background", "d.csv")
    assert done.status == 0
    assert done.out.startswith("The model says 1 of this instance (P(1) = 0.982)")
    assert "debt" in done.out
    assert "none" in done.out
    assert "rows in" in done.err
    assert cli("explain-model", *ASK, "--background", "d.csv", "--quiet").err == ""


def test_json_is_the_explanation_and_a_file_reads_back(cli, folder):
    done = cli(
        "explain-model", *ASK, "--baseline", '{"debt": 0, "income": 2, "home": "own"}', "--json", "-o", "e.json"
    )
    data = json.loads(done.out)
    assert data["kind"] == "mcxai"
    assert data["schema"] == 1
    loaded = kp.load(folder / "e.json")
    assert list(loaded.key_set) == data["key_set"]
    assert loaded.to_dict() == data
    assert cli("explain-model", *ASK, "--background", "d.csv", "-o", "e.csv").status == 0
    assert list(pd.read_csv(folder / "e.csv")["name"].sort_values()) == ["debt", "home", "income"]


def test_a_pickle_is_loaded_only_on_demand(cli, wine):
    ask = ["explain-model", "wine.pkl", "wine.csv", "--row", "1", "--baseline", "mean", "--background", "wine.csv"]
    done = cli(*ask)
    assert done.status == 1
    assert "--trust-pickle" in done.err
    assert "runs whatever code" in done.err
    done = cli(*ask, "--trust-pickle", "--seed", "0", "--json")
    assert done.status == 0
    data, model = wine
    ex = kp.McXai(model, background=data.data.head(20)).explain(data.data.iloc[[1]], random_state=0)
    assert json.loads(done.out)["key_set"] == list(ex.key_set)
    assert json.loads(done.out)["trail"] == pytest.approx(ex.trail)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere:f", "d.csv", "--row", "0"], "no module 'nowhere'"),
        (["risky_module:no", "d.csv", "--row", "0"], "has no 'no'"),
        (["risky_module", "d.csv", "--row", "0"], "module:function"),
        (["gone.skops", "d.csv", "--row", "0"], "gone.skops: no such file"),
        (["risky_module:risk", "gone.csv", "--row", "0"], "gone.csv: no such file"),
        (["risky_module:risk", "d.csv", "--row", "3"], "between 0 and 2, got 3"),
        (["risky_module:risk", "d.csv", "--row", "0", "--drop", "colour"], "--drop colour"),
        (["risky_module:risk", "d.csv", "--row", "0", "--baseline", "often"], "--baseline must be"),
        (["risky_module:risk", "d.csv", "--row", "0"], "column 'home' holds 'none'"),
        ([*ASK, "--background", "d.csv", "--target", "maybe"], "no class 'maybe'"),
        ([*ASK, "--background", "d.csv", "--target", "--5"], "no class '--5'"),
        (["syntax_module:f", "d.csv", "--row", "0"], "importing module 'syntax_module' raised SyntaxError"),
        (["raising_module:f", "d.csv", "--row", "0"], "importing module 'raising_module' raised RuntimeError: no"),
        (["lacking_module:f", "d.csv", "--row", "0"], "ModuleNotFoundError: No module named 'lacked_package'"),
        (["leaving_module:f", "d.csv", "--row", "0"], "importing module 'leaving_module' raised SystemExit: 7"),
        ([".risky_module:risk", "d.csv", "--row", "0"], "must be named from its top"),
        (["foreign.pkl", "d.csv", "--row", "0", "--trust-pickle"], "cannot be unpickled, or is no pickle (Mod"),
        (["risky_module:risk", "no_rows.csv", "--row", "0"], "no_rows.csv has no rows"),
        ([*ASK, "--background", "no_rows.csv"], "no_rows.csv has no rows"),
        (["shouting_module:f", "d.csv", "--row", "0", "--drop", "home", "--drop", "label"], r"loud \x1b[31m (on"),
    ],
)
def test_wrong_input_gets_one_line(cli, folder, arguments, message):
    done = cli("explain-model", *arguments)
    assert done.status == 1
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_function_of_arrays(cli, folder):
    (folder / "array_module.py").write_text("def f(rows):\n    return rows[:, 0] / 10\n")
    (folder / "n.csv").write_text("a,b\n8,1\n2,2\n")
    done = cli("explain-model", "array_module:f", "n.csv", "--row", "0", "--array", "--json")
    assert json.loads(done.out)["key_set"] == ["a"]
    assert np.isclose(json.loads(done.out)["p_target"], 0.8)


MANY = ["risky_module:risk", "d.csv", "--drop", "label", "--background", "d.csv", "--seed", "0"]


def test_a_model_may_import_what_lies_beside_it(tmp_path):
    (tmp_path / "late_module.py").write_text("def f(rows):\n    import beside\n    return beside.g(rows)\n")
    (tmp_path / "beside.py").write_text("def g(rows):\n    return rows['a'] / 10\n")
    with gzip.open(tmp_path / "n.tsv.gz", "wt") as file:
        file.write("a\tb\n8\t1\n2\t2\n")
    # as the installed program does, which has its own folder first in the path and not that of the user
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "run.py").write_text("from keyplayers.cli import main\nmain()\n")
    done = subprocess.run(
        [
            *(sys.executable, "-P", "bin/run.py", "explain-model", "late_module:f", "n.tsv.gz", "--rows", "all"),
            *("--jobs", "2", "--prefer", "processes", "--json"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert done.returncode == 0, done.stderr
    assert "2 targets: 2 explained" in done.stderr


def test_all_rows_are_explained_into_a_store(cli, folder):
    done = cli("explain-model", *MANY, "--rows", "all", "--store", "s", "--jobs", "2", "--prefer", "processes")
    assert done.status == 0
    assert done.err == "3 targets: 3 explained\n"
    store = kp.open_store("s")
    assert list(store) == [0, 1, 2]
    seed = store[1].settings["random_state"]
    alone = cli("explain-model", *MANY[:-1], seed, "--row", "1", "--json")
    assert json.loads(alone.out)["players"] == store[1].to_dict()["players"]
    # the same rows again, and then other ones
    assert cli("explain-model", *MANY, "--rows", "all", "--store", "s").status == 0
    (folder / "d.csv").write_text((folder / "d.csv").read_text().replace("3,1", "9,1"))
    refused = cli("explain-model", *MANY, "--rows", "all", "--store", "s")
    assert refused.status == 1
    assert "is not the same" in refused.err


def test_some_rows_about_one_class(cli, folder):
    done = cli("explain-model", *MANY, "--rows", "1:", "--target", "1", "--json")
    assert done.status == 0
    found = json.loads(done.out)
    assert [row["target"] for row in found["targets"]] == [1, 2]
    assert found["settings"]["target"] == 1
    for rows in ("3:4", "x", "2", "1:x"):
        done = cli("explain-model", *MANY, "--rows", rows)
        assert done.status == 1
        assert f"--rows must be all, or A:B with 0 <= A < B <= 3, got {rows!r}" in done.err
    assert cli("explain-model", *MANY).status == 2
    assert cli("explain-model", *MANY, "--row", "1", "--store", "s").status == 2


def test_the_demo_explains_a_digit(cli):
    done = cli("demo")
    assert done.status == 0
    assert "Which strokes" in done.out
    assert "The model says 8" in done.out
    assert "# " in done.out


def test_a_skops_file_is_loaded_and_unknown_types_are_named(cli, wine, tmp_path):
    skops = pytest.importorskip("skops.io")
    data, model = wine
    skops.dump(model, tmp_path / "wine.skops")
    ask = ["explain-model", "wine.skops", "wine.csv", "--row", "1", "--background", "wine.csv", "--seed", "0"]
    done = cli(*ask, "--json")
    assert done.status == 0
    assert json.loads(done.out)["predicted"] == model.predict(data.data.iloc[[1]])[0]
    (tmp_path / "bad.skops").write_text("no archive")
    done = cli("explain-model", "bad.skops", "wine.csv", "--row", "1")
    assert done.status == 1
    assert "not a .skops file" in done.err
