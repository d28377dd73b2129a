"""Equal copies of the tree of walks are merged, and equal players told as such."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.engines.walk_convolution import convolve_walks
from keyplayers.graphshapley.game.walk_symmetry import equal_players, merge_equal_copies
from keyplayers.graphshapley.game.walk_tree import BoundaryMessages, walk_tree

from .balls import make_game


def tree_of(mrf, radius, *, cut=False):
    """T_r of X."""
    messages = None if cut else BoundaryMessages.of(kp.belief_propagation(mrf, tolerance=1e-14))
    return walk_tree(mrf, mrf.index("X"), radius, messages)


def labels_of(tree):
    """{name: label} of a tree's players."""
    return {tree.mrf.names[int(v)]: int(k) for v, k in zip(tree.players[0], equal_players(tree), strict=True)}


def twins(n, prior=(0.3, 0.7), *, flip=False):
    """X with a and z, and n accounts that are joined to both of these."""
    names = [f"l{i}" for i in range(n)]
    edges = [("X", "a"), ("X", "z")] + [pair for i in names for pair in (("a", i), (i, "z"))]
    priors = {"a": [0.6, 0.4], "z": [0.2, 0.8]} | {key: list(prior) for key in names}
    return kp.MarkovRandomField.from_edges(edges, priors, homophily=0.7)


@pytest.mark.parametrize("radius", [2, 3])
@pytest.mark.parametrize("law", ["uniform", "shapley"])
def test_values_of_merged_copies_are_those_of_the_whole_tree(radius, law):
    mrf = twins(4)
    tree = tree_of(mrf, radius)
    merged = merge_equal_copies(tree)
    assert merged.tree.n_copies < tree.n_copies
    assert (merged.tree.members.sum()) == tree.n_copies
    game = make_game(mrf, "X", np.log([0.3, 0.7]), "symmetric_kl")
    whole = convolve_walks(tree, game.worth, game.direction, law=law)
    fewer = convolve_walks(merged.tree, game.worth, game.direction, law=law)
    assert np.abs(whole.values).max() > 0.01
    for name in ("values", "probabilistic", "direction"):
        np.testing.assert_allclose(getattr(fewer, name)[merged.index], getattr(whole, name), atol=1e-6)


def test_merged_trees_keep_their_form():
    tree = merge_equal_copies(tree_of(twins(5), 3)).tree
    assert (np.diff(tree.depths) >= 0).all()
    assert (np.diff(tree.parents) >= 0).all()
    assert tree.depths[1:].tolist() == (tree.depths[tree.parents[1:]] + 1).tolist()


def test_ten_thousand_equal_leaves_are_two_copies():
    names = [f"l{i}" for i in range(10_000)]
    mrf = kp.MarkovRandomField.from_edges(
        [(name, "X") for name in names], {key: [0.4, 0.6] for key in names}, homophily=0.6
    )
    tree = tree_of(mrf, 2)
    merged = merge_equal_copies(tree)
    assert merged.tree.n_copies == 2
    game = make_game(mrf, "X", np.log([0.5, 0.5]), "log_odds")
    found = convolve_walks(merged.tree, game.worth, game.direction)
    message = np.log((0.6 * 0.6 + 0.4 * 0.4) / (0.6 * 0.4 + 0.4 * 0.6))
    assert abs(found.values[1]) == pytest.approx(message, abs=1e-6)  # of a state at random, on a star


def test_equal_players_have_one_label_and_others_do_not():
    of = labels_of(tree_of(twins(3), 2))
    assert of["l0"] == of["l1"] == of["l2"]
    assert len({of["a"], of["z"], of["l0"]}) == 3


def test_the_ends_of_an_edge_do_not_matter_for_equal_potentials():
    mrf = kp.MarkovRandomField.from_edges(
        [("X", "a"), ("b", "X")], {"a": [0.2, 0.8], "b": [0.2, 0.8]}, homophily=0.7
    )
    labels = labels_of(tree_of(mrf, 1))
    assert labels["a"] == labels["b"]


def test_a_prior_a_potential_or_a_boundary_makes_players_differ():
    edges = [("X", "a"), ("X", "b"), ("b", "c")]
    for priors, cut, same in (
        ({"c": [0.2, 0.8]}, False, False),
        ({"c": [0.2, 0.8]}, True, True),
        ({}, False, True),
    ):
        mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.7)
        labels = labels_of(tree_of(mrf, 1, cut=cut))
        assert (labels["a"] == labels["b"]) == same
    mrf = kp.MarkovRandomField.from_edges(
        edges[:2],
        {"a": [0.2, 0.8], "b": [0.2, 0.8]},
        potential=[[[0.7, 0.3], [0.3, 0.7]], [[0.6, 0.4], [0.4, 0.6]]],
    )
    labels = labels_of(tree_of(mrf, 1))
    assert labels["a"] != labels["b"]
