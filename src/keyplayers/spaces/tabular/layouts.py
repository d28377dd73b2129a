"""How an instance lies: in an array of one dtype, or in a frame whose columns have each their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from ...errors import InputError
from .columns.number import LARGEST_EXACT
from .columns.protocol import Column, Misfit
from .entries import as_objects
from .library import Library
from .narwhals_frames import NarwhalsFrames
from .pandas_frames import PandasFrames


class Layout(Protocol):
    """Where the columns of an instance stand, and in which dtypes."""

    @property
    def columns(self) -> Sequence[Column]:
        """[D]"""

    def palette(self, values: list[Any], taus: list[list[Any]]) -> Any:
        """The instance [D] on top of the baseline rows [R, D], in dtypes that hold both.

        Raises
        ------
        InputError
            A column cannot hold its baseline.
        """


@dataclass(frozen=True, eq=False)
class ArrayLayout:
    """An array of one dtype."""

    columns: Sequence[Column]
    dtype: Any
    codes: Sequence[int] = ()  # columns whose dtype must be kept

    def palette(self, values: list[Any], taus: list[list[Any]]) -> npt.NDArray[Any]:
        """See `Layout.palette`."""
        if self.dtype.kind == "O":
            return np.array([as_objects(row) for row in (values, *taus)])
        if self.dtype.kind not in "biufc":
            return self._words(values, taus)
        table = self._numbers(taus)
        dtype = self.dtype
        if dtype.kind in "biu":
            dtype = self._whole(values, table)
        elif dtype.kind == "c":
            dtype = np.result_type(dtype, table.dtype)
        with np.errstate(over="ignore"):
            fitted = table.astype(dtype)
        if dtype.kind == "f" and (np.isinf(fitted) & np.isfinite(table)).any():
            raise InputError(f"the row is an array of {self.dtype}, in which the baseline would be infinite")
        return np.concatenate([np.array([values], dtype=self.dtype).astype(dtype), fitted])

    def _words(self, values: list[Any], taus: list[list[Any]]) -> npt.NDArray[Any]:
        """Texts or days."""
        try:
            for column, entries in zip(self.columns, zip(*taus, strict=True), strict=True):
                column.fit(list(entries))
            table = np.array(taus)
            return np.array([values, *taus], dtype=np.result_type(self.dtype, table.dtype))
        except (TypeError, ValueError) as error:
            raise self._refused(taus) from error

    def _numbers(self, taus: list[list[Any]]) -> npt.NDArray[Any]:
        """Baseline rows [R, D] of numbers."""
        try:
            table = np.array(taus)
        except ValueError:
            raise self._refused(taus) from None
        if table.dtype.kind not in ("biufc" if self.dtype.kind == "c" else "biuf"):
            raise self._refused(taus)
        return table

    def _refused(self, taus: list[list[Any]]) -> InputError:
        numbers = (int, float, np.number, np.bool_)
        odd = [c.name for i, c in enumerate(self.columns) if any(not isinstance(t[i], numbers) for t in taus)]
        return InputError(
            f"the row holds numbers ({self.dtype}), but the baseline of {odd[:5]} does not: "
            "give numbers, or the row as an object array"
        )

    def _whole(self, values: list[Any], table: npt.NDArray[Any]) -> Any:
        """The dtype of integers or booleans where it holds the baseline too, else that of floats."""
        self._check_codes(table)
        if holds_all(self.dtype, table):
            return self.dtype
        large = [(c.name, v) for c, v in zip(self.columns, values, strict=True) if abs(v) > LARGEST_EXACT]
        rounded = [name for name, value in large if int(float(value)) != value]
        if rounded:
            raise InputError(
                f"the row is an array of integers ({self.dtype}), and fractions in the baseline would "
                f"round those of {rounded[:5]}: give integers there, or the row as a frame"
            )
        return np.dtype(np.float64)

    def _check_codes(self, table: npt.NDArray[Any]) -> None:
        """Refuse fractions in the baseline of codes, and beside them where they share a dtype of integers."""
        for column in self.codes:
            bad = [tau for tau in table[:, column].tolist() if not float(tau).is_integer()]
            if bad:
                raise InputError(
                    f"column {self.columns[column].name!r} holds codes, so its baseline must be an integer, "
                    f"got {bad[0]!r}"
                )
        if self.codes and self.dtype.kind in "iu" and not holds_all(self.dtype, table):
            odd = (table != np.round(table)).any(axis=0)
            raise InputError(
                f"the row is an array of codes ({self.dtype}), and the baseline of "
                f"{[c.name for c, is_odd in zip(self.columns, odd, strict=True) if is_odd][:5]} is no "
                "integer: give an integer there, or the row as floats or a frame"
            )


def holds_all(dtype: Any, table: npt.NDArray[Any]) -> bool:
    """Whether a dtype of integers or booleans holds these numbers as they are."""
    if not np.isfinite(table.astype(float)).all():
        return False
    with np.errstate(invalid="ignore"):  # what does not fit is not equal
        return bool((table.astype(dtype) == table).all())


@dataclass(frozen=True, eq=False)
class FrameLayout:
    """A frame of pandas, polars, pyarrow or another library."""

    columns: Sequence[Column]
    dtypes: Sequence[Any]
    library: Library

    def palette(self, values: list[Any], taus: list[list[Any]]) -> Any:
        """See `Layout.palette`."""
        held = []
        for place, (column, dtype) in enumerate(zip(self.columns, self.dtypes, strict=True)):
            entries = [row[place] for row in (values, *taus)]
            try:
                held.append(self.library.hold(column, dtype, entries))
            except Exception as error:  # each library refuses in its own way
                raise self._misfit(column, dtype, entries, error) from error
        return self.library.frame([column.name for column in self.columns], held)

    def _misfit(self, column: Column, dtype: Any, entries: list[Any], error: Exception) -> InputError:
        """Whether it is the instance's own cell that its column cannot hold, or the baseline."""
        words = sorted({repr(entry) for entry in entries[1:4]})
        what = f"the baseline of column {column.name!r} is {', '.join(words)}"
        try:
            self.library.hold(column, dtype, entries[:1])
        except Exception as own:
            what, error = f"column {column.name!r} holds {entries[0]!r}", own
        why = f": {error}" if isinstance(error, Misfit) else ""
        return InputError(f"{what}, which a column of {dtype} cannot hold{why}")


def library_of(frame: Any) -> Library:
    """What knows the frame's columns."""
    return (
        PandasFrames()
        if nw.dependencies.is_pandas_dataframe(frame)
        else NarwhalsFrames(nw.from_native(frame, eager_only=True).implementation)
    )
