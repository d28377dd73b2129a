"""Columns of booleans."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from ...._base.arrays import Floats
from ..entries import Entries, missing
from .protocol import SPELLED_MISSING, Misfit, unequal

_SPELLED = {"true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True)
class Flag:
    """True or false: masked with what is more frequent."""

    name: Hashable
    absent: Any = None
    is_worded: bool = False
    neutral: Any = False

    def typical(self, entries: Entries, strategy: str) -> Any:
        """See `Column.typical`."""
        return entries.most_frequent()

    def read(self, cell: Any) -> Any:
        """See `Column.read`: a text may spell a boolean."""
        if not isinstance(cell, str):
            return cell
        if cell.strip() in SPELLED_MISSING:
            return self.absent
        try:
            return _SPELLED[cell.strip().lower()]
        except KeyError:
            raise Misfit("neither true nor false") from None

    def distances(self, entries: Entries, value: Any) -> Floats:
        """See `Column.distances`."""
        return unequal(entries, value)

    def fit(self, entries: list[Any]) -> list[Any]:
        """See `Column.fit`: a library would take 0.5 for True."""
        if any(not missing(entry) and entry not in (0, 1) for entry in entries):
            raise Misfit("neither true nor false")
        return [None if missing(entry) else bool(entry) for entry in entries]
