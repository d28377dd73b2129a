"""Columns of words: texts and categories."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from ...._base.arrays import Floats
from ..entries import Entries, missing
from .protocol import Misfit, most_frequent_of, refuse_numbers, unequal


@dataclass(frozen=True)
class Text:
    """Texts: masked with the most frequent one."""

    name: Hashable
    known: Entries | None = None  # of a background
    absent: Any = None
    is_worded: bool = True
    neutral: Any = None

    def typical(self, entries: Entries, strategy: str) -> Any:
        """See `Column.typical`."""
        return most_frequent_of(self, entries)

    def read(self, cell: Any) -> Any:
        """See `Column.read`: a number may have been a text that a reader of tables took for one."""
        if missing(cell) or isinstance(cell, str):
            return cell
        spelled = [str(cell), str(int(cell))] if isinstance(cell, float) and cell.is_integer() else [str(cell)]
        known = {} if self.known is None else self.known.codes[1]
        for text in spelled:
            if text in known:
                return text
        raise Misfit("no text")

    def distances(self, entries: Entries, value: Any) -> Floats:
        """See `Column.distances`."""
        return unequal(entries, value)

    def fit(self, entries: list[Any]) -> list[Any]:
        """See `Column.fit`: a library would take 1 for "1"."""
        refuse_numbers(entries)
        return entries


@dataclass(frozen=True)
class Category:
    """Words or numbers of a list that the dtype knows: masked with the most frequent one."""

    name: Hashable
    listed: Any = ()  # in the order of their codes; none: the library keeps the list to itself
    absent: Any = None
    is_worded: bool = True
    neutral: Any = None

    def typical(self, entries: Entries, strategy: str) -> Any:
        """See `Column.typical`."""
        return most_frequent_of(self, entries)

    def read(self, cell: Any) -> Any:
        """See `Column.read`: the category that is spelled alike; a new one must be of the same type."""
        if missing(cell) or cell in self.listed or not len(self.listed):
            return cell
        for category in self.listed:
            if str(category) == str(cell):
                return category
        if not isinstance(cell, type(self.listed[0])):
            raise Misfit("none of its categories")
        return cell

    def distances(self, entries: Entries, value: Any) -> Floats:
        """See `Column.distances`."""
        return unequal(entries, value)

    def fit(self, entries: list[Any]) -> list[Any]:
        """See `Column.fit`."""
        unknown = [entry for entry in entries if not missing(entry) and entry not in self.listed]
        if unknown and len(self.listed):
            raise Misfit(f"none of its categories: {', '.join(map(repr, self.listed[:10]))}")
        return entries
