"""Contributions: what masking a player changes in P(target), in the mean over random orders of all players.

That mean is the player's Shapley value in the game of masking (Shapley 1953). Orders go in pairs of an order and
its reverse, which lowers the variance (antithetic sampling, Mitchell et al. 2022). A player that the model does
not read changes nothing in any of them.
"""

from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from .budget import Budget
from .game.game import Game, Order

# A variance seen in few pairs says little. It is averaged with that of all players, which counts like so many
# pairs (moderated variances, Smyth 2004): standard errors of two pairs hold, too.
PRIOR_PAIRS = 2.0
# with every state known all orders are known
MAX_EXACT = 16


class Contributions(NamedTuple):
    """Contributions of a game's players [n], in probability; positive where masking lowers P(target)."""

    values: Floats
    std_errors: Floats  # 0 where exact, NaN where nobody knows
    by_orders: bool  # False: rows were too few, the values are what masking each player alone changes


def rows_of_a_pair(n: int) -> int:
    """States of a pair of orders of n players, without the two ends, which are known."""
    return max(1, 2 * (n - 1))


@dataclass(eq=False)
class OrderSampler:
    """Contributions from random orders of all players, more of them as rows allow."""

    game: Game  # the instance's own: nothing is masked before it starts
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self._pairs: list[Floats] = []  # [n] each: mean contribution over an order and its reverse
        p = self.game.cache.p_target
        self._start = float(p[self.game.start])

    def sample(self, max_pairs: int, budget: Budget) -> None:
        """Evaluate the states along so many more pairs of orders, as far as the budget goes."""
        n, n_left = self.game.n, self.game.cache.states_left(budget)
        if n < 2:
            return
        orders: list[Order] = []
        for _ in range(min(max_pairs, n_left // rows_of_a_pair(n))):
            drawn = self.rng.permutation(n)
            orders += [tuple(drawn.tolist()), tuple(drawn[::-1].tolist())]
        found = self.game.evaluate_prefixes(orders, budget)
        for order, back, indices, indices_back in zip(
            orders[::2], orders[1::2], found[::2], found[1::2], strict=True
        ):
            if (indices >= 0).all() and (indices_back >= 0).all():
                pair = self._changes(order, indices) + self._changes(back, indices_back)
                self._pairs.append(pair / 2)

    def _changes(self, order: Order, indices: Ints) -> Floats:
        """What each player changes in P(target) along an order [n]."""
        p = np.concatenate([[self._start], self.game.cache.p_target[indices]])
        changes = np.empty(len(order))
        changes[list(order)] = p[:-1] - p[1:]
        return changes

    def result(self) -> Contributions:
        """The contributions as far as they are known."""
        exact = exact_contributions(self.game)
        if exact is not None:
            return Contributions(exact, np.zeros(self.game.n), True)
        if not self._pairs:
            return Contributions(self._alone(), np.full(self.game.n, np.nan), False)
        pairs = np.array(self._pairs)
        return Contributions(pairs.mean(axis=0), self._errors(pairs), True)

    def _errors(self, pairs: Floats) -> Floats:
        """Standard errors; nobody knows where pairs go through the same noisy states."""
        if self.game.cache.noise and self.game.n_visited() == 2**self.game.n:
            return np.full(self.game.n, np.nan)
        return _std_errors(pairs)

    def _alone(self) -> Floats:
        """What masking each player alone changes, 0 where that was not evaluated [n]."""
        visited = np.flatnonzero(self.game.visited())
        single = visited[self.game.cache.sizes(visited) == 1]
        changes = np.zeros(self.game.n)
        changes[self.game.members(single)] = self._start - self.game.cache.p_target[single]
        return changes


def _std_errors(pairs: Floats) -> Floats:
    """Standard errors of the means of pairs [P, n], their variances moderated; NaN for one pair."""
    n_pairs = len(pairs)
    if n_pairs < 2:
        return np.full(pairs.shape[1], np.nan)
    variances = pairs.var(axis=0, ddof=1)
    freedom = PRIOR_PAIRS + n_pairs - 1
    moderated = (PRIOR_PAIRS * variances.mean() + (n_pairs - 1) * variances) / freedom
    # the error in units of such an estimate has Student's distribution, whose variance is this
    errors: Floats = np.sqrt(moderated / n_pairs * freedom / (freedom - 2))
    return errors


def exact_contributions(game: Game) -> Floats | None:
    """Shapley values of masking where every state is known [n], else None."""
    n = game.n
    if n > MAX_EXACT or game.n_visited() < 2**n or game.cache.noise:
        return None
    visited = np.flatnonzero(game.visited())
    masks = game.cache.masks(visited)[:, game.players]
    p = np.empty(2**n)
    p[masks @ (1 << np.arange(n))] = game.cache.p_target[visited]
    states = np.arange(2**n)
    sizes = np.bitwise_count(states).astype(np.int64)
    weights = _shapley_weights(n)
    values = np.empty(n)
    for player in range(n):
        without = states[(states >> player & 1) == 0]
        values[player] = weights[sizes[without]] @ (p[without] - p[without | 1 << player])
    return values


def _shapley_weights(n: int) -> Floats:
    """How much a set of each size counts among those that a player joins [n]: 1 / (n C(n - 1, size))."""
    return np.array([1 / (n * comb(n - 1, size)) for size in range(n)])
