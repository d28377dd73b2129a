"""Lazy greedy with an exploration quota: mask the best player again and again, evaluating few in each state.

Greedy masking evaluates every player in every state. But what a player does changes little from one state to the
next, so the players that did most when they were last evaluated go first (lazy greedy, Minoux 1978), together with
those not evaluated for longest. Where one state leads no further, another one that was seen goes on.
"""

from dataclasses import dataclass, field

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from . import _set_kernels as kernels
from .minimise import as_set, minimise_by_deletion
from .objectives import Objective, active_objectives
from .search import FlipSetSearch

# players evaluated in a state: those with the largest gains, and those not evaluated for longest
N_TOP, N_STALEST = 8, 8
# the same where rows are few
FEW_TOP, FEW_STALEST = 4, 2
# most players of a set, as long as nothing has ended the game
MAX_SIZE = 20
# part of the way to the end of the game that is worth going on for
NOTABLE = 0.02
# children of a state that are remembered, for every objective
REMEMBERED = 2
# multiple of an objective's error that is added to what it expects, as an upper confidence bound
OPTIMISM = 1.5
# of the patience, what is granted far from the end, and what is added on the way to it, as long as nothing ends it
PATIENCE_FAR, PATIENCE_NEAR = 0.5, 1.5


@dataclass(eq=False)
class _States:
    """States that can be extended."""

    masked: Bools  # [S, n]
    tried: Bools  # [S, n] players that were evaluated on top
    drops: Floats  # [S, V] in each objective
    sizes: Ints = field(init=False)  # [S]

    def __post_init__(self) -> None:
        self.sizes = self.masked.sum(axis=1)

    def add(self, masked: Bools, drops: Floats) -> None:
        """Add states that are not there yet."""
        new = [i for i in range(len(masked)) if not (self.masked == masked[i]).all(axis=1).any()]
        self.masked = np.concatenate([self.masked, masked[new]])
        self.tried = np.concatenate([self.tried, np.zeros_like(masked[new])])
        self.drops = np.concatenate([self.drops, drops[new]])
        self.sizes = self.masked.sum(axis=1)


@dataclass(eq=False)
class _Descent:
    """What a descent knows of players and states, and when it came nearer last."""

    search: FlipSetSearch
    gains: Floats  # [V, n] what players dropped when they were last evaluated
    states: _States
    evaluated: Floats  # [n] turn in which each player was last evaluated
    last_progress: int  # rows given to the model by then
    nearest: float = 0.0  # largest part of the way to the end so far
    turn: int = 0

    def out_of_patience(self) -> bool:
        """Whether too many rows went by without progress."""
        found = self.search.best_size() is not None
        granted = 1.0 if found else PATIENCE_FAR + PATIENCE_NEAR * self.nearest
        return self.search.n_rows() - self.last_progress > self.search.patience * granted


def lazy_greedy(search: FlipSetSearch) -> None:
    """Extend states that were seen, by one player at a time, until the game ends with fewer players than before.

    It stops after `patience` rows without a smaller set. As long as there is none, it stops after rows without
    having come notably nearer to the end: half as many far from it, twice as many close to it.
    """
    if search.low_budget and search.found:
        return
    descent = _begin(search)
    while search.rows_left() > 0:
        descent.turn += 1
        if descent.out_of_patience():
            return
        chosen = _choose(descent)
        if chosen < 0 or not _extend(descent, chosen):
            return


def _begin(search: FlipSetSearch) -> _Descent:
    """What single players do, and as states the strongest one of every objective."""
    n, objectives = search.game.n, search.objectives
    gains = np.zeros((len(objectives), n))
    alone = search.singles >= 0
    for gain, objective in zip(gains, objectives, strict=True):
        gain[alone] = objective.drops(search.singles[alone])
    players = np.unique(gains.argmax(axis=1))
    masked = np.zeros((len(players), n), dtype=bool)
    masked[np.arange(len(players)), players] = True
    states = _States(masked, np.zeros_like(masked), gains[:, players].T.copy())
    return _Descent(search, gains, states, np.zeros(n), search.n_rows())


def _choose(descent: _Descent) -> int:
    """The state that is extended next, -1 where none is worth it."""
    objectives, states = descent.search.objectives, descent.states
    best = descent.search.best_size()
    return int(
        kernels.choose_state(
            kernels.Candidates(states.masked, states.sizes, states.tried, states.drops),
            kernels.Expectations(
                descent.gains,
                np.argsort(-descent.gains, axis=1, kind="stable"),
                np.array([objective.gap for objective in objectives]),
                np.array([OPTIMISM * objective.error() for objective in objectives]),
                active_objectives(objectives),
            ),
            (best or MAX_SIZE + 1) - 1,
            best is None,
        )
    )


def _extend(descent: _Descent, chosen: int) -> bool:
    """Evaluate some players on top of a state; False where rows have ended."""
    search, states = descent.search, descent.states
    game, objectives = search.game, search.objectives
    players = _players_to_try(descent, chosen)
    states.tried[chosen, players] = True
    masked = np.repeat(states.masked[chosen : chosen + 1], len(players), axis=0)
    masked[np.arange(len(players)), players] = True
    indices = game.evaluate(masked, search.budget)
    ends = game.ended(indices)
    if ends.any():
        at = int(np.argmax(np.where(ends, game.drops(indices), -np.inf)))
        minimise_by_deletion(search, as_set(np.flatnonzero(masked[at])))
        descent.last_progress = search.n_rows()
        return True
    if (indices < 0).any():
        return False
    drops = np.stack([objective.drops(indices) for objective in objectives], axis=1)
    gained = drops - states.drops[chosen]
    _learn(descent, players, gained)
    _note_progress(descent, drops, objectives[0])
    best_first = np.argsort(-drops, axis=0, kind="stable")[:REMEMBERED].T.ravel()
    children = [int(i) for i in dict.fromkeys(best_first.tolist()) if (gained[i] >= 0).any()]
    states.add(masked[children], drops[children])
    return True


def _players_to_try(descent: _Descent, chosen: int) -> Ints:
    """Players to evaluate on top of a state: the strongest, at first, and the stalest."""
    n_top, n_stalest = (FEW_TOP, FEW_STALEST) if descent.search.low_budget else (N_TOP, N_STALEST)
    states, gains = descent.states, descent.gains
    free = np.flatnonzero(~(states.masked[chosen] | states.tried[chosen]))
    players: list[int] = []
    if not states.tried[chosen].any():
        for gain in gains:
            players += free[np.argsort(-gain[free], kind="stable")[: max(1, n_top // len(gains))]].tolist()
    # among equally stale ones strong movers in the wrong direction count too: they take part in something
    players += free[np.lexsort((-np.abs(gains[0, free]), descent.evaluated[free]))[:n_stalest]].tolist()
    return np.array(list(dict.fromkeys(players)))


def _learn(descent: _Descent, players: Ints, gained: Floats) -> None:
    """Note what players [k] gained in each objective [k, V], and how wrong the objectives were about it."""
    for v, objective in enumerate(descent.search.objectives):
        objective.learn(gained[:, v] - descent.gains[v, players])
    descent.gains[:, players] = gained.T
    descent.evaluated[players] = descent.turn


def _note_progress(descent: _Descent, drops: Floats, margin: Objective) -> None:
    """As long as nothing ends the game, coming notably nearer counts as progress."""
    nearer = float((drops[:, 0] / margin.gap).max())
    if descent.search.best_size() is None and nearer > descent.nearest + NOTABLE:
        descent.nearest, descent.last_progress = nearer, descent.search.n_rows()
