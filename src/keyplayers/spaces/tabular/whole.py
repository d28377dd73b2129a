"""Whole numbers, which keep their digits."""

from typing import Any

import numpy as np

from .columns.protocol import Misfit
from .entries import missing


def all_whole(entries: list[Any]) -> bool:
    """Whether a column of integers can hold these, none of which may be missing."""
    return all(not missing(entry) and bool(int(entry) == entry) for entry in entries)


def check_exact(entries: list[Any]) -> None:
    """Refuse integers that promotion to floats would round.

    Raises
    ------
    Misfit
        There is one.
    """
    if any(isinstance(entry, (int, np.integer)) and int(float(entry)) != entry for entry in entries):
        raise Misfit("too large an integer beside a fraction")
