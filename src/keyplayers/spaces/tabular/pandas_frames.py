"""Columns of pandas frames."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._base.arrays import Ints
from .columns.choose import column_of_array, column_of_objects
from .columns.date import Date
from .columns.flag import Flag
from .columns.number import Number
from .columns.protocol import Column, Misfit
from .columns.text import Category, Text
from .entries import Entries, missing
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

    def column(self, name: Any, dtype: Any, entries: Entries | None, cell: Any) -> Column:
        """See `Library.column`."""
        import pandas as pd

        if isinstance(dtype, np.dtype):
            return column_of_array(name, dtype, entries, cell)
        if isinstance(dtype, pd.CategoricalDtype):
            return Category(name, dtype.categories)
        if pd.api.types.is_bool_dtype(dtype):
            return Flag(name)
        if pd.api.types.is_numeric_dtype(dtype) and getattr(dtype, "kind", "O") in "iufc":
            return Number(name)
        if isinstance(dtype, pd.StringDtype):
            return Text(name, entries)
        if getattr(dtype, "kind", "O") in "mM":
            return Date(name, entries)
        return column_of_objects(name, entries, cell)

    def joined(self, background: Any, dtype: Any, cell: Any) -> Any:
        """See `Library.joined`."""
        import pandas as pd

        if isinstance(background, pd.CategoricalDtype) and not missing(cell) and cell not in background.categories:
            listed = background.categories.tolist()
            more = dtype.categories.tolist() if isinstance(dtype, pd.CategoricalDtype) else [cell]
            return pd.CategoricalDtype([*listed, *(c for c in more if c not in listed)], background.ordered)
        if isinstance(background, np.dtype) and background.kind in "iu" and is_whole(cell):
            return background if within(background, cell) else np.dtype(np.int64)
        return background

    def hold(self, column: Column, dtype: Any, entries: list[Any]) -> Any:
        """See `Library.hold`."""
        import pandas as pd

        if isinstance(dtype, np.dtype) and dtype.kind == "f" and all(isinstance(e, float) for e in entries):
            return np.array(entries, dtype=dtype)
        knows_missing = pd.api.types.is_extension_array_dtype(dtype)
        if pd.api.types.is_integer_dtype(dtype) and not all_whole(entries, or_missing=knows_missing):
            check_exact(entries)
            dtype = _promoted(dtype)
            entries = [np.nan if missing(e) and dtype == "float64" else e for e in entries]
        elif knows_missing:
            entries = [pd.NA if missing(e) else e for e in entries]
        if not pd.api.types.is_object_dtype(dtype):
            entries = column.fit(entries)
        if isinstance(column, Flag) and None in entries and isinstance(dtype, np.dtype) and dtype.kind == "b":
            raise Misfit("nothing is missing there")
        return pd.Series(entries, dtype=dtype).array

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


def _promoted(dtype: Any) -> Any:
    """The floats of the same family of dtypes."""
    import pandas as pd

    if isinstance(dtype, pd.ArrowDtype):
        return "double[pyarrow]"
    return "Float64" if pd.api.types.is_extension_array_dtype(dtype) else "float64"


def _kept(array: Any) -> Any:
    """A column that pandas takes as it is: texts among its objects make it guess another dtype."""
    import pandas as pd

    if not (isinstance(array, pd.arrays.NumpyExtensionArray) and array.dtype.kind == "O"):
        return array
    return pd.Series(array, dtype=object, copy=False)
