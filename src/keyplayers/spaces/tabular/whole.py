"""Whole numbers, which keep their digits."""

from typing import Any

import numpy as np

from .columns.protocol import Misfit
from .entries import missing


def is_whole(entry: Any) -> bool:
    """Whether this is a whole number."""
    return isinstance(entry, (int, float, np.number)) and not missing(entry) and float(entry).is_integer()


def all_whole(entries: list[Any], *, or_missing: bool) -> bool:
    """Whether a column of integers can hold these, some of which may be missing where it knows what that is."""
    return all(or_missing if missing(entry) else bool(int(entry) == entry) for entry in entries)


def within(dtype: Any, number: Any) -> bool:
    """Whether a dtype of integers reaches as far."""
    return bool(np.iinfo(dtype).min <= number <= np.iinfo(dtype).max)


def check_exact(entries: list[Any]) -> None:
    """Refuse integers that promotion to floats would round.

    Raises
    ------
    Misfit
        There is one.
    """
    if any(isinstance(entry, (int, np.integer)) and int(float(entry)) != entry for entry in entries):
        raise Misfit("too large an integer beside a fraction")
