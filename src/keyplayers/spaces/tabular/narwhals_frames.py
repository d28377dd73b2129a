"""Columns of the frames that narwhals knows, polars and pyarrow among them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from ..._base.arrays import Ints
from .columns.choose import Known, column_of_objects
from .columns.date import Date
from .columns.flag import Flag
from .columns.number import Number
from .columns.protocol import Column
from .columns.text import Category, Text
from .entries import missing
from .whole import all_whole, check_exact


@dataclass(frozen=True)
class NarwhalsFrames:
    """See `Library`."""

    backend: Any  # narwhals' name of the library

    def names(self, frame: Any) -> list[Any]:
        """See `Library.names`."""
        return list(nw.from_native(frame, eager_only=True).columns)

    def dtypes(self, frame: Any) -> list[Any]:
        """See `Library.dtypes`."""
        return list(nw.from_native(frame, eager_only=True).schema.values())

    def cells(self, frame: Any) -> list[Any]:
        """See `Library.cells`."""
        held = nw.from_native(frame, eager_only=True)
        return [held[name][0] for name in held.columns]

    def column(self, dtype: Any, known: Known) -> Column:
        """See `Library.column`."""
        if isinstance(dtype, (nw.Categorical, nw.Enum)):
            return Category(known.name, dtype.categories if isinstance(dtype, nw.Enum) else ())
        if dtype == nw.Boolean():
            return Flag(known.name)
        if dtype.is_integer() or dtype.is_float():
            return Number(known.name)
        if dtype == nw.String():
            return Text(known.name, known.entries)
        return Date(known.name, known.entries) if dtype.is_temporal() else column_of_objects(known)

    def joined(self, background: Any, dtype: Any, cell: Any) -> Any:
        """See `Library.joined`."""
        if not isinstance(background, nw.Enum) or missing(cell) or cell in background.categories:
            return background
        more = dtype.categories if isinstance(dtype, nw.Enum) else [cell]
        return nw.Enum([*background.categories, *(c for c in more if c not in background.categories)])

    def hold(self, column: Column, dtype: Any, entries: list[Any]) -> Any:
        """See `Library.hold`."""
        entries = [None if missing(entry) and not dtype.is_float() else _plain(entry) for entry in entries]
        if dtype.is_integer() and not all_whole(entries, or_missing=True):
            check_exact(entries)
            dtype = nw.Float64()
        entries = _as_numbers(column.fit(entries), dtype)
        is_listed = isinstance(dtype, (nw.Categorical, nw.Enum))  # texts first, then categories
        # a column in which all is missing may have no type of its own
        known = nw.String() if is_listed else None if isinstance(dtype, nw.Unknown) else dtype
        made = nw.new_series(str(column.name), entries, known, backend=self.backend)
        return made.cast(dtype) if is_listed else made

    def frame(self, names: list[Any], columns: list[Any]) -> Any:
        """See `Library.frame`."""
        made = dict(zip(names, columns, strict=True))
        if self.backend.is_polars():  # narwhals would make categories of its enumerations
            import polars as pl

            return pl.DataFrame({name: nw.to_native(column, pass_through=True) for name, column in made.items()})
        return nw.from_dict(made, backend=self.backend).to_native()

    def block(self, names: list[Any], values: npt.NDArray[Any]) -> Any:
        """See `Library.block`."""
        return self.frame(names, list(values))

    def columns(self, frame: Any) -> Iterator[tuple[Any, Callable[[Ints], Any]]]:
        """See `Library.columns`."""
        held = nw.from_native(frame, eager_only=True)
        for name, dtype in held.schema.items():
            series = held[name]
            plain = (dtype.is_numeric() and not dtype.is_decimal()) or dtype == nw.Boolean()
            yield (series.to_numpy() if plain and not series.is_null().any() else None), partial(_gather, series)


def _gather(series: Any, picks: Ints) -> Any:
    return series[picks.tolist()]


def _as_numbers(entries: list[Any], dtype: Any) -> list[Any]:
    """Entries of a column of numbers as Python's own; others as they are."""
    if not (dtype.is_integer() or dtype.is_float()):
        return entries
    number = int if dtype.is_integer() else float
    return [None if entry is None else number(entry) for entry in entries]


def _plain(entry: Any) -> Any:
    return entry.item() if isinstance(entry, np.generic) else entry
