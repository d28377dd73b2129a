"""What a search for small sets that end a game knows, and what it may still spend."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..._base.arrays import Floats, Ints
from ..budget import NO_ROWS, Budget
from ..game.game import Game, Order, PlayerSet
from .objectives import Objective, objectives_of

# states for which rows are kept back as long as nothing has ended the game: the order of what ends it needs them
KEPT_STATES = 3


@dataclass(eq=False)
class FlipSetSearch:
    """What a search for flip sets (sets of masked players that end the game) knows.

    What is evaluated here stays in the cache, so the playouts of the tree search find it again at no cost.
    """

    game: Game
    rng: np.random.Generator
    budget: Budget = field(init=False)  # what may be spent now; all there is until `start`
    patience: int = 0  # rows after which a strategy that found nothing smaller gives up
    singles: Ints = field(init=False)  # [n] cache index of each single player, -1 where not evaluated
    gains: Floats = field(init=False)  # [n] drop of each single player, 0 where not evaluated
    found: dict[PlayerSet, int] = field(default_factory=dict)  # minimal sets that end the game -> cache index
    low_budget: bool = False  # whether the rows allow so few states that rows count more than calls
    _keeps_rows: bool = False  # whether rows are kept back for the order of the smallest set

    def __post_init__(self) -> None:
        self.budget = self.game.cache.budget
        self.singles = np.full(self.game.n, -1, dtype=np.int64)
        self.gains = np.zeros(self.game.n)

    def start(self, budget: Budget, patience: int) -> None:
        """Begin the search for sets with this budget."""
        self.budget, self.patience, self._keeps_rows = budget, patience, True
        self._keep_rows()
        self.low_budget = 2 * self.game.n > self.states_left()

    def go_on(self, budget: Budget) -> None:
        """The search for sets is over; what is evaluated now is charged to another budget."""
        self.budget, self._keeps_rows = budget, False

    @cached_property
    def objectives(self) -> list[Objective]:
        """The ways to say how near a state is to the end, made from what single players do."""
        return objectives_of(self.game, self.singles[self.singles >= 0])

    def best_size(self) -> int | None:
        """How many players the smallest set has; None where nothing was found."""
        return min(map(len, self.found), default=None)

    def states_left(self) -> int:
        """New states that the budget still allows."""
        return self.game.cache.states_left(self.budget)

    def rows_left(self) -> int:
        """Rows that the budget still allows."""
        return self.game.cache.rows_left(self.budget)

    def n_rows(self) -> int:
        """Rows that the model was given so far."""
        return self.game.cache.n_rows

    def record(self, players: PlayerSet, index: int) -> None:
        """Remember a set that ends the game."""
        best = self.best_size()
        self.found.setdefault(players, index)
        if self._keeps_rows and (best is None or len(players) < best):
            self._keep_rows()

    def order(self, players: PlayerSet) -> Order:
        """A set's players, those first that move the margin most alone."""
        return tuple(sorted(players, key=lambda p: (-self.gains[p], p)))

    def _keep_rows(self) -> None:
        """Keep the rows that the order of the smallest set will need."""
        missing = KEPT_STATES
        if self.found:
            smallest = min(self.found, key=lambda s: (len(s), s))
            missing = len(smallest) - 1
            if self.low_budget:  # the rows that tell whether a player can be spared are kept, too
                known = self.game.evaluate_prefixes([self.order(smallest)], NO_ROWS)[0]
                spared = self.game.evaluate_leave_one_out(smallest, NO_ROWS)
                missing = int((known < 0).sum() + (spared < 0).sum())
        self.budget = self.budget.keeping(missing * self.game.cache.rows_per_state)


def replay_orders(search: FlipSetSearch, sets: list[PlayerSet]) -> list[tuple[Order, int]]:
    """Sets that were found, each in an order whose last player ends it and none before, with their cache index.

    The smallest come first. Where rows are too few to make sure that none before does, a set is left out.
    """
    game = search.game
    ordered: dict[frozenset[int], tuple[Order, int]] = {
        frozenset(players): (players, search.found[players]) for players in sorted(sets) if len(players) == 1
    }
    larger = sorted((players for players in sets if len(players) > 1), key=lambda s: (len(s), s))
    orders = [search.order(players) for players in larger]
    for order, indices in zip(orders, game.evaluate_prefixes(orders, search.budget), strict=True):
        stops = np.flatnonzero((indices < 0) | game.ended(indices))
        if len(stops) and indices[stops[0]] >= 0:
            cut = order[: int(stops[0]) + 1]
            ordered.setdefault(frozenset(cut), (cut, int(indices[stops[0]])))
    found = list(ordered.values())
    changes = game.changes(np.array([index for _, index in found], dtype=np.int64))
    return [found[i] for i in sorted(range(len(found)), key=lambda i: (len(found[i][0]), -changes[i]))]
