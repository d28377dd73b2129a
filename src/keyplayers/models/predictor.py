"""A user's model behind one face: rows in, class probabilities out."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from .._base.arrays import Floats
from ..errors import InputError, PredictorError, UnknownNameError
from . import _predictor_kernels as kernels

Output = Literal["proba", "log_proba", "logits", "label"]
OUTPUTS = ("proba", "log_proba", "logits", "label")

# how far a row of probabilities may be from 1; float16 and rounded outputs stay within it
SUM_TOLERANCE = 1e-2


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
        if class_names is not None:
            self.classes: list[Any] = _distinct(class_names)
        else:
            fitted = None if multilabel else getattr(predict, "classes_", None)
            self.classes = [] if fitted is None else _listed(fitted)
        self._named = bool(self.classes)
        self.n_calls = 0

    def __call__(self, batch: Any, n_rows: int) -> Floats:
        """Probabilities [n_rows, K]; K grows when a model that gives labels gives a new one.

        Raises
        ------
        PredictorError
            The model raised; its own exception is the cause.
        InputError
            What it gave is not what `output` says.
        """
        self.n_calls += 1
        try:
            raw = self._call(batch)
        except Exception as error:
            raise PredictorError(f"the model raised {type(error).__name__}: {error}") from error
        try:
            given = np.asarray(raw)
        except Exception as error:
            raise InputError(f"what the model returned, {type(raw).__name__}, is no array: {error}") from error
        if given.ndim == 0 or len(given) != n_rows:
            raise InputError(
                f"the model was given {n_rows} rows and returned shape {given.shape}; wanted is ({n_rows}, K), "
                f"({n_rows},) or ({n_rows}, 1)"
            )
        if self.output == "label" or (
            self.output == "proba" and given.dtype.kind not in "fc" and (given.ndim == 1 or given.shape[1] == 1)
        ):
            if given.size != n_rows:
                raise InputError(
                    f"labels have shape ({n_rows},) or ({n_rows}, 1), but the model returned {given.shape}"
                )
            return self._one_hot(given.reshape(n_rows))
        p = self._probabilities(given, n_rows)
        if not self.classes:
            self.classes = list(range(p.shape[1]))
        if len(self.classes) != p.shape[1]:
            raise InputError(
                f"{len(self.classes)} class names were given ({', '.join(map(repr, self.classes[:10]))}), but the "
                f"model gives {p.shape[1]} columns"
            )
        return p

    def index(self, target: Hashable) -> int:
        """The class of this name or, where no name fits, of this index (for labels, the one spelled alike).

        Raises
        ------
        UnknownNameError
            No such class.
        """
        for at, name in enumerate(self.classes):
            if type(name) is type(target) and name == target:
                return at
        for at, name in enumerate(self.classes):
            if not isinstance(target, bool) and name == target:
                return at
        if self.output == "label" and not self._named:
            # labels have no indices: they are known as far as the model has given them, in any order
            for at, name in enumerate(self.classes):
                if str(name) == str(target):
                    return at
            texts = all(isinstance(name, str) for name in self.classes)
            self.classes.append(str(target) if texts else _key(target))
            return len(self.classes) - 1
        if (
            isinstance(target, (int, np.integer))
            and not isinstance(target, bool)
            and 0 <= target < len(self.classes)
        ):
            return int(target)
        raise UnknownNameError(
            f"no class {target!r}; the classes are {', '.join(map(repr, self.classes[:50]))}"
            f"{' ...' if len(self.classes) > 50 else ''} (or their indices)"
        )

    def _probabilities(self, given: Any, n_rows: int) -> Floats:
        if given.ndim > 2 or given.size == 0 or given.dtype.kind not in "fiub":
            raise InputError(
                f"the model returned shape {given.shape} of {given.dtype}; wanted are numbers of shape "
                f"({n_rows}, K), ({n_rows},) or ({n_rows}, 1)"
            )
        p: Floats = np.array(given, dtype=np.float64, order="C")
        single = p.ndim == 1 or p.shape[1] == 1
        p = p.reshape(n_rows, -1)
        if self.output == "log_proba" and p.max() > 1e-6:
            raise InputError(
                f"the model returned values from {p.min():.4g} to {p.max():.4g} in shape {given.shape}; "
                "log-probabilities are at most 0. For scores say output='logits'"
            )
        if self.output != "proba":
            with np.errstate(invalid="ignore"):
                p = self._as_probabilities(p, single)
        low, high, worst = kernels.value_range(p)
        if np.isnan(low):
            missing = int(np.isnan(p).any(axis=1).sum())
            infinite = "" if self.output == "proba" else " or infinite scores"
            raise InputError(f"the model returned NaN{infinite} in {missing} of {n_rows} rows")
        if low < -1e-6 or high > 1 + 1e-6:
            raise InputError(
                f"the model returned values from {low:.4g} to {high:.4g} in shape {given.shape}; "
                f"probabilities of shape ({n_rows}, K), ({n_rows},) or ({n_rows}, 1) are wanted. For scores say "
                "output='logits', for log-probabilities output='log_proba', for labels output='label'"
            )
        if single and not self.multilabel:
            p = np.column_stack([1 - p[:, 0], p[:, 0]])
        elif not self.multilabel:
            total = p[worst].sum()
            if abs(total - 1) > SUM_TOLERANCE:
                raise InputError(
                    f"rows of the model's output (shape {given.shape}) add up to {total:.4g}, not 1. If its "
                    "columns are labels that are on or off independently say multilabel=True, if they are scores "
                    "output='logits'"
                )
        return p

    def _as_probabilities(self, scores: Floats, single: bool) -> Floats:
        """What log-probabilities or logits [B, K] stand for."""
        p: Floats
        if self.output == "log_proba":
            p = np.exp(scores)
        elif single or self.multilabel:
            p = np.exp(-np.logaddexp(0, -scores))
        else:
            p = np.exp(scores - scores.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
        return p

    def _one_hot(self, labels: Any) -> Floats:
        if labels.dtype.kind == "f" and not self._says_labels and (labels != np.round(labels)).any():
            raise InputError(
                f"the model's predict gives numbers such as {labels[0]:.4g}, and McXai explains classes: give a "
                "function of the rows, such as whether that number is above a threshold (or say output='label')"
            )
        places = {_key(name): at for at, name in enumerate(self.classes)}
        columns = []
        for label in labels.tolist():
            key = _key(label)
            if not isinstance(key, Hashable) or key != key:
                raise InputError(f"the model returned {key!r} where a label is wanted")
            if key not in places:
                places[key] = len(self.classes)
                self.classes.append(label)
            columns.append(places[key])
        self.output = "label"
        return np.eye(len(self.classes))[columns]


def _key(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _listed(names: Any) -> list[Any]:
    return [_key(name) for name in names]


def _distinct(names: Any) -> list[Any]:
    """Names of classes as a caller gives them."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise InputError(f"class_names must be a sequence of names, got {names!r}")
    listed = _listed(names)
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
