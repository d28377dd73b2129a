"""Priors from a classifier's probabilities."""

import numpy as np
import pytest

import keyplayers as kp


def sampled(n, slope, rng):
    """Scores that claim `slope` times the log-odds that the labels have."""
    log_odds = rng.normal(size=n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)
    return 1 / (1 + np.exp(-slope * log_odds)), labels


@pytest.mark.parametrize("slope", [0.5, 1.0, 4.0])
def test_the_slope_is_undone(slope):
    scores, labels = sampled(20_000, slope, np.random.default_rng(0))
    learned = kp.learn_priors(scores, labels)
    assert learned.slope == pytest.approx(1 / slope, rel=0.1)
    assert learned.loss_after <= learned.loss_before + 1e-9


def test_a_shift_of_classes_is_undone():
    scores, labels = sampled(20_000, 1.0, np.random.default_rng(1))
    shifted = 1 / (1 + np.exp(-np.log(scores / (1 - scores)) - 2))
    learned = kp.learn_priors(np.column_stack([1 - shifted, shifted]), labels)
    assert np.mean(learned.probabilities[:, 1]) == pytest.approx(labels.mean(), abs=0.01)


def test_few_labels_leave_scores_nearly_as_they_are():
    learned = kp.learn_priors({"a": 0.9, "b": 0.2, "c": 0.5}, {"a": 1, "b": 0})
    assert learned["a"][1] == pytest.approx(0.9, abs=0.06)
    assert list(learned) == ["a", "b", "c"]
    mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "c")], learned, homophily=0.7)
    assert np.allclose(mrf.priors[mrf.index("c")], learned["c"])


@pytest.mark.parametrize(
    ("scores", "said"),
    [([0.5, 1.5], "from 0 to 1"), ({"a": [1, 1, 1], "b": [1, 1, 2]}, "3 columns"), (None, "None")],
)
def test_what_are_no_scores_is_refused(scores, said):
    with pytest.raises(kp.InputError, match=said):
        kp.learn_priors(scores, {"a": 0, "b": 1} if isinstance(scores, dict) else [0, 1])
