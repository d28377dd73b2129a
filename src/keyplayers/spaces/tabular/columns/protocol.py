"""What a column of any kind can be asked."""

from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np

from ...._base.arrays import Floats
from ....errors import InputError
from ..entries import Entries, missing

# how a table of texts spells that a number, a flag or a day is missing
SPELLED_MISSING = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "None", "NaT"))


class Misfit(ValueError):
    """An entry is of another kind than its column; the message completes "..., which it cannot hold: "."""


class Column(Protocol):
    """One column of a table. Its kind is decided by dtype and background, never by the instance's cell."""

    @property
    def name(self) -> Hashable:
        """What the table calls it."""

    @property
    def is_worded(self) -> bool:
        """Whether no number stands for "masked" here: then a number meant for all columns is not meant for it."""

    @property
    def absent(self) -> Any:
        """What stands for a missing entry."""

    @property
    def neutral(self) -> Any:
        """What masking puts in where nothing is known; None where there is no such value."""

    def typical(self, entries: Entries, strategy: str) -> Any:
        """The "mean", "median" or "most_frequent" of the entries, at least one of which is not missing.

        Where a kind has no mean or median, its most frequent entry stands for them.

        Raises
        ------
        InputError
            The entries are of another kind.
        """

    def read(self, cell: Any) -> Any:
        """A cell of an instance that does not know the column's dtype: a row of JSON or CSV, a Series.

        Raises
        ------
        Misfit
            It is of another kind.
        """

    def fit(self, entries: list[Any]) -> list[Any]:
        """Entries as this kind writes them.

        Raises
        ------
        Misfit
            One of them is of another kind; libraries would turn it into something.
        """

    def distances(self, entries: Entries, value: Any) -> Floats:
        """How far the entries [N] are from a value, each between 0 and 1; 1 where one of the two is missing."""


def most_frequent_of(column: Column, entries: Entries) -> Any:
    """`Entries.most_frequent`, with an error that names the column."""
    try:
        return entries.most_frequent()
    except TypeError as error:
        raise InputError(
            f"column {column.name!r} holds {type(entries.first[0]).__name__}, of which none is the most frequent: "
            f"give baseline={{{column.name!r}: value}}"
        ) from error


def unequal(entries: Entries, value: Any) -> Floats:
    """Distances [N] of what is equal or not."""
    codes, places = entries.codes
    code = -1 if missing(value) else places.get(value, len(places))
    return np.asarray(codes != code, dtype=np.float64)


def gaps(numbers: Floats, value: float) -> Floats:
    """Distances [N] of numbers, in units of the range that nine in ten of them keep to (Gower 1971, capped).

    References
    ----------
    Gower 1971, "A general coefficient of similarity and some of its properties", doi:10.2307/2528823.
    """
    known = numbers[~np.isnan(numbers)]
    if np.isnan(value) or not len(known):
        return np.asarray(np.isnan(numbers) != np.isnan(value), dtype=np.float64)
    low, high = np.quantile(known, (0.05, 0.95))
    width = (high - low) or (known.max() - known.min()) or 1.0
    far = np.minimum(1.0, np.abs(numbers - value) / width)
    return np.where(np.isnan(numbers), 1.0, far)


def refuse_numbers(entries: list[Any]) -> None:
    """Refuse numbers, of which a library would make texts or days."""
    if any(isinstance(entry, (int, float)) and not missing(entry) for entry in entries):
        raise Misfit("no number stands there")
