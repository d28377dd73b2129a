"""What is believed on the tree of walks, against propagation and the oracle."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.game.walk_beliefs import (
    best_walks,
    list_subtrees,
    log_belief_alone,
    log_belief_on_tree,
    log_beliefs_on,
)
from keyplayers.graphshapley.game.walk_symmetry import merge_equal_copies
from keyplayers.graphshapley.game.walk_tree import BoundaryMessages, walk_tree
from keyplayers.graphshapley.game.worth import worth_of
from tests.random_fields import random_plain_field

from .walk_games import random_walk_games


@pytest.mark.parametrize("seed", range(30))
def test_on_the_whole_tree_with_messages_it_is_the_belief_of_propagation(seed):
    field = random_plain_field(seed, cyclic=True, max_edges=9, coupling=0.5, zeros=0.15 * (seed % 2))
    state = kp.belief_propagation(field.mrf, tolerance=1e-14, max_sweeps=3000)
    if not state.converged:
        pytest.skip("propagation does not converge")
    messages = BoundaryMessages.of(state)
    for radius in (1, 2, 3, 4):
        for target in range(len(field.priors)):
            tree = walk_tree(field.mrf, target, radius, messages)
            for form in (tree, merge_equal_copies(tree).tree):
                found = np.exp(log_belief_on_tree(form))
                np.testing.assert_allclose(found, state.belief(target), atol=1e-9)


def test_subtrees_are_listed_and_priced_as_the_oracle_does():
    for tree, worth, _, _, (_, alone, whole) in random_walk_games(21, 40, max_states=3, zeros=True):
        n = round(np.exp(tree.log_subtrees[0]))
        present = list_subtrees(tree, np.arange(n))
        assert len(np.unique(present, axis=0)) == n
        assert (present[:, 1:] <= present[:, tree.parents[1:]]).all()
        beliefs = log_beliefs_on(tree, present)
        size = 1e-9 * (1 + abs(whole))
        assert worth_of(worth, beliefs)[0] == pytest.approx(alone, abs=size)
        assert worth_of(worth, log_belief_alone(tree)[None])[0] == pytest.approx(alone, abs=size)
        everything = present.all(axis=1)
        assert worth_of(worth, beliefs[everything])[0] == pytest.approx(whole, abs=size)
        assert worth_of(worth, log_belief_on_tree(tree)[None])[0] == pytest.approx(whole, abs=size)


def test_best_walks_are_shortest_and_worth_most():
    for tree, worth, _, _, _ in random_walk_games(22, 40, max_states=3):
        walks = [tree.walk(copy) for copy in range(tree.n_copies)]
        found = best_walks(tree, worth)
        assert found.keys() == set(tree.variables[1:].tolist())
        for v, best in found.items():
            ending = [walk for walk in walks if walk[-1] == v]
            shortest = [walk for walk in ending if len(walk) == min(map(len, ending))]
            present = np.array([[walk[: len(own)] == own for own in walks] for walk in shortest])
            worths = worth_of(worth, log_beliefs_on(tree, present))
            assert best in shortest
            assert worths[shortest.index(best)] == pytest.approx(worths.max(), abs=1e-9)
