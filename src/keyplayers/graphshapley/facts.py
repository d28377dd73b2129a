"""What an explanation says of its game beside the values."""

from typing import NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from .game.game import EngineResult, Game
from .game.paths import best_paths
from .game.symmetry import player_groups
from .game.walk_beliefs import best_walks, log_belief_alone, log_belief_on_tree
from .game.walk_game import WalkGame
from .game.walk_symmetry import equal_players
from .inferring import log_belief_of_ball, log_prior_of_target


class Facts(NamedTuple):
    """One entry per player, in the order of the ball, where not said otherwise."""

    log_alone: Floats  # [K] the target's log-belief alone, nats
    log_ball: Floats | None  # [K] with everything there; None where nobody knows it
    paths: list[list[int]]  # [n-1] positions in the ball, the player first, the target last
    groups: Ints  # [n-1] labels, equal for equal players
    log10_coalitions: float | None  # None where unknown
    log10_bounds: tuple[float, float]
    log10_per_player: Floats  # [n-1] NaN where unknown
    n_copies: int | None  # of the tree of walks, the target's left out


def subtree_facts(game: Game, result: EngineResult) -> Facts:
    """Of the game of subtrees."""
    around = game.ball
    lower, upper = around.log10_coalition_bounds
    count = around.log10_coalitions
    if result.n_coalitions is not None and not around.is_tree:
        count = lower = upper = _log10(np.array(result.n_coalitions)).item()
    per_player = around.log10_coalitions_per_player
    if per_player is None:
        unknown = np.full(around.n_variables - 1, np.nan)
        per_player = unknown if result.player_counts is None else _log10(result.player_counts)
    return Facts(
        log_alone=log_prior_of_target(around),
        log_ball=log_belief_of_ball(around),
        paths=best_paths(around, game.worth),
        groups=player_groups(around.field),
        log10_coalitions=count,
        log10_bounds=(lower, upper),
        log10_per_player=per_player,
        n_copies=None,
    )


def walk_facts(game: WalkGame) -> Facts:
    """Of the walk game."""
    tree, members = game.tree, game.ball.members
    position = {int(v): i for i, v in enumerate(members.tolist())}
    walks = best_walks(tree, game.worth)
    log_n = float(tree.log_subtrees[0])
    count = (log_n + np.log(-np.expm1(-log_n))) / np.log(10.0) if log_n > 0 else -np.inf
    return Facts(
        log_alone=log_belief_alone(tree),
        log_ball=log_belief_on_tree(tree),
        paths=[[position[v] for v in reversed(walks[int(member)])] for member in members[1:]],
        groups=equal_players(tree)[game.order],
        log10_coalitions=count,
        log10_bounds=(count, count),
        log10_per_player=np.full(len(members) - 1, np.nan),
        n_copies=tree.n_copies - 1,
    )


def _log10(counts: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logs: Floats = np.log10(counts)
    return logs
