"""Scores against scikit-learn, and against counts by hand."""

import numpy as np
import pytest

from keyplayers.learning.scores import auc, average_precision, calibration_curve, score


@pytest.mark.parametrize("seed", range(5))
def test_rankings_are_scored_as_scikit_learn_does(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 8, size=60) / 8  # many ties
    positive = rng.random(60) < 0.2 + 0.5 * scores
    assert auc(scores, positive) == pytest.approx(metrics.roc_auc_score(positive, scores), abs=1e-12)
    assert average_precision(scores, positive) == pytest.approx(
        metrics.average_precision_score(positive, scores), abs=1e-12
    )


def test_several_states_are_scored_each_against_the_others():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(4), size=80)
    truth = np.array([rng.choice(4, p=row) for row in rows])
    found = score(rows, truth)
    assert found.auc == pytest.approx(metrics.roc_auc_score(truth, rows, multi_class="ovr"))
    assert found.accuracy == (rows.argmax(axis=1) == truth).mean()
    assert found.log_loss == pytest.approx(metrics.log_loss(truth, rows))


def test_calibration_by_hand():
    rows = np.array([[0.95, 0.05], [0.95, 0.05], [0.6, 0.4], [0.4, 0.6]])
    truth = np.array([0, 1, 0, 1])
    assert [tuple(each) for each in calibration_curve(rows, truth)] == [(0.6, 1.0, 0.5), (0.95, 0.5, 0.5)]
    assert score(rows, truth, 1).calibration_error == pytest.approx(0.5 * 0.4 + 0.5 * 0.45)


def test_near_certain_beliefs_are_counted():
    rows = np.array([[0.995, 0.005], [0.995, 0.005], [0.5, 0.5], [0.001, 0.999]])
    found = score(rows, np.array([0, 1, 0, 1]), 1)
    assert (found.sure, found.sure_wrong) == (0.75, pytest.approx(1 / 3))


def test_a_state_that_does_not_occur_has_no_auc():
    assert np.isnan(score(np.full((3, 2), 0.5), np.zeros(3, dtype=int), 1).auc)
