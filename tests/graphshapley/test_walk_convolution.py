"""The walk game by convolution, against the oracle that lists all subtrees of the tree of walks."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.engines.convolution import convolve_game
from keyplayers.graphshapley.engines.walk_convolution import clenshaw_curtis, convolve_walks, why_not
from keyplayers.graphshapley.game.walk_tree import walk_tree

from .balls import WORTHS, make_game, random_field
from .walk_games import per_variable, random_walk_games


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_the_oracle_within_its_bound(seed):
    largest = 0.0
    for tree, worth, direction, law, (expected, _, _) in random_walk_games(seed, 30):
        found = convolve_walks(tree, worth, direction, law=law)
        values, bounds = per_variable(tree, found.values), per_variable(tree, found.bounds + found.quadrature)
        split, turned = per_variable(tree, found.probabilistic), per_variable(tree, found.direction)
        assert values.keys() == expected.keys()
        for v, (value, probabilistic, _, way) in expected.items():
            assert abs(values[v] - value) <= bounds[v] + 1e-9
            assert split[v] == pytest.approx(probabilistic, abs=bounds[v] + 1e-9)
            assert turned[v] == pytest.approx(way, abs=1e-5)
            largest = max(largest, abs(values[v] - value))
        assert found.bounds.max() < 3e-6
    assert largest > 1e-12  # the grid does make errors; they are not zero by accident


@pytest.mark.parametrize("worth", WORTHS)
def test_on_trees_it_is_the_game_of_subtrees(worth):
    rng = np.random.default_rng(7)
    for _ in range(5):
        mrf = random_field(rng, 9)
        game = make_game(mrf, 0, np.log(rng.dirichlet([1, 1])), worth)
        tree = walk_tree(mrf, 0, 9, None)
        found = convolve_walks(tree, game.worth, game.direction)
        expected = convolve_game(game)
        values = per_variable(tree, found.values)
        split = per_variable(tree, found.probabilistic)
        order = [int(v) for v in game.ball.members[1:]]
        np.testing.assert_allclose([values[v] for v in order], expected.values, atol=2e-6)
        np.testing.assert_allclose([split[v] for v in order], expected.probabilistic, atol=2e-6)


def test_shapley_values_add_up_to_what_the_tree_adds():
    for tree, worth, direction, _, (_, alone, whole) in random_walk_games(11, 15):
        found = convolve_walks(tree, worth, direction, law="shapley")
        assert found.values.sum() == pytest.approx(whole - alone, abs=1e-5)


def test_rule_over_q_is_exact_for_polynomials_and_nested():
    for n in (8, 16, 64):
        nodes, weights = clenshaw_curtis(n)
        for power in range(n + 1):
            assert weights @ nodes**power == pytest.approx(1 / (power + 1), abs=1e-13)
        assert set(clenshaw_curtis(n // 2)[0]) <= set(nodes)


def test_refuses_what_it_cannot_do():
    three = kp.MarkovRandomField.from_edges([("X", "a")], {"X": [1, 1, 1]}, homophily=0.8)
    assert "two states" in why_not(walk_tree(three, 0, 2, None))
    zeros = kp.MarkovRandomField.from_edges([("X", "a")], potential=[[1.0, 0.0], [0.5, 0.5]])
    assert "zeros" in why_not(walk_tree(zeros, 0, 2, None))
