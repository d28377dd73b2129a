"""Players as bars, with their parts and standard errors."""

from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..explanation import Explanation
from ..graphshapley.present import first_of_groups, name_group
from ..graphshapley.result import SubtreeGame
from ..mcxai.result import GameTrees
from .canvas import AGAINST, FOR, NEITHER, PLAIN, axes_or_new, describe_values, label, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Bar(NamedTuple):
    """One player, or a group of equal ones."""

    label: str
    value: float
    error: float  # NaN where unknown
    parts: tuple[tuple[float, str, float], ...]  # width, colour, opacity


def ranking(found: Explanation[Any], ax: "Axes | None" = None, *, top: int = 15) -> "Axes":
    """The `top` most important players as bars, the most important on top.

    Parameters
    ----------
    found
        Of a field: the full part of a bar is what the player's prior says, the pale part what its edges carry,
        and the line its value; equal players share a bar. Of a classifier: blue is in the key set, red in the
        opposition.
    ax
        Where to draw; default: a new figure.
    top
        Bars at most.
    """
    bars = bars_of(found.structure, found, top)
    ax = axes_or_new(ax, height=1.2 + 0.3 * max(len(bars), 3))
    rows = np.arange(len(bars))
    for row, bar in enumerate(bars):
        begins = {True: 0.0, False: 0.0}  # parts of one sign stand behind each other
        for width, colour, opacity in bar.parts:
            ax.barh(row, width, left=begins[width > 0], height=0.6, color=colour, alpha=opacity)
            begins[width > 0] += width
    values, errors = np.array([bar.value for bar in bars]), np.array([bar.error for bar in bars])
    known = np.isfinite(errors) & (errors > 0)
    if known.any():
        ax.errorbar(
            values[known], rows[known], xerr=errors[known], fmt="none", ecolor="black", capsize=2, linewidth=1
        )
    if any(len(bar.parts) > 1 for bar in bars):
        ax.plot(values, rows, linestyle="none", marker="|", markersize=11, markeredgewidth=2, color="black")
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_yticks(rows, [bar.label for bar in bars], **PLAIN)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    describe_values(ax, found.quantity, found.unit)
    without_frame(ax, "top", "right", "left")
    ax.tick_params(axis="y", length=0)
    return ax


@singledispatch
def bars_of(structure: Any, found: Explanation[Any], top: int) -> list[Bar]:
    """The bars of an explanation; register a function for a structure of your own."""
    return [
        Bar(label(player), value, float(error), ((value, FOR if value > 0 else AGAINST, 1.0),))
        for (player, value), error in zip(found.top(top), found.std_errors, strict=False)
    ]


@bars_of.register
def _of_field(game: SubtreeGame, found: Explanation[Any], top: int) -> list[Bar]:
    bars = []
    for i in first_of_groups(game)[:top]:
        parts = ((float(game.probabilistic[i]), 1.0), (float(game.topological[i]), 0.45))
        drawn = tuple((width, FOR if width > 0 else AGAINST, opacity) for width, opacity in parts)
        name = label(name_group(found.players, i, game), 40)
        bars.append(Bar(name, float(found.values[i]), float(game.uncertainties[i]), drawn))
    return bars


@bars_of.register
def _of_classifier(game: GameTrees, found: Explanation[Any], top: int) -> list[Bar]:
    bars = []
    for (player, value), error in zip(found.top(top), found.std_errors, strict=False):
        own, masked = game.display_values.get(player, ("", ""))
        changed = f": {label(own, 12)} → {label(masked, 12)}" if own or masked else ""
        colour = FOR if player in game.key_set else AGAINST if player in game.opposition else NEITHER
        bars.append(Bar(label(player) + changed, value, float(error), ((value, colour, 1.0),)))
    return bars
