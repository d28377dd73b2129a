"""Measures of rankings against numbers worked by hand."""

import math

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.metrics import faithfulness, kendall, paired_interval, steps_until_flip, top_overlap


def star(priors):
    """Leaves of x, agreeing with it with probability 0.8."""
    return kp.MarkovRandomField.from_edges([(name, "x") for name in priors], dict(priors), homophily=0.8)


def message(prior):
    """Log-odds of state 1 that a leaf sends."""
    p = prior[1] / sum(prior)
    return math.log((0.8 * p + 0.2 * (1 - p)) / (0.2 * p + 0.8 * (1 - p)))


def divergence(a, b):
    """Symmetric KL of two beliefs, from log-odds."""
    p, q = 1 / (1 + math.exp(-a)), 1 / (1 + math.exp(-b))
    return (p - q) * (a - b)


def test_curves_on_a_star_are_those_worked_by_hand():
    priors = {"a": [0.1, 0.9], "b": [0.2, 0.8], "c": [0.6, 0.4]}
    said = {name: message(prior) for name, prior in priors.items()}
    whole = sum(said.values())
    found = faithfulness(star(priors), "x", ["b", "c", "a"], ks=[1, 2, 3])
    for k, names in ((1, "b"), (2, "bc"), (3, "bca")):
        first = sum(said[name] for name in names)
        assert found.keep[k - 1] == pytest.approx(divergence(whole, first) / divergence(whole, 0.0), abs=1e-9)
        assert found.delete[k - 1] == pytest.approx(first / whole, abs=1e-9)
    assert found.keep_area == pytest.approx(found.keep.mean())
    assert found.converged


def test_the_targets_own_prior_stays():
    priors = {"a": [0.1, 0.9], "x": [0.3, 0.7]}
    mrf = kp.MarkovRandomField.from_edges([("a", "x")], priors, homophily=0.8)
    found = faithfulness(mrf, "x", ["a"], ks=[1])
    assert found.keep[0] == pytest.approx(0.0, abs=1e-12)
    assert found.delete[0] == pytest.approx(1.0)


def test_without_evidence_there_is_nothing_to_lose():
    mrf = kp.MarkovRandomField.from_edges([("a", "x")], homophily=0.8)
    found = faithfulness(mrf, "x", ["a"], ks=[1])
    assert found.keep[0] == 0.0
    assert math.isnan(found.delete[0])


@pytest.mark.parametrize(
    ("ranking", "ks", "message"),
    [(["a", "a"], [1], "once"), (["x"], [1], "not the target"), (["a"], [0], "from 1 on"), (["z"], [1], "z")],
)
def test_rankings_that_are_none_are_refused(ranking, ks, message):
    with pytest.raises(kp.KeyPlayersError, match=message):
        faithfulness(star({"a": [0.1, 0.9]}), "x", ranking, ks=ks)


def test_beliefs_of_another_field_are_refused():
    other = kp.belief_propagation(star({"a": [0.3, 0.7]}))
    with pytest.raises(kp.InputError, match="this field"):
        faithfulness(star({"a": [0.1, 0.9]}), "x", ["a"], beliefs=other)


def test_orders_are_compared():
    assert kendall([3, 2, 1], [30, 20, 10]) == 1.0
    assert kendall([3, 2, 1], [1, 2, 3]) == -1.0
    assert kendall([2, 2, 1], [3, 2, 1]) == pytest.approx(2 / math.sqrt(2 * 3))  # tau-b
    assert top_overlap([-5, 1, 0], [4, 0, 3], 1) == 1.0
    assert top_overlap([1, 1, 1], [3, 2, 1], 2) == pytest.approx(2 / 3)
    assert top_overlap([2, 1, 1, 1], [2, 1, 1, 1], 2) == pytest.approx(1.0)
    with pytest.raises(kp.InputError, match="same length"):
        kendall([1, 2], [1, 2, 3])
    with pytest.raises(kp.InputError, match="k must be"):
        top_overlap([1, 2], [1, 2], 3)


def test_intervals_cover_the_true_difference():
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(100):
        first = rng.normal(size=40)
        second = first - 0.3 + 0.5 * rng.normal(size=40)
        mean, low, high = paired_interval(first, second, random_state=seed)
        assert low <= mean <= high
        covered += low <= 0.3 <= high
    assert 88 <= covered <= 99
    assert paired_interval([1, 2], [0, 1]) == (1.0, 1.0, 1.0)


def test_steps_count_players_that_can_be_masked():
    def predict(rows):
        p = (rows[:, 0] + rows[:, 2] >= 1).astype(float)
        return np.stack([1 - p, p], axis=1)

    space = kp.Tabular(baseline=0)
    assert steps_until_flip(predict, space, np.array([1.0, 1.0, 0.0]), [2, 1, 0]) == 2  # 2 is masked already
    assert steps_until_flip(predict, space, np.array([1.0, 1.0, 1.0]), [0, 1]) is None
    with pytest.raises(kp.InputError, match="no player 9"):
        steps_until_flip(predict, space, np.array([1.0, 1.0, 1.0]), [9])
