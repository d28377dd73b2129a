"""How an image shows itself: a small picture in characters."""

import base64
import zlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._base.arrays import Bools, Ints
from ...errors import InputError
from ..views import Marks
from .layout import Pixels

# pixels on the longer side of what a view keeps, and cells on that of its picture
KEPT, SHOWN = 128, 32
# from dark to light
SHADES = " .:-=+"

Shades = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, eq=False)
class ImageView:
    """A small grey copy of an image, and the player of each of its pixels."""

    shades: Shades  # [h, w], 0 the darkest
    labels: Ints  # [h, w] place of the player in `players`, -1 for none
    players: tuple[Hashable, ...]
    kind: ClassVar[str] = "image"
    noun: ClassVar[str] = "image"
    removes: ClassVar[bool] = False
    legend: ClassVar[tuple[str, str]] = ("#", "o")

    @classmethod
    def of(cls, image: Pixels, labels: Ints, players: tuple[Hashable, ...]) -> "ImageView":
        """The view of an image [H, W, C]."""
        grey = image.mean(axis=2, dtype=np.float64)
        low, high = grey.min(), grey.max()
        shades = ((grey - low) / (high - low or 1.0) * 255).round().astype(np.uint8)
        rows, columns = _sampled(grey.shape, KEPT)
        return cls(shades[rows][:, columns], labels[rows][:, columns], players)

    def named(self, player: Hashable) -> str:
        """The player's name."""
        return str(player)

    def where(self, players: "tuple[Hashable, ...]") -> Bools:
        """Which pixels of the view belong to these players [h, w]."""
        places = [self.players.index(player) for player in players]
        found: Bools = np.isin(self.labels, places)
        return found

    def picture(self, marks: Marks) -> list[str]:
        """The image in characters, two for each cell: # carries, o opposes, else its shade."""
        height, width = self.shades.shape
        rows, columns = _sampled((height, width), SHOWN)
        levels = np.array(list(SHADES))[self.shades.astype(int) * len(SHADES) // 256][rows][:, columns]
        for mark, sign in (("opposes", self.legend[1]), ("carries", self.legend[0])):
            chosen = tuple(player for player, its in marks.items() if its == mark and player in self.players)
            # a cell is marked where any of its pixels is
            inside = np.logical_or.reduceat(self.where(chosen), rows, axis=0)
            levels[np.logical_or.reduceat(inside, columns, axis=1)] = sign
        return [" ".join(row).rstrip() for row in levels]

    def to_dict(self) -> dict[str, Any]:
        """Shades and labels as compressed bytes (zlib, base64), and the players' names."""
        return {
            "shape": list(self.shades.shape),
            "shades": _pack(self.shades),
            "labels": _pack(self.labels.astype("<i4")),
            "players": list(self.players),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ImageView":
        """The view that `to_dict` wrote."""
        height, width = map(int, data["shape"])
        if not (0 < height <= KEPT and 0 < width <= KEPT):
            raise InputError(f"a view is at most {KEPT} x {KEPT} pixels, got {height} x {width}")
        shades, labels = (
            np.frombuffer(_unpack(data[key], height * width * size), dtype=dtype).reshape(height, width)
            for key, dtype, size in (("shades", np.uint8, 1), ("labels", "<i4", 4))
        )
        return cls(shades, labels.astype(np.int64), tuple(data["players"]))


def _sampled(shape: tuple[int, ...], most: int) -> tuple[Ints, Ints]:
    """Rows and columns that stand for all, where an image has more of them than are shown."""
    step = max(1.0, max(shape) / most)
    rows, columns = ((np.arange(max(1, int(n / step + 1e-9))) * step).astype(np.int64) for n in shape)
    return rows, columns


def _pack(array: Any) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode("ascii")


def _unpack(text: str, n_bytes: int) -> bytes:
    """So many bytes and no more, whatever a file says."""
    found = zlib.decompressobj().decompress(base64.b64decode(text), n_bytes + 1)
    if len(found) != n_bytes:
        raise ValueError(f"expected {n_bytes} bytes")
    return found
