"""Columns of numbers."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...._base.arrays import Floats
from ....errors import InputError
from ..entries import Entries, missing
from .protocol import SPELLED_MISSING, Misfit, gaps

# the largest integers up to which floats tell all from each other
LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Number:
    """Numbers: masked with their mean, which among whole numbers is rounded to one."""

    name: Hashable
    absent: Any = np.nan
    is_worded: bool = False
    neutral: Any = 0

    def typical(self, entries: Entries, strategy: str) -> Any:
        """See `Column.typical`."""
        present = entries.present
        if strategy == "most_frequent":
            return entries.most_frequent()
        try:
            if present.dtype.kind == "c":
                return complex(np.mean(present))
            if present.dtype.kind not in "biufO" or isinstance(entries.first[0], str):
                raise TypeError("no numbers")  # NumPy would read texts as numbers
            return _middle(present, strategy)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"column {self.name!r} is of numbers in the instance, but holds no numbers in the background "
                f"({entries.first[0]!r})"
            ) from error

    def read(self, cell: Any) -> Any:
        """See `Column.read`: a text may spell a number."""
        if not isinstance(cell, str):
            return cell
        if cell.strip() in SPELLED_MISSING:
            return self.absent
        for spelled in (int, float):
            try:
                return spelled(cell)
            except ValueError:
                continue
        raise Misfit("no number")

    def distances(self, entries: Entries, value: Any) -> Floats:
        """See `Column.distances`."""
        return gaps(entries.numbers, np.nan if missing(value) else float(value))

    def fit(self, entries: list[Any]) -> list[Any]:
        """See `Column.fit`: what is no number, a library refuses."""
        return entries


def _middle(present: npt.NDArray[Any], strategy: str) -> float:
    """Mean or median; of whole numbers the whole number next to it."""
    if present.dtype.kind == "O" and all(isinstance(entry, int) for entry in present.tolist()):
        return _exact_middle(present.tolist(), strategy)
    if present.dtype.kind in "iu" and np.abs(present.astype(np.float64)).max() > LARGEST_EXACT:
        return _exact_middle(present.tolist(), strategy)
    numbers = present if present.dtype.kind in "biu" else present.astype(np.float64)
    middle = float(np.mean(numbers) if strategy == "mean" else np.median(numbers))
    return round(middle) if present.dtype.kind in "iu" else middle


def _exact_middle(entries: list[int], strategy: str) -> int:
    """The same of integers that floats would round, such as identifiers."""
    if strategy == "mean":
        return round(Fraction(sum(entries), len(entries)))
    ranked = sorted(entries)
    return round(Fraction(ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2], 2))
