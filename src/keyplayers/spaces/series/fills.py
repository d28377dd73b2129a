"""What masking puts in the place of a series' steps."""

from typing import Any

import numpy as np

from ..._base.arrays import Bools, Ints
from ...errors import InputError
from ..filling import Fill, FillFrom, held, in_dtype

Steps = np.ndarray[Any, np.dtype[Any]]

_NAMES = {"mean": "the mean", "linear": "a straight line"}
WORDS = tuple(_NAMES)


class Bridge:
    """A straight line from the last step before what is masked to the first one after it, in each channel.

    At an end the nearest step goes on; where a whole channel is masked it is its mean.
    """

    n_backgrounds = 1
    words = _NAMES["linear"]

    def put(self, series: Steps, masked: Bools, backgrounds: Ints) -> Steps:
        """See `Fill`."""
        n_steps = len(series)
        place = np.arange(n_steps)[:, None]
        before = np.maximum.accumulate(np.where(masked, -1, place), axis=1)
        after = np.minimum.accumulate(np.where(masked, n_steps, place)[:, ::-1], axis=1)[:, ::-1]
        left = np.where(before < 0, np.minimum(after, n_steps - 1), before)
        right = np.where(after == n_steps, np.maximum(before, 0), after)
        part = (place - left) / np.maximum(right - left, 1)
        channel = np.arange(series.shape[1])
        values = series.astype(np.float64)
        low, high = values[left, channel], values[right, channel]
        filled = np.where((before < 0) & (after == n_steps), values.mean(axis=0), low + part * (high - low))
        return np.where(masked, in_dtype(filled, series.dtype), series)

    def changes(self, series: Steps) -> Bools:
        """See `Fill`; a channel that never varies never changes."""
        return np.broadcast_to((series != series[:1]).any(axis=0), series.shape)


def make_fill(fill: Any, series: Steps, transposed: bool) -> Fill:
    """The fill that a setting means for a series [T, C].

    Parameters
    ----------
    transposed
        Whether series are given as [C, T].

    Raises
    ------
    InputError
        The series' dtype cannot hold it, or its shape is another one.
    """
    if isinstance(fill, str):
        if fill == "linear":
            return Bridge()
        mean = in_dtype(np.nanmean(series.astype(np.float64), axis=0), series.dtype)
        return FillFrom.of(mean, series, _NAMES[fill])
    given = held(fill, series.dtype, '"mean" or "linear"')
    if given.ndim == 0:
        return FillFrom.of(given, series, str(fill))
    if not _fits(given, series, transposed):
        raise InputError(
            f"series to fill from have the shape of the series, or (R, ...) for several of them; got {given.shape}"
        )
    several = given.reshape(-1, *(series.shape[::-1] if transposed else series.shape))
    words = "another series" if len(several) == 1 else f"one of {len(several)} series"
    return FillFrom(np.swapaxes(several, 1, 2) if transposed else several, words)


def _fits(given: Any, series: Steps, transposed: bool) -> bool:
    """Whether these are one or several series of the same shape; a series of one channel may lack its axis."""
    own = series.shape[::-1] if transposed else series.shape
    shapes = [own, own[:1]] if series.shape[1] == 1 and not transposed else [own]
    return any(given.shape[-len(shape) :] == shape and given.ndim <= len(shape) + 1 for shape in shapes)
