"""An instance of any kind, read as names and values in a layout."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from ..._base.frames import column_labels, read_frame
from ...errors import InputError
from .columns.choose import column_of_array
from .columns.code import Code
from .columns.protocol import Column
from .entries import Table, as_array, looks_like_frame
from .groups import position
from .layouts import ArrayLayout, FrameLayout, Layout, library_of


@dataclass(frozen=True, eq=False)
class Row:
    """An instance, and the background in its columns."""

    names: list[Any]  # [D]
    values: list[Any]  # [D]
    layout: Layout
    table: Table | None


@dataclass(frozen=True, eq=False)
class RowReader:
    """How instances are read.

    Parameters
    ----------
    background
        As given, for its dtypes.
    table_of
        The background in the columns of these names.
    feature_names, categorical
        As in `Tabular`.
    """

    background: Any
    table_of: Callable[[list[Any]], Table | None]
    feature_names: Sequence[Hashable] | None
    categorical: Sequence[Any]

    def __call__(self, instance: Any) -> Row:
        """The instance in the layout that its background has.

        Raises
        ------
        InputError
            It is no single row, or has other columns than the background.
        """
        if nw.dependencies.is_pandas_series(instance):
            frame = instance.to_frame().T.infer_objects().reset_index(drop=True)
            if nw.dependencies.is_pandas_dataframe(self.background):
                frame = with_dtypes(frame, self.background)
            instance = frame
        return self._of_frame(instance) if looks_like_frame(instance) else self._of_array(instance)

    def _of_frame(self, instance: Any) -> Row:
        frame = read_frame(instance)
        if len(frame) != 1:
            raise InputError(f"one row is explained at a time; the frame given has {len(frame)} rows")
        if self.feature_names is not None and list(self.feature_names) != column_labels(instance):
            raise InputError("feature_names are for arrays: a frame has names of its own")
        # columns of pandas may have other names than texts
        native = instance if nw.dependencies.is_pandas_dataframe(instance) else frame.to_native()
        names = column_labels(instance)
        library = library_of(native)
        table = self.table_of(names)
        dtypes, values = library.dtypes(native), library.cells(native)
        held = [None] * len(names) if table is None else table.columns
        columns = [library.column(*column) for column in zip(names, dtypes, held, values, strict=True)]
        return Row(names, values, FrameLayout(self._coded(names, columns), dtypes, library), table)

    def _of_array(self, instance: Any) -> Row:
        array = as_array(instance)
        if array.ndim == 2 and array.shape[0] == 1:
            array = array[0]
        if array.ndim != 1:
            raise InputError(
                "a row is an array of shape (n,) or (1, n), a list, or a frame of one row; "
                f"got shape {array.shape}"
            )
        names = self._names(len(array))
        table = self.table_of(names)
        held = [None] * len(names) if table is None else table.columns
        values = array.tolist() if array.dtype.kind in "Obiuf" else list(array)
        columns = [
            column_of_array(name, array.dtype, entries, value)
            for name, entries, value in zip(names, held, values, strict=True)
        ]
        absent = np.nan if array.dtype.kind in "biufc" else None
        columns = [replace(column, absent=absent) for column in columns]  # type: ignore[type-var]
        columns = self._coded(names, columns)
        codes = [place for place, column in enumerate(columns) if isinstance(column, Code)]
        return Row(names, values, ArrayLayout(columns, array.dtype, codes), table)

    def _names(self, n_columns: int) -> list[Any]:
        """Names of an array's columns."""
        if self.feature_names is None:
            return list(range(n_columns))
        names = list(self.feature_names)
        if len(names) != n_columns:
            raise InputError(f"the row has {n_columns} columns, but {len(names)} feature_names were given")
        if len(set(names)) != len(names):
            raise InputError("feature_names must be unique")
        return names

    def _coded(self, names: list[Any], columns: list[Column]) -> list[Column]:
        """The columns, those that hold codes as such."""
        codes = {position(names, name, "categorical") for name in self.categorical}
        return [
            column if place not in codes or column.is_worded else Code(column.name, column.absent)
            for place, column in enumerate(columns)
        ]


def with_dtypes(frame: Any, like: Any) -> Any:
    """A row that was a Series, which knows one dtype for all, with the dtypes of a table."""
    from .entries import missing

    lacking = [name for name in frame.columns if name not in like.columns]
    if lacking:
        raise InputError(f"the background lacks the columns {', '.join(map(repr, lacking[:10]))}")
    for name in frame.columns:
        dtype, value = like[name].dtype, frame[name].tolist()[0]
        try:
            if hasattr(dtype, "categories") and not missing(value) and value not in dtype.categories:
                raise ValueError("none of the categories")  # pandas would make it missing
            frame[name] = frame[name].astype(dtype)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"column {name!r} holds {value!r}, but in the background it is of {dtype}: "
                "give the row as a frame of one row"
            ) from error
    return frame
