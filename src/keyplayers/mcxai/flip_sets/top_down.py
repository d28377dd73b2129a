"""Top down: start from everything masked and unmask players as long as the game stays over.

This finds sets that act only together, which no player of theirs betrays alone. Everything masked ends most games.
Unmask the strongest players first: if the game stays over, a set of weaker ones ends it.
"""

import numpy as np

from .minimise import MAX_DELETED, minimise_by_bisection
from .search import FlipSetSearch

# orders in which players are unmasked: strongest first, the others at random
ATTEMPTS = 2
# a set of so few players is not worth the rows that this takes
SMALL_ENOUGH = 2


def unmask_top_down(search: FlipSetSearch) -> None:
    """Unmask players from everything masked, once strongest first and once in random order."""
    best = search.best_size()
    if search.low_budget or (best is not None and best <= SMALL_ENOUGH) or not everything_ends(search):
        return
    strongest_first = np.argsort(-search.gains, kind="stable")
    for attempt in range(ATTEMPTS):
        order = strongest_first if attempt == 0 else search.rng.permutation(search.game.n)
        minimise_by_bisection(search, order, max_worth_finding(search))


def everything_ends(search: FlipSetSearch) -> bool:
    """Whether masking all players ends the game."""
    game = search.game
    return bool(game.ended(game.evaluate_sets([tuple(range(game.n))], search.budget))[0])


def max_worth_finding(search: FlipSetSearch) -> int:
    """Most players of a set that is worth finding by bisection."""
    return min(MAX_DELETED, (search.best_size() or MAX_DELETED + 1) - 1)
