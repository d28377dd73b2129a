"""Settle what is known of the smallest set: whether a player can be spared, and whether smaller sets exist."""

from itertools import combinations, islice
from math import comb

import numpy as np

from ..budget import NO_ROWS
from ..game.game import PlayerSet
from ..game.state_cache import BLOCK
from .lazy_greedy import lazy_greedy
from .minimise import MAX_DELETED, as_set, minimise_by_bisection
from .proposals import try_proposals
from .search import FlipSetSearch
from .top_down import unmask_top_down

# all sets of a size are tried where they are so few
FEW_SETS = 64


def is_minimal(search: FlipSetSearch, players: PlayerSet) -> bool:
    """Whether the model said that no player of an ending set can be spared; False where it was not asked."""
    if len(players) <= 1:
        return True
    indices = search.game.evaluate_leave_one_out(players, NO_ROWS)
    return bool((indices >= 0).all()) and not search.game.ended(indices).any()


def smallest_seen(search: FlipSetSearch) -> PlayerSet | None:
    """The smallest set evaluated so far that ends the game, wherever it was found; ties to the largest drop."""
    game = search.game
    visited = np.flatnonzero(game.visited())
    ends = visited[game.ended(visited)]
    if not len(ends):
        return None
    sizes = game.cache.sizes(ends)
    ends = ends[sizes == sizes.min()]
    index = int(ends[np.argmax(game.changes(ends))])
    return as_set(np.flatnonzero(game.cache.masks(np.array([index]))[0][game.players]))


def settle_smallest(search: FlipSetSearch) -> PlayerSet | None:
    """Take players out of the smallest set seen until none can be spared, as far as the rows go.

    Returns
    -------
    players
        The smallest set; None where nothing ends the game. `is_minimal` tells whether rows were enough.
    """
    game = search.game
    players = smallest_seen(search)
    while players is not None:
        if len(players) > max(MAX_DELETED, search.states_left()):
            minimise_by_bisection(search, np.array(search.order(players))[::-1], len(players))
        else:
            game.evaluate_leave_one_out(players, search.budget)
        smaller = smallest_seen(search)
        if smaller is None or len(smaller) == len(players):
            break
        players = smaller
    if players is not None:
        search.record(players, int(game.evaluate_sets([players], NO_ROWS)[0]))
    return players


def raise_bound(search: FlipSetSearch, max_sets: int) -> None:
    """Try all sets of the size that the lower bound leaves open, then of the next, while `max_sets` are enough."""
    game = search.game
    while search.states_left() > 0:
        size, best = game.lower_bound(), search.best_size() or game.n + 1
        if size >= best or size > game.n:
            return
        if comb(game.n, size) - game.n_seen(size) > min(max_sets, search.states_left()):
            return
        sets = combinations(range(game.n), size)
        while part := list(islice(sets, BLOCK)):
            game.evaluate_sets(part, search.budget)
        if game.lower_bound() == size:  # rows ended, or a set of this size ends the game
            settle_smallest(search)
            return


def look_again(search: FlipSetSearch) -> None:
    """Go on looking for smaller sets and higher bounds with the rows of the search's budget."""
    while search.states_left() > 0:
        before = search.n_rows(), search.best_size()
        raise_bound(search, search.states_left() // 2)
        if search.best_size() is not None and (search.best_size() or 0) <= search.game.lower_bound():
            return
        for strategy in (unmask_top_down, lazy_greedy, try_proposals):
            strategy(search)
        settle_smallest(search)
        if (search.n_rows(), search.best_size()) == before:
            return
