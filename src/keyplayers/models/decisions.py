"""Which class a model decides for: the decision is its own, not that of the largest probability.

An estimator's `predict` need not be the class of the largest probability: thresholds may be moved
(``FixedThresholdClassifier``), and a support vector machine's probabilities are fitted after its decisions. Where
a rule is known the decision follows from the probabilities; where it is not, the model's `predict` is asked.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from .estimators import class_path, innermost


class Prediction(NamedTuple):
    """What a model says of B rows."""

    probabilities: Floats  # [B, K]
    votes: Floats | None = None  # [B, K] 1 for the class that its own predict says; None where a rule is known


@dataclass(frozen=True)
class Rule:
    """How probabilities become a decision.

    Without a threshold the class of the largest probability, of several the first, as in scikit-learn; a label
    that is on or off is on above 0.5.
    """

    threshold: float | None = None  # the class `positive` is decided for at or above this probability
    positive: int = 1

    def decide(self, probabilities: Floats) -> Ints:
        """Index of the class [B] that is decided for, from probabilities [B, K]."""
        if self.threshold is None:
            return np.asarray(probabilities.argmax(axis=1))
        reached = probabilities[:, self.positive] >= self.threshold
        return np.where(reached, self.positive, 1 - self.positive)

    def is_on(self, probabilities: Floats) -> Any:
        """Whether a label of these probabilities [B] is on."""
        return probabilities > 0.5 if self.threshold is None else probabilities >= self.threshold


LARGEST = Rule()


def decide(rule: Rule, prediction: Prediction, label: int | None = None) -> Ints:
    """The decisions [B]: an index of a class; of a single label its index where it is on, else -1.

    Votes of several background rows may be split: the class with most of them, of several the likeliest.
    """
    p, votes = prediction
    if label is not None:
        on = rule.is_on(p[:, label]) if votes is None else votes[:, label] > 0.5
        return np.where(on, label, -1)
    if votes is None:
        return rule.decide(p)
    return np.asarray(np.where(votes == votes.max(axis=1, keepdims=True), p, -1).argmax(axis=1))


def average(parts: list[Prediction], n_backgrounds: int) -> Prediction:
    """One prediction per state from parts whose rows are `n_backgrounds` for each state, one after the other."""
    width = max(part.probabilities.shape[1] for part in parts)
    probabilities = _mean([part.probabilities for part in parts], width, n_backgrounds)
    if parts[0].votes is None:
        return Prediction(probabilities)
    return Prediction(probabilities, _mean([part.votes for part in parts], width, n_backgrounds))


def _mean(parts: list[Any], width: int, n_backgrounds: int) -> Floats:
    whole: Floats
    if len(parts) == 1:
        whole = parts[0]
    else:
        whole = np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])
    return whole if n_backgrounds == 1 else whole.reshape(-1, n_backgrounds, width).mean(axis=1)


def known_rule(model: Any, classes: list[Any]) -> Rule | None:
    """The rule of an estimator's predict; None where it must be asked."""
    inner = innermost(model)
    path = class_path(inner)
    if path in _OF_LARGEST:
        return Rule()
    if path in _OF_SIGN:
        return Rule(0.5)
    if path.startswith("sklearn.model_selection._classification_threshold."):
        return _moved_threshold(inner, classes)
    return None


def _moved_threshold(model: Any, classes: list[Any]) -> Rule | None:
    """The rule of scikit-learn's two classifiers that move the threshold of another one's probability."""
    of_probability = getattr(model, "response_method", None) in ("auto", "predict_proba")
    if len(classes) != 2 or not of_probability or not hasattr(model, "predict_proba"):
        return None
    if hasattr(model, "best_threshold_"):  # tuned: which class is positive only its scorer knows
        positive_of = getattr(getattr(model, "_curve_scorer", None), "_get_pos_label", None)
        if positive_of is None:
            return None
        threshold, positive = float(model.best_threshold_), positive_of()
    else:
        threshold = 0.5 if model.threshold == "auto" else float(model.threshold)
        positive = model.pos_label
    return Rule(threshold, 1 if positive is None else classes.index(positive))


# Estimators whose predict is the class of their largest predict_proba or decision_function. What is not named here
# is asked: subclasses too, which may have a predict of their own.
_OF_LARGEST = frozenset(
    f"sklearn.{name}"
    for name in (
        "linear_model._logistic.LogisticRegression",
        "linear_model._logistic.LogisticRegressionCV",
        "linear_model._perceptron.Perceptron",
        "linear_model._ridge.RidgeClassifier",
        "linear_model._stochastic_gradient.SGDClassifier",
        "svm._classes.LinearSVC",
        "ensemble._bagging.BaggingClassifier",
        "ensemble._forest.RandomForestClassifier",
        "ensemble._forest.ExtraTreesClassifier",
        "ensemble._gb.GradientBoostingClassifier",
        "ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
        "ensemble._voting.VotingClassifier",
        "ensemble._weight_boosting.AdaBoostClassifier",
        "tree._classes.DecisionTreeClassifier",
        "tree._classes.ExtraTreeClassifier",
        "neighbors._classification.KNeighborsClassifier",
        "neural_network._multilayer_perceptron.MLPClassifier",
        "naive_bayes.GaussianNB",
        "naive_bayes.BernoulliNB",
        "naive_bayes.MultinomialNB",
        "naive_bayes.ComplementNB",
        "naive_bayes.CategoricalNB",
        "discriminant_analysis.LinearDiscriminantAnalysis",
        "discriminant_analysis.QuadraticDiscriminantAnalysis",
        "calibration.CalibratedClassifierCV",
    )
) | {"xgboost.sklearn.XGBClassifier", "lightgbm.sklearn.LGBMClassifier"}

# outlier detectors that call inlier what has a decision_function of at least 0
_OF_SIGN = frozenset(
    (
        "sklearn.ensemble._iforest.IsolationForest",
        "sklearn.neighbors._lof.LocalOutlierFactor",
        "sklearn.covariance._elliptic_envelope.EllipticEnvelope",
    )
)
