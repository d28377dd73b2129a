"""Monte Carlo tree search for one game: select, expand, roll out, back up.

Playouts go in blocks: leaves are chosen and the orders of the roll-outs drawn first (kernel), then the model
sees the states along these orders in batches, then rewards are backed up.
"""

import math

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..budget import Budget
from ..flip_sets.minimise import as_set, minimise_by_deletion
from ..flip_sets.search import FlipSetSearch, replay_orders
from ..game.game import Order
from .growing import GrowingTree
from .rollout import roll_out
from .select import draw_orders, select_leaves

# stop after so many consecutive playouts answered from the cache: the search has seen what it would ever evaluate
MAX_CACHED_PLAYOUTS = 256
# first moves that are played out at a time
MOVES_PER_BLOCK = 16


def play(tree: GrowingTree, rng: np.random.Generator, budget: Budget, search: FlipSetSearch | None = None) -> None:
    """Play until the budget is spent or nothing new is left to evaluate.

    Parameters
    ----------
    search
        Where sets go that a playout found and that are no larger than the best: they are made minimal.
    """
    game, cache = tree.game, tree.game.cache
    if game.starts_over():
        return
    tree.budget = budget
    if search is not None:
        search.go_on(budget)
    n_cached = 0
    while cache.rows_left(budget) > 0 and n_cached < MAX_CACHED_PLAYOUTS:
        before = cache.n_rows
        draws = rng.random((tree.rules.parallel_leaves, 2, game.n))
        _play_block(tree, draws, search)
        tree.surrogate.learn(tree.nodes)
        n_cached = n_cached + tree.rules.parallel_leaves if cache.n_rows == before else 0


def play_first_moves(tree: GrowingTree, rng: np.random.Generator, budget: Budget) -> None:
    """Play every first move out in random order, again and again, until the budget is spent.

    The tree search visits first moves that look good more often and follows the surrogate from there, which finds
    sets but tells little of the players in the middle. These playouts treat all alike, in pairs of an order and
    its reverse.
    """
    game, cache = tree.game, tree.game.cache
    if cache.rows_left(budget) <= 0 or game.starts_over():
        return
    tree.budget = budget
    leaves = tree.first_moves()
    n_cached = 0
    while cache.rows_left(budget) > 0 and n_cached < MAX_CACHED_PLAYOUTS:
        before = cache.n_rows
        keys = rng.random(game.n)
        for order in (np.argsort(keys), np.argsort(-keys)):
            if cache.rows_left(budget) > 0:
                _play_moves(tree, leaves, order)
        n_cached = n_cached + game.n if cache.n_rows == before else 0


def _play_block(tree: GrowingTree, draws: Floats, search: FlipSetSearch | None) -> None:
    """Selection and expansion of a block of playouts, their roll-outs, backup. draws [P, 2, n] uniform."""
    leaves = select_leaves(tree, draws[:, 0])
    orders = draw_orders(tree, leaves, draws[:, 1])
    _finish(tree, leaves.nodes, leaves.masked, orders, search)


def _play_moves(tree: GrowingTree, leaves: Ints, order: Ints) -> None:
    """Every first move followed by the same order of the others: what differs is due to the first move."""
    n = tree.game.n
    for start in range(0, n, MOVES_PER_BLOCK):
        moves = np.arange(start, min(start + MOVES_PER_BLOCK, n))
        masked = np.zeros((len(moves), n), dtype=bool)
        masked[np.arange(len(moves)), moves] = True
        orders = np.stack([[*order[order != move].tolist(), move] for move in moves])
        for leaf in leaves[moves].tolist():
            tree.back_up(leaf, 1, 0.0)
        _finish(tree, leaves[moves], masked, orders, None)


def _finish(tree: GrowingTree, leaves: Ints, masked: Bools, orders: Ints, search: FlipSetSearch | None) -> None:
    """Roll-outs from leaves that were visited with reward 0, backup, notes of what ended."""
    playouts = roll_out(tree, leaves, masked, orders)
    known = tree.nodes["ended"][leaves]  # paths that a playout, or an inserted one, has been through
    earned = tree.back_up_all(playouts)
    largest = math.inf if search is None else search.best_size() or math.inf  # set worth minimising
    for p in np.flatnonzero(playouts.ended & ~known).tolist():
        order = (*tree.path(leaves.item(p)), *orders[p, : playouts.lengths[p]].tolist())
        tree.note_end(order, earned.item(p))
        if search is not None and len(order) <= largest:
            _minimise(tree, search, order)
            largest = search.best_size() or math.inf


def _minimise(tree: GrowingTree, search: FlipSetSearch, order: Order) -> None:
    """Make minimal what a playout found, unless it is known already."""
    players = as_set(order)
    if players in search.found:
        return
    smallest = minimise_by_deletion(search, players)
    for found, index in replay_orders(search, [smallest]):
        tree.insert_path(found, index)
