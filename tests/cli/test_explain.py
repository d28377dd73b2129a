import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import keyplayers as kp
from keyplayers.cli.output import print_table

EDGES = "source,target\nann,bob\nbob,cy\ncy,dan\nbob,dan\n"
FLAGS = ["--homophily", "0.8", "--states", "honest,fraud", "--observe", "ann=fraud"]
SUBTREES = ["--coalitions", "subtrees"]


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text(EDGES)
    return path


@pytest.fixture
def mrf():
    pairs = [("ann", "bob"), ("bob", "cy"), ("cy", "dan"), ("bob", "dan")]
    field = kp.MarkovRandomField.from_edges(pairs, homophily=0.8, states=["honest", "fraud"])
    return field.observe({"ann": "fraud"})


@pytest.fixture
def expected(mrf):
    return kp.GraphShapley(mrf, coalitions="subtrees", beliefs=kp.exact_marginals(mrf)).explain("dan")


def test_a_sentence_a_table_and_a_summary(cli, edges):
    done = cli("explain", edges, *FLAGS, *SUBTREES, "--target", "dan")
    assert done.status == 0
    assert done.out.startswith("The field believes that dan is fraud (0.80), by propagation on a graph")
    assert "ann - bob - dan" in done.out
    assert "by its prior" in done.out
    assert "enumeration: 9 evaluations (all coalitions fit" in done.err
    assert "warning: what is explained is belief propagation on a graph with cycles" in done.err


@pytest.mark.filterwarnings("ignore::keyplayers.PrecisionWarning")
def test_what_ifs_stand_beside_values_on_request(cli, edges, mrf, tmp_path):
    expected = kp.GraphShapley(mrf, what_if=True).explain("dan")
    ann = expected.players.index("ann")
    done = cli("explain", edges, *FLAGS, "--target", "dan", "--what-if")
    assert done.status == 0, done.err
    assert "P(fraud) without evidence" in done.out
    assert f"{expected.what_ifs.otherwise[ann]:.4f}" in done.out
    shown = cli("explain", edges, *FLAGS, "--target", "dan", "--what-if", "--json")
    assert json.loads(shown.out) == expected.to_dict()
    many = cli("explain", edges, *FLAGS, "--targets", "all", "--what-if", "--json")
    assert many.status == 0, many.err


@pytest.mark.filterwarnings("ignore::keyplayers.PrecisionWarning")
def test_walks_by_default_and_the_paper_on_request(cli, edges, mrf):
    def found(*options):
        return json.loads(cli("explain", edges, *FLAGS, "--target", "dan", *options, "--json").out)

    assert found() == kp.GraphShapley(mrf).explain("dan").to_dict()
    asked = {"boundary": "cut", "law": "shapley"}
    assert found("--boundary", "cut", "--law", "shapley") == kp.GraphShapley(mrf, **asked).explain("dan").to_dict()
    assert found("--as-published") == kp.GraphShapley.as_published(mrf).explain("dan").to_dict()
    done = cli("explain", edges, *FLAGS, "--target", "dan", "--list-coalitions", "c.csv")
    assert "values sum to 1" in done.err
    assert "walks, " in done.err
    assert "dan - bob - ann" in pd.read_csv("c.csv")["walks"][0]


def test_what_only_rounding_keeps_from_zero_is_shown_as_zero(cli, tmp_path):
    (tmp_path / "ring.csv").write_text("source,target\na,b\nb,c\nc,a\nc,d\nd,e\n")
    flags = ("--homophily", "0.8", "--observe", "a=1", "--observe", "e=0", "--target", "d", "--as-published")
    exact = json.loads(cli("explain", "ring.csv", *flags, "--json").out)
    assert abs(exact["worth_ball"]) < 1e-12  # -1e-32 on some machines
    assert "of the ball 0\n" in cli("explain", "ring.csv", *flags).err


def test_an_observed_target_gets_its_sentence_and_no_table_of_zeros(cli, edges):
    done = cli("explain", edges, *FLAGS, *SUBTREES, "--target", "ann")
    assert done.status == 0
    sentence = "The field believes that ann is fraud (1), because that was observed; nothing else can change it."
    assert done.out.strip() == sentence
    assert "warning: 'ann' is observed, so nothing else can change what is believed of it" in done.err
    found = json.loads(cli("explain", edges, *FLAGS, *SUBTREES, "--target", "ann", "--json").out)
    assert [(row["name"], row["value"]) for row in found["players"]] == [("bob", 0), ("cy", 0), ("dan", 0)]


def test_json_is_the_explanation_in_python(cli, edges, expected):
    done = cli("explain", edges, *FLAGS, *SUBTREES, "--target", "dan", "--exact", "--json", "--quiet")
    assert done.err == ""
    assert json.loads(done.out) == expected.to_dict()


def test_a_saved_state_of_beliefs_is_explained(cli, edges, mrf):
    assert cli("beliefs", edges, *FLAGS, "--damping", "0.3", "-o", "state.npz", "--quiet").status == 0
    found = json.loads(
        cli("explain", edges, *FLAGS, *SUBTREES, "--target", "dan", "--beliefs", "state.npz", "--json").out
    )
    state = kp.belief_propagation(mrf, damping=0.3)
    assert found["inference"]["sweeps"] == state.n_sweeps
    assert found["belief"] == state.belief("dan").tolist()
    refused = cli("explain", edges, "--homophily", "0.8", "--target", "dan", "--beliefs", "state.npz")
    assert refused.status == 1
    assert "beliefs belong to another field" in refused.err


@pytest.mark.parametrize("suffix", ["json", "json.gz", "npz"])
def test_files_hold_the_explanation(cli, edges, expected, suffix):
    assert cli("explain", edges, *FLAGS, *SUBTREES, "--target", "dan", "--exact", "-o", f"x.{suffix}").status == 0
    assert kp.load(f"x.{suffix}").to_dict() == expected.to_dict()


def test_tables_of_players_and_of_coalitions(cli, edges, expected):
    done = cli(
        "explain",
        edges,
        *FLAGS,
        *SUBTREES,
        "--target",
        "dan",
        "--exact",
        "-o",
        "p.csv",
        "--list-coalitions",
        "c.csv",
    )
    assert done.status == 0
    players = pd.read_csv("p.csv")
    assert players["name"].tolist() == list(expected.players)
    np.testing.assert_allclose(players["value"], expected.values)
    coalitions = pd.read_csv("c.csv")
    assert len(coalitions) == 9
    assert coalitions["worth"].is_monotonic_decreasing
    assert coalitions["n_edges"].max() == 3


def test_options_reach_the_game(cli, edges, mrf):
    options = ["--radius", "1", "--worth", "probability", "--state", "honest", "--exact"]
    found = json.loads(cli("explain", edges, *FLAGS, *SUBTREES, "--target", "dan", *options, "--json").out)
    explainer = kp.GraphShapley(
        mrf,
        coalitions="subtrees",
        radius=1,
        worth="probability",
        state="honest",
        beliefs=kp.exact_marginals(mrf),
    )
    assert found == explainer.explain("dan").to_dict()
    contrast = ["--contrast", "fraud,honest", "--radius", "-1", "--exact"]
    found = json.loads(cli("explain", edges, *FLAGS, *SUBTREES, "--target", "dan", *contrast, "--json").out)
    assert found["worth"] == "contrast"
    assert found["worth_states"] == ["fraud", "honest"]
    assert found["ball"]["radius"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "don"], "there is no variable 'don': did you mean 'dan'"),
        (
            ["--target", "dan", "--worth", "kl"],
            "worth must be one of log_odds, neg_cross_entropy, probability, symm",
        ),
        (
            ["--target", "dan", "--state", "x", "--worth", "log_odds"],
            "no state 'x'; its states are 'honest', 'fraud'",
        ),
        (["--target", "dan", "--contrast", "fraud"], "contrast must be None or two different states"),
        (
            ["--target", "dan", "--max-evals", "3", "--method", "enumeration"],
            "has between 10^0.7 and 10^1.1 coalitions, more than max_evals=3",
        ),
    ],
)
def test_errors_take_one_line(cli, edges, options, message):
    done = cli("explain", edges, *FLAGS, *SUBTREES, *options)
    assert done.status == 1
    assert message in done.err
    assert done.err.strip().count("\n") == 0
    assert done.out == ""


def test_a_target_is_required(cli, edges):
    assert cli("explain", edges, *FLAGS, *SUBTREES).status == 2


def test_a_ball_is_measured(cli, edges):
    done = cli("ball", edges, *FLAGS, "--target", "dan", "--top", "2", "-o", "ball.csv")
    assert done.status == 0
    assert "4 variables, 4 edges, 1 independent cycle; 9 coalitions" in done.out
    assert "Nearest variables" in done.out
    assert "enumeration fits" in done.err
    assert pd.read_csv("ball.csv")["distance"].tolist() == [0, 1, 1, 2]
    data = json.loads(cli("ball", edges, *FLAGS, "--target", "dan", "--radius", "1", "--json").out)
    assert data["n_variables_at"] == [1, 2]
    assert data["log10_coalitions"] == pytest.approx(np.log10(5))
    assert [row["name"] for row in data["variables"]] == ["dan", "cy", "bob"]


def test_a_large_ball_says_that_enumeration_does_not_fit(cli, tmp_path):
    rows = "".join(f"hub,{i}\n" for i in range(500))
    (tmp_path / "hub.csv").write_text("source,target\n" + rows)
    done = cli("ball", "hub.csv", "--homophily", "0.8", "--target", "hub")
    assert "501 variables, 500 edges, a tree; 10^150.5 coalitions" in done.out
    assert "does not fit" in done.err


def test_ctrl_c_gives_what_there_is(tmp_path):
    rows = "".join(f"hub,{i}\n" for i in range(32))
    (tmp_path / "hub.csv").write_text("source,target\n" + rows)
    arguments = [
        "explain",
        "hub.csv",
        "--homophily",
        "0.8",
        "--observe",
        "3=1",
        "--target",
        "hub",
        "--json",
        *SUBTREES,
    ]
    started = subprocess.Popen(
        [sys.executable, "-m", "keyplayers", *arguments, "--max-evals", str(2**40)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    # 2^32 coalitions take many minutes: after imports and compilation the walk is all there is to interrupt
    time.sleep(12)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "interrupted: the result is what was found until then" in err
    found = json.loads(out)
    assert found["partial"] is True
    assert 0 < found["n_evaluations"] < 2**32
    assert "stopped early" in err


def test_the_demo_explains_two_members(cli):
    pytest.importorskip("networkx")
    done = cli("demo")
    assert done.status == 0
    assert "The field believes that 8 is Officer (0.55)" in done.out
    assert "walks of at most two friendships" in done.out
    assert "The field believes that 2 is Mr. Hi" in done.out
    assert "warning" not in done.err


def test_small_numbers_do_not_look_like_exact_zeros(capsys):
    print_table("", ["value", "std. error", "part"], [[0.0268, 2.1e-5, -1e-17], [0.5, 0.0, float("nan")]])
    shown = capsys.readouterr().out
    assert "2.1e-05" in shown
    assert "e-17" not in shown
    assert shown.count("0.0000") == 2
    assert "nan" in shown
