"""Descent: mask the player that promises most, again and again, looking only at few players in each state.

Greedy masking looks at every player in every state. But what a player does changes little from one state to the
next, so the players that did most when they were last looked at go first, together with those that have not been
looked at for longest. Where one state leads no further, another one that was seen goes on.
"""

from dataclasses import dataclass, field

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from . import _set_kernels as kernels
from .objectives import Measure, deciding
from .sets import Seek, shrink

# players looked at in a state: those that promise most, and those not looked at for longest
PROMISING, NEGLECTED = 8, 8
# the same where rows are few
FEW_PROMISING, FEW_NEGLECTED = 4, 2
# most players of a set, as long as nothing has ended the game
MAX_DEPTH = 20
# part of the way to the end of the game that is worth going on for
NOTABLE = 0.02
# children of a state that are remembered, for every measure
REMEMBERED = 2
# a state is hopeless where this many times the usual error of a gain would not lift it to the end
HOPE = 1.5


@dataclass(eq=False)
class _States:
    """States that can be extended."""

    masked: Bools  # [S, n]
    tried: Bools  # [S, n] players that were looked at on top
    drops: Floats  # [S, V] in each measure
    sizes: Ints = field(init=False)  # [S]

    def __post_init__(self) -> None:
        self.sizes = self.masked.sum(axis=1)

    def add(self, masked: Bools, drops: Floats) -> None:
        new = [i for i in range(len(masked)) if not (self.masked == masked[i]).all(axis=1).any()]
        self.masked = np.concatenate([self.masked, masked[new]])
        self.tried = np.concatenate([self.tried, np.zeros_like(masked[new])])
        self.drops = np.concatenate([self.drops, drops[new]])
        self.sizes = self.masked.sum(axis=1)


def descend(seek: Seek, measures: list[Measure], patience: int) -> None:
    """Extend states that were seen, by one player at a time, until the game ends with fewer players than before.

    Parameters
    ----------
    patience
        Rows without a smaller set after which to stop. As long as there is none, rows without having come
        notably nearer to the end: half as many far from it, twice as many close to it.
    """
    game, board = seek.game, seek.game.board
    gains = np.zeros((len(measures), game.n))  # [V, n] what players dropped when they were last looked at
    alone = seek.singles >= 0
    for gain, measure in zip(gains, measures, strict=True):
        gain[alone] = measure.drops(seek.singles[alone])
    looked = np.zeros(game.n)
    needed = np.array([measure.needed for measure in measures])
    states = _first(gains)
    last, nearest, turn = board.n_rows, 0.0, 0
    while board.rows_left() > 0:
        best, turn = seek.best_size(), turn + 1
        if board.n_rows - last > patience * (1.0 if best else 0.5 + 1.5 * nearest):
            return
        chosen = kernels.choose(
            states.masked, states.sizes, states.tried, states.drops, gains, needed,
            np.array([HOPE * measure.error() for measure in measures]), deciding(measures),
            (best or MAX_DEPTH + 1) - 1, best is None,
        )  # fmt: skip
        if chosen < 0:
            return
        part = _to_look_at(seek, states, chosen, gains, looked)
        states.tried[chosen, part] = True
        masked = np.repeat(states.masked[chosen : chosen + 1], len(part), axis=0)
        masked[np.arange(len(part)), part] = True
        indices = game.look(masked)
        ends = game.ended(indices)
        if ends.any():
            at = int(np.argmax(np.where(ends, game.drops(indices), -np.inf)))
            shrink(seek, tuple(np.flatnonzero(masked[at]).tolist()))
            last = board.n_rows
            continue
        if (indices < 0).any():
            return
        drops = np.stack([measure.drops(indices) for measure in measures], axis=1)
        found = drops - states.drops[chosen]
        for v, measure in enumerate(measures):
            measure.learn(found[:, v] - gains[v, part])
        gains[:, part] = found.T
        looked[part] = turn
        nearer = float((drops[:, 0] / needed[0]).max())
        if best is None and nearer > nearest + NOTABLE:
            nearest, last = nearer, board.n_rows
        order = np.argsort(-drops, axis=0, kind="stable")[:REMEMBERED].T.ravel()
        children = [int(i) for i in dict.fromkeys(order.tolist()) if (found[i] >= 0).any()]
        states.add(masked[children], drops[children])


def _first(gains: Floats) -> _States:
    """The strongest single player of every measure."""
    players = np.unique(gains.argmax(axis=1))
    masked = np.zeros((len(players), gains.shape[1]), dtype=bool)
    masked[np.arange(len(players)), players] = True
    return _States(masked, np.zeros_like(masked), gains[:, players].T.copy())


def _to_look_at(seek: Seek, states: _States, chosen: int, gains: Floats, looked: Floats) -> Ints:
    """Players to look at on top of a state: the most promising, at first, and the neglected."""
    promising, neglected = (FEW_PROMISING, FEW_NEGLECTED) if seek.frugal else (PROMISING, NEGLECTED)
    free = np.flatnonzero(~(states.masked[chosen] | states.tried[chosen]))
    part: list[int] = []
    if not states.tried[chosen].any():
        for gain in gains:
            part += free[np.argsort(-gain[free], kind="stable")[: max(1, promising // len(gains))]].tolist()
    part += free[np.lexsort((-np.abs(gains[0, free]), looked[free]))[:neglected]].tolist()
    return np.array(list(dict.fromkeys(part)))
