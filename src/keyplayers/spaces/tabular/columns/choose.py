"""Which kind a column is of."""

import datetime
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from ..entries import Entries, missing
from .anything import Anything
from .date import Date
from .flag import Flag
from .number import Number
from .protocol import Column
from .text import Text


class Known(NamedTuple):
    """What is known of a column beside its dtype."""

    name: Hashable
    entries: Entries | None  # of the background
    cell: Any  # of the instance


def column_of_array(dtype: Any, known: Known) -> Column:
    """The column of an array of this dtype; among objects what the background holds decides."""
    match dtype.kind:
        case "b":
            return Flag(known.name)
        case "i" | "u" | "f" | "c":
            return Number(known.name)
        case "U" | "S":
            return Text(known.name, known.entries)
        case "M" | "m":
            return Date(known.name, known.entries)
        case _:
            return column_of_objects(known)


def column_of_objects(known: Known) -> Column:
    """The column that holds these objects or, where no background is known, this one."""
    held = [] if known.entries is None else known.entries.present.tolist()
    if not held and not missing(known.cell):
        held = [known.cell]
    match _kind_of(set(map(type, held))):
        case "flag":
            return Flag(known.name)
        case "number":
            return Number(known.name)
        case "text":
            return Text(known.name, known.entries)
        case "date":
            return Date(known.name, known.entries)
        case _:
            return Anything(known.name)


def _kind_of(types: set[type]) -> str | None:
    """The kind of objects of these types; where nothing is known, they may be numbers."""
    for kind, accepted in _KINDS.items() if types else ():
        if all(issubclass(each, accepted) for each in types):
            return kind
    return None if types else "number"


# kind -> types that all objects of such a column have; the first that fits counts
_KINDS: dict[str, tuple[type, ...]] = {
    "flag": (bool, np.bool_),
    "number": (int, float, complex, np.number, np.bool_),
    "text": (str,),
    "date": (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64),
}
