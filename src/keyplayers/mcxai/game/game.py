"""One of the two games: which states it looks at, when it is over, how far a state has moved towards its end."""

from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..budget import Budget
from . import _state_kernels as kernels
from .state_cache import BLOCK, StateCache

# below this probability of the target, or of the best other class, margins hold too few digits to rank players
NEARLY_CERTAIN = 1e-6
# what a probability of 0 counts as in log-odds
SMALLEST = float(np.finfo(np.float64).tiny)

PlayerSet = tuple[int, ...]  # sorted local players
Order = tuple[int, ...]  # local players in the order in which they are masked


@dataclass(eq=False)
class Game:
    """Mask players until the class is no longer y (`sign` 1), or until it is y (`sign` -1).

    With a contrast the first of the two is over only where the class is that one.

    The continuation of a game starts from a `base` of players that are masked already; it is played by the
    rest, whose local numbers are 0 .. n - 1.
    """

    cache: StateCache
    sign: int
    base: Bools  # [N] masked before the game starts

    def __post_init__(self) -> None:
        self.players = np.flatnonzero(~self.base)  # [n] local number -> number in the cache
        self.n = len(self.players)
        # between players of the base all others stand in a row: (first, behind the last, masked before them)
        bounds = [-1, *np.flatnonzero(self.base).tolist(), len(self.base)]
        self._runs = [(a + 1, b, k) for k, (a, b) in enumerate(pairwise(bounds)) if b > a + 1]
        self._visits = kernels.Visits(np.zeros(0, dtype=np.bool_), np.zeros(self.n + 1, dtype=np.int64))
        self.smallest_end = self.n + 1  # players masked in the smallest state seen that ends the game
        self.start = int(self.evaluate(np.zeros((1, self.n), dtype=bool))[0])
        lower = min(self.cache.p_target[self.start], self.cache.p_other[self.start])
        self.nearly_certain = bool(0 < lower < NEARLY_CERTAIN)

    def evaluate(self, masks: Bools, budget: Budget | None = None) -> Ints:
        """Cache index of each local state [B, n]; -1 where the budget (default: all there is) ends."""
        found = self.cache.evaluate(self._with_base(masks), budget)
        self._count(found, masks)
        return found

    def evaluate_sets(self, sets: list[PlayerSet], budget: Budget | None = None) -> Ints:
        """`evaluate` for sets given by their local players."""
        found = np.empty(len(sets), dtype=np.int64)
        for start in range(0, len(sets), BLOCK):
            part = sets[start : start + BLOCK]
            masks = np.zeros((len(part), self.n), dtype=bool)
            places = [row * self.n + player for row, players in enumerate(part) for player in players]
            masks.reshape(-1)[places] = True
            found[start : start + BLOCK] = self.evaluate(masks, budget)
        return found

    def evaluate_leave_one_out(self, players: PlayerSet, budget: Budget | None = None) -> Ints:
        """`evaluate` for a set with each of its players taken out in turn [k]."""
        members = np.array(players, dtype=np.int64)
        found = np.empty(len(members), dtype=np.int64)
        for start in range(0, len(members), BLOCK):
            part = members[start : start + BLOCK]
            masks = np.zeros((len(part), self.n), dtype=bool)
            masks[:, members] = True
            masks[np.arange(len(part)), part] = False
            found[start : start + BLOCK] = self.evaluate(masks, budget)
        return found

    def evaluate_prefixes(self, orders: list[Order], budget: Budget | None = None) -> list[Ints]:
        """`evaluate` for the states that come up as players are masked in these orders, [k] for k players."""
        found = np.empty(sum(map(len, orders)), dtype=np.int64)
        masks = np.zeros((min(BLOCK, len(found)), self.n), dtype=bool)
        done = filled = 0
        for order in orders:
            members = np.array(order, dtype=np.int64)
            start = 0
            while start < len(members):
                part = members[start : start + len(masks) - filled]
                rows = masks[filled : filled + len(part)]
                rows[:, members[:start]] = True
                rows[:, part] = np.tri(len(part), dtype=bool)
                start, filled = start + len(part), filled + len(part)
                if filled == len(masks):
                    found[done : done + filled] = self.evaluate(masks, budget)
                    done, filled = done + filled, 0
                    masks = np.zeros((min(BLOCK, len(found) - done), self.n), dtype=bool)
        return np.split(found, np.cumsum([len(order) for order in orders])[:-1]) if orders else []

    def members(self, indices: Ints) -> Ints:
        """Players masked in states seen, beyond the base, one state after the other."""
        players = [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(indices), BLOCK):
            players.append(np.nonzero(self.cache.masks(indices[start : start + BLOCK])[:, self.players])[1])
        return np.concatenate(players)

    def visited(self) -> Bools:
        """Which states of the cache this game has looked at [M]."""
        self._make_room()
        return self._visits.visited[: self.cache.n_states]

    def ended(self, indices: Ints) -> Bools:
        """Whether the game is over in these states [B]; False where the index is -1."""
        cache, predicted = self.cache, self.cache.predicted[indices]
        over: Bools
        if self.sign == -1:
            over = predicted == cache.target
        elif cache.contrast is None:
            over = predicted != cache.target
        else:
            over = predicted == cache.contrast
        over &= indices >= 0
        return over

    def starts_over(self) -> bool:
        """Whether there is nothing to play: no player, or the game is over before it starts."""
        return self.n == 0 or bool(self.ended(np.array([self.start]))[0])

    def drops(self, indices: Ints) -> Floats:
        """How far the margin moved towards the end of the game since its start, [B].

        Where the model is nearly certain margins hardly move; there it is how far the log-odds moved, as the same
        part of the way to the end.
        """
        cache, start = self.cache, np.array([self.start])
        if not self.nearly_certain:
            return self.sign * (cache.margins(start) - cache.margins(indices))
        start_odds = cache.log_odds(start, None, SMALLEST)
        scale = cache.margins(start) / start_odds
        drops: Floats = self.sign * scale * (start_odds - cache.log_odds(indices, None, SMALLEST))
        return drops

    def changes(self, indices: Ints) -> Floats:
        """How far P(y) moved towards the end of the game since its start [B]."""
        p = self.cache.p_target
        moved: Floats = self.sign * (p[self.start] - p[indices])
        return moved

    def n_visited(self) -> int:
        """Different states evaluated."""
        return int(self._visits.n_seen.sum())

    def n_seen(self, size: int) -> int:
        """Different states evaluated with so many players masked."""
        return int(self._visits.n_seen[size])

    def lower_bound(self) -> int:
        """Every set that ends the game has at least this many players: smaller ones were all tried.

        n + 1 where all sets were tried and none ends it; 0 where its answers differ from call to call.
        """
        if self.cache.noise:
            return 0
        for size in range(self.smallest_end):
            if self._visits.n_seen[size] < comb(self.n, size):
                return size
        return self.smallest_end

    def _with_base(self, masks: Bools) -> Bools:
        """States of all players [B, N], those of the base masked."""
        if self.n == len(self.base):
            return masks
        full = np.ones((len(masks), len(self.base)), dtype=bool)
        for start, stop, shift in self._runs:
            full[:, start:stop] = masks[:, start - shift : stop - shift]
        return full

    def _count(self, found: Ints, masks: Bools) -> None:
        """Note which states this game has looked at, for its lower bound."""
        self._make_room()
        self.smallest_end = kernels.count_visits(found, masks, self.ended(found), self._visits, self.smallest_end)

    def _make_room(self) -> None:
        missing = len(self.cache.p_target) - len(self._visits.visited)
        if missing > 0:
            visited = np.concatenate([self._visits.visited, np.zeros(missing, dtype=np.bool_)])
            self._visits = self._visits._replace(visited=visited)
