"""Columns of numbers."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._base.arrays import Floats
from ....errors import InputError
from ..entries import Entries, missing
from .protocol import gaps, most_frequent


@dataclass(frozen=True)
class Number:
    """Numbers: masked with their mean."""

    name: Hashable
    absent: Any = np.nan
    is_worded: bool = False
    neutral: Any = 0

    def typical(self, entries: Entries, strategy: str) -> Any:
        """See `Column.typical`."""
        present = entries.present
        if strategy == "most_frequent":
            return most_frequent(present)
        try:
            if present.dtype.kind == "c":
                return complex(np.mean(present))
            if present.dtype.kind not in "biufO" or isinstance(entries.first[0], str):
                raise TypeError("no numbers")  # NumPy would read texts as numbers
            numbers = present if present.dtype.kind in "biu" else present.astype(np.float64)
            return float(np.mean(numbers) if strategy == "mean" else np.median(numbers))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"column {self.name!r} is of numbers in the instance, but holds no numbers in the background "
                f"({entries.first[0]!r})"
            ) from error

    def read(self, cell: Any) -> Any:
        """See `Column.read`: a text may spell a number."""
        if not isinstance(cell, str):
            return cell
        try:
            return int(cell)
        except ValueError:
            return float(cell)

    def distances(self, entries: Entries, value: Any) -> Floats:
        """See `Column.distances`."""
        return gaps(entries.numbers, np.nan if missing(value) else float(value))

    def fit(self, entries: list[Any]) -> list[Any]:
        """See `Column.fit`: what is no number, a library refuses."""
        return entries
