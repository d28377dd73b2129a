"""What an estimator says of itself: what kind it is, what is inside it, which class a score stands for."""

from collections.abc import Hashable
from typing import Any


def kind_of(model: Any) -> str | None:
    """What scikit-learn's tags call it; None for what has no tags."""
    if isinstance(model, type):
        return None
    try:
        return str(model.__sklearn_tags__().estimator_type)
    except Exception:  # no estimator, or one that does not know its tags
        kind = getattr(model, "_estimator_type", None)
        return kind if isinstance(kind, str) else None


def innermost(model: Any) -> Any:
    """The estimator that decides: the last step of a pipeline, the best one of a search, what a wrapper froze."""
    for _ in range(_DEPTH):
        path = class_path(model)
        if path == "sklearn.pipeline.Pipeline":
            model = model.steps[-1][1]
        elif path.startswith("sklearn.model_selection.") and hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif path == "sklearn.frozen._frozen.FrozenEstimator":
            model = model.estimator
        elif path == "sklearn.ensemble._stacking.StackingClassifier" and hasattr(model, "final_estimator_"):
            model = model.final_estimator_
        else:
            break
    return model


# wrappers in wrappers; deeper than anybody nests them
_DEPTH = 20


def class_path(model: Any) -> str:
    """Module and name of the object's class."""
    return f"{type(model).__module__}.{type(model).__qualname__}"


def plain(label: Any) -> Any:
    """A label as a plain Python value."""
    return label.item() if hasattr(label, "item") and getattr(label, "ndim", 1) == 0 else label


def fitted_classes(model: Any) -> list[Hashable]:
    """Names of the classes in the order of its columns, none where it has several outputs or does not say."""
    classes = getattr(model, "classes_", None)
    if classes is None and kind_of(model) == "outlier_detector":
        return [-1, 1]  # what its predict says, in the order of its scores
    if classes is None or any(getattr(name, "ndim", 0) or isinstance(name, list) for name in classes):
        return []
    return [plain(name) for name in classes]


def feature_names(model: Any) -> list[Any] | None:
    """Columns that an estimator or a booster was fitted on, in their order; None where it does not say."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and class_path(model) == "xgboost.core.Booster":
        names = model.feature_names
    return None if names is None else list(names)


def in_order(batch: Any, names: list[Any] | None) -> Any:
    """A frame whose columns are those of `names` in another order, in that order; all else as it is."""
    has = getattr(batch, "columns", None)
    if names is None or has is None or len(has) != len(names) or list(has) == names or set(has) != set(names):
        return batch
    return batch[names]
