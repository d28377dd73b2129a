"""What the games are about, and what may be masked, from the command line."""

import json

import pytest

import keyplayers as kp

MODEL = """
import numpy as np


def decide(rows):
    logits = np.stack([2.0 * rows["a"] - 1.0, rows["b"] - 0.2, 0.4 * rows["c"]], axis=1)
    p = np.exp(logits)
    return p / p.sum(axis=1, keepdims=True)
"""

TABLE = "a,b,c,truth\n2,1,1,x\n2,3,1,y\n0,2,3,y\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "games_model.py").write_text(MODEL)
    (tmp_path / "rows.csv").write_text(TABLE)
    return tmp_path


def explained(cli, *options):
    ask = ["explain-model", "games_model:decide", "rows.csv", "--class-names", "x,y,z", "--seed", "0"]
    done = cli(*ask, *options)
    assert done.status == 0, done.err
    return json.loads(done.out)


def test_the_true_class_of_a_row_is_what_the_games_are_about(cli, folder):
    found = explained(cli, "--label", "truth", "--row", "1", "--json")
    assert (found["target"], found["predicted"]) == ("y", "x")
    assert found["games"][0]["game"] == "misclassification"
    assert {player["name"] for player in found["players"]} == {"a", "b", "c"}


def test_fixed_columns_are_never_masked_and_a_contrast_ends_the_game(cli, folder):
    fixed = explained(cli, "--label", "truth", "--row", "0", "--fixed", "a", "--json")
    assert "a" not in fixed["key_set"]
    assert next(player for player in fixed["players"] if player["name"] == "a")["value"] == 0
    rather = explained(cli, "--drop", "truth", "--row", "0", "--contrast", "y", "--json")
    assert rather["games"][0]["becomes"] == "y"
    assert rather["settings"]["contrast"] == "y"


def test_groups_are_masked_as_one(cli, folder):
    groups = '{"both": ["a", "b"], "rest": ["c"]}'
    found = explained(cli, "--drop", "truth", "--row", "0", "--groups", groups, "--json")
    assert {player["name"] for player in found["players"]} == {"both", "rest"}


def test_many_rows_are_each_explained_about_their_true_class(cli, folder):
    done = cli(
        "explain-model", "games_model:decide", "rows.csv", "--class-names", "x,y,z", "--label", "truth",
        "--rows", "all", "--jobs", "1", "--store", "kept",
    )  # fmt: skip
    assert done.status == 0, done.err
    store = kp.open_store("kept")
    assert [store[row].target for row in range(3)] == ["x", "y", "y"]
    assert [store[row].main.kind for row in range(3)][1] == "misclassification"


def test_what_would_change_the_decision(cli, folder):
    found = explained(
        cli, "--drop", "truth", "--row", "0", "--baseline", "nearest_unlike", "--background", "rows.csv", "--json"
    )
    assert found["flipped"]
    assert {name for name, _, _ in found["alternatives"][0]["changes"]} == set(found["key_set"])


def test_options_that_make_no_sense_are_refused(cli, folder):
    ask = ["explain-model", "games_model:decide", "rows.csv", "--row", "0"]
    assert "has no such column" in cli(*ask, "--label", "nothing").err
    assert "say which class" in cli(*ask, "--label", "truth", "--target", "x").err
    assert "--groups must be JSON" in cli(*ask, "--drop", "truth", "--groups", "[1]").err
