"""The tree of walks: against the oracle's, and what it says of itself."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.game.walk_tree import BoundaryMessages, walk_tree
from tests.oracles import walks
from tests.random_fields import random_plain_field


@pytest.mark.parametrize("seed", range(25))
def test_copies_and_boundaries_are_the_oracle_s(seed):
    field = random_plain_field(seed, cyclic=True, max_edges=9, coupling=0.5, zeros=0.15 * (seed % 2))
    messages = walks.fixed_point(field.priors, field.edges, field.potentials, n_sweeps=1000)
    if messages is None:
        pytest.skip("propagation does not converge")
    state = kp.belief_propagation(field.mrf, tolerance=1e-14, max_sweeps=2000)
    boundary = BoundaryMessages.of(state)
    for radius in (1, 2, 3):
        for target in range(len(field.priors)):
            ours = walk_tree(field.mrf, target, radius, boundary)
            theirs = walks.walk_tree(field.priors, field.edges, field.potentials, target, radius, messages)
            copies = {copy.walk: copy for copy in walks.copies_of(theirs)}
            assert [ours.walk(t) for t in range(ours.n_copies)] == sorted(
                (ours.walk(t) for t in range(ours.n_copies)), key=len
            )
            assert {ours.walk(t) for t in range(ours.n_copies)} == copies.keys()
            for t in range(ours.n_copies):
                copy = copies[ours.walk(t)]
                weights = np.exp(ours.boundary[t, : len(copy.boundary)])
                expected = np.array(copy.boundary) / sum(copy.boundary)
                np.testing.assert_allclose(weights / weights.sum(), expected, atol=1e-9)
                assert np.exp(ours.log_subtrees[t]) == pytest.approx(walks.n_subtrees(copy))
                assert {ours.walk(c) for c in range(ours.children[t], ours.children[t + 1])} == {
                    child.walk for child in copy.children
                }


def test_a_tree_that_is_too_large_says_so():
    clique = kp.MarkovRandomField.from_edges([(a, b) for b in range(8) for a in range(b)], homophily=0.6)
    assert walk_tree(clique, 0, 3, None).n_copies == 1 + 7 + 7 * 6 + 7 * 6 * 5
    with pytest.raises(kp.TooLargeError, match="more than 100 copies"):
        walk_tree(clique, 0, 3, None, max_copies=100)


def test_a_variable_alone_has_no_other_copy():
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], names=None, homophily=0.8)
    assert walk_tree(mrf, 0, 0, None).n_copies == 1


def test_exact_beliefs_have_no_messages():
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], homophily=0.8)
    with pytest.raises(kp.InputError, match="messages"):
        BoundaryMessages.of(kp.exact_marginals(mrf))
