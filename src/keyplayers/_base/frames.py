"""Data frames in and out, through narwhals: any library's frame is accepted, the asked one given back."""

import datetime
from collections.abc import Mapping
from typing import Any, Literal, cast

import narwhals.stable.v2 as nw

from ..errors import InputError
from .optional import require

# types of entries that every library keeps as they are
_COMMON = {str, int, float, bool, bytes, datetime.date, datetime.datetime}
BACKENDS = ("pandas", "polars", "pyarrow")


def is_frame(data: Any) -> bool:
    """Whether `data` is a data frame (pandas, polars, pyarrow, DuckDB, ...), eager or lazy, or an Arrow stream."""
    return (
        nw.dependencies.is_into_dataframe(data)
        or isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame)
        or _is_stream(data)
    )


def _is_stream(data: Any) -> bool:
    """Whether it gives a table by Arrow's PyCapsule stream, as results of databases (ADBC) do."""
    return hasattr(data, "__arrow_c_stream__") and not nw.dependencies.is_into_series(data)


def column_labels(data: Any) -> list[Any]:
    """Columns of a frame as its library calls them: pandas knows others than texts."""
    columns = getattr(data, "columns", None) if nw.dependencies.is_pandas_dataframe(data) else None
    return list(read_frame(data).columns if columns is None else columns)


def read_frame(data: Any) -> "nw.DataFrame[Any]":
    """A frame of any library behind narwhals' interface, its columns called by texts; a lazy one is collected.

    Raises
    ------
    InputError
        Several columns are called the same.
    """
    if nw.dependencies.is_pandas_dataframe(data):
        names = [str(column) for column in data.columns]
        repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if repeated is not None:
            raise InputError(f"columns must have distinct names, but {repeated!r} stands more than once")
        data = data.set_axis(names, axis=1)
    frame = nw.from_native(data, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        import pyarrow as pa

        frame = nw.from_native(pa.RecordBatchReader.from_stream(data).read_all())
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def make_frame(columns: Mapping[str, Any], backend: str = "pandas") -> Any:
    """A native frame of `backend` with these columns.

    Raises
    ------
    InputError
        `backend` is none of "pandas", "polars", "pyarrow".
    MissingPackageError
        The package is not installed.
    """
    if backend not in BACKENDS:
        raise InputError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    require(backend)
    if backend != "pandas":
        # only pandas has columns of mixed Python objects
        columns = {name: _uniform(column) for name, column in columns.items()}
    chosen = cast(Literal["pandas", "polars", "pyarrow"], backend)
    return nw.from_dict(dict(columns), backend=chosen).to_native()


def _uniform(column: Any) -> Any:
    """The column, as texts where it holds several types or one that not every library knows."""
    if not isinstance(column, list):
        return column
    kinds = {type(entry) for entry in column if entry is not None}
    if len(kinds) <= 1 and kinds <= _COMMON and not (kinds == {int} and any(abs(n) >= 2**63 for n in column if n)):
        return column
    return [None if entry is None else str(entry) for entry in column]
