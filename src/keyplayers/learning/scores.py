"""How good probabilities of states are, given the true ones."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._base.arrays import Bools, Floats, Ints
from .tempering import SURE

# A loss counts a state that was given the probability 0 as this likely.
_LEAST = 1e-9


class Scores(NamedTuple):
    """Of one set of probabilities."""

    auc: float  # area under the ROC curve; of several states the mean, each against the others
    average_precision: float  # of the positive state; of several states the mean
    accuracy: float
    log_loss: float  # nats
    calibration_error: float  # mean distance of confidence and accuracy, over bins of confidence
    sure: float  # share of beliefs beyond .99
    sure_wrong: float  # share of these that are wrong; 0 where there are none


class CalibrationBin(NamedTuple):
    """Beliefs of about the same confidence (the largest probability)."""

    confidence: float  # mean
    accuracy: float
    share: float  # of all beliefs


def score(probabilities: Floats, truth: Ints, positive: int | None = None) -> Scores:
    """Scores of probabilities [n, K] against true states [n].

    Parameters
    ----------
    positive
        The state that AUC and average precision are about; None: all that occur, and not everywhere.
    """
    n = len(truth)
    right = probabilities.argmax(axis=1) == truth
    confidence = probabilities.max(axis=1)
    states = range(probabilities.shape[1]) if positive is None else (positive,)

    def mean_of(measure: Callable[[Floats, Bools], float]) -> float:
        found = [measure(probabilities[:, s], truth == s) for s in states if 0 < (truth == s).sum() < n]
        return float(np.mean(found)) if found else float("nan")

    sure = confidence > SURE
    bins = calibration_curve(probabilities, truth)
    return Scores(
        mean_of(auc),
        mean_of(average_precision),
        float(right.mean()),
        float(-np.log(np.maximum(probabilities[np.arange(n), truth], _LEAST)).mean()),
        sum(each.share * abs(each.confidence - each.accuracy) for each in bins),
        float(sure.mean()),
        float((~right[sure]).mean()) if sure.any() else 0.0,
    )


def auc(scores: Floats, positive: Bools) -> float:
    """The chance that a positive one has the higher score; ties count half."""
    from scipy.stats import rankdata

    n_positive = int(positive.sum())
    beaten = rankdata(scores)[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(beaten / (n_positive * (len(scores) - n_positive)))


def average_precision(scores: Floats, positive: Bools) -> float:
    """Mean precision at each positive one, from the highest score down; ties come together."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    found = np.cumsum(positive[order])[ends]
    return float((np.diff(found, prepend=0) * found / (ends + 1)).sum() / positive.sum())


def calibration_curve(probabilities: Floats, truth: Ints, n_bins: int = 10) -> tuple[CalibrationBin, ...]:
    """Bins of confidence of equal width, those that are not empty.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", ICML 2017, arXiv:1706.04599.
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == truth
    place = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    return tuple(
        CalibrationBin(float(confidence[mine].mean()), float(right[mine].mean()), float(mine.mean()))
        for mine in (place == number for number in np.unique(place))
    )
