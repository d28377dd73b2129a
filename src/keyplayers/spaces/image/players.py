"""Pixels cut into players: a label per pixel, counted from 0."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from ..._base.arrays import Ints
from ..._base.optional import require
from ...errors import InputError
from .layout import Pixels

# cells and segments of an image where nobody says how many, and the fewest segments that are worth showing
N_CELLS, FEWEST = 64, 25
# compactness of segments (SLIC): each is tried until there are enough of them
COMPACTNESS = (10.0, 100.0, 1000.0)

WORDS = ("grid", "pixels", "segments")


def cut(image: Pixels, players: Any) -> tuple[Ints, list[Hashable], tuple[int, int] | None]:
    """The player of each pixel [H, W], the players' names, and the shape of their grid (None: they form none).

    Parameters
    ----------
    image
        [H, W, C].
    players
        As `Image` takes them.

    Raises
    ------
    InputError
        The label map does not fit the image, or has one label only.
    """
    shape = image.shape[0], image.shape[1]
    if isinstance(players, str) and players == "segments":
        labels = _renumbered(segment(image))
        return labels, [f"segment {label}" for label in range(labels.max() + 1)], None
    if isinstance(players, np.ndarray | list):
        labels = _read_labels(np.asarray(players), shape)
        return _renumbered(labels), [f"segment {label}" for label in np.unique(labels).tolist()], None
    n_rows, n_columns = grid_shape(shape, players)
    labels = grid(shape, n_rows, n_columns)
    names: list[Hashable] = [f"row {row} column {column}" for row in range(n_rows) for column in range(n_columns)]
    return labels, names, (n_rows, n_columns)


def grid_shape(shape: tuple[int, int], players: Any) -> tuple[int, int]:
    """Rows and columns of the grid: about 64 nearly square cells, or as many as are asked for.

    Raises
    ------
    InputError
        There are more of them than pixels.
    """
    height, width = shape
    if players == "pixels":
        return shape
    if players == "grid":
        n_rows = min(max(round(math.sqrt(N_CELLS * height / width)), 1), height, N_CELLS)
        n_columns = min(max(round(N_CELLS / n_rows), 1), width)
        return min(max(round(N_CELLS / n_columns), 1), height), n_columns
    n_rows, n_columns = (players, players) if isinstance(players, int) else players
    if n_rows > height or n_columns > width:
        raise InputError(f"players={players!r} asks for more cells than an image of {height} x {width} pixels has")
    return n_rows, n_columns


def grid(shape: tuple[int, int], n_rows: int, n_columns: int) -> Ints:
    """The cell of each pixel [H, W], numbered row by row; their sides differ by at most one pixel."""
    down, across = (np.arange(length) * n // length for length, n in zip(shape, (n_rows, n_columns), strict=True))
    labels: Ints = down[:, None] * n_columns + across
    return labels


def segment(image: Pixels) -> Ints:
    """About 64 segments of similar colour (SLIC); cells where an image has no segments to speak of."""
    segmentation = require("skimage.segmentation")
    pixels = image.astype(np.float64)
    low, high = pixels.min(), pixels.max()
    pixels = (pixels - low) / (high - low or 1.0)
    shape = image.shape[0], image.shape[1]
    for compactness in COMPACTNESS:
        labels: Ints = segmentation.slic(
            pixels,
            n_segments=N_CELLS,
            compactness=compactness / 100,
            convert2lab=False,
            channel_axis=-1,
            start_label=0,
        )
        if FEWEST <= len(np.unique(labels)) <= 100:
            return labels
    return grid(shape, *grid_shape(shape, "grid"))


def _read_labels(labels: Any, shape: tuple[int, int]) -> Ints:
    if labels.shape != shape or labels.dtype.kind not in "biu":
        raise InputError(
            f"a label map has a whole number for each of the {shape[0]} x {shape[1]} pixels, got shape "
            f"{labels.shape} of {labels.dtype}"
        )
    if (labels == labels.flat[0]).all():
        raise InputError(
            f"the label map has one label only ({labels.flat[0]}), so the whole image would be the explanation: "
            'give finer segments, or players="grid"'
        )
    read: Ints = labels.astype(np.int64)
    return read


def _renumbered(labels: Ints) -> Ints:
    """Labels as 0, 1, 2, ... in rising order."""
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def parts(labels: Ints, inside: Any, n_parts: int) -> tuple[Ints, list[Hashable]]:
    """Players that are split: each falls into up to `n_parts` x `n_parts` cells of its own bounding box.

    Parameters
    ----------
    labels
        The player of each pixel [H, W].
    inside
        Whether the pixel's player is split [H, W]; the others' pixels belong to no part: -1.
    """
    found = np.full(labels.shape, -1, dtype=np.int64)
    names: list[Hashable] = []
    for player in np.unique(labels[inside]).tolist():
        rows, columns = np.nonzero(labels == player)
        top, left, height, width = rows.min(), columns.min(), np.ptp(rows) + 1, np.ptp(columns) + 1
        cells = grid((int(height), int(width)), min(n_parts, int(height)), min(n_parts, int(width)))
        each = cells[rows - top, columns - left]
        for cell in np.unique(each).tolist():
            where = rows[each == cell], columns[each == cell]
            found[where] = len(names)
            names.append(f"pixels {_span('row', where[0])} {_span('column', where[1])}")
    return found, names


def _span(what: str, places: Ints) -> str:
    low, high = places.min(), places.max()
    return f"{what} {low}" if low == high else f"{what}s {low}-{high}"
