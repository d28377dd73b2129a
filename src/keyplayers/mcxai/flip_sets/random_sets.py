"""Random sets of all sizes, where nothing else ended the game."""

import numpy as np

from .minimise import as_set, minimise_by_bisection
from .search import FlipSetSearch
from .top_down import max_worth_finding

# sets that are tried at a time
N_SETS = 24
# of the patience, the part that is spent here
PART_OF_PATIENCE = 2


def try_random_sets(search: FlipSetSearch) -> None:
    """Mask random sets of all sizes until one ends the game, which is made minimal."""
    game = search.game
    start, patience = search.n_rows(), search.patience // PART_OF_PATIENCE
    sizes = np.unique(np.linspace(2, game.n - 1, N_SETS).round().astype(int)).tolist() if game.n > 3 else []
    while sizes and not search.found and search.n_rows() - start < patience:
        before = search.n_rows()
        sets = [as_set(search.rng.permutation(game.n)[:size]) for size in sizes]
        for players, end in zip(sets, game.ended(game.evaluate_sets(sets, search.budget)), strict=True):
            if end:
                minimise_by_bisection(search, search.rng.permutation(players), max_worth_finding(search))
        if search.n_rows() == before:
            return
