"""Columns that hold what is none of the other kinds, or several of them."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from ...._base.arrays import Floats
from ..entries import Entries
from .protocol import most_frequent_of, unequal


@dataclass(frozen=True)
class Anything:
    """Objects: masked with the most frequent one."""

    name: Hashable
    absent: Any = None
    is_worded: bool = True
    neutral: Any = None

    def typical(self, entries: Entries, strategy: str) -> Any:
        """See `Column.typical`."""
        return most_frequent_of(self, entries)

    def read(self, cell: Any) -> Any:
        """See `Column.read`."""
        return cell

    def distances(self, entries: Entries, value: Any) -> Floats:
        """See `Column.distances`."""
        return unequal(entries, value)

    def fit(self, entries: list[Any]) -> list[Any]:
        """See `Column.fit`."""
        return entries
