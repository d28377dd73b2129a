"""Tables of any kind, column by column, and the entries of one column."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from ..._base.arrays import Bools, Floats, Ints
from ..._base.frames import column_labels, is_frame, read_frame
from ...errors import InputError

if TYPE_CHECKING:
    from .columns.protocol import Column

# so many entries of a column are looked at before all of them are
_HEAD = 1000


@dataclass(frozen=True, eq=False)
class Entries:
    """One column of a table."""

    held: Any  # array, pandas Series or narwhals Series
    _typical: dict[tuple[type, str], Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.held)

    def taken(self, picks: Ints) -> Any:
        """Some of the entries, held alike."""
        if isinstance(self.held, np.ndarray):
            return self.held[picks]
        return self.held[picks.tolist()] if isinstance(self.held, nw.Series) else self.held.iloc[picks]

    def typical(self, column: "Column", strategy: str) -> Any:
        """`Column.typical`, computed once."""
        key = (type(column), strategy)
        if key not in self._typical:
            self._typical[key] = column.typical(self, strategy)
        return self._typical[key]

    def listed(self) -> list[Any]:
        """The entries as Python values; days of an array as NumPy's."""
        if isinstance(self.held, np.ndarray) and self.held.dtype.kind in "mM":
            return list(self.held)
        entries: list[Any] = self.held.to_list() if hasattr(self.held, "to_list") else self.held.tolist()
        return entries

    @cached_property
    def present(self) -> npt.NDArray[Any]:
        """Those that are not missing, in order, as an array of numbers, days or objects."""
        if isinstance(self.held, np.ndarray):
            return _without_missing(self.held)
        if isinstance(self.held, nw.Series):
            return _without_missing(_from_narwhals(self.held.drop_nulls()))
        return _without_missing(_from_pandas(self.held.dropna()))

    @cached_property
    def numbers(self) -> Floats:
        """All entries as floats, NaN where one is missing."""
        held = self.held
        if isinstance(held, np.ndarray) and held.dtype.kind in "biuf":
            return held.astype(np.float64)
        if isinstance(held, nw.Series) and (held.dtype.is_numeric() or held.dtype == nw.Boolean()):
            return held.cast(nw.Float64()).to_numpy().astype(np.float64)
        return np.array([np.nan if missing(entry) else float(entry) for entry in self.listed()])

    @cached_property
    def codes(self) -> tuple[Ints, dict[Any, int]]:
        """All entries as codes, -1 where one is missing, and the code of each."""
        places: dict[Any, int] = {}
        listed = [None if missing(entry) else entry for entry in self.listed()]
        codes = [-1 if entry is None else places.setdefault(entry, len(places)) for entry in listed]
        return np.array(codes, dtype=np.int64), places

    @cached_property
    def first(self) -> list[Any]:
        """The first ones that are not missing, as Python values; empty where all are."""
        head = self.taken(np.arange(min(len(self), _HEAD)))
        found = [entry for entry in Entries(head).listed() if not missing(entry)]
        if found or len(head) == len(self):
            return found
        at = int(np.argmin(self._are_missing()))
        return [entry for entry in Entries(self.taken(np.array([at]))).listed() if not missing(entry)]

    def _are_missing(self) -> Bools:
        """Which entries are missing."""
        if isinstance(self.held, np.ndarray) and self.held.dtype.kind != "O":
            return np.asarray(self.held != self.held)
        if not isinstance(self.held, np.ndarray) and not isinstance(self.held, nw.Series):
            return np.asarray(self.held.isna())
        return np.array([missing(entry) for entry in self.listed()])

    def most_frequent(self) -> Any:
        """The most frequent entry, of several the one that comes first, as a Python value.

        Raises
        ------
        TypeError
            The entries are lists or the like.
        """
        if isinstance(self.held, nw.Series) and self.held.dtype == nw.String():
            encoded = self.held.drop_nulls().to_arrow().dictionary_encode()
            return encoded.dictionary[int(np.bincount(encoded.indices.to_numpy()).argmax())].as_py()
        if not isinstance(self.held, np.ndarray | nw.Series) and self.present_is_worded:
            import pandas as pd

            codes, values = pd.factorize(self.held)  # in the order in which they come, -1 for missing ones
            value = values[int(np.bincount(codes[codes >= 0]).argmax())]
            return value.item() if isinstance(value, np.generic) else value
        return _most_frequent(self.present)

    @property
    def present_is_worded(self) -> bool:
        """Whether a pandas Series holds texts, categories or other objects."""
        return getattr(self.held.dtype, "kind", "O") == "O"


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in the columns of an instance."""

    columns: list[Entries]  # [D]
    n_rows: int
    dtype: Any = None  # of an array

    @classmethod
    def read(cls, table: Any, names: list[Any], what: str) -> "Table":
        """A table's columns in the order of `names`.

        Raises
        ------
        InputError
            It lacks one of them, or has no row.
        """
        if nw.dependencies.is_pandas_series(table):
            table = table.to_frame().T.infer_objects()
        return cls._of_frame(table, names, what) if looks_like_frame(table) else cls._of_array(table, names, what)

    @classmethod
    def _of_frame(cls, table: Any, names: list[Any], what: str) -> "Table":
        frame = read_frame(table)
        has, wanted = column_labels(table), names
        lacking = [name for name in names if name not in has]
        if lacking and len(has) == len(names) and names == list(range(len(names))):
            lacking, wanted = [], has  # an array's columns are those of the frame in their order
        if lacking:
            raise InputError(f"the {what} lacks the columns {', '.join(map(repr, lacking[:10]))}")
        if not len(frame):
            raise InputError(f"the {what} must have at least one row")
        held: Any = table if nw.dependencies.is_pandas_dataframe(table) else frame
        return cls([Entries(held[name]) for name in wanted], len(frame))

    @classmethod
    def _of_array(cls, table: Any, names: list[Any], what: str) -> "Table":
        array = as_array(table)
        if array.ndim == 1:
            array = array[None]
        if array.ndim != 2 or array.shape[1] != len(names) or len(array) == 0:
            raise InputError(
                f"the {what} must have {len(names)} columns and at least one row, got shape {array.shape}"
            )
        return cls([Entries(column) for column in array.T], len(array), array.dtype)

    def picked(self, picks: Ints) -> list[list[Any]]:
        """Some rows as lists of Python values."""
        parts = [Entries(column.taken(picks)).listed() for column in self.columns]
        return [list(row) for row in zip(*parts, strict=True)]

    def rows(self) -> list[list[Any]]:
        """All rows as lists of Python values."""
        return [list(row) for row in zip(*(column.listed() for column in self.columns), strict=True)]


def missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA refuses to be true or false
        return True
    except ValueError:  # an array in a cell
        return False


def same(a: Any, b: Any) -> bool:
    """Whether masking would put in what is there already; NaN equals NaN."""
    if a is b or (missing(a) and missing(b)):
        return True
    if missing(a) or missing(b) or isinstance(a, str) != isinstance(b, str):
        return False
    return bool(np.all(a == b))  # a cell may hold an array


_NO_FRAMES = (np.ndarray, np.generic, list, tuple, dict, str, bytes, int, float)


def looks_like_frame(data: Any) -> bool:
    """Whether this is a data frame; narwhals takes its time to recognise what is none."""
    return data is not None and not isinstance(data, _NO_FRAMES) and is_frame(data)


def as_array(data: Any) -> npt.NDArray[Any]:
    """An array that keeps mixed values as they are, instead of turning them all into text."""
    if isinstance(data, np.ndarray):
        return data
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise InputError(f"rows of different lengths make no table: {error}") from error
    if array.dtype.kind in "US":
        return np.array(data, dtype=object)
    return array


def as_objects(values: list[Any]) -> npt.NDArray[np.object_]:
    """Python values [n] in an array that leaves them as they are, lists among them."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _without_missing(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind == "O":
        return array[_present(array)]
    if array.dtype.kind in "fcmM":
        return np.ascontiguousarray(array[array == array])
    return np.ascontiguousarray(array)


def _present(array: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Which objects are not missing."""
    try:
        known = (array == array) & (array != None)  # noqa: E711 - element by element
        if isinstance(known, np.ndarray) and known.dtype == bool:
            return known
    except (TypeError, ValueError):  # pandas' NA, an array in a cell
        pass
    return np.array([not missing(entry) for entry in array.tolist()], dtype=bool)


def _from_pandas(series: Any) -> npt.NDArray[Any]:
    """A Series in which nothing is missing: numbers, booleans and days as such, all else as objects."""
    import pandas as pd

    dtype = series.dtype
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        plain = getattr(dtype, "numpy_dtype", dtype)  # of nullable and of Arrow's numbers
        if isinstance(plain, np.dtype) and plain.kind != "O":
            return series.to_numpy(dtype=plain)  # type: ignore[no-any-return]
    if isinstance(dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert(None)
    array = series.to_numpy()
    return array if array.dtype.kind in "OmM" else as_objects(array.tolist())


def _from_narwhals(series: Any) -> npt.NDArray[Any]:
    """A Series in which nothing is null: numbers, booleans and days as such, all else as objects."""
    dtype = series.dtype
    if (dtype.is_numeric() and not dtype.is_decimal()) or dtype == nw.Boolean() or dtype.is_temporal():
        array: npt.NDArray[Any] = series.to_numpy()
        if array.dtype.kind != "O":
            return array
    return as_objects(series.to_list())


def _most_frequent(present: npt.NDArray[Any]) -> Any:
    if present.dtype.kind != "O":
        values, firsts, counts = np.unique(present, return_index=True, return_counts=True)
        among = np.flatnonzero(counts == counts.max())
        return values[among[firsts[among].argmin()]].item()
    counted = Counter(present.tolist())
    return max(counted, key=counted.__getitem__)
