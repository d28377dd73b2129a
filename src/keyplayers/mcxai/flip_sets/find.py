"""The search for the smallest sets that end a game: one strategy after the other. docs/search.md tells why."""

from collections.abc import Callable

from ..budget import Budget
from .lazy_greedy import lazy_greedy
from .prefix import mask_prefixes
from .proposals import try_proposals
from .random_sets import try_random_sets
from .search import FlipSetSearch
from .singles import mask_singles
from .top_down import unmask_top_down

# Each goes on from what those before it found, and does nothing where it cannot help.
STRATEGIES: list[Callable[[FlipSetSearch], None]] = [
    mask_singles,
    mask_prefixes,
    unmask_top_down,
    lazy_greedy,
    try_random_sets,
    try_proposals,
]


def find_flip_sets(search: FlipSetSearch, budget: Budget, patience: int) -> None:
    """Look for the smallest sets that end the game; what is found stands in ``search.found``.

    Parameters
    ----------
    budget
        What this search may spend.
    patience
        Rows after which a strategy that found nothing smaller gives up.
    """
    if search.game.starts_over():
        return
    search.start(budget, patience)
    for strategy in STRATEGIES:
        if search.best_size() == 1:
            return
        strategy(search)
