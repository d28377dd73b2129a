"""How a belief builds up: value after value along the ranking."""

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..explanation import Explanation
from ..graphshapley.present import first_of_groups, name_group
from ..graphshapley.result import SubtreeGame
from .canvas import AGAINST, FOR, NEITHER, PLAIN, axes_or_new, describe_values, label, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def build_up(found: Explanation[SubtreeGame], ax: "Axes | None" = None, *, top: int = 10) -> "Axes":
    """From the target alone to all values together, a step per player (a group of equal ones is one step).

    The dashed line is what all players add together; where steps share credit they end beyond it (coverage).

    Parameters
    ----------
    top
        Steps at most; what is left is one more.
    """
    game = found.structure
    if not isinstance(game, SubtreeGame):
        raise InputError(f"only the belief of a field builds up, got an explanation of kind {found.kind!r}")
    steps = _steps(found, top)
    ax = axes_or_new(ax, height=1.6 + 0.3 * len(steps))
    at = game.worth_alone
    for row, (_, change, colour) in enumerate(steps, start=1):
        ax.barh(row, change, left=at, height=0.6, color=colour)
        ax.plot([at + change] * 2, [row - 0.3, row + 1.3], color="black", linewidth=0.6)
        at += change
    ax.plot(game.worth_alone, 0, marker="o", color="black", label="the target alone")
    ax.plot(at, len(steps) + 1, marker="D", color="black", label="all values together")
    if game.worth_ball is not None:
        ax.axvline(game.worth_ball, linestyle="--", color=NEITHER, label="what all players add together")
    names = [f"{label(found.target)} alone", *(name for name, _, _ in steps), "all values"]
    ax.set_yticks(np.arange(len(names)), names, **PLAIN)
    ax.set_ylim(len(names) - 0.5, -0.5)
    describe_values(ax, game.worth.replace("_", " "), found.unit)
    without_frame(ax, "top", "right", "left")
    ax.tick_params(axis="y", length=0)
    return ax


def _steps(found: Explanation[SubtreeGame], top: int) -> list[tuple[str, float, str]]:
    """Name, change and colour of every step."""
    game, values = found.structure, np.nan_to_num(found.values)
    firsts = first_of_groups(game)
    steps = []
    for first in firsts[:top]:
        change = float(values[first]) * len(game.equal_to(first))
        steps.append((label(name_group(found.players, first, game), 40), change, FOR if change > 0 else AGAINST))
    left = values[~np.isin(game.groups, game.groups[firsts[:top]])]
    if len(left):
        steps.append((f"{len(left):,} others", float(left.sum()), NEITHER))
    return steps
