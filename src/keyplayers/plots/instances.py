"""Instances as people see them, the key set in blue and the opposition in red: a text, an image, a series."""

from collections.abc import Hashable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.printable import printable
from ..errors import InputError
from ..explanation import Explanation
from ..mcxai.result import GameTrees
from .canvas import AGAINST, FOR, PLAIN, axes_or_new, label, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# letters on a line of a text, and lines at most
_LINE, _LINES = 70, 30
# points of a letter, and what a letter and a line take, in letters of the monospaced font
_POINTS, _ADVANCE, _LEADING = 9.0, 0.602, 1.9


def _view_of(found: Explanation[GameTrees], kind: str) -> Any:
    view = found.structure.view if isinstance(found.structure, GameTrees) else None
    if view is None or view.kind != kind:
        raise InputError(f"this explanation is of no {kind}")
    return view


def text(found: Explanation[GameTrees], ax: "Axes | None" = None) -> "Axes":
    """A text with the words of the key set on blue and those of the opposition on red.

    Raises
    ------
    InputError
        It is no explanation of a text.
    """
    view = _view_of(found, "text")
    lines = _lines(view.text)[:_LINES]
    ax = axes_or_new(ax, 7.2, 0.6 + 0.28 * len(lines))
    marks = {
        place: colour
        for players, colour in ((found.structure.key_set, FOR), (found.structure.opposition, AGAINST))
        for begin, end in _spans(view, players)
        for place in range(begin, end)
    }
    for row, (start, line) in enumerate(lines):
        colours = [marks.get(start + i) for i in range(len(line))]
        begins = [i for i in range(len(line)) if not i or colours[i] != colours[i - 1]]
        for begin, end in pairwise([*begins, len(line)]):
            words = printable(line[begin:end])
            if words.strip():
                _write(ax, words, row, begin, colours[begin])
    ax.set_axis_off()
    return ax


def _write(ax: "Axes", words: str, row: int, column: int, colour: str | None) -> None:
    """Letters of equal width at a row and a column, counted from the upper left corner."""
    marked: dict[str, Any] = (
        {} if colour is None else {"bbox": {"facecolor": colour, "edgecolor": "none", "pad": 1.0}}
    )
    ax.annotate(
        words,
        (0.0, 1.0),
        (column * _ADVANCE * _POINTS, -(row + 1) * _LEADING * _POINTS),
        xycoords="axes fraction",
        textcoords="offset points",
        color="black" if colour is None else "white",
        family="monospace",
        fontsize=_POINTS,
        **marked,
        **PLAIN,
    )


def _spans(view: Any, players: tuple[Hashable, ...]) -> list[tuple[int, int]]:
    return [span for player in players for span in view.spans.get(player, ())]


def _lines(whole: str) -> list[tuple[int, str]]:
    """Lines of at most so many letters, broken between words, each with where it begins."""
    lines, start = [], 0
    while start < len(whole):
        stop = min(len(whole), start + _LINE)
        line_break = whole.find("\n", start, stop)
        if line_break >= 0:
            stop = line_break + 1
        elif stop < len(whole) and (space := whole.rfind(" ", start, stop)) > start:
            stop = space + 1
        lines.append((start, whole[start:stop].rstrip("\n")))
        start = stop
    return lines


def series(found: Explanation[GameTrees], ax: "Axes | None" = None) -> "Axes":
    """A series, a line per channel, with the windows of the key set on blue and of the opposition on red.

    Raises
    ------
    InputError
        It is no explanation of a series.
    """
    view = _view_of(found, "series")
    ax = axes_or_new(ax, 7.2, 3.2)
    for channel, name in enumerate(view.channels):
        ax.plot(view.values[:, channel], linewidth=1, label=label(name))
    for players, colour in ((found.structure.key_set, FOR), (found.structure.opposition, AGAINST)):
        for begin, end, _ in (view.windows[player] for player in players):
            ax.axvspan(begin - 0.5, end - 0.5, color=colour, alpha=0.3, linewidth=0)
    ax.set_xlabel("step")
    without_frame(ax, "top", "right")
    return ax


def image(found: Explanation[GameTrees], ax: "Axes | None" = None) -> "Axes":
    """An image in grey, the key set under blue and the opposition under red.

    Raises
    ------
    InputError
        It is no explanation of an image.
    """
    view = _view_of(found, "image")
    ax = axes_or_new(ax, 4.8, 4.8)
    ax.imshow(view.shades, cmap="gray", vmin=0, vmax=255)
    for players, colour in ((found.structure.key_set, FOR), (found.structure.opposition, AGAINST)):
        from matplotlib.colors import to_rgb

        shade = np.zeros((*view.shades.shape, 4))
        shade[..., :3] = to_rgb(colour)
        shade[..., 3] = 0.6 * view.where(players)
        ax.imshow(shade)
    ax.set_axis_off()
    return ax
