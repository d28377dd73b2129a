"""Sets of many players: greedy masking down to the end of the game."""

import numpy as np
import pytest

from keyplayers.mcxai.flip_sets.deep_greedy import deep_greedy
from keyplayers.mcxai.flip_sets.search import FlipSetSearch
from tests.mcxai.games import additive, find_within, game_of


@pytest.mark.parametrize("seed", range(3))
def test_a_set_of_25_among_400_players_is_found_in_a_fraction_of_the_rows_of_greedy_masking(seed):
    rng = np.random.default_rng(seed)
    n, size = 400, 25
    weights = rng.permutation(np.concatenate([rng.uniform(0.5, 1.0, size), rng.uniform(0.0, 0.45, n - size)]))
    strongest_first = np.argsort(-weights)
    key_set = strongest_first[:size]
    margin = float(weights[key_set].sum()) - 0.01
    search = FlipSetSearch(game_of(additive(weights, margin), n), np.random.default_rng(seed))
    search.singles = search.game.evaluate_sets([(p,) for p in range(n)])
    search.gains = search.game.drops(search.singles)
    # a larger set that ends the game is known, as always where greedy masking begins
    known = tuple(sorted([*strongest_first[1 : size + 8].tolist()]))
    search.record(known, int(search.game.evaluate_sets([known])[0]))
    deep_greedy(search)
    assert min(search.found, key=len) == tuple(sorted(key_set.tolist()))
    assert search.game.cache.n_rows < size * n / 2


def test_where_few_players_decide_nothing_is_evaluated():
    search = FlipSetSearch(game_of(additive([2.0, 2.0, *[0.1] * 98], 3.0), 100), np.random.default_rng(0))
    find_within(search, 700, 100)
    before = search.game.cache.n_rows
    deep_greedy(search)
    assert search.best_size() == 2
    assert search.game.cache.n_rows == before
