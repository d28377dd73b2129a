"""What masking puts in the place of numbers in an array: the same of images and of series."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._base.arrays import Bools, Floats, Ints
from ..errors import InputError

Numbers = np.ndarray[Any, np.dtype[Any]]


class Fill(Protocol):
    """What masked entries become."""

    @property
    def n_backgrounds(self) -> int:
        """Arrays that they can come from."""

    @property
    def words(self) -> str:
        """What it is called."""

    def put(self, instance: Numbers, masked: Bools, backgrounds: Ints) -> Numbers:
        """A batch [B, ...] of the instance [...] with its masked entries [B, ...] filled."""

    def changes(self, instance: Numbers) -> Bools:
        """Whether masking an entry can change it [...]."""


@dataclass(frozen=True, eq=False)
class FillFrom:
    """Masked entries come from one of R arrays [R, ...] of the instance's shape and dtype."""

    arrays: Numbers
    words: str

    @classmethod
    def of(cls, entries: Numbers, like: Numbers, words: str) -> "FillFrom":
        """One array, made of what can be broadcast to the shape of `like`."""
        return cls(np.broadcast_to(entries, (1, *like.shape)), words)

    @property
    def n_backgrounds(self) -> int:
        """R."""
        return len(self.arrays)

    def put(self, instance: Numbers, masked: Bools, backgrounds: Ints) -> Numbers:
        """See `Fill`."""
        there = self.arrays[0] if len(self.arrays) == 1 else self.arrays[backgrounds]
        return np.where(masked, there, instance)

    def changes(self, instance: Numbers) -> Bools:
        """See `Fill`."""
        same = (self.arrays == instance) | ((self.arrays != self.arrays) & (instance != instance))
        return np.asarray(~same.all(axis=0))


def in_dtype(values: Floats, dtype: Any) -> Numbers:
    """Numbers within the range of a dtype, in that dtype: rounded where it holds whole numbers."""
    return (values.round() if dtype.kind in "iub" else values).astype(dtype)


def held(given: Any, dtype: Any, words: str) -> Numbers:
    """What a caller puts in, in the dtype of the instance.

    Parameters
    ----------
    words
        What else it might have been, for the message.

    Raises
    ------
    InputError
        It holds no numbers, or some that the dtype cannot hold.
    """
    given = np.asarray(given)
    if given.dtype.kind not in "biuf":
        raise InputError(f"fill must be numbers, {words}, got {given.dtype}")
    with np.errstate(invalid="ignore", over="ignore"):
        found: Numbers = given.astype(dtype)
    if dtype.kind in "iub" and (found != given).any():
        wrong = given[found != given].flat[0]
        raise InputError(
            f"fill holds {wrong}, which {dtype} cannot hold; the instance's dtype is kept, so give whole numbers "
            "in its range"
        )
    return found
