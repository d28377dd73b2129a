"""A field as a classifier of the evidence around a variable: beliefs, smallest flips, words, files."""

import json
from itertools import combinations

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.spaces.evidence.predictor import FieldPredictor
from tests.cli.conftest import cli as cli


def small_field(seed, n=8):
    """A connected field with cycles, two or three states and evidence on most variables."""
    rng = np.random.default_rng(seed)
    edges = [(int(rng.integers(v)), v) for v in range(1, n)]
    edges += [e for e in ((0, n - 1), (1, n - 2)) if e not in edges and e[::-1] not in edges]
    k = 2 + seed % 2
    priors = {v: (rng.random(k) + 0.05).tolist() for v in range(1, n) if rng.random() < 0.85}
    return kp.MarkovRandomField.from_edges(edges, priors, homophily=0.75)


def without(mrf, names):
    """The field with uniform priors in the places of these."""
    log_priors = mrf.log_priors.copy()
    for name in names:
        v = mrf.index(name)
        log_priors[mrf.offsets[v] : mrf.offsets[v + 1]] = 0.0
    return mrf.with_log_priors(log_priors)


def explained(predictor):
    explainer = kp.McXai(predictor, predictor.space, class_names=predictor.states)
    return explainer.explain(predictor.instance, random_state=0)


@pytest.mark.parametrize("seed", range(8))
def test_beliefs_are_those_of_full_runs(seed):
    mrf = small_field(seed)
    predictor = FieldPredictor(mrf, 0)
    rng = np.random.default_rng(seed)
    present = rng.random((12, len(predictor.players))) < 0.5
    present[0] = True
    found = predictor(present)
    assert found.shape == (12, len(mrf.states(0)))
    for row, belief in zip(present, found, strict=True):
        gone = [name for name, there in zip(predictor.players, row, strict=True) if not there]
        expected = kp.belief_propagation(without(mrf, gone)).belief(0)
        np.testing.assert_allclose(belief, expected, atol=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_the_flip_is_as_small_as_an_exhaustive_search_finds(seed):
    mrf = small_field(seed)
    predictor = FieldPredictor(mrf, 0)
    ex = explained(predictor)
    before = int(kp.belief_propagation(mrf).belief(0).argmax())
    smallest = next(
        (
            size
            for size in range(1, len(predictor.players) + 1)
            for gone in combinations(predictor.players, size)
            if int(kp.belief_propagation(without(mrf, gone)).belief(0).argmax()) != before
        ),
        None,
    )
    assert ex.flipped == (smallest is not None)
    if smallest is not None:
        assert len(ex.key_set) == smallest
        after = kp.belief_propagation(without(mrf, ex.key_set)).belief(0)
        assert int(after.argmax()) != before


@pytest.fixture
def cy():
    edges = [("ann", "cy"), ("bob", "cy"), ("dan", "cy"), ("dan", "eve"), ("flo", "cy")]
    mrf = kp.MarkovRandomField.from_edges(
        edges, {"eve": [0.4, 0.6], "cy": [0.45, 0.55]}, homophily=0.8, states=["honest", "fraud"]
    )
    return mrf.observe({"ann": "fraud", "bob": "fraud", "flo": "fraud", "dan": "honest"})


def test_it_speaks_of_the_field(cy):
    predictor = FieldPredictor(cy, "cy")
    assert sorted(predictor.players) == ["ann", "bob", "dan", "eve", "flo"]
    sentence = explained(predictor).sentence
    assert sentence.startswith(
        "The field says 'fraud' of cy (P('fraud') = 0.951); ann (fraud), bob (fraud) and flo (fraud) carry it: "
        "without them the field says 'honest' (P('fraud') = 0.234). Against 'fraud' speaks dan (honest): removing "
    )


def test_it_is_saved_and_read_back(cy, tmp_path):
    predictor = FieldPredictor(cy, "cy", radius=1)
    assert "eve" not in predictor.players
    ex = explained(predictor)
    ex.save(tmp_path / "a.json")
    found = kp.load(tmp_path / "a.json")
    assert found.to_dict() == ex.to_dict()
    assert found.picture() == ex.picture()


def test_of_much_evidence_the_pieces_that_matter_are_players(cy):
    predictor = FieldPredictor(cy, "cy", max_players=3)
    shifts = {name: abs(kp.what_if(cy, "cy", {name: None}).shift) for name in predictor.evidence}
    assert len(predictor.evidence) == 5
    assert len(predictor.players) == 3
    assert min(shifts[name] for name in predictor.players) >= max(
        shifts[name] for name in predictor.evidence if name not in predictor.players
    )
    with pytest.raises(kp.InputError, match="max_players"):
        FieldPredictor(cy, "cy", max_players=0)


@pytest.mark.parametrize(
    ("target", "message"), [("zoe", "zoe"), ("ann", "'ann' is observed: no other evidence bears on")]
)
def test_what_cannot_be_asked_is_refused(cy, target, message):
    with pytest.raises(kp.KeyPlayersError, match=message):
        FieldPredictor(cy, target)


def test_evidence_of_the_wrong_length_is_refused(cy):
    predictor = FieldPredictor(cy, "cy")
    with pytest.raises(kp.InputError, match=r"\[B, 5\], got shape \(1, 3\)"):
        predictor(np.ones((1, 3), dtype=bool))
    with pytest.raises(kp.InputError, match=r"\[5\], got shape"):
        predictor.space.bind([True])


def test_the_command_says_what_would_flip_it(cli, tmp_path):
    (tmp_path / "e.csv").write_text("source,target\nann,cy\nbob,cy\ndan,cy\nflo,cy\n", "utf-8")
    given = ["--homophily", "0.8", "--states", "honest,fraud", "--observe", "ann=fraud", "--observe", "bob=fraud"]
    given += ["--observe", "flo=fraud"]
    given += ["--observe", "dan=honest", "--target", "cy", "--flip", "--seed", "0"]
    shown = cli("explain", str(tmp_path / "e.csv"), *given)
    assert shown.status == 0
    assert "carry it: without them the field says 'honest'" in shown.out.replace("\n", " ")
    data = json.loads(cli("explain", str(tmp_path / "e.csv"), *given, "--json").out)
    assert data["kind"] == "mcxai"
    assert cli("explain", str(tmp_path / "e.csv"), *given, "--worth", "probability").status == 2
