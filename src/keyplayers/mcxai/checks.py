"""What is read back from a file, checked: a damaged one is refused, not believed."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from ..explanation import Explanation
from .codec import explanation_from_dict
from .result import GameResult, GameTrees
from .tree.tree import SearchTree


def checked_from_dict(data: Mapping[str, Any]) -> Explanation[GameTrees]:
    """The explanation that a JSON holds.

    Raises
    ------
    InputError
        It says what cannot be.
    """
    found = explanation_from_dict(data)
    for name in ("p_target", "p_masked"):
        if not 0 <= getattr(found.structure, name) <= 1:
            raise InputError(f"{name} must be a probability, got {getattr(found.structure, name)!r}")
    for game in found.structure.games:
        _check_game(game)
    return found


def _check_game(game: GameResult) -> None:
    n = len(game.players)
    if len(set(game.players)) < n:
        raise InputError("players of a game must be distinct")
    for name in ("win_rates", "n_visits"):
        if getattr(game, name).shape != (n,):
            raise InputError(f"{name} must have one entry per player ({n}), got {getattr(game, name).size}")
    for players in (game.best_set, *game.flip_sets):
        unknown = set(players) - set(game.players)
        if unknown:
            raise InputError(f"a set holds {next(iter(unknown))!r}, which is no player of its game")
    if not 0 <= game.lower_bound <= n + 1:
        raise InputError(f"lower_bound must be between 0 and {n + 1}, got {game.lower_bound}")
    _check_tree(game.tree, n)


def _check_tree(tree: SearchTree, n: int) -> None:
    """Every node but the root hangs on an earlier one, so every path ends."""
    size = len(tree)
    arrays = (tree.players, tree.n_visits, tree.rewards, tree.n_starts, tree.ended)
    if any(len(array) != size for array in arrays):
        raise InputError("the arrays of a tree must have one entry per node")
    nodes = np.arange(size)
    if size and (tree.parents[0] != -1 or (tree.parents[1:] < 0).any() or (tree.parents >= nodes).any()):
        raise InputError("parents of a tree must be earlier nodes")
    if size and (((tree.players[1:] < 0) | (tree.players[1:] >= n)).any() or (tree.n_visits < 0).any()):
        raise InputError(f"players of a tree must be between 0 and {n - 1}, and visits not negative")
