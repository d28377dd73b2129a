"""How a model is asked: what of it is called, what it gives, and how it decides."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np

from .._base.arrays import Floats
from ..errors import InputError
from .adapters import adapter_of
from .decisions import LARGEST, known_rule
from .estimators import class_path, fitted_classes, innermost, kind_of
from .face import Face
from .outputs import Output


def find_face(model: Any, output: Output) -> Face:
    """The face of a function or an estimator.

    Raises
    ------
    InputError
        It is neither, or it predicts no classes.
    """
    adapt = adapter_of(model)
    if adapt is not None:
        return adapt(model, output)
    _check_classifier(model)
    if output == "label" and hasattr(model, "predict") and not callable(model):
        return Face(model.predict, "label", tuple(fitted_classes(model)))
    if hasattr(model, "predict_proba"):
        return _of_estimator(model, model.predict_proba, "proba")
    if hasattr(model, "decision_function"):
        return _of_estimator(model, _scores(model), "logits")
    if callable(model):
        return Face(model, output, tuple(_classes_of_method(model)))
    return Face(model.predict, "label", tuple(fitted_classes(model)))


def _classes_of_method(function: Any) -> list[Hashable]:
    """Names of the classes where a function is an estimator's own ``predict_proba`` or the like, else none."""
    owner = getattr(function, "__self__", None)
    if getattr(function, "__name__", "") not in ("predict_proba", "predict_log_proba", "decision_function"):
        return []
    return [] if owner is None else fitted_classes(owner)


def _check_classifier(model: Any) -> None:
    """Refuse what predicts no classes."""
    asked = ("predict_proba", "decision_function", "predict")
    if isinstance(model, type) or not (callable(model) or any(hasattr(model, name) for name in asked)):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise InputError(
            "predict must be a function of a batch of rows or a fitted estimator with predict_proba, "
            f"decision_function or predict, got {given}"
        )
    if kind_of(model) == "regressor":
        raise InputError(
            f"{type(model).__name__} is a regressor, and McXai explains classes: give a function of the rows, "
            "such as whether that number is above a threshold"
        )


def _of_estimator(model: Any, scores: Callable[[Any], Any], output: Output) -> Face:
    """Scores of an estimator, and its predict where no rule is known that tells it from them."""
    classes = fitted_classes(model)
    rule = known_rule(model, classes) if hasattr(model, "predict") else LARGEST
    return Face(scores, output, tuple(classes), rule, model.predict if rule is None else None)


def _scores(model: Any) -> Callable[[Any], Any]:
    """The decision function, one column per class also where it has one per pair of classes."""
    inner = innermost(model)
    n_classes = len(getattr(model, "classes_", ()))
    pairwise = class_path(inner) in _OF_PAIRS and getattr(inner, "decision_function_shape", "ovr") == "ovo"
    if pairwise and n_classes > 2:
        return partial(_from_pairs, model.decision_function, n_classes)
    return model.decision_function  # type: ignore[no-any-return]


_OF_PAIRS = ("sklearn.svm._classes.SVC", "sklearn.svm._classes.NuSVC")


def _from_pairs(pairs: Callable[[Any], Any], n_classes: int, rows: Any) -> Floats:
    """Scores [B, K] from those of pairs [B, K(K-1)/2]: votes, and less than half a vote for how clear they were.

    References
    ----------
    scikit-learn, ``sklearn.utils.multiclass._ovr_decision_function``.
    """
    won = np.asarray(pairs(rows), dtype=np.float64)
    first, second = np.triu_indices(n_classes, 1)
    votes, confidence = np.zeros((2, len(won), n_classes))
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        confidence[:, i] += won[:, k]
        confidence[:, j] -= won[:, k]
        votes[:, i] += won[:, k] >= 0
        votes[:, j] += won[:, k] < 0
    scores: Floats = votes + confidence / (3 * (np.abs(confidence) + 1))
    return scores
