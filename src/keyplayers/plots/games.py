"""Pictures of the two games about a prediction: the trail, relations, the tree, what would change the decision."""

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..explanation import Explanation
from ..mcxai.result import GameTrees
from ..mcxai.tree.tree import SearchTree
from .canvas import AGAINST, DIVERGING, FOR, NEITHER, PLAIN, axes_or_new, label, tint, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _games_of(found: Explanation[GameTrees]) -> GameTrees:
    if not isinstance(found.structure, GameTrees):
        raise InputError(f"this belongs to the explanation of a classifier, got one of kind {found.kind!r}")
    return found.structure


def trail(found: Explanation[GameTrees], ax: "Axes | None" = None) -> "Axes":
    """The target's probability as it is, with the key set masked, and with the opposition masked too."""
    game = _games_of(found)
    ax = axes_or_new(ax)
    says = [game.predicted, *(played.new_class for played in game.games)]
    words = ["as it is", *(_masked(len(played.best_set), first) for first, played in enumerate(game.games))]
    steps = np.arange(len(says))
    ax.plot(steps, game.trail, color=NEITHER, zorder=1)
    for step, (p, decision) in enumerate(zip(game.trail, says, strict=True)):
        colour = FOR if decision == game.target else AGAINST
        ax.plot(step, p, marker="o", markersize=9, color=colour, zorder=2)
        ax.annotate(f"{p:.3g}\nsays {label(decision)}", (step, p), (8, 6), textcoords="offset points", **PLAIN)
    ax.set_xticks(steps, words)
    ax.set_xlim(-0.3, len(says) - 0.3)
    ax.set_ylim(0, 1.15)
    ax.set_ylabel(f"P({label(game.target)})", **PLAIN)
    without_frame(ax, "top", "right")
    return ax


def _masked(n: int, first: int) -> str:
    return f"{n} masked" if not first else f"and {n} more"


def relations(found: Explanation[GameTrees], ax: "Axes | None" = None, *, top: int = 10) -> "Axes":
    """What masking two players moves the probability beyond what each moves alone, as a matrix.

    Red: they compete, one does what the other would. Blue: they act together.

    Parameters
    ----------
    top
        Players at most, those of the strongest relations first.
    """
    known = _games_of(found).relations()
    players: list[Hashable] = []
    for each in known:
        players += [player for player in (each.player, each.given) if player not in players]
    players = players[:top]
    place = {player: i for i, player in enumerate(players)}
    matrix = np.full((len(players), len(players)), np.nan)
    for each in known:
        if each.player in place and each.given in place:
            i, j = place[each.player], place[each.given]
            matrix[i, j] = matrix[j, i] = each.change
    ax = axes_or_new(ax, 6.4, 5.6)
    largest = float(np.nan_to_num(np.abs(matrix)).max(initial=0.0)) or 1.0
    shown = ax.imshow(matrix, cmap=DIVERGING, vmin=-largest, vmax=largest)
    figure = ax.get_figure(root=True)
    if figure is not None:
        figure.colorbar(shown, ax=ax, label="change beyond each alone (probability)")
    names = [label(player, 20) for player in players]
    ax.set_xticks(range(len(players)), names, rotation=45, ha="right", **PLAIN)
    ax.set_yticks(range(len(players)), names, **PLAIN)
    return ax


def game_tree(
    found: Explanation[GameTrees], ax: "Axes | None" = None, *, max_depth: int = 3, max_children: int = 4
) -> "Axes":
    """The most visited part of the search: an edge masks a player; wide: visited often; blue: it wins.

    Parameters
    ----------
    max_depth, max_children
        Moves in a row, and moves from one state, at most.
    """
    game = _games_of(found)
    tree, players = game.main.tree, game.main.players
    depths, across = _layered(tree, max_depth, max_children)
    ax = axes_or_new(ax, 7.2, max(3.0, 0.32 * len(across)))
    rates, most = np.nan_to_num(tree.win_rates()), max(int(tree.n_visits[1:].max(initial=1)), 1)
    for node in across:
        x, y = depths[node], across[node]
        if node:
            parent = int(tree.parents[node])
            width = 0.5 + 5 * np.sqrt(tree.n_visits[node] / most)
            colour = tint(2 * rates[node] - 1, 1.0)
            ax.plot([depths[parent], x], [across[parent], y], color=colour, linewidth=width, zorder=1)
            words = f"{label(players[tree.players[node]])}  {rates[node]:.2f} ({tree.n_visits[node]})"
            ax.text(x + 0.04, y, words, fontsize=8, va="center", **PLAIN)
        ended = bool(tree.ended[node])
        ax.plot(x, y, marker="s" if ended else "o", color=FOR if ended else "black", markersize=5, zorder=2)
    ax.set_xlim(-0.1, max(depths.values()) + 1.0)
    ax.invert_yaxis()
    ax.set_axis_off()
    ax.set_title("player  win rate (visits); squares end the game", fontsize=9)
    return ax


def _layered(tree: SearchTree, max_depth: int, max_children: int) -> tuple[dict[int, int], dict[int, float]]:
    """Depth of every node that is drawn, and its place across: a row per leaf, parents midway."""
    depths, kept, order = {0: 0}, {}, [0]
    for node in order:
        children = tree.children(node) if depths[node] < max_depth else np.zeros(0, dtype=np.int64)
        most_visited = children[np.argsort(-tree.n_visits[children], kind="stable")][:max_children].tolist()
        kept[node] = most_visited
        depths |= dict.fromkeys(most_visited, depths[node] + 1)
        order += most_visited
    across: dict[int, float] = {}
    stack, rows = [0], 0
    while stack:  # leaves from top to bottom
        node = stack.pop()
        stack += reversed(kept[node])
        if not kept[node]:
            across[node], rows = rows, rows + 1
    for node in reversed(order):
        if kept[node]:
            across[node] = float(np.mean([across[child] for child in kept[node]]))
    return depths, across


def alternatives(found: Explanation[GameTrees], ax: "Axes | None" = None, *, top: int = 3) -> "Axes":
    """Rows that would be decided otherwise, side by side; what differs is shaded.

    Raises
    ------
    InputError
        None is known: they are looked for with ``baseline="nearest_unlike"``.
    """
    game = _games_of(found)
    shown = game.alternatives[:top]
    if not shown:
        raise InputError('no alternatives are known; Tabular(baseline="nearest_unlike") looks for them')
    players = list(dict.fromkeys(player for each in shown for player in each.changes))
    own = {player: words[0] for each in shown for player, words in each.changes.items()}
    cells = [
        [
            label(own[player], 14),
            *(label(each.changes[player][1], 14) if player in each.changes else "" for each in shown),
        ]
        for player in players
    ]
    ax = axes_or_new(ax, 2.5 + 1.5 * len(shown), 1.0 + 0.3 * len(players))
    heads = ["as it is", *(f"says {label(each.new_class, 12)} ({each.p_target:.2f})" for each in shown)]
    table = ax.table(cells, rowLabels=[label(player) for player in players], colLabels=heads, loc="center")
    for (row, column), cell in table.get_celld().items():
        cell.get_text().set_parse_math(False)
        if row > 0 and column > 0 and cells[row - 1][column]:
            cell.set_facecolor("#cfe0f1")
    ax.set_axis_off()
    return ax
