"""Columns of pandas frames."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._base.arrays import Ints
from .columns.choose import Known, column_of_array, column_of_objects
from .columns.date import Date
from .columns.flag import Flag
from .columns.number import Number
from .columns.protocol import Column, Misfit
from .columns.text import Category, Text
from .entries import missing
from .whole import all_whole, check_exact, is_whole, within


@dataclass(frozen=True)
class PandasFrames:
    """See `Library`."""

    def names(self, frame: Any) -> list[Any]:
        """See `Library.names`: texts or not."""
        return list(frame.columns)

    def dtypes(self, frame: Any) -> list[Any]:
        """See `Library.dtypes`."""
        return list(frame.dtypes.tolist())

    def cells(self, frame: Any) -> list[Any]:
        """See `Library.cells`."""
        return [frame[name].array[0] for name in frame.columns]

    def column(self, dtype: Any, known: Known) -> Column:
        """See `Library.column`."""
        import pandas as pd

        if isinstance(dtype, np.dtype):
            return column_of_array(dtype, known)
        if isinstance(dtype, pd.CategoricalDtype):
            return Category(known.name, dtype.categories)
        if isinstance(dtype, pd.StringDtype):
            return Text(known.name, known.entries)
        match getattr(dtype, "kind", "O"):
            case "b":
                return Flag(known.name)
            case "i" | "u" | "f" | "c":
                return Number(known.name)
            case "M" | "m":
                return Date(known.name, known.entries)
            case _:
                return column_of_objects(known)

    def joined(self, background: Any, dtype: Any, cell: Any) -> Any:
        """See `Library.joined`."""
        import pandas as pd

        if isinstance(background, pd.CategoricalDtype):
            return _with_category(background, dtype, cell)
        if isinstance(background, np.dtype) and background.kind in "iu" and is_whole(cell):
            return background if within(background, cell) else np.dtype(np.int64)
        return background

    def hold(self, column: Column, dtype: Any, entries: list[Any]) -> Any:
        """See `Library.hold`."""
        import pandas as pd

        if pd.api.types.is_integer_dtype(dtype):
            dtype = _of_whole_numbers(dtype, entries)
        kind = dtype.kind if isinstance(dtype, np.dtype) else "extension"
        if kind == "f" and all(isinstance(entry, float) for entry in entries):
            return np.array(entries, dtype=dtype)
        fitted = entries if kind == "O" else column.fit(entries)
        if kind == "b" and None in fitted:
            raise Misfit("nothing is missing there")
        return pd.Series(_with_absent(fitted, kind), dtype=dtype).array

    def frame(self, names: list[Any], columns: list[Any]) -> Any:
        """See `Library.frame`."""
        import pandas as pd

        return pd.DataFrame(dict(zip(names, map(_kept, columns), strict=True)), copy=False)

    def block(self, names: list[Any], values: npt.NDArray[Any]) -> Any:
        """See `Library.block`."""
        import pandas as pd

        return pd.DataFrame(values.T, columns=names, copy=False)

    def columns(self, frame: Any) -> Iterator[tuple[Any, Callable[[Ints], Any]]]:
        """See `Library.columns`."""
        for name, dtype in frame.dtypes.items():
            held = frame[name].array
            yield (np.asarray(held) if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else None), held.take


def _with_category(known: Any, dtype: Any, cell: Any) -> Any:
    """Categories in the order of the background's, and after them those that the instance has more."""
    import pandas as pd

    if missing(cell) or cell in known.categories:
        return known
    listed = known.categories.tolist()
    more = dtype.categories.tolist() if isinstance(dtype, pd.CategoricalDtype) else [cell]
    return pd.CategoricalDtype([*listed, *(each for each in more if each not in listed)], known.ordered)


def _of_whole_numbers(dtype: Any, entries: list[Any]) -> Any:
    """The dtype of integers or, where an entry is none, that of floats of the same family.

    Raises
    ------
    Misfit
        A float would round one of the entries.
    """
    import pandas as pd

    extended = pd.api.types.is_extension_array_dtype(dtype)  # knows what a missing integer is
    if all_whole(entries, or_missing=extended):
        return dtype
    check_exact(entries)
    if isinstance(dtype, pd.ArrowDtype):
        return "double[pyarrow]"
    return "Float64" if extended else np.dtype(np.float64)


def _with_absent(entries: list[Any], kind: str) -> list[Any]:
    """Entries whose missing ones are what a dtype of this kind calls so."""
    import pandas as pd

    if kind not in ("f", "extension"):
        return entries
    absent = np.nan if kind == "f" else pd.NA
    return [absent if missing(entry) else entry for entry in entries]


def _kept(array: Any) -> Any:
    """A column that pandas takes as it is: texts among its objects make it guess another dtype."""
    import pandas as pd

    if not (isinstance(array, pd.arrays.NumpyExtensionArray) and array.dtype.kind == "O"):
        return array
    return pd.Series(array, dtype=object, copy=False)
