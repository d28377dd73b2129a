"""A user's model behind one face: rows in, class probabilities out."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.arrays import Floats, Ints
from ..errors import InputError, PredictionError, PredictorError, UnknownNameError
from .decisions import LARGEST, Prediction, Rule, decide
from .estimators import feature_names, in_order, plain
from .face import Face
from .faces import find_face
from .outputs import OUTPUTS, Output, as_array, looks_like_labels, read_probabilities

# Models answer the same rows alike up to this much: single precision, and sums in another order in other batches.
ROUNDING_OF_MODELS = 1e-5


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
    threshold
        The second of two classes is decided for, or a label is on, at or above this probability. Default: the
        model's own decision, which is its predict where it has one, else the largest probability (labels: above
        0.5).

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
        *,
        threshold: float | None = None,
    ) -> None:
        if output not in OUTPUTS:
            raise InputError(f"output must be one of {', '.join(OUTPUTS)}, got {output!r}")
        face = find_face(predict, output)
        self._face = face if threshold is None else replace(face, rule=_rule_of(threshold, face), labels=None)
        self.output = face.output
        self._says_labels = output == "label"
        self.multilabel = multilabel
        fitted = [] if multilabel else list(face.classes)
        self.classes: list[Any] = fitted if class_names is None else _distinct(class_names)
        self._named = bool(self.classes)
        # what the model's own labels are called, in the order of its columns
        self._labels = fitted
        self._asks = self._face.labels is not None
        self._feature_names = feature_names(predict)
        self.n_calls = 0

    @property
    def rule(self) -> Rule:
        """How probabilities become a decision; where the model is asked this says what they would suggest."""
        return self._face.rule or LARGEST

    def __call__(self, batch: Any, n_rows: int) -> Floats:
        """Probabilities [n_rows, K]; K grows when a model that gives labels gives a new one.

        Raises
        ------
        PredictorError
            The model raised; its own exception is the cause.
        PredictionError
            What it gave is not what `output` says.
        """
        given = self._ask(self._face.scores, batch, n_rows)
        if self.output == "label" or (self.output == "proba" and looks_like_labels(given)):
            return self._one_hot(given)
        p = read_probabilities(given, self.output, self.multilabel)
        self._check_classes(p.shape[1])
        return p

    def predict(self, batch: Any, n_rows: int) -> Prediction:
        """Probabilities [n_rows, K] and, where no rule tells them, the model's own decisions.

        Raises
        ------
        PredictorError, PredictionError
            As when called.
        """
        p = self(batch, n_rows)
        if not self._asks or self._face.labels is None:
            return Prediction(p)
        votes = self._votes(self._ask(self._face.labels, batch, n_rows), p.shape)
        self._asks = votes is not None
        return Prediction(p, votes)

    def decide(self, prediction: Prediction | Floats, label: int | None = None) -> Ints:
        """Index of the class [B] that the model decides for.

        Parameters
        ----------
        prediction
            What `predict` gave, or probabilities [B, K] alone.
        label
            With several labels the one that is asked for: its index where it is on, else -1.
        """
        if not isinstance(prediction, Prediction):
            prediction = Prediction(prediction)
        return decide(self.rule, prediction, label)

    def _ask(self, function: Callable[[Any], Any], batch: Any, n_rows: int) -> Any:
        """What one of the model's functions gives, as an array with one entry per row."""
        self.n_calls += 1
        try:
            raw = function(in_order(batch, self._feature_names))
        except (Exception, SystemExit) as error:  # a model that ends the program has failed like any other
            raise PredictorError(f"the model raised {type(error).__name__}: {error}") from error
        return as_array(raw, n_rows, several=self.multilabel)

    def _votes(self, given: Any, shape: tuple[int, ...]) -> Floats | None:
        """The model's own decisions [B, K]; None where they are no classes of its probabilities."""
        if self.multilabel:
            return given.astype(np.float64) if given.shape == shape and np.isin(given, (0, 1)).all() else None
        labels = self._labels or list(range(shape[1]))
        places = {name: at for at, name in enumerate(labels)}
        if given.size != shape[0] or len(places) != shape[1]:
            return None
        try:
            columns = [places[plain(label)] for label in given.reshape(-1).tolist()]
        except (KeyError, TypeError):  # predict gives something else than labels
            return None
        return np.eye(shape[1])[columns]

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
        self.classes.append(str(target) if texts else plain(target))
        return len(self.classes) - 1

    def _check_classes(self, n_columns: int) -> None:
        """Every column has a name."""
        if not self.classes:
            self.classes = list(range(n_columns))
        if self._face.rule is not None and self._face.rule.threshold is not None and not self.multilabel:
            _check_two(n_columns)
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
        places = {plain(name): at for at, name in enumerate(self.classes)}
        columns = []
        for label in labels:
            name = plain(label)
            if not isinstance(name, Hashable) or name != name:
                raise PredictionError(f"the model returned {name!r} where a label is wanted")
            if name not in places:
                places[name] = len(self.classes)
                self.classes.append(label)
            columns.append(places[name])
        return columns


def difference(first: Floats, again: Floats) -> float:
    """Largest difference between two answers about the same rows, [B, K] each; 0 where it is only rounding.

    A model that is not the same at every call, such as one whose dropout is left on, differs by far more than
    `ROUNDING_OF_MODELS`. A model of labels may have learned new ones, which the first answer lacks.
    """
    width = max(first.shape[1], again.shape[1])
    padded = [np.pad(p, ((0, 0), (0, width - p.shape[1]))) for p in (first, again)]
    largest = float(np.abs(padded[0] - padded[1]).max())
    return largest if largest > ROUNDING_OF_MODELS else 0.0


def _check_two(n_columns: int) -> None:
    if n_columns != 2:
        raise PredictionError(f"threshold is for two classes or labels, but the model gives {n_columns} classes")


def _is_index(target: Any, n_classes: int) -> bool:
    return isinstance(target, (int, np.integer)) and not isinstance(target, bool) and 0 <= int(target) < n_classes


def _rule_of(threshold: Any, face: Face) -> Rule:
    """The rule that a caller gives."""
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.number)) or not 0 < threshold < 1:
        raise InputError(f"threshold must be a probability between 0 and 1, got {threshold!r}")
    if face.output == "label":
        raise InputError("threshold is for probabilities, and this model gives labels")
    return Rule(float(threshold))


def _distinct(names: Any) -> list[Any]:
    """Names of classes as a caller gives them."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise InputError(f"class_names must be a sequence of names, got {names!r}")
    listed = [plain(name) for name in names]
    seen: set[Hashable] = set()
    for name in listed:
        if not isinstance(name, Hashable):
            raise InputError(f"class_names must be hashable, got {name!r}")
        if name in seen:
            raise InputError(f"class_names must be distinct, but {name!r} stands more than once")
        seen.add(name)
    return listed
