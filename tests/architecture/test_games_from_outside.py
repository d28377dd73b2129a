"""A worth, an engine and a surrogate from outside: a function and one line of registration each."""

import json
from dataclasses import replace

import numpy as np
import pytest

import keyplayers as kp
import keyplayers.graphshapley.explainer  # with the engines of the package
from keyplayers.cli.explain_model import print_features
from keyplayers.graphshapley.engines import registry as engines
from keyplayers.graphshapley.game.worths import registry as worths
from keyplayers.mcxai.tree import surrogates
from tests.cli.conftest import cli as cli

EDGES = [("a", "x"), ("b", "x"), ("c", "b")]
OBSERVED = {"a": 1, "c": 0}


SUBTREES = ["--coalitions", "subtrees"]


def hellinger(question, beliefs):
    """Minus the Hellinger distance from the belief in the whole field."""
    b = np.exp(question.log_belief)
    overlap = sum(np.sqrt(b[state] * beliefs.probability(state)) for state in range(len(b)))
    return -np.sqrt(np.maximum(0.0, 1.0 - overlap))


def play_thrice(game, request, random_state, progress):
    found = engines.ENGINES["enumeration"].play(game, request, random_state, progress)
    return replace(found, n_evaluations=3 * found.n_evaluations, diagnostics={"played": "thrice"})


def play_walks_thrice(game, request, random_state, progress):
    found = engines.WALK_ENGINES["convolution"].play(game, request, random_state, progress)
    return replace(found, n_evaluations=3 * found.n_evaluations, diagnostics={"played": "thrice"})


class Timid:
    """Expects nothing of anybody, and prefers the last player."""

    def __init__(self, n):
        self.preferred = np.arange(n) / n

    def scores(self, masked):
        return np.broadcast_to(self.preferred, masked.shape)

    def learn(self, nodes):
        pass


@pytest.fixture
def known():
    tables = worths.KINDS, engines.ENGINES, engines.WALK_ENGINES, surrogates.SURROGATES
    before = [dict(table) for table in tables]
    worths.register(worths.Kind("hellinger", "distance", "agreement with the belief", hellinger))
    engines.register_engine(engines.Engine("thrice", lambda *game: None, lambda *game: "to be sure", play_thrice))
    engines.register_engine(
        engines.Engine("walks thrice", lambda *game: None, lambda *game: "to be sure", play_walks_thrice),
        coalitions="walks",
    )
    surrogates.SURROGATES["timid"] = lambda gains, gap: Timid(len(gains))
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)


def field():
    return kp.MarkovRandomField.from_edges(EDGES, {"x": [0.3, 0.7]}, homophily=0.8).observe(OBSERVED)


def test_the_worth_is_what_it_says(known):
    mrf = kp.MarkovRandomField.from_edges([("a", "x")], {"x": [0.3, 0.7]}, homophily=0.8).observe({"a": 1})
    found = kp.GraphShapley(mrf, coalitions="subtrees", worth="hellinger").explain("x")
    b, alone = np.array([0.3 * 0.2, 0.7 * 0.8]) / 0.62, np.array([0.3, 0.7])
    # one coalition, which agrees with the whole field; the target alone is off by the distance of its prior
    assert found.value("a") == pytest.approx(np.sqrt(1 - np.sqrt(b * alone).sum()))
    assert found.unit == "distance"


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_worth_and_engine_go_through_files_and_stores(known, tmp_path, suffix):
    explainer = kp.GraphShapley(field(), coalitions="subtrees", worth="hellinger", method="thrice")
    found = explainer.explain("x")
    assert (found.engine, found.diagnostics["played"]) == ("thrice", "thrice")
    usual = kp.GraphShapley(field(), coalitions="subtrees", worth="hellinger", method="enumeration").explain("x")
    assert found.values.tobytes() == usual.values.tobytes()
    found.save(tmp_path / f"x{suffix}")
    assert kp.load(tmp_path / f"x{suffix}").to_dict() == found.to_dict()
    store = kp.explain_many(explainer, ["x", "b"], store=tmp_path / "s", n_jobs=2, prefer="threads")
    assert store["x"].values.tobytes() == found.values.tobytes()
    assert store.manifest["settings"]["worth"] == "hellinger"


def test_an_engine_of_the_game_of_walks_goes_through_files_and_stores(known, tmp_path):
    explainer = kp.GraphShapley(field(), method="walks thrice")
    found, usual = explainer.explain("x"), kp.GraphShapley(field()).explain("x")
    assert (found.engine, found.engine_reason, found.diagnostics) == (
        "walks thrice", "asked for", {"played": "thrice"},
    )  # fmt: skip
    assert found.n_evaluations == 3 * usual.n_evaluations
    assert found.values.tobytes() == usual.values.tobytes()
    found.save(tmp_path / "x.json")
    assert kp.load(tmp_path / "x.json").to_dict() == found.to_dict()
    store = kp.explain_many(explainer, ["x", "b"], store=tmp_path / "s", n_jobs=2, prefer="threads")
    assert store["x"].engine == "walks thrice"


def test_each_game_is_played_by_its_own_engines(known):
    with pytest.raises(kp.InputError, match="coalitions='walks'"):
        kp.GraphShapley(field(), coalitions="subtrees", method="walks thrice").explain("x")
    with pytest.raises(kp.InputError, match="walks thrice .*coalitions='subtrees'"):
        kp.GraphShapley(field(), method="enumeration").explain("x")


def test_auto_asks_engines_of_walks_in_turn(known):
    def refuse(game, request, progress):
        return "not today"

    for name in ("convolution", "sampling"):
        old = engines.WALK_ENGINES[name]
        engines.register_engine(replace(old, refuses=refuse), coalitions="walks")
    found = kp.GraphShapley(field()).explain("x")
    assert (found.engine, found.engine_reason) == ("walks thrice", "not today; not today; to be sure")
    with pytest.raises(kp.TooLargeError, match="sampling cannot play: not today"):
        kp.GraphShapley(field(), method="sampling").explain("x")


def test_the_command_line_takes_and_prints_them(known, cli):
    with open("e.csv", "w") as file:
        file.write("source,target\n" + "".join(f"{a},{b}\n" for a, b in EDGES))
    options = ["--homophily", "0.8", "--observe", "a=1", "--observe", "c=0", "--target", "x"]
    done = cli("explain", "e.csv", *options, *SUBTREES, "--worth", "hellinger", "--method", "thrice")
    assert done.status == 0, done.err
    assert "value (distance)" in done.out
    assert "thrice" in done.err
    shown = cli("explain", "e.csv", *options, *SUBTREES, "--worth", "hellinger", "--json")
    assert json.loads(shown.out)["worth"] == "hellinger"
    refused = cli("explain", "e.csv", *options, *SUBTREES, "--worth", "helinger")
    assert "hellinger" in refused.err


def test_a_surrogate_goes_through_everything(known, tmp_path, capsys):
    def model(rows):
        return 1 / (1 + np.exp(2 - 3 * rows[:, 0] * rows[:, 2]))

    explainer = kp.McXai(model, baseline=0, surrogate="timid")
    row = np.array([1.0, 1.0, 1.0])
    found = explainer.explain(row, random_state=0)
    assert len(found.key_set) == 1
    found.save(tmp_path / "x.json")
    assert kp.load(tmp_path / "x.json").settings["surrogate"] == "timid"
    store = kp.explain_many(explainer, {"r": row}, store=tmp_path / "s", n_jobs=1)
    assert store["r"].key_set[0] in (0, 2)
    print_features(found, 3)
    assert "Key players" in capsys.readouterr().out
    with pytest.raises(kp.InputError, match="timid"):
        kp.McXai(model, baseline=0, surrogate="bold")
