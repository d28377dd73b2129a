"""Which kind a column is of."""

import datetime
from collections.abc import Hashable
from typing import Any

import numpy as np

from ..entries import Entries, missing
from .anything import Anything
from .date import Date
from .flag import Flag
from .number import Number
from .protocol import Column
from .text import Text


def column_of_array(name: Hashable, dtype: Any, entries: Entries | None, cell: Any) -> Column:
    """The column of an array of this dtype; among objects what the background holds decides."""
    match dtype.kind:
        case "b":
            return Flag(name)
        case "i" | "u" | "f" | "c":
            return Number(name)
        case "U" | "S":
            return Text(name, entries)
        case "M" | "m":
            return Date(name, entries)
        case _:
            return column_of_objects(name, entries, cell)


def column_of_objects(name: Hashable, entries: Entries | None, cell: Any) -> Column:
    """The column that holds these objects or, where no background is known, this one."""
    known = [] if entries is None else entries.present.tolist()
    if not known and not missing(cell):
        known = [cell]
    types = set(map(type, known))
    if all(issubclass(kind, (bool, np.bool_)) for kind in types) and types:
        return Flag(name)
    if all(issubclass(kind, (int, float, complex, np.number, np.bool_)) for kind in types):
        return Number(name)
    if all(issubclass(kind, str) for kind in types):
        return Text(name, entries)
    if all(issubclass(kind, _DAYS) for kind in types):
        return Date(name, entries)
    return Anything(name)


_DAYS = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
