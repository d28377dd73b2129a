"""The walk game: coalitions are subtrees of the tree of walks around a target."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from ..._base.arrays import Ints
from ..._base.names import Names
from ...errors import TooLargeError
from ...mrf.balls import Ball
from ...mrf.field import MarkovRandomField
from .game import WalkTable
from .walk_beliefs import list_subtrees, log_beliefs_on
from .walk_symmetry import Merged, merge_equal_copies
from .walk_tree import BoundaryMessages, WalkTree, walk_tree
from .worth import Worth, worth_of

Law: TypeAlias = Literal["uniform", "shapley"]
Boundary: TypeAlias = Literal["messages", "cut"]
LAWS = get_args(Law)
# Entries (subtrees times copies) of a list of coalitions.
_MAX_LISTED = 2**27


@dataclass(frozen=True, eq=False)
class WalkGame:
    """Players are the variables that have a copy: the ball's members but its target, in the ball's order."""

    ball: Ball
    worth: Worth
    direction: Worth  # log-odds or probability of the target's most believed state
    tree: WalkTree
    law: Law
    boundary: Boundary

    @property
    def order(self) -> Ints:
        """[n-1] where the ball's players stand among the tree's."""
        order: Ints = np.searchsorted(self.tree.players[0], self.ball.members[1:])
        return order

    @cached_property
    def merged(self) -> Merged:
        """The tree with equal copies counted once."""
        return merge_equal_copies(self.tree)


def walks_within(
    ball: Ball, mrf: MarkovRandomField, radius: int | None, messages: BoundaryMessages | None, *, trimmed: bool
) -> WalkTree:
    """The tree of the walks that stay in a ball.

    Parameters
    ----------
    mrf
        The field that the ball was cut from.
    radius
        Steps of the longest walks; None: as many as lead to the farthest member.
    messages
        Of propagation on that field; None: the tree is cut off from what is around it.
    trimmed
        Whether the ball lacks variables within its radius.
    """
    steps = int(ball.distances.max(initial=0)) if radius is None else radius
    within = np.sort(ball.members) if trimmed else None
    return walk_tree(mrf, int(ball.members[0]), steps, messages, within=within)


def list_coalitions(game: WalkGame, limit: int) -> WalkTable:
    """All coalitions with their worths.

    Raises
    ------
    TooLargeError
        There are more than `limit`, or they take too much memory.
    """
    tree, names = game.tree, game.tree.mrf.names
    log_n = float(tree.log_subtrees[0])
    if log_n > np.log(limit + 1.0) or (np.exp(log_n) - 1.0) * tree.n_copies > _MAX_LISTED:
        raise TooLargeError(
            f"there are 10^{log_n / np.log(10.0):.1f} coalitions of walks, too many to keep: a smaller radius, "
            "or max_evals, helps"
        )
    present = list_subtrees(tree, np.arange(1, round(float(np.exp(log_n)))))
    walks = tuple(_named(names, tree.walk(copy)) for copy in range(tree.n_copies))
    return WalkTable(walks, present, worth_of(game.worth, log_beliefs_on(tree, present)))


def _named(names: Names, walk: tuple[int, ...]) -> tuple[Hashable, ...]:
    return tuple(names[v] for v in walk)
