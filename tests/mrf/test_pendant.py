"""Pendant trees: what falls, what stays, and how many subtrees hang where."""

import numpy as np

import keyplayers as kp
from keyplayers.mrf.pendant import log_subtree_weights, strip_leaves

S = [[0.8, 0.2], [0.2, 0.8]]
# a triangle, joined by 2 - 3 - 4 with another, on which 7 - 8 hang; apart from them 9 - 10, and 11 alone
EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 6), (6, 4), (6, 7), (7, 8), (9, 10)]


def slots():
    return kp.MarkovRandomField.from_edges(EDGES, potential=S, n_variables=12).slots


def test_the_core_is_what_cycles_and_the_paths_between_them_hold():
    trees = strip_leaves(slots().offsets, slots().neighbours)
    assert np.flatnonzero(trees.in_core).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert sorted(trees.order.tolist()) == [7, 8, 9, 10, 11]
    assert trees.order.tolist().index(8) < trees.order.tolist().index(7)


def test_each_hung_on_one_that_fell_later_or_stays():
    neighbours = slots().neighbours
    trees = strip_leaves(slots().offsets, neighbours)
    hung_on = {v: int(neighbours[s]) for v, s in enumerate(trees.up_slots.tolist()) if s >= 0}
    assert hung_on == {8: 7, 7: 6, 9: 10}


def test_a_kept_variable_stays_with_its_way_to_the_cycles():
    trees = strip_leaves(slots().offsets, slots().neighbours, kept=8)
    assert sorted(trees.order.tolist()) == [9, 10, 11]
    assert trees.in_core[[7, 8]].all()


def test_weights_count_the_subtrees_that_hang():
    chain = kp.chain_field(4).slots  # seen from 0: 1 - 2 - 3, so N(3) = 1, N(2) = 2, N(1) = 3, N(0) = 4
    trees = strip_leaves(chain.offsets, chain.neighbours, kept=0)
    assert np.exp(log_subtree_weights(trees, chain.neighbours)).round(9).tolist() == [4, 3, 2, 1]
