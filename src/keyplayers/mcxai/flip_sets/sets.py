"""Small sets that end a game: what a search for them knows, how one is shrunk and put in order."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from ..._base.arrays import Floats, Ints
from ..game.game import Game

# states for which rows are kept back as long as nothing has ended the game: the order of what ends it needs them
KEPT = 3

Members = tuple[int, ...]  # sorted local players


@dataclass(eq=False)
class Seek:
    """What a search for small sets knows.

    What is seen here is remembered by the board, so the playouts of the tree search find it again at no cost.
    """

    game: Game
    rng: np.random.Generator
    singles: Ints = field(init=False)  # [n] board index of each single player, -1 where not looked at
    gains: Floats = field(init=False)  # [n] drop of each single player, 0 where not looked at
    found: dict[Members, int] = field(default_factory=dict)  # minimal sets that end the game -> board index
    frugal: bool = False  # whether the rows allow so few states that rows count more than calls
    _end: int | None = None  # rows after which the search is over, while it goes on

    def __post_init__(self) -> None:
        self.singles = np.full(self.game.n, -1, dtype=np.int64)
        self.gains = np.zeros(self.game.n)

    def best_size(self) -> int | None:
        return min(map(len, self.found), default=None)

    def note(self, players: Members, index: int) -> None:
        """Remember a set that ends the game."""
        best = self.best_size()
        self.found.setdefault(players, index)
        if best is None or len(players) < best:
            self._keep_rows()

    @contextmanager
    def limited(self, max_rows: int) -> Iterator[None]:
        """Inside, the search may use so many rows."""
        board = self.game.board
        allowed = board.max_rows
        self._end = min(allowed, board.n_rows + max_rows)
        self._keep_rows()
        self.frugal = 2 * self.game.n > board.states_left()
        try:
            yield
        finally:
            self._end, board.max_rows = None, allowed

    def _keep_rows(self) -> None:
        """Leave the rows that the order of the smallest set will need."""
        if self._end is None:
            return
        board = self.game.board
        missing = KEPT
        if self.found:
            smallest = min(self.found, key=lambda s: (len(s), s))
            missing = len(smallest) - 1
            if self.frugal:
                missing = int((self.game.along([self.order(smallest)], asking=False)[0] < 0).sum())
        board.max_rows = self._end - missing * board.rows_per_state

    def order(self, players: Members) -> tuple[int, ...]:
        """A set's players, those first that move the margin most alone."""
        return tuple(sorted(players, key=lambda p: (-self.gains[p], p)))


def shrink(seek: Seek, players: Members) -> Members:
    """Take players out of a set that ends the game as long as it still does; note what is left."""
    game = seek.game
    index = -1
    while len(players) > 1:
        indices = game.without(players)
        ends = game.ended(indices)
        if not ends.any():
            break
        at = int(np.argmax(np.where(ends, game.drops(indices), -np.inf)))
        players, index = players[:at] + players[at + 1 :], int(indices[at])
    seek.note(players, index if index >= 0 else int(game.look_at([players])[0]))
    return players


def in_order(seek: Seek, sets: list[Members]) -> list[tuple[tuple[int, ...], int]]:
    """Sets that were found, each in an order whose last player ends it and none before, smallest first.

    Where rows are too few to make sure that none before does, a set is left out.
    """
    game = seek.game
    ordered: dict[frozenset[int], tuple[tuple[int, ...], int]] = {
        frozenset(players): (players, seek.found[players]) for players in sorted(sets) if len(players) == 1
    }
    larger = sorted((players for players in sets if len(players) > 1), key=lambda s: (len(s), s))
    orders = [seek.order(players) for players in larger]
    for order, indices in zip(orders, game.along(orders), strict=True):
        stops = np.flatnonzero((indices < 0) | game.ended(indices))
        if len(stops) and indices[stops[0]] >= 0:
            cut = order[: int(stops[0]) + 1]
            ordered.setdefault(frozenset(cut), (cut, int(indices[stops[0]])))
    found = list(ordered.values())
    changes = game.changes(np.array([index for _, index in found], dtype=np.int64))
    return [found[i] for i in sorted(range(len(found)), key=lambda i: (len(found[i][0]), -changes[i]))]
