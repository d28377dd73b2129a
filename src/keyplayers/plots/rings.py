"""The neighbourhood of a target: who stands where, and how much each one matters."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.arrays import Floats
from ..errors import InputError
from ..explanation import Explanation
from ..graphshapley.result import SubtreeGame
from .canvas import NEITHER, PLAIN, axes_or_new, label, tint
from .network import Network, network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# points of a name's letters, and the width of one as a share of that
_POINTS, _WIDTH = 8.0, 0.62


def neighbourhood(
    found: Explanation[SubtreeGame], ax: "Axes | None" = None, *, max_nodes: int = 60, labels: int = 15
) -> "Axes":
    """The target in the middle, players on rings as many steps away as their best paths have.

    Colour and size are the value: blue above 0, red below. A circle has evidence for what is believed, a diamond
    evidence against it, a ring only connects. Equal players are one node.

    Parameters
    ----------
    max_nodes
        The most important players (groups of equal ones) that are drawn, besides those on their paths; the others
        are counted.
    labels
        Names at most, the most important first, where there is room.
    """
    game = found.structure
    if not isinstance(game, SubtreeGame):
        raise InputError(f"a neighbourhood belongs to the explanation of a field, got one of kind {found.kind!r}")
    ax = axes_or_new(ax, 6.4, 6.4)
    drawn = network(found, 0 if game.target_observed else max_nodes)
    _draw_edges(ax, drawn, found.values[drawn.players])
    _draw_nodes(ax, drawn, found)
    ax.set_aspect("equal")
    ax.set_axis_off()
    _frame(ax, drawn)
    _write_names(ax, drawn, _names(drawn, found)[: 2 + labels])
    return ax


def _largest(values: Floats) -> float:
    return float(np.nan_to_num(np.abs(values)).max(initial=0.0))


def _draw_edges(ax: "Axes", drawn: Network, values: Floats) -> None:
    from matplotlib.collections import LineCollection

    at, largest = drawn.positions, _largest(values)
    links = [at[pair] for pair in drawn.links]
    ax.add_collection(LineCollection(links, colors="#d0d4da", linewidths=0.5, zorder=1, label="further edges"))
    steps = [at[[node, parent]] for node, parent in enumerate(drawn.parents.tolist(), start=1)]
    sizes = np.nan_to_num(np.abs(values)) / (largest or 1.0)
    colours = [tint(value, largest) for value in np.nan_to_num(values)]
    ax.add_collection(
        LineCollection(steps, colors=colours, linewidths=0.5 + 3 * np.sqrt(sizes), zorder=2, label="best paths")
    )


def _draw_nodes(ax: "Axes", drawn: Network, found: Explanation[SubtreeGame]) -> None:
    from matplotlib.patches import Circle, RegularPolygon

    values = np.nan_to_num(found.values[drawn.players])
    largest = _largest(values)
    ax.add_patch(Circle((0.0, 0.0), drawn.radii[0], facecolor="black", zorder=3, gid="target"))
    for node, (player, value) in enumerate(zip(drawn.players.tolist(), values.tolist(), strict=True), start=1):
        role, colour = found.structure.roles[player], tint(value, largest)
        x, y = drawn.positions[node].tolist()
        r = float(drawn.radii[node])
        style: dict[str, Any] = {"facecolor": colour, "edgecolor": NEITHER, "linewidth": 0.8}
        if role == "connects":
            style = {"facecolor": "white", "edgecolor": colour, "linewidth": 2.0}
        style |= {"zorder": 3, "gid": role}
        shape = (
            RegularPolygon((x, y), 4, radius=1.2 * r, **style) if role == "against" else Circle((x, y), r, **style)
        )
        ax.add_patch(shape)
        if drawn.counts[node - 1] > 1:
            ax.add_patch(Circle((x, y), r + 4, fill=False, edgecolor=NEITHER, linewidth=0.8, gid="group"))
    if drawn.others_position is not None:
        ax.add_patch(
            Circle(drawn.others_position, 15, facecolor="white", edgecolor=NEITHER, linestyle="--", gid="others")
        )


def _frame(ax: "Axes", drawn: Network) -> None:
    """Room for all, and for names beside them."""
    points = drawn.positions
    if drawn.others_position is not None:
        points = np.vstack([points, drawn.others_position])
    low, high = points.min(axis=0), points.max(axis=0)
    room = 40 + 0.15 * float((high - low).max())
    ax.set_xlim(low[0] - 1.5 * room, high[0] + 1.5 * room)
    ax.set_ylim(high[1] + room, low[1] - room)  # y goes down


def _names(drawn: Network, found: Explanation[SubtreeGame]) -> list[tuple[float, float, float, str]]:
    """x, y, radius and name, the most important first."""
    named = [(0.0, 0.0, float(drawn.radii[0]), label(found.target))]
    if drawn.others_position is not None:
        named.append((*drawn.others_position, 15.0, f"{drawn.n_others:,} others"))
    for node, player in enumerate(drawn.players.tolist(), start=1):
        count = int(drawn.counts[node - 1])
        name = label(found.players[player])
        x, y = drawn.positions[node].tolist()
        wide = 1.2 if found.structure.roles[player] == "against" else 1.0
        r = wide * float(drawn.radii[node]) + (4 if count > 1 else 0)
        named.append((x, y, r, f"{count:,} like {name}" if count > 1 else name))
    return named


def _write_names(ax: "Axes", drawn: Network, named: list[tuple[float, float, float, str]]) -> None:
    """Names beside their nodes, away from the middle, where they touch neither each other nor a node."""
    from matplotlib.patheffects import withStroke

    (left, right), inches = ax.get_xlim(), ax.get_window_extent().width / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    per_point = (right - left) / max(inches, 0.1) / 72
    height = 1.2 * _POINTS * per_point
    taken = [(x - r, x + r, y - r, y + r) for (x, y), r in zip(drawn.positions, drawn.radii, strict=True)]
    for x, y, r, name in named:
        width, side = _WIDTH * _POINTS * len(name) * per_point, 1 if x >= 0 else -1
        near, far = x + side * (r + 3), x + side * (r + 3 + width)
        box = (min(near, far), max(near, far), y - height / 2, y + height / 2)
        if not any(box[0] < b[1] and box[1] > b[0] and box[2] < b[3] and box[3] > b[2] for b in taken):
            align = "left" if side > 0 else "right"
            words = ax.text(near, y, name, fontsize=_POINTS, ha=align, va="center", zorder=4, **PLAIN)
            words.set_path_effects([withStroke(linewidth=2, foreground="white")])
            taken.append(box)
