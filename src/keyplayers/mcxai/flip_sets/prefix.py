"""Mask the strongest single players one after the other until the game ends; bisection finds where it does."""

from functools import lru_cache

import numpy as np

from .minimise import minimise
from .search import FlipSetSearch

# prefixes that are evaluated at a time; the second where rows are few
PREFIXES, FEW_PREFIXES = 10, 6


def mask_prefixes(search: FlipSetSearch) -> None:
    """Find how many of the strongest players end the game together, and make that set minimal."""
    strongest_first = np.argsort(-search.gains, kind="stable")
    length = _shortest_ending_prefix(search, strongest_first)
    if length is not None:
        minimise(search, strongest_first[:length])


def _shortest_ending_prefix(
    search: FlipSetSearch, order: "np.ndarray[tuple[int], np.dtype[np.int64]]"
) -> int | None:
    """Length of the shortest prefix tried that ends the game, None where none does."""
    game = search.game
    n_sizes = FEW_PREFIXES if search.low_budget else PREFIXES
    too_short, long_enough = 1, None
    sizes = _spread(2, game.n, n_sizes)
    while sizes:
        masks = np.zeros((len(sizes), game.n), dtype=bool)
        for mask, size in zip(masks, sizes, strict=True):
            mask[order[:size]] = True
        ends = game.ended(game.evaluate(masks, search.budget))
        if ends.any():
            long_enough = sizes[int(np.argmax(ends))]
        if long_enough is None:
            return None
        shorter = [s for s, e in zip(sizes, ends, strict=True) if not e and s < long_enough]
        too_short = max([too_short, *shorter])
        between = range(too_short + 1, long_enough)
        sizes = tuple(between) if len(between) < n_sizes else _spread(too_short + 1, long_enough - 1, n_sizes)
    return long_enough


@lru_cache(maxsize=4096)
def _spread(low: int, high: int, n_sizes: int) -> tuple[int, ...]:
    """About so many sizes from `low` to `high`, denser among the small ones."""
    if high < low:
        return ()
    steps = np.unique(np.round(np.geomspace(1, high - low + 1, n_sizes)).astype(int))
    return tuple(int(low + step - 1) for step in steps)
