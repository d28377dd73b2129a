"""A user's model behind one face: rows in, class probabilities out."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from .._base.arrays import Floats
from ..errors import InputError, PredictionError, PredictorError, UnknownNameError
from .outputs import OUTPUTS, Output, as_array, looks_like_labels, read_probabilities


class Predictor:
    """Rows in, probabilities [B, K] out, whatever the model gives.

    Parameters
    ----------
    predict
        A function of a batch, or an estimator with ``predict_proba``, ``decision_function`` or ``predict``
        (the first of these that it has; an object that can be called is called before its ``predict`` is).
    output
        What a function gives: "proba" (B, K), or (B,) and (B, 1) for P(second class); "log_proba" and "logits"
        likewise; "label" (B,). Labels that are no floats are recognised.
    class_names
        Names of the K classes; default the estimator's ``classes_``, else 0 .. K - 1.
    multilabel
        The columns are labels that are on or off independently.

    Raises
    ------
    InputError
        `predict` is nothing that can be asked, or a setting is none of those allowed.
    """

    def __init__(
        self,
        predict: Any,
        output: Output = "proba",
        class_names: Sequence[Hashable] | None = None,
        multilabel: bool = False,
    ) -> None:
        if output not in OUTPUTS:
            raise InputError(f"output must be one of {', '.join(OUTPUTS)}, got {output!r}")
        self._call, self.output = _face(predict, output)
        self._says_labels = output == "label"
        self.multilabel = multilabel
        self.classes = _classes(predict, class_names, multilabel)
        self._named = bool(self.classes)
        self.n_calls = 0

    def __call__(self, batch: Any, n_rows: int) -> Floats:
        """Probabilities [n_rows, K]; K grows when a model that gives labels gives a new one.

        Raises
        ------
        PredictorError
            The model raised; its own exception is the cause.
        PredictionError
            What it gave is not what `output` says.
        """
        self.n_calls += 1
        try:
            raw = self._call(batch)
        except Exception as error:
            raise PredictorError(f"the model raised {type(error).__name__}: {error}") from error
        given = as_array(raw, n_rows)
        if self.output == "label" or (self.output == "proba" and looks_like_labels(given)):
            return self._one_hot(given)
        p = read_probabilities(given, self.output, self.multilabel)
        self._check_classes(p.shape[1])
        return p

    def index(self, target: Hashable) -> int:
        """The class of this name or, where no name fits, of this index (for labels, the one spelled alike).

        Raises
        ------
        UnknownNameError
            No such class.
        """
        at = self._named_class(target)
        if at is not None:
            return at
        if self.output == "label" and not self._named:
            # labels have no indices: they are known as far as the model has given them, in any order
            return self._spelled_alike(target)
        if _is_index(target, len(self.classes)):
            return int(target)  # type: ignore[call-overload, no-any-return]
        raise UnknownNameError(
            f"no class {target!r}; the classes are {', '.join(map(repr, self.classes[:50]))}"
            f"{' ...' if len(self.classes) > 50 else ''} (or their indices)"
        )

    def _named_class(self, target: Hashable) -> int | None:
        """The class of this name, first of the same type: 1, True and 1.0 are equal."""
        for at, name in enumerate(self.classes):
            if type(name) is type(target) and name == target:
                return at
        if not isinstance(target, bool) and target in self.classes:
            return self.classes.index(target)
        return None

    def _spelled_alike(self, target: Hashable) -> int:
        """The label spelled like this one, which may still come."""
        for at, name in enumerate(self.classes):
            if str(name) == str(target):
                return at
        texts = all(isinstance(name, str) for name in self.classes)
        self.classes.append(str(target) if texts else _plain(target))
        return len(self.classes) - 1

    def _check_classes(self, n_columns: int) -> None:
        """Every column has a name."""
        if not self.classes:
            self.classes = list(range(n_columns))
        if len(self.classes) != n_columns:
            raise PredictionError(
                f"{len(self.classes)} class names were given ({', '.join(map(repr, self.classes[:10]))}), but the "
                f"model gives {n_columns} columns"
            )

    def _one_hot(self, given: Any) -> Floats:
        """Probability 1 for each row's label [B] or [B, 1]."""
        if given.size != len(given):
            raise PredictionError(
                f"labels have shape ({len(given)},) or ({len(given)}, 1), but the model returned {given.shape}"
            )
        labels = given.reshape(-1)
        if labels.dtype.kind == "f" and not self._says_labels and (labels != np.round(labels)).any():
            raise PredictionError(
                f"the model's predict gives numbers such as {labels[0]:.4g}, and McXai explains classes: give a "
                "function of the rows, such as whether that number is above a threshold (or say output='label')"
            )
        columns = self._columns_of(labels.tolist())
        self.output = "label"
        return np.eye(len(self.classes))[columns]

    def _columns_of(self, labels: list[Any]) -> list[int]:
        """The class of each label; new labels become classes."""
        places = {_plain(name): at for at, name in enumerate(self.classes)}
        columns = []
        for label in labels:
            name = _plain(label)
            if not isinstance(name, Hashable) or name != name:
                raise PredictionError(f"the model returned {name!r} where a label is wanted")
            if name not in places:
                places[name] = len(self.classes)
                self.classes.append(label)
            columns.append(places[name])
        return columns


def _is_index(target: Any, n_classes: int) -> bool:
    return isinstance(target, (int, np.integer)) and not isinstance(target, bool) and 0 <= int(target) < n_classes


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _classes(predict: Any, class_names: Sequence[Hashable] | None, multilabel: bool) -> list[Any]:
    """Names of the classes, none where they are not known yet."""
    if class_names is not None:
        return _distinct(class_names)
    fitted = None if multilabel else getattr(predict, "classes_", None)
    return [] if fitted is None else [_plain(name) for name in fitted]


def _distinct(names: Any) -> list[Any]:
    """Names of classes as a caller gives them."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise InputError(f"class_names must be a sequence of names, got {names!r}")
    listed = [_plain(name) for name in names]
    seen: set[Hashable] = set()
    for name in listed:
        if not isinstance(name, Hashable):
            raise InputError(f"class_names must be hashable, got {name!r}")
        if name in seen:
            raise InputError(f"class_names must be distinct, but {name!r} stands more than once")
        seen.add(name)
    return listed


def _face(predict: Any, output: Output) -> tuple[Callable[[Any], Any], Output]:
    """The function to call and what it gives."""
    if output == "label" and hasattr(predict, "predict") and not callable(predict):
        return predict.predict, "label"
    if hasattr(predict, "predict_proba"):
        return predict.predict_proba, "proba"
    if hasattr(predict, "decision_function"):
        return predict.decision_function, "logits"
    if callable(predict):
        return predict, output
    if hasattr(predict, "predict"):
        return predict.predict, "label"
    raise InputError(
        "predict must be a function of a batch of rows or an estimator with predict_proba, decision_function "
        f"or predict, got {type(predict).__name__}"
    )
