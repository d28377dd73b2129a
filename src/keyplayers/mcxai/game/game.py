"""The two games on one board: states of masked players, what the model says of them, reward of a playout.

A state is the set of masked players, packed to bits. The board remembers every state that it has shown to the
model, so none is shown twice, and it counts rows. Players that masking would not change are not on the board.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from . import _state_kernels as kernels

# a probability below this cannot be told from 0 when margins are taken as logarithms
SMALLEST_PROBABILITY = 1e-3
# states are shown to the model in blocks of at most this many, so that memory does not grow with the budget
BLOCK = 1024

Score = Callable[[Bools], Floats]


@dataclass(eq=False)
class Board:
    """What the model says of the states seen so far.

    Parameters
    ----------
    score
        Masked players [B, n] -> class probabilities [B, K].
    n_players
        n, all of them maskable.
    target
        Index y of the class that the games are about.
    multilabel
        Whether the classes are labels that are each on or off: then the game is about label y alone.
    rows_per_state
        Rows that the model is given for one state (background rows).
    max_rows
        Budget in rows.
    deadline
        Value of ``time.perf_counter()`` after which nothing new is shown to the model.
    """

    score: Score
    n_players: int
    target: int
    multilabel: bool = False
    rows_per_state: int = 1
    max_rows: int = 1000
    deadline: float = float("inf")
    n_rows: int = 0
    n_states: int = 0
    on_rows: Callable[[int], None] | None = None
    probabilities: Floats = field(default_factory=lambda: np.empty((256, 0)))  # [M, K]
    p_target: Floats = field(default_factory=lambda: np.empty(256))  # [M] probability of y
    p_other: Floats = field(default_factory=lambda: np.empty(256))  # [M] probability of the best other class
    predicted: Ints = field(default_factory=lambda: np.empty(256, dtype=np.int64))  # [M] class index
    packed: "np.ndarray[tuple[int, int], np.dtype[np.uint8]]" = field(init=False)  # [M, n/8] masked players
    _slots: Ints = field(default_factory=lambda: np.full(1024, -1))  # hash table of the packed states

    def __post_init__(self) -> None:
        self.packed = np.empty((256, (self.n_players + 7) // 8), dtype=np.uint8)

    def look(self, states: Bools) -> Ints:
        """Index of each state [B] among those seen, new ones shown to the model; -1 where the budget ends.

        States count in the order in which they are given, so what a budget covers does not depend on how
        calls are cut.
        """
        packed = np.packbits(states, axis=1)
        self._reserve(len(packed))
        start = self.n_states
        found: Ints
        found, fresh = kernels.find(packed, self.packed, start, self._slots)
        if len(fresh):
            try:
                self._show(states, fresh)
            finally:
                stop = start + len(fresh)
                if self.n_states < stop:
                    kernels.forget(self.packed, self.n_states, stop, self._slots)
                    found[found >= self.n_states] = -1
        return found

    def remember(self, states: Bools, probabilities: Floats) -> None:
        """Note different states whose rows the model has been given already."""
        self._reserve(len(states))
        kernels.find(np.packbits(states, axis=1), self.packed, self.n_states, self._slots)
        self._absorb(probabilities)

    def rows_left(self) -> int:
        """Rows that the budget still allows, for whole states."""
        if time.perf_counter() > self.deadline:
            return 0
        left = max(0, self.max_rows - self.n_rows)
        return left - left % self.rows_per_state

    def states_left(self) -> int:
        """New states that the budget still allows."""
        return self.rows_left() // self.rows_per_state

    def states(self, indices: Ints) -> Bools:
        """Masked players [B, n] of states seen."""
        return np.unpackbits(self.packed[indices], axis=1, count=self.n_players).view(np.bool_)

    def sizes(self, indices: Ints) -> Ints:
        """How many players are masked in states seen [B]."""
        counts: Ints = np.bitwise_count(self.packed[indices]).sum(axis=1, dtype=np.int64)
        return counts

    def totals(self, indices: Ints, worths: Ints) -> Ints:
        """Sum of the masked players' worths [n] in states seen [B]."""
        parts = [self.states(indices[at : at + BLOCK]) @ worths for at in range(0, len(indices), BLOCK)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def margins(self, indices: Ints) -> Floats:
        """P(y) - P(best other class), [B]."""
        return self.p_target[indices] - self.p_other[indices]

    def log_odds(self, indices: Ints, rival: int | None = None) -> Floats:
        """log P(y) - log P(rival), [B]; the rival is the best other class unless one is named."""
        other = self.p_other[indices] if rival is None else self.probabilities[indices, rival]
        return np.log(np.maximum(self.p_target[indices], SMALLEST_PROBABILITY)) - np.log(
            np.maximum(other, SMALLEST_PROBABILITY)
        )

    def _show(self, states: Bools, rows: Ints) -> None:
        """Show the model these rows of `states`, as many as the budget allows."""
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + min(BLOCK, self.states_left())]
            if not len(part):
                return
            self._absorb(self.score(states[part] if len(part) < len(states) else states))
            self.n_rows += len(part) * self.rows_per_state
            if self.on_rows is not None:
                self.on_rows(len(part) * self.rows_per_state)

    def _reserve(self, n_more: int) -> None:
        """Make room for so many further states."""
        needed = self.n_states + n_more
        if needed <= len(self.p_target):
            return
        for name in ("probabilities", "p_target", "p_other", "predicted", "packed"):
            held = getattr(self, name)
            grown = np.zeros((max(needed, 2 * len(held)), *held.shape[1:]), dtype=held.dtype)
            grown[: self.n_states] = held[: self.n_states]
            setattr(self, name, grown)
        self._slots = np.full(2 ** (len(self.p_target) - 1).bit_length() * 2, -1)
        kernels.enter_all(self.packed, self.n_states, self._slots)

    def _absorb(self, probabilities: Floats) -> None:
        """Note what the model says [B, K] of the next B states."""
        start, stop = self.n_states, self.n_states + len(probabilities)
        new_classes = probabilities.shape[1] - self.probabilities.shape[1]
        if new_classes:
            self.probabilities = np.pad(self.probabilities, ((0, 0), (0, new_classes)))
        self.probabilities[start:stop] = probabilities
        kernels.judge(
            self.probabilities, start, stop, self.target, self.multilabel, self.p_target, self.p_other,
            self.predicted,
        )  # fmt: skip
        self.n_states = stop


@dataclass(eq=False)
class Game:
    """Mask players until the class is no longer y (`sign` 1), or until it is y (`sign` -1).

    The continuation of a game starts from a `base` of players that are masked already; it is played by the
    rest, whose local numbers are 0 .. n - 1.
    """

    board: Board
    sign: int
    base: Bools  # [N] masked before the game starts

    def __post_init__(self) -> None:
        self.players = np.flatnonzero(~self.base)  # [n] local number -> number on the board
        self.n = len(self.players)
        # between players of the base all others stand in a row: (first, behind the last, masked before them)
        bounds = [-1, *np.flatnonzero(self.base).tolist(), len(self.base)]
        self._runs = [(a + 1, b, k) for k, (a, b) in enumerate(pairwise(bounds)) if b > a + 1]
        self._counted = np.zeros(0, dtype=np.bool_)  # [M] states of the board that this game has looked at
        self.n_seen = np.zeros(self.n + 1, dtype=np.int64)  # by size: different states looked at
        self.smallest_end = self.n + 1  # players masked in the smallest state seen that ends the game
        self.start = int(self.look(np.zeros((1, self.n), dtype=bool))[0])

    def look(self, states: Bools) -> Ints:
        """Board index of each local state [B, n]; -1 where the budget ends."""
        board, full = self.board, states
        if self.n < len(self.base):
            full = np.ones((len(states), len(self.base)), dtype=bool)
            for start, stop, shift in self._runs:
                full[:, start:stop] = states[:, start - shift : stop - shift]
        found = board.look(full)
        if len(self._counted) < len(board.p_target):
            self._counted = np.concatenate(
                [self._counted, np.zeros(len(board.p_target) - len(self._counted), dtype=np.bool_)]
            )
        self.smallest_end = kernels.count(
            found, states, board.predicted, board.target, self.sign, self._counted, self.n_seen, self.smallest_end
        )
        return found

    def look_at(self, sets: "list[tuple[int, ...]]") -> Ints:
        """`look` for sets given by their local players."""
        found = np.empty(len(sets), dtype=np.int64)
        for start in range(0, len(sets), BLOCK):
            part = sets[start : start + BLOCK]
            states = np.zeros((len(part), self.n), dtype=bool)
            places = [row * self.n + player for row, players in enumerate(part) for player in players]
            states.reshape(-1)[places] = True
            found[start : start + BLOCK] = self.look(states)
        return found

    def without(self, players: "tuple[int, ...]") -> Ints:
        """`look` for a set with each of its players taken out in turn [k]."""
        members = np.array(players, dtype=np.int64)
        found = np.empty(len(members), dtype=np.int64)
        for start in range(0, len(members), BLOCK):
            part = members[start : start + BLOCK]
            states = np.zeros((len(part), self.n), dtype=bool)
            states[:, members] = True
            states[np.arange(len(part)), part] = False
            found[start : start + BLOCK] = self.look(states)
        return found

    def along(self, orders: "list[tuple[int, ...]]", asking: bool = True) -> list[Ints]:
        """`look` for the states that come up as players are masked in these orders, [k] for an order of k players.

        Without `asking` the model is shown nothing: states not seen are -1.
        """
        found = np.empty(sum(map(len, orders)), dtype=np.int64)
        allowed = self.board.max_rows
        self.board.max_rows = allowed if asking else 0
        states = np.zeros((min(BLOCK, len(found)), self.n), dtype=bool)
        done = filled = 0
        try:
            for order in orders:
                members = np.array(order, dtype=np.int64)
                start = 0
                while start < len(members):
                    part = members[start : start + len(states) - filled]
                    rows = states[filled : filled + len(part)]
                    rows[:, members[:start]] = True
                    rows[:, part] = np.tri(len(part), dtype=bool)
                    start, filled = start + len(part), filled + len(part)
                    if filled == len(states):
                        found[done : done + filled] = self.look(states)
                        done, filled = done + filled, 0
                        states = np.zeros((min(BLOCK, len(found) - done), self.n), dtype=bool)
        finally:
            self.board.max_rows = allowed
        return np.split(found, np.cumsum([len(order) for order in orders])[:-1]) if orders else []

    def members(self, indices: Ints) -> Ints:
        """Players masked in states seen, beyond the base, one state after the other."""
        players = [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(indices), BLOCK):
            players.append(np.nonzero(self.board.states(indices[start : start + BLOCK])[:, self.players])[1])
        return np.concatenate(players)

    def counted(self) -> Bools:
        """Which states on the board this game has looked at [M]."""
        return self._counted[: self.board.n_states]

    def ended(self, indices: Ints) -> Bools:
        """Whether the game is over in these states [B]; False where the index is -1."""
        board = self.board
        predicted = board.predicted[indices]
        over: Bools = predicted != board.target if self.sign == 1 else predicted == board.target
        over &= indices >= 0
        return over

    def drops(self, indices: Ints) -> Floats:
        """How far the margin moved towards the end of the game since its start, [B]."""
        board = self.board
        return self.sign * (board.margins(np.array([self.start])) - board.margins(indices))

    def changes(self, indices: Ints) -> Floats:
        """How far P(y) moved towards the end of the game since its start [B]."""
        p = self.board.p_target
        moved: Floats = self.sign * (p[self.start] - p[indices])
        return moved

    def lower_bound(self) -> int:
        """Every set that ends the game has at least this many players: smaller ones were all tried."""
        from math import comb

        for size in range(self.smallest_end):
            if self.n_seen[size] < comb(self.n, size):
                return size
        return self.smallest_end
