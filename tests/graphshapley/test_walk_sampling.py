"""The walk game by independent draws, against the oracle that lists all subtrees of the tree of walks."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.engines import walk_sampling
from keyplayers.graphshapley.engines.walk_sampling import sample_walks
from keyplayers.graphshapley.game.ranges import largest_walk_contributions
from keyplayers.graphshapley.game.walk_tree import walk_tree

from .walk_games import random_walk_games


def scores(n_games, n_draws, **kinds):
    """(estimate - exact) / standard error of every player, and the same of the split."""
    found = []
    games = random_walk_games(n_games=n_games, **kinds)
    for i, (tree, worth, direction, law, (expected, alone, whole)) in enumerate(games):
        sampled = sample_walks(tree, worth, direction, law=law, max_draws=n_draws, random_state=i)
        assert sampled.players.tolist() == sorted(expected)
        exact = np.array([expected[v] for v in sampled.players.tolist()])
        assert np.isfinite(sampled.values).all()
        size = 1e-9 * (1.0 + np.abs(exact[:, 0]).max() + abs(whole) + abs(alone))
        constant = sampled.std_errors < size
        np.testing.assert_allclose(sampled.values[constant], exact[constant, 0], atol=30 * size)
        found.append((sampled.values - exact[:, 0])[~constant] / sampled.std_errors[~constant])
        if law == "shapley":
            reach = 6 * np.sqrt((sampled.std_errors**2).sum()) * np.sqrt(len(exact)) + 30 * size
            assert abs(sampled.values.sum() - (whole - alone)) <= reach
    return np.concatenate(found)


@pytest.mark.parametrize(
    ("seed", "kinds"),
    [(1, {}), (2, {"max_states": 4}), (3, {"max_states": 4, "zeros": True}), (4, {"zeros": True})],
)
def test_draws_are_calibrated_against_the_oracle(seed, kinds, monkeypatch):
    # by how draws scatter, not because errors are raised for what was not seen
    monkeypatch.setattr(walk_sampling, "RULE_OF_THREE", 0.0)
    z = scores(60, 2000, seed=seed, max_subtrees=200, **kinds)
    assert len(z) > 40
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert 0.8 < z.std() < 1.2
    assert np.abs(z).max() < 5


def test_split_and_direction_come_near_the_oracle():
    for tree, worth, direction, law, (expected, _, _) in random_walk_games(5, 20, max_states=3):
        sampled = sample_walks(tree, worth, direction, law=law, max_draws=20_000, random_state=0)
        exact = np.array([expected[v] for v in sampled.players.tolist()])
        tolerance = 8 * sampled.std_errors.max() + 0.02 * np.abs(exact).max() + 1e-9
        np.testing.assert_allclose(sampled.probabilistic, exact[:, 1], atol=tolerance)
        np.testing.assert_allclose(sampled.direction, exact[:, 3], atol=0.02 + tolerance)


def test_same_seed_same_values_whatever_was_asked_before():
    tree, worth, direction, law, _ = next(random_walk_games(6, 1))
    first, second = (
        sample_walks(tree, worth, direction, law=law, max_draws=200, random_state=3).values for _ in range(2)
    )
    assert (first == second).all()


def test_stops_at_one_per_cent():
    mrf = kp.MarkovRandomField.from_edges(
        [("X", "a"), ("a", "b"), ("X", "b"), ("b", "c")], {"a": [1, 2], "c": [3, 1]}, homophily=0.7
    )
    from .balls import make_game

    game = make_game(mrf, "X", np.log([0.4, 0.6]), "log_odds")
    sampled = sample_walks(walk_tree(mrf, 0, 3, None), game.worth, game.direction, random_state=0)
    assert sampled.n_draws < 20_000
    assert sampled.std_errors.max() <= 0.01 * np.abs(sampled.values).max()
    with pytest.raises(kp.InputError, match="max_draws"):
        sample_walks(walk_tree(mrf, 0, 3, None), game.worth, game.direction, max_draws=1)


@pytest.mark.parametrize("kinds", [{}, {"max_states": 4}])
def test_values_stay_within_their_proven_bounds(kinds):
    for tree, worth, _, _, (expected, _, _) in random_walk_games(9, 60, **kinds):
        bounds = largest_walk_contributions(tree, worth)
        for bound, v in zip(bounds, tree.players[0].tolist(), strict=True):
            assert abs(expected[v][0]) <= bound + 1e-9


@pytest.mark.parametrize("worth", ["probability", "symmetric_kl"])
@pytest.mark.parametrize("n_leaves", [8, 12])
def test_a_player_that_matters_only_where_a_large_branch_is_missing_is_allowed_for(worth, n_leaves):
    """Nearly all coalitions hold the branch, beside which player 2 counts for nothing."""
    edges, potentials = [(0, 1), (0, 2)], [[[1.0, 1e-4], [1e-4, 1.0]], [[0.9, 0.1], [0.1, 0.9]]]
    for i in range(n_leaves):
        edges.append((1, 3 + i))
        potentials.append([[0.5001, 0.4999], [0.4999, 0.5001]])
    mrf = kp.MarkovRandomField.from_edges(edges, {1: [1e-4, 1.0], 2: [0.8, 0.2]}, potential=potentials)
    asked = {"worth": worth, "boundary": "cut"}
    exact = dict(kp.GraphShapley(mrf, method="convolution", **asked).explain(0).top(20))
    for seed in range(6):
        ex = kp.GraphShapley(mrf, method="sampling", max_evals=500, **asked).explain(0, random_state=seed)
        found = dict(zip(ex.players, zip(ex.values, ex.std_errors, strict=True), strict=True))
        assert abs(found[2][0] - exact[2]) < 2 * found[2][1]
