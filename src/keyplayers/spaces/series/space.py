"""`Series`: windows of a series as players."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..._base.arrays import Bools, Ints
from ..._base.settings import NOTHING, YES_OR_NO, Rule, Settings, one_of, setting, whole
from ...errors import InputError
from ..filling import Fill
from . import fills
from .fills import Steps
from .view import SeriesView

# windows of a series where nobody says how long they are; parts of a window that is split
N_WINDOWS, PARTS = 20, 4

_FILL = one_of(*fills.WORDS) | Rule(
    lambda: "a number, or one or several series",
    lambda value: isinstance(value, int | float | list | tuple | np.ndarray) and not isinstance(value, bool),
)
_NAMES = Rule(lambda: "names of the channels", lambda value: isinstance(value, list | tuple))

Window = tuple[int, int, int]  # begin, end, channel (-1: all)


@dataclass(frozen=True, eq=False)
class SeriesInstance:
    """A series cut into windows; see `MaskedInstance`."""

    names: tuple[Hashable, ...]
    maskable: Bools
    display_values: tuple[str, ...]
    display_masked: tuple[str, ...]
    series: Steps  # [T, C]
    shape: tuple[int, ...]  # of the series as it was given
    transposed: bool  # whether that is [C, T]
    windows: tuple[Window, ...]
    labels: Ints  # [T, C] player of each step, -1 where it has none
    channels: tuple[str, ...]
    fill: Fill
    refine: bool

    @property
    def n_backgrounds(self) -> int:
        """Series that masked steps can come from."""
        return self.fill.n_backgrounds

    @property
    def view(self) -> SeriesView:
        """What shows the series."""
        windows = dict(zip(self.names, self.windows, strict=True))
        return SeriesView(self.series.astype(np.float64), self.channels, windows)

    def rows(self, masked: Bools, backgrounds: Ints) -> Steps:
        """Series of the shape and dtype of the one given; see `MaskedInstance.rows`."""
        # steps of no player take the last column, which is never masked
        wide = np.concatenate([masked, np.zeros((len(masked), 1), dtype=bool)], axis=1)
        filled = self.fill.put(self.series, wide[:, self.labels], backgrounds)
        if self.transposed:
            filled = np.swapaxes(filled, 1, 2)
        return np.ascontiguousarray(filled).reshape(len(masked), *self.shape)

    def split(self, chosen: tuple[Hashable, ...]) -> "SeriesInstance | None":
        """The parts of these windows as players, where the space refines and they have more than one step."""
        inside = [self.windows[self.names.index(player)] for player in chosen]
        if not self.refine or all(end - begin == 1 for begin, end, _ in inside):
            return None
        windows = [
            (begin + a, begin + b, channel)
            for begin, end, channel in sorted(inside)
            for a, b in _cuts(end - begin, -(-(end - begin) // PARTS))
        ]
        return _cut(self, windows)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Series(Settings):
    """Windows of a series as players.

    Parameters
    ----------
    window
        Steps of a window, the last one may be shorter; None: about 20 windows.
    channels
        "together": a window covers all channels; "each": every channel has windows of its own.
    fill
        What masked steps become: "mean" of their channel; "linear": a straight line between the steps around them;
        a number; a series of the same shape; or several [R, ...], over which the prediction is averaged. The
        series' dtype must be able to hold it.
    channel_axis
        Axis of the channels of a series of two axes; None: the shorter one.
    channel_names
        Names of the channels; default 0, 1, ...
    refine
        Once a key set is found, split its windows, and look for the key set among their parts; down to steps.

    Examples
    --------
    >>> bound = Series(window=2, fill="linear").bind(np.array([1.0, 9.0, 9.0, 4.0, 5.0]))
    >>> bound.names
    ('steps 0-1', 'steps 2-3', 'step 4')
    >>> bound.rows(np.array([[False, True, False]]), np.zeros(1, dtype=int))
    array([[1.        , 9.        , 7.66666667, 6.33333333, 5.        ]])
    """

    window: int | None = setting(None, NOTHING | whole(1))
    channels: Literal["together", "each"] = setting("together", one_of("together", "each"))
    fill: Any = setting("mean", _FILL)
    channel_axis: int | None = setting(None, NOTHING | Rule(lambda: "0 or 1", lambda v: v in (0, 1, -1, -2)))
    channel_names: Sequence[str] | None = setting(None, NOTHING | _NAMES)
    refine: bool = setting(False, YES_OR_NO)

    def bind(self, instance: Any) -> SeriesInstance:
        """The players of one series: an array [T], [T, C] or [C, T], or a tensor.

        Raises
        ------
        InputError
            It is no series, or `fill` or `channel_names` do not fit it.
        """
        given, transposed = _read(instance, self.channel_axis)
        series = given[:, None] if given.ndim == 1 else given.T if transposed else given
        names = tuple(str(name) for name in self.channel_names or range(series.shape[1]))
        if len(names) != series.shape[1]:
            raise InputError(f"channel_names must name {series.shape[1]} channels, got {len(names)} names")
        length = self.window or max(1, -(-len(series) // N_WINDOWS))
        which = [-1] if self.channels == "together" or series.shape[1] == 1 else range(series.shape[1])
        windows = [(a, b, channel) for channel in which for a, b in _cuts(len(series), length)]
        whole_series = SeriesInstance(
            names=(),
            maskable=np.zeros(0, dtype=bool),
            display_values=(),
            display_masked=(),
            series=series,
            shape=given.shape,
            transposed=transposed,
            windows=(),
            labels=np.zeros(series.shape, dtype=np.int64),
            channels=names,
            fill=fills.make_fill(self.fill, series, transposed),
            refine=self.refine,
        )
        return _cut(whole_series, windows)


def _read(instance: Any, axis: int | None) -> tuple[Steps, bool]:
    """A series as an array, and whether its first of two axes is that of the channels."""
    if hasattr(instance, "detach"):
        instance = instance.detach().cpu()
    given = np.asarray(instance)
    if given.dtype.kind not in "biuf" or given.size == 0 or given.ndim not in (1, 2):
        raise InputError(
            f"a series is an array of numbers [T], [T, C] or [C, T], got shape {given.shape} of {given.dtype}"
        )
    if given.ndim == 1:
        return given, False
    if axis is None and given.shape[0] == given.shape[1]:
        raise InputError(
            f"a series of shape {given.shape} leaves in doubt which axis is the channels': give channel_axis"
        )
    first = given.shape[0] < given.shape[1] if axis is None else axis % 2 == 0
    return given, bool(first)


def _cuts(length: int, step: int) -> list[tuple[int, int]]:
    """Begin and end of stretches of `step`, the last one with what is left."""
    return [(begin, min(begin + step, length)) for begin in range(0, length, step)]


def _cut(whole_series: SeriesInstance, windows: list[Window]) -> SeriesInstance:
    """The series with these windows as players."""
    series = whole_series.series
    labels = np.full(series.shape, -1, dtype=np.int64)
    for player, (begin, end, channel) in enumerate(windows):
        labels[begin:end, slice(None) if channel < 0 else channel] = player
    maskable = np.zeros(len(windows) + 1, dtype=bool)
    np.logical_or.at(maskable, labels, whole_series.fill.changes(series))
    return replace(
        whole_series,
        names=tuple(_name(window, whole_series.channels) for window in windows),
        maskable=maskable[:-1],
        display_values=("",) * len(windows),
        display_masked=(whole_series.fill.words,) * len(windows),
        windows=tuple(windows),
        labels=labels,
    )


def _name(window: Window, channels: tuple[str, ...]) -> str:
    begin, end, channel = window
    steps = f"steps {begin}-{end - 1}" if end - begin > 1 else f"step {begin}"
    return steps if channel < 0 else f"{channels[channel]}: {steps}"
