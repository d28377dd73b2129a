"""Models in ONNX, run by onnxruntime: one tensor of all columns, or one input per column."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..._base.frames import column_labels
from ..._base.optional import require
from ...errors import InputError
from ..face import Face
from ..outputs import Output

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


def adapt(model: Any, output: Output) -> Face:
    """See `adapters`."""
    function = model if isinstance(model, OnnxModel) else SessionFunction(model)
    return Face(function, output, function.classes_)


@dataclass(eq=False)
class OnnxModel:
    """A file in ONNX, which travels to other processes as it is.

    Parameters
    ----------
    data
        The file's bytes.
    """

    data: bytes

    @classmethod
    def read(cls, path: str) -> "OnnxModel":
        """A model from a file."""
        return cls(Path(path).read_bytes())

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data}

    def checked(self) -> "OnnxModel":
        """The same; onnxruntime raises its own error for what is no model."""
        _ = self._function
        return self

    @cached_property
    def _function(self) -> "SessionFunction":
        session = require("onnxruntime").InferenceSession(self.data, providers=["CPUExecutionProvider"])
        return SessionFunction(session)

    @property
    def classes_(self) -> tuple[Hashable, ...]:
        """Names of the classes where the model gives probabilities by name."""
        return self._function.classes_

    def __call__(self, rows: Any) -> Any:
        """What the model gives for a batch."""
        return self._function(rows)


@dataclass(frozen=True, eq=False)
class SessionFunction:
    """Rows -> the probabilities or scores that a session gives."""

    session: Any

    @cached_property
    def classes_(self) -> tuple[Hashable, ...]:
        """Names of the classes where probabilities come by name, as scikit-learn's do; else none."""
        if not self._output.type.startswith("seq(map("):
            return ()
        blank = {each.name: _blank(each) for each in self._inputs}
        try:
            return tuple(self.session.run([self._output.name], blank)[0][0])
        except Exception:  # the model refuses a row of nothing, such as an unknown category
            return ()

    @property
    def _inputs(self) -> list[Any]:
        return list(self.session.get_inputs())

    @property
    def _output(self) -> Any:
        """The output of probabilities: the one called so, else the last (classifiers give the label first)."""
        outputs = self.session.get_outputs()
        return next((each for each in outputs if "prob" in each.name.lower()), outputs[-1])

    def __call__(self, rows: Any) -> Any:
        """What the session gives for a batch."""
        given = self.session.run([self._output.name], self._feed(rows))[0]
        if isinstance(given, list) and given and isinstance(given[0], dict):
            return np.array([list(each.values()) for each in given])
        return given

    def _feed(self, rows: Any) -> dict[str, Any]:
        """The batch as the session's inputs."""
        inputs = self._inputs
        if len(inputs) == 1:
            return {inputs[0].name: np.asarray(rows).astype(_dtype(inputs[0]))}
        if isinstance(rows, np.ndarray):
            columns = dict(zip((each.name for each in inputs), rows.T, strict=True))
        else:
            columns = {str(name): np.asarray(rows[name]) for name in column_labels(rows)}
        lacking = [each.name for each in inputs if each.name not in columns]
        if lacking:
            raise InputError(f"the model has the inputs {', '.join(lacking[:10])}, which the rows lack")
        return {each.name: columns[each.name].astype(_dtype(each)).reshape(-1, 1) for each in inputs}


def _blank(given: Any) -> Any:
    """One row of nothing, to see what comes out."""
    shape = (1, *(size if isinstance(size, int) else 1 for size in given.shape[1:]))
    return np.full(shape, "" if _dtype(given) is np.object_ else 0, dtype=_dtype(given))


def _dtype(given: Any) -> Any:
    if given.type not in _DTYPES:
        raise InputError(f"input {given.name!r} of the model is {given.type}; known are {', '.join(_DTYPES)}")
    return _DTYPES[given.type]
