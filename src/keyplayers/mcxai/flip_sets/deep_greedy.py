"""Greedy masking for sets of many players: one state for every size, down to the end of the game.

Lazy greedy goes back to earlier states and gives up after some rows without a smaller set; where a set takes
twenty players, it has not come half the way by then. Here a descent never goes back. In each state players are
evaluated in the order of what they gained last, until none that is left gained more than the best one gains now
(Minoux 1978), and beside them those not evaluated for longest, since what a player gains may grow as others are
masked.
"""

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from .minimise import as_set, minimise_by_deletion
from .objectives import Objective
from .search import FlipSetSearch

# where the smallest set has no more players, the other strategies do as well for fewer rows
MAX_SHALLOW = 4
# players with the largest gains that are evaluated at a time
N_TOP = 12
# of the players left, the part of those not evaluated for longest that every state evaluates, too
STALEST_PART = 8


def deep_greedy(search: FlipSetSearch) -> None:
    """Mask the best player again and again, by log-odds against the best other class and against each rival.

    What ends the game is made minimal.
    """
    if search.low_budget or (search.best_size() or 0) <= MAX_SHALLOW:
        return
    smallest = min(objective.smallest for objective in search.objectives)
    nearest_rival = Objective(search.game, None, True, smallest)
    named = [objective for objective in search.objectives if objective.rival is not None]
    for objective in [nearest_rival, *named]:
        _descend(search, objective)


def _descend(search: FlipSetSearch, objective: Objective) -> None:
    """Extend one state until the game ends or the state has as many players as the smallest set."""
    gains = np.zeros(search.game.n)
    alone = search.singles >= 0
    gains[alone] = objective.drops(search.singles[alone])
    evaluated = np.zeros(search.game.n, dtype=np.int64)
    masked = np.arange(search.game.n) == gains.argmax()
    level = float(gains.max())
    for size in range(1, search.best_size() or 0):
        drops = _children(search, objective, masked, gains + level, evaluated)
        if drops is None:
            return
        fresh = ~np.isnan(drops)
        gains[fresh], evaluated[fresh] = drops[fresh] - level, size
        best = int(np.nanargmax(drops))
        masked[best], level = True, float(drops[best])


def _children(
    search: FlipSetSearch, objective: Objective, masked: Bools, expected: Floats, evaluated: Ints
) -> Floats | None:
    """The drops [n] of a state with one player more, NaN where not evaluated.

    None where the descent is over: the game has ended, and the set was made minimal, or rows have.
    """
    drops = np.full(search.game.n, np.nan)
    free = np.flatnonzero(~masked)
    strongest_first = free[np.argsort(-expected[free], kind="stable")]
    stalest = free[np.lexsort((-expected[free], evaluated[free]))[: len(free) // STALEST_PART]]
    players = np.unique(np.concatenate([strongest_first[:N_TOP], stalest]))
    while len(players):
        states = np.repeat(masked[None], len(players), axis=0)
        states[np.arange(len(players)), players] = True
        indices = search.game.evaluate(states, search.budget)
        if _stops(search, states, indices):
            return None
        drops[players] = objective.drops(indices)
        better = np.isnan(drops[strongest_first]) & (expected[strongest_first] > np.nanmax(drops))
        players = strongest_first[better][:N_TOP]
    return drops


def _stops(search: FlipSetSearch, states: Bools, indices: Ints) -> bool:
    """Whether one of these states ends the game, which is then made minimal, or rows have ended."""
    ends = search.game.ended(indices)
    if ends.any():
        at = int(np.argmax(np.where(ends, search.game.drops(indices), -np.inf)))
        minimise_by_deletion(search, as_set(np.flatnonzero(states[at])))
    return bool(ends.any() or (indices < 0).any())
