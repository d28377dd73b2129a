"""States of masked players and what the model decides in them: a transposition table.

A state is the set of masked players, packed to bits. The cache remembers every state that it has shown to the
model, so none is shown twice, and it counts rows. Players that masking would not change have no place in it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...models.predictor import difference
from ..budget import Budget
from . import _state_kernels as kernels

# states are shown to the model in blocks of at most this many, so that memory does not grow with the budget
BLOCK = 1024
# a threshold of 0 or 1, which everything or nothing reaches, is taken for this far from it
SMALLEST_ODDS = 1e-12
# states for which there is room at first
ROOM = 256


class Scored(NamedTuple):
    """What the model says of B states."""

    probabilities: Floats  # [B, K]
    decisions: Ints  # [B] index of the class that it decides for; -1: the label that is asked for is off


class Score(Protocol):
    """Asks the model."""

    def __call__(self, states: Bools, n_times: int = 1, /) -> Scored:
        """What it says of states [B, n]; where each is asked several times, in the mean."""


@dataclass(eq=False)
class StateCache:
    """What the model says of the states seen so far.

    Parameters
    ----------
    score
        Masked players [B, n] -> what the model says.
    n_players
        n, all of them maskable.
    target
        Index y of the class that the games are about.
    budget
        What the model may be given in all.
    multilabel
        Whether the classes are labels that are each on or off: then the game is about label y alone.
    contrast
        Index of the class that the target is compared with; None: all others.
    threshold
        Probability of y at which the model decides for it; None: where it is the largest.
    rows_per_state
        Rows that the model is given for one state (background rows).
    states_per_call
        Most states that are shown in one call; the clock is looked at between calls.
    on_rows
        Told how many rows the model was just given.
    """

    score: Score
    n_players: int
    target: int
    budget: Budget
    multilabel: bool = False
    contrast: int | None = None
    threshold: float | None = None
    rows_per_state: int = 1
    states_per_call: int = BLOCK
    on_rows: Callable[[int], None] | None = None
    noise: float = 0.0  # how far two answers about the same row are apart, 0: the model is the same at each call
    n_rows: int = 0
    n_states: int = 0
    probabilities: Floats = field(default_factory=lambda: np.empty((ROOM, 0)))  # [M, K]
    p_target: Floats = field(default_factory=lambda: np.empty(ROOM))  # [M] probability of y
    p_other: Floats = field(default_factory=lambda: np.empty(ROOM))  # [M] probability of the best other class
    predicted: Ints = field(default_factory=lambda: np.empty(ROOM, dtype=np.int64))  # [M] class decided for
    repeated: Bools = field(default_factory=lambda: np.zeros(ROOM, dtype=bool))  # [M] asked several times
    packed: "np.ndarray[tuple[int, int], np.dtype[np.uint8]]" = field(init=False)  # [M, n/8] masked players
    _slots: Ints = field(default_factory=lambda: np.full(4 * ROOM, -1))  # hash table of the packed states

    def __post_init__(self) -> None:
        self.packed = np.empty((ROOM, (self.n_players + 7) // 8), dtype=np.uint8)

    def evaluate(self, masks: Bools, budget: Budget | None = None) -> Ints:
        """Index of each state [B, n], new ones shown to the model; -1 where the budget (default: all) ends.

        States count in the order in which they are given, so what a budget covers does not depend on how
        calls are cut.
        """
        packed = np.packbits(masks, axis=1)
        self._make_room(len(packed))
        start = self.n_states
        found: Ints
        found, new = kernels.find_or_insert(packed, self.packed, start, self._slots)
        if len(new):
            try:
                self._show(masks, new, budget or self.budget)
            finally:
                stop = start + len(new)
                if self.n_states < stop:
                    kernels.remove_latest(self.packed, self.n_states, stop, self._slots)
                    found[found >= self.n_states] = -1
        return found

    def insert(self, masks: Bools, scored: Scored) -> None:
        """Note different states whose rows the model has been given already."""
        self._make_room(len(masks))
        kernels.find_or_insert(np.packbits(masks, axis=1), self.packed, self.n_states, self._slots)
        self._append(scored)
        self.n_rows += len(masks) * self.rows_per_state

    def repeat(self, index: int, n_times: int) -> None:
        """Ask for a state so many times more; what it holds is then what the model says in the mean."""
        self._write(index, self.score(self.masks(np.array([index])), n_times))
        self.repeated[index] = True
        self._count_rows(n_times * self.rows_per_state)

    def ask_again(self, index: int) -> None:
        """Ask for a state once more, to see whether the model's answers are the same."""
        again = self.score(self.masks(np.array([index])))
        self._count_rows(self.rows_per_state)
        self.noise = max(self.noise, difference(self.probabilities[index : index + 1], again.probabilities))

    def rows_left(self, budget: Budget | None = None) -> int:
        """Rows that a budget (default: all) still allows, for whole states."""
        left = (budget or self.budget).rows_left(self.n_rows)
        return left - left % self.rows_per_state

    def states_left(self, budget: Budget | None = None) -> int:
        """New states that a budget (default: all) still allows."""
        return self.rows_left(budget) // self.rows_per_state

    def masks(self, indices: Ints) -> Bools:
        """Masked players [B, n] of states seen."""
        return np.unpackbits(self.packed[indices], axis=1, count=self.n_players).view(np.bool_)

    def sizes(self, indices: Ints) -> Ints:
        """How many players are masked in states seen [B]."""
        counts: Ints = np.bitwise_count(self.packed[indices]).sum(axis=1, dtype=np.int64)
        return counts

    def totals(self, indices: Ints, numbers: Ints) -> Ints:
        """Sum of the masked players' numbers [n] in states seen [B]."""
        parts = [self.masks(indices[at : at + BLOCK]) @ numbers for at in range(0, len(indices), BLOCK)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def margins(self, indices: Ints) -> Floats:
        """P(y) - P(best other class), [B]; with a threshold 0 where the decision changes."""
        return self.p_target[indices] - self.p_other[indices]

    def log_odds(self, indices: Ints, rival: int | None, smallest: float) -> Floats:
        """log P(y) - log P(rival), [B]; the rival is the best other class unless one is named.

        Parameters
        ----------
        smallest
            What is below this, such as 0, counts as this.
        """
        other = self.p_other[indices] if rival is None else self.probabilities[indices, rival]
        return np.log(np.maximum(self.p_target[indices], smallest)) - np.log(np.maximum(other, smallest))

    def _show(self, masks: Bools, rows: Ints, budget: Budget) -> None:
        """Show the model these rows of `masks`, as many as the budget allows."""
        done = 0
        while done < len(rows):
            part = rows[done : done + min(self.states_per_call, self.states_left(budget))]
            if not len(part):
                return
            done += len(part)
            self._append(self.score(masks[part] if len(part) < len(masks) else masks))
            self._count_rows(len(part) * self.rows_per_state)

    def _count_rows(self, n_rows: int) -> None:
        """Note that the model was given rows."""
        self.n_rows += n_rows
        if self.on_rows is not None:
            self.on_rows(n_rows)

    def _make_room(self, n_more: int) -> None:
        """Make room for so many further states."""
        needed = self.n_states + n_more
        if needed <= len(self.p_target):
            return
        for name in ("probabilities", "p_target", "p_other", "predicted", "repeated", "packed"):
            held = getattr(self, name)
            grown = np.zeros((max(needed, 2 * len(held)), *held.shape[1:]), dtype=held.dtype)
            grown[: self.n_states] = held[: self.n_states]
            setattr(self, name, grown)
        self._slots = np.full(2 ** (len(self.p_target) - 1).bit_length() * 2, -1)
        kernels.rehash(self.packed, self.n_states, self._slots)

    def _append(self, scored: Scored) -> None:
        """Note what the model says of the next B states."""
        self._write(self.n_states, scored)
        self.n_states += len(scored.probabilities)

    def _write(self, start: int, scored: Scored) -> None:
        """Write what the model says of B states, from the index `start` on."""
        probabilities = scored.probabilities
        stop = start + len(probabilities)
        new_classes = probabilities.shape[1] - self.probabilities.shape[1]
        if new_classes:
            self.probabilities = np.pad(self.probabilities, ((0, 0), (0, new_classes)))
        self.probabilities[start:stop] = probabilities
        self.predicted[start:stop] = scored.decisions
        rival = kernels.Rival(
            self.target, -1 if self.contrast is None else self.contrast, self.multilabel, self._odds()
        )
        kernels.read_classes(self.probabilities, start, stop, rival, self.p_target, self.p_other)

    def _odds(self) -> float:
        """Odds of y at which the model decides for it: P(other) times these is P(y) there."""
        if self.threshold is None:
            return 1.0
        return max(self.threshold, SMALLEST_ODDS) / max(1 - self.threshold, SMALLEST_ODDS)
