"""Columns of codes: numbers or words that only name something."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._base.arrays import Floats
from ..entries import Entries
from .protocol import most_frequent_of, unequal


@dataclass(frozen=True)
class Code:
    """Codes: masked with the most frequent one, as no code lies between two others."""

    name: Hashable
    absent: Any = np.nan
    is_worded: bool = False
    neutral: Any = 0

    def typical(self, entries: Entries, strategy: str) -> Any:
        """See `Column.typical`."""
        return most_frequent_of(self, entries)

    def read(self, cell: Any) -> Any:
        """See `Column.read`: any code may be new."""
        return cell

    def distances(self, entries: Entries, value: Any) -> Floats:
        """See `Column.distances`."""
        return unequal(entries, value)

    def fit(self, entries: list[Any]) -> list[Any]:
        """See `Column.fit`: any code may be new."""
        return entries
