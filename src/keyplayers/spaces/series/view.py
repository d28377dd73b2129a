"""How a series shows itself: a line of bars for each channel, its marked windows underneath."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._base.arrays import Floats
from ..views import Marks

# columns of a picture, and channels that it shows
WIDTH, MOST_CHANNELS = 80, 12
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, eq=False)
class SeriesView:
    """The steps of a series, drawn from their lowest to their highest, and the windows of its players."""

    values: Floats  # [T, C]
    channels: tuple[str, ...]  # names [C]
    windows: Mapping[Hashable, tuple[int, int, int]]  # player -> begin, end, channel (-1: all)
    kind: ClassVar[str] = "series"
    noun: ClassVar[str] = "series"
    removes: ClassVar[bool] = False
    legend: ClassVar[tuple[str, str]] = ("#", "o")

    def named(self, player: Hashable) -> str:
        """The player's name."""
        return str(player)

    def picture(self, marks: Marks) -> list[str]:
        """Lines of bars, and under each what is marked: # carries, o opposes."""
        n_steps = len(self.values)
        shown = np.unique(np.linspace(0, n_steps - 1, min(n_steps, WIDTH)).round().astype(int))
        lines = []
        for channel, name in enumerate(self.channels[:MOST_CHANNELS]):
            head = f"{name}  " if len(self.channels) > 1 else ""
            lines.append(head + _bars(self.values[:, channel])[shown].astype(object).sum())
            below = " " * len(head) + self._below(shown, channel, marks)
            if below.strip():
                lines.append(below.rstrip())
        n_more = len(self.channels) - MOST_CHANNELS
        return [*lines, f"({n_more} more channels)"] if n_more > 0 else lines

    def _below(self, shown: Any, channel: int, marks: Marks) -> str:
        """What is marked at the steps shown; a column is marked where any step up to the next one is."""
        signs = np.full(len(self.values), " ")
        for player, mark in marks.items():
            begin, end, its = self.windows.get(player, (0, 0, -1))
            if its in (-1, channel):
                signs[begin:end] = self.legend[0] if mark == "carries" else self.legend[1]
        cells = np.split(signs, shown[1:])
        return "".join(next((sign for sign in cell.tolist() if sign != " "), " ") for cell in cells)

    def to_dict(self) -> dict[str, Any]:
        """Values (null where there is none), names and windows."""
        return {
            "values": [[None if np.isnan(v) else v for v in row] for row in self.values.tolist()],
            "channels": list(self.channels),
            "windows": [[player, *window] for player, window in self.windows.items()],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SeriesView":
        """The view that `to_dict` wrote."""
        channels = tuple(map(str, data["channels"]))
        values = np.array(data["values"], dtype=np.float64).reshape(-1, len(channels))
        windows = {row[0]: (int(row[1]), int(row[2]), int(row[3])) for row in data["windows"]}
        return cls(values, channels, windows)


def _bars(values: Floats) -> Any:
    """A character for each step; a blank where there is no number."""
    finite = np.isfinite(values)
    low, high = (values[finite].min(), values[finite].max()) if finite.any() else (0.0, 0.0)
    level = np.where(finite, (np.where(finite, values, low) - low) / (high - low or 1.0), 0.0)
    return np.where(finite, np.array(list(BARS))[(level * (len(BARS) - 1)).round().astype(int)], " ")
