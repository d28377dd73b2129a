import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyplayers.mcxai.budget import NO_ROWS, Budget
from keyplayers.mcxai.game.game import Game
from keyplayers.mcxai.game.state_cache import StateCache
from keyplayers.mcxai.tree._tree_kernels import reward
from tests.mcxai.games import additive, cache_of, game_of, scored


@pytest.mark.parametrize(
    ("n_actions", "change", "ended", "eta", "expected"),
    [
        (2, 0.6, True, 0.5, 0.5 * 0.8 + 0.5 * 0.6),
        (2, 0.6, False, 0.5, 0.0),
        (10, 0.6, True, 1.0, 0.0),
        (1, -0.2, True, 0.0, 0.0),
        (1, 1.7, True, 0.0, 1.0),
    ],
)
def test_reward_weighs_length_against_change(n_actions, change, ended, eta, expected):
    assert reward(n_actions, 10, change, ended, eta) == pytest.approx(expected)


def test_a_state_is_shown_to_the_model_once():
    asked = []
    cache = cache_of(lambda s: asked.append(s) or 0.9, 4)
    states = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)
    first, second = cache.evaluate(states), cache.evaluate(states)
    assert first.tolist() == second.tolist() == [0, 1, 0]
    assert len(asked) == cache.n_rows == 2


@given(seed=st.integers(0, 10_000), n=st.sampled_from([3, 8, 9, 17, 70]), max_rows=st.integers(1, 3000))
@settings(max_examples=30, deadline=None)
def test_states_are_told_apart_like_keys_of_a_dict(seed, n, max_rows):
    rng = np.random.default_rng(seed)
    cache = StateCache(lambda states: scored(np.full((len(states), 2), 0.5)), n, 0, Budget(max_rows))
    known = {}
    for size in rng.integers(1, 1500, 6):
        states = rng.random((size, n)) < rng.random()
        expected = []
        for state in states:
            if state.tobytes() not in known and len(known) < max_rows:
                known[state.tobytes()] = len(known)
            expected.append(known.get(state.tobytes(), -1))
        assert cache.evaluate(states).tolist() == expected
    assert cache.n_states == cache.n_rows == len(known)
    assert {s.tobytes(): i for i, s in enumerate(cache.masks(np.arange(len(known))))} == known


def test_states_that_a_model_refused_are_asked_for_again():
    calls = []

    def moody(states):
        calls.append(len(states))
        if len(calls) == 2:
            raise RuntimeError("not now")
        return scored(np.full((len(states), 2), 0.5))

    cache = StateCache(moody, 12, 0, Budget(1000))
    states = np.eye(12, dtype=bool)
    cache.evaluate(states[:5])
    with pytest.raises(RuntimeError):
        cache.evaluate(states[3:])
    assert cache.n_states == 5
    assert cache.evaluate(states[3:]).tolist() == [3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert calls == [5, 7, 7]


def test_the_budget_covers_states_in_the_order_given():
    cache = cache_of(lambda s: 0.9, 4, max_rows=2)
    assert cache.evaluate(np.eye(4, dtype=bool)).tolist() == [0, 1, -1, -1]
    assert cache.rows_left() == 0


def test_background_rows_count():
    cache = cache_of(lambda s: 0.9, 4, max_rows=7, rows_per_state=3)
    assert cache.evaluate(np.eye(4, dtype=bool)).tolist() == [0, 1, -1, -1]
    assert cache.n_rows == 6
    # one row is left, which is not enough for another state
    assert cache.rows_left() == 0


def test_a_deadline_in_the_past_shows_nothing():
    cache = cache_of(lambda s: 0.9, 4, deadline=0.0)
    assert cache.evaluate(np.eye(4, dtype=bool)).tolist() == [-1] * 4


def test_games_end_on_opposite_sides():
    game = game_of(additive([3.0, 1.0, 1.0], 2.0), 3)
    indices = game.evaluate_sets([(), (0,), (1,), (1, 2)])
    assert game.ended(indices).tolist() == [False, True, False, True]
    other = Game(game.cache, -1, np.array([True, False, False]))
    assert other.players.tolist() == [1, 2]
    assert not other.ended(other.evaluate_sets([()])).any()


def test_the_lower_bound_counts_every_set_of_a_size():
    game = game_of(additive([1.0, 1.0, 1.0, 1.0], 2.5), 4)
    game.evaluate_sets([(0,), (1,), (2,)])
    assert game.lower_bound() == 1
    game.evaluate_sets([(3,)])
    assert game.lower_bound() == 2
    game.evaluate_sets([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    assert game.lower_bound() == 3


def test_the_lower_bound_never_exceeds_a_set_that_ends_the_game():
    game = game_of(additive([3.0, 1.0, 1.0], 2.0), 3)
    game.evaluate_sets([(0,), (1,), (2,)])
    assert game.lower_bound() == 1


def test_the_continuation_masks_its_base_and_what_is_asked():
    seen = []
    cache = cache_of(lambda s: seen.append(s) or 0.9, 6)
    game = Game(cache, 1, np.array([True, False, False, True, False, True]))
    assert game.players.tolist() == [1, 2, 4]
    game.evaluate(np.array([[True, False, False], [False, True, True]]))
    assert seen == [frozenset({0, 3, 5}), frozenset({0, 1, 3, 5}), frozenset({0, 2, 3, 4, 5})]


def test_states_along_orders_and_without_players_are_those_of_their_sets(monkeypatch):
    monkeypatch.setattr("keyplayers.mcxai.game.game.BLOCK", 4)
    rng = np.random.default_rng(0)
    cache = cache_of(lambda s: 0.9, 9)
    game = Game(cache, 1, np.arange(9) == 2)
    orders = [tuple(rng.permutation(8)[:size].tolist()) for size in (3, 1, 8, 4, 4, 2)]
    found = game.evaluate_prefixes(orders)
    for order, indices in zip(orders, found, strict=True):
        prefixes = [tuple(sorted(order[: k + 1])) for k in range(len(order))]
        assert indices.tolist() == game.evaluate_sets(prefixes).tolist()
    players = (0, 3, 4, 5, 7)
    smaller = [tuple(p for p in players if p != q) for q in players]
    assert game.evaluate_leave_one_out(players).tolist() == game.evaluate_sets(smaller).tolist()
    assert game.members(game.evaluate_sets([(1, 7), (0, 2, 5)])).tolist() == [1, 7, 0, 2, 5]
    assert game.evaluate_prefixes([]) == []


def test_states_can_be_looked_up_without_asking_the_model():
    cache = cache_of(lambda s: 0.9, 5)
    game = Game(cache, 1, np.zeros(5, dtype=bool))
    game.evaluate_sets([(1,), (1, 3, 4)])
    before = cache.n_rows
    assert (game.evaluate_prefixes([(1, 3, 4)], NO_ROWS)[0] >= 0).tolist() == [True, False, True]
    assert cache.n_rows == before
    assert cache.rows_left() > 0
