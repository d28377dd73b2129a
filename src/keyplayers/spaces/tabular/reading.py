"""An instance of any kind, read as names and values in a layout."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from ..._base.frames import column_labels, read_frame
from ..._base.optional import require
from ...errors import InputError
from .columns.choose import Known, column_of_array
from .columns.code import Code
from .columns.protocol import Column, Misfit
from .entries import Table, as_array, looks_like_frame
from .groups import position
from .layouts import ArrayLayout, FrameLayout, Layout, holds_all, library_of
from .library import Library


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

    What is known of the background, and of arrays like those that came before, is worked out once.

    Parameters
    ----------
    background, feature_names, categorical
        As in `Tabular`.
    """

    background: Any
    feature_names: Sequence[Hashable] | None
    categorical: Sequence[Any]
    _tables: dict[tuple[Any, ...], Table] = field(default_factory=dict)
    _layouts: dict[tuple[Any, ...], ArrayLayout] = field(default_factory=dict)

    @cached_property
    def like(self) -> Any:
        """The background as a frame, None where it is none."""
        if self.background is None or not looks_like_frame(self.background):
            return None
        if nw.dependencies.is_pandas_dataframe(self.background):
            return self.background
        return read_frame(self.background).to_native()

    def table_of(self, names: list[Any]) -> Table | None:
        """The background in the columns of an instance."""
        if self.background is None:
            return None
        key = tuple(names)
        if key not in self._tables:
            self._tables[key] = Table.read(self.background, names, "background")
        return self._tables[key]

    def __call__(self, instance: Any) -> Row:
        """The instance in the layout that its background has.

        Raises
        ------
        InputError
            It is no single row, or has other columns than the background.
        """
        if nw.dependencies.is_pandas_series(instance):
            instance = instance.to_frame().T.infer_objects().reset_index(drop=True)
        if isinstance(instance, Mapping):
            return self._of_mapping(instance)
        return self._of_frame(instance) if looks_like_frame(instance) else self._of_array(instance)

    def _of_mapping(self, instance: Mapping[Any, Any]) -> Row:
        """A row of JSON or CSV: values by the names of their columns."""
        if self.like is not None:
            names = self._ordered(list(instance))
            return self._in_frame(library_of(self.like), names, [instance[name] for name in names], None)
        if self.feature_names is None:
            return self._of_frame(require("pandas").DataFrame([dict(instance)]))
        lacking = [name for name in self.feature_names if name not in instance]
        if lacking:
            raise InputError(f"the row lacks the columns {', '.join(map(repr, lacking[:10]))}")
        return self._of_array([instance[name] for name in self.feature_names])

    def _of_frame(self, instance: Any) -> Row:
        frame = read_frame(instance)
        if len(frame) != 1:
            raise InputError(f"one row is explained at a time; the frame given has {len(frame)} rows")
        if self.feature_names is not None and list(self.feature_names) != column_labels(instance):
            raise InputError("feature_names are for arrays: a frame has names of its own")
        # columns of pandas may have other names than texts
        native = instance if nw.dependencies.is_pandas_dataframe(instance) else frame.to_native()
        library = library_of(native)
        of_names = zip(column_labels(instance), library.cells(native), library.dtypes(native), strict=True)
        by_name = {name: (cell, dtype) for name, cell, dtype in of_names}
        names = self._ordered(list(by_name))
        cells, dtypes = ([by_name[name][part] for name in names] for part in (0, 1))
        return self._in_frame(library, names, cells, dtypes)

    def _ordered(self, names: list[Any]) -> list[Any]:
        """The columns in the order of the background, which is the model's."""
        if self.like is None:
            return names
        known = column_labels(self.like)
        if any(name not in known for name in names):
            return names  # reading the background says which it lacks
        return sorted(names, key={name: at for at, name in enumerate(known)}.__getitem__)

    def _in_frame(self, library: Library, names: list[Any], cells: list[Any], dtypes: list[Any] | None) -> Row:
        """A row as a frame; where the background is one of the same library, in its dtypes."""
        table = self.table_of(names)
        held = [None] * len(names) if table is None else table.columns
        own = dtypes or [None] * len(names)
        like = None
        if self.like is not None and library_of(self.like) == library:
            like = dict(zip(column_labels(self.like), library.dtypes(self.like), strict=True))
        values, columns, chosen = [], [], []
        for name, cell, dtype, entries in zip(names, cells, own, held, strict=True):
            column = library.column(dtype if like is None else like[name], Known(name, entries, cell))
            # NumPy takes None for the dtype of floats
            if like is not None and (dtype is None or dtype != like[name]):
                cell, dtype = _as_in(column, like[name], dtype, cell, library)
                column = library.column(dtype, Known(name, entries, cell))
            values.append(cell)
            columns.append(column)
            chosen.append(dtype)
        return Row(names, values, FrameLayout(self._coded(names, columns), chosen, library), table)

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
        array = array.astype(_array_dtype(array, table), copy=False)
        values = array.tolist() if array.dtype.kind in "Obiuf" else list(array)
        key = (*names, array.dtype.str)
        if array.dtype.kind == "O":  # among objects the cell may have to say of which kind its column is
            return Row(names, values, self._array_layout(names, values, array.dtype, table), table)
        if key not in self._layouts:
            self._layouts[key] = self._array_layout(names, values, array.dtype, table)
        return Row(names, values, self._layouts[key], table)

    def _array_layout(self, names: list[Any], values: list[Any], dtype: Any, table: Table | None) -> ArrayLayout:
        """The columns of an array of this dtype."""
        held = [None] * len(names) if table is None else table.columns
        known = [Known(*each) for each in zip(names, held, values, strict=True)]
        columns = [column_of_array(dtype, each) for each in known]
        absent = np.nan if dtype.kind in "biufc" else None
        columns = [replace(column, absent=absent) for column in columns]  # type: ignore[type-var]
        columns = self._coded(names, columns)
        codes = [place for place, column in enumerate(columns) if isinstance(column, Code)]
        return ArrayLayout(columns, dtype, codes)

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


def _array_dtype(array: Any, table: Table | None) -> Any:
    """The dtype of a background that is an array of numbers too, where it holds the row."""
    dtype = None if table is None else table.dtype
    if dtype is None or array.dtype.kind not in "iuf":
        return array.dtype
    holds = dtype.kind == "f" or (dtype.kind in "iu" and holds_all(dtype, array))
    return dtype if holds else array.dtype


def _as_in(column: Column, background: Any, dtype: Any, cell: Any, library: Library) -> tuple[Any, Any]:
    """A cell of another dtype, or of none, as the background would write it, and the dtype that holds both."""
    try:
        value = column.read(cell)
    except Misfit as error:
        plain = cell.item() if isinstance(cell, np.generic) else cell
        raise InputError(
            f"column {column.name!r} holds {plain!r}, but in the background it is of {background}: {error}"
        ) from error
    return value, library.joined(background, dtype, value)
