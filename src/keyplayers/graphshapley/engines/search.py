"""The include/forbid search through all coalitions of a ball, and how many there are."""

import math
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Ints
from ..._base.progress import Progress, Silent
from ...mrf.balls import Ball
from ...mrf.field import MarkovRandomField
from . import _search_kernels as kernels

# What a bound on log10 of a count may be off by.
_ROUNDING = 1e-6
# Coalitions counted before progress moves and Ctrl-C is heard again: a tenth of a second.
_COUNTED_AT_ONCE = 2**24
# Coalitions beyond which nobody waits for a count before their worths are computed: some seconds.
MAX_COUNTED = 2**30


class SearchSlots(NamedTuple):
    """The graph, as the search reads it."""

    offsets: Ints  # [n+1]
    neighbours: Ints  # [2E]


class SearchProgress(NamedTuple):
    """Where the search stands."""

    cursor: Ints  # [5] size, number of candidates, the next one, coalitions seen, whether all is done
    stack: Ints  # [n] members, the target first
    position: Ints  # [n] of each variable on the stack, -1 for outsiders
    candidates: Ints  # [E+1] slots that may join
    resume: Ints  # [n] the candidate after the one by which each member joined
    lengths: Ints  # [n] candidates that there were when it joined


class Search:
    """The search under way, with a tape for the moves of one block."""

    def __init__(self, field: MarkovRandomField, n_moves: int) -> None:
        n = field.n_variables
        stack, position, resume, lengths = (np.zeros(n, dtype=np.int32) for _ in range(4))
        candidates = np.zeros(field.n_edges + 1, dtype=np.int32)
        self._slots = SearchSlots(field.slots.offsets, field.slots.neighbours)
        self._progress = SearchProgress(np.zeros(5, dtype=np.int64), stack, position, candidates, resume, lengths)
        self.tape = np.zeros(n_moves, dtype=np.int32)

    def advance(self, limit: int) -> Ints:
        """The next moves; none when all is done or more than `limit` coalitions were seen."""
        return self.tape[: kernels.search(self.tape, limit, self._slots, self._progress)]

    @property
    def n_seen(self) -> int:
        """Coalitions seen so far."""
        return int(self._progress.cursor[kernels.N_SEEN])

    @property
    def done(self) -> bool:
        """Whether all have been seen."""
        return bool(self._progress.cursor[kernels.DONE])


def count_coalitions(ball: Ball, limit: int, progress: Progress | None = None) -> int:
    """How many coalitions the ball has, or more than `limit` where there are more: a quick walk without worths.

    Beyond `MAX_COUNTED` the walk ends and the number is that + 1. What `progress` raises ends it, too.
    """
    if ball.log10_tree_coalitions > math.log10(limit + 1) + _ROUNDING:
        return limit + 1
    if ball.is_tree:
        return min(_count_subtrees(ball.parents.tolist()) - 1, limit + 1)
    limit = min(limit, MAX_COUNTED)
    search = Search(ball.field, 0)
    progress = progress or Silent()
    progress.begin("counting coalitions")
    while True:
        before = search.n_seen
        search.advance(min(limit, before + _COUNTED_AT_ONCE))
        if search.done or search.n_seen > limit:
            break
        progress.advance(search.n_seen - before)  # a short count tells nothing: nobody can stop it
    progress.end()
    return search.n_seen


def too_many(ball: Ball, max_evals: int) -> str:
    """Why not all coalitions of a ball can be gone through, and what to change."""
    lower, upper = ball.log10_coalition_bounds
    if ball.is_tree:
        count = f"about 10^{lower:.1f}" if lower > 7 else f"{round(10**lower):,}"
    else:
        count = f"between 10^{max(lower, math.log10(max_evals + 1)):.1f} and 10^{upper:.1f}"
    return (
        f"enumeration gives up: the ball of radius {ball.radius} around {ball.target!r} "
        f"({ball.n_variables:,} variables, {ball.n_edges:,} edges) has {count} coalitions, "
        f"more than max_evals={max_evals:,}; a smaller radius makes the ball smaller, a larger max_evals takes "
        "longer"
    )


def _count_subtrees(parents: list[int]) -> int:
    """Subtrees that hang at the root of a tree, the root alone included: N(v) as a whole number."""
    hanging = [1] * len(parents)
    for v in range(len(parents) - 1, 0, -1):
        hanging[parents[v]] *= 1 + hanging[v]
    return hanging[0]
