"""Texts, images and series as a page shows them: the key set in blue, the opposition in red."""

import base64
import struct
import zlib
from collections.abc import Callable, Hashable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ..mcxai.result import GameTrees
from .limits import Limits, significant

# colours of the key set and the opposition (red, green, blue), and how much of them lies over the grey
_INKS, _OPACITY = ((33, 102, 172), (178, 24, 43)), 0.6
# channels of a series that are drawn, and points of each
_CHANNELS, _POINTS = 6, 300

Roles = Mapping[Hashable, int]  # player -> 0 in the key set, 1 in the opposition


def shown(game: GameTrees, limits: Limits) -> dict[str, Any] | None:
    """What a page shows of the instance itself; None where a table of players says all."""
    view = game.view
    if view is None or view.kind not in SHOWN:
        return None
    roles = dict.fromkeys(game.opposition, 1) | dict.fromkeys(game.key_set, 0)
    return {"kind": view.kind, **SHOWN[view.kind](view, roles, limits)}


def _text(view: Any, roles: Roles, limits: Limits) -> dict[str, Any]:
    """Stretches of the text, each with its role (2: neither); of a long text its beginning."""
    whole = view.text[: limits.text]
    marks = np.full(len(whole), 2)
    for player, role in roles.items():
        for begin, end in view.spans.get(player, ()):
            marks[begin:end] = role
    borders = [0, *(1 + np.flatnonzero(np.diff(marks))).tolist(), len(whole)]
    pieces = [[whole[a:b], int(marks[a])] for a, b in pairwise(borders) if a < b]
    return {"pieces": pieces, "left_out": len(view.text) - len(whole)}


def _image(view: Any, roles: Roles, limits: Limits) -> dict[str, Any]:
    """The image in grey under its colours, as an address that holds it."""
    step = -(-max(view.shades.shape) // limits.pixels)
    pixels = np.repeat(view.shades[..., None].astype(np.float64), 3, axis=2)
    for role, ink in enumerate(_INKS):
        inside = view.where(tuple(player for player, its in roles.items() if its == role))
        pixels[inside] = (1 - _OPACITY) * pixels[inside] + _OPACITY * np.array(ink)
    height, width = view.shades.shape
    return {"png": _png(pixels.round().astype(np.uint8)[::step, ::step]), "width": width, "height": height}


def _png(pixels: Any) -> str:
    """An image [H, W, 3] of bytes as a data address (Portable Network Graphics, ISO/IEC 15948)."""
    height, width = pixels.shape[:2]
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode("ascii")


def _series(view: Any, roles: Roles, limits: Limits) -> dict[str, Any]:
    """Values of the channels, and the windows of the sets: begin, end, channel (-1: all), role."""
    n_steps = len(view.values)
    steps = np.unique(np.linspace(0, n_steps - 1, min(n_steps, _POINTS)).round().astype(int))
    channels = [
        {"name": limits.name(name), "values": significant(view.values[steps, channel], 3)}
        for channel, name in enumerate(view.channels[:_CHANNELS])
    ]
    windows = [[*view.windows[player], role] for player, role in roles.items() if player in view.windows]
    return {"channels": channels, "steps": steps.tolist(), "n_steps": n_steps, "windows": windows}


#: kind of a view -> what makes data of it; one of your own is one more entry
SHOWN: dict[str, Callable[[Any, Roles, Limits], dict[str, Any]]] = {
    "text": _text,
    "image": _image,
    "series": _series,
}
