"""The ways to look for small sets, one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyplayers.mcxai.budget import Budget
from keyplayers.mcxai.flip_sets import _set_kernels as kernels
from keyplayers.mcxai.flip_sets.lazy_greedy import lazy_greedy
from keyplayers.mcxai.flip_sets.minimise import minimise, minimise_by_bisection
from keyplayers.mcxai.flip_sets.objectives import Objective, active_objectives
from keyplayers.mcxai.flip_sets.random_sets import try_random_sets
from keyplayers.mcxai.flip_sets.search import FlipSetSearch, replay_orders
from keyplayers.mcxai.flip_sets.top_down import unmask_top_down
from keyplayers.mcxai.game.game import Game
from keyplayers.mcxai.game.state_cache import StateCache
from tests.mcxai.games import additive, find_within, game_of, random_score, scored


def search_of(score, n, *, singles=True, **settings):
    game = game_of(score, n, **settings)
    search = FlipSetSearch(game, np.random.default_rng(0))
    if singles:
        search.singles = game.evaluate_sets([(p,) for p in range(n)])
        search.gains = game.drops(search.singles)
    return search


def hidden_third(masked):
    """0 and 1 alone lower the probability; 2 raises it unless both are gone, then it ends the game."""
    logit = 3.0 - 0.8 * (0 in masked) - 0.6 * (1 in masked) - 0.01 * len(masked)
    if 2 in masked:
        logit += -4.0 if {0, 1} <= masked else 0.5
    return 1 / (1 + np.exp(-logit))


def test_a_descent_finds_a_player_who_acts_only_after_others():
    search = search_of(hidden_third, 50)
    search.patience = 150
    lazy_greedy(search)
    assert list(search.found) == [(0, 1, 2)]


def test_a_descent_follows_an_additive_game_without_looking_at_everybody():
    weights = np.random.default_rng(1).permutation(np.linspace(1.0, 0.05, 60))
    search = search_of(additive(weights, 7.0), 60)
    smallest = int(np.argmax(np.cumsum(np.sort(weights)[::-1]) > 7.0)) + 1
    before = search.game.cache.n_rows
    search.patience = 150
    lazy_greedy(search)
    assert search.best_size() == smallest == 8
    # greedy masking would look at more than 50 states for each of seven players
    assert search.game.cache.n_rows - before < 130


def test_a_descent_without_hope_costs_next_to_nothing():
    weights = np.linspace(1.0, 0.1, 30)
    search = search_of(additive(weights, 6.5), 30)
    # the strongest first: with one player fewer the sum of log-odds is known to fall short
    search.record(tuple(range(8)), int(search.game.evaluate_sets([tuple(range(8))])[0]))
    assert weights[:7].sum() < 6.5 < weights[:8].sum()
    before = search.game.cache.n_rows
    search.patience = 150
    lazy_greedy(search)
    assert search.best_size() == 8
    assert search.game.cache.n_rows - before <= 16


def test_a_descent_stops_at_its_patience():
    search = search_of(lambda masked: 0.9 - 0.001 * len(masked), 40)
    before = search.game.cache.n_rows
    search.patience = 30
    lazy_greedy(search)
    assert 0 < search.game.cache.n_rows - before <= 60 + 16
    assert search.found == {}


@given(seed=st.integers(0, 10_000), open_end=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_state_that_goes_next_is_the_nearest_or_the_most_promising(seed, open_end):
    rng = np.random.default_rng(seed)
    n, n_states, n_objectives, limit = 7, 5, 2, int(rng.integers(2, 7))
    masked = rng.random((n_states, n)) < 0.4
    tried = (rng.random((n_states, n)) < 0.3) & ~masked
    sizes = masked.sum(axis=1)
    drops, gains = rng.random((n_states, n_objectives)), rng.normal(0.1, 0.3, (n_objectives, n))
    drops = np.round(drops, 1)  # so that some are equal
    gap, slack = np.full(n_objectives, 1.5), rng.uniform(0, 0.2, n_objectives)
    active = rng.random(n_objectives) < 0.5
    expected, highest = -1, ()
    for s in range(n_states):
        left = min(limit, n) - sizes[s]
        if left <= 0 or not (~masked[s] & ~tried[s]).any():
            continue
        surplus = []
        for v in range(n_objectives):
            best = sorted((g for g, m in zip(gains[v], masked[s], strict=True) if not m and g > 0), reverse=True)
            promised = drops[s, v] + sum(best[:left]) + slack[v] * left**0.5 - gap[v]
            surplus.append((drops[s, v] if open_end else promised) / gap[v])
        if not open_end and (max(surplus) < 0 or (active.any() and max(np.array(surplus)[active]) < 0)):
            continue
        merit = (max(surplus), -(tried[s].sum() + 16 * sizes[s]))
        if expected < 0 or merit > highest:
            expected, highest = s, merit
    best_first = np.argsort(-gains, axis=1, kind="stable")
    candidates = kernels.Candidates(masked, sizes, tried, drops)
    expectations = kernels.Expectations(gains, best_first, gap, slack, active)
    assert kernels.choose_state(candidates, expectations, limit, open_end) == expected


def test_a_large_set_is_minimised_by_bisection():
    needed = frozenset(range(3, 300, 30))
    search = search_of(lambda masked: 0.1 if needed <= masked else 0.9, 300)
    before = search.game.cache.n_rows
    minimise(search, np.random.default_rng(0).permutation(300))
    assert list(search.found) == [tuple(sorted(needed))]
    # taking players out one by one would have looked at some 40,000 states
    assert search.game.cache.n_rows - before < 300


def test_a_bisection_that_runs_out_of_rows_keeps_what_it_has():
    needed = frozenset({5, 25})
    search = search_of(lambda masked: 0.1 if needed <= masked else 0.9, 40, max_rows=53)
    minimise_by_bisection(search, np.arange(40), 8)
    (found,) = search.found
    assert needed <= set(found)
    assert 2 < len(found) < 40


def test_random_sets_are_tried_where_nothing_else_ends_the_game():
    # 0 and 1 end the game together unless 2 is gone as well; everything masked and single players do not
    score = lambda masked: 0.1 if {0, 1} <= masked and 2 not in masked else 0.9  # noqa: E731
    search = search_of(score, 30)
    unmask_top_down(search)
    assert search.found == {}
    search.patience = 400
    try_random_sets(search)
    assert list(search.found) == [(0, 1)]


def test_log_odds_against_one_class_are_known_to_be_more_accurate_for_a_logistic_model():
    search = search_of(additive([1.0, 0.8, 0.6, 0.4], 3.0), 4)
    objectives = search.objectives
    assert [m.logarithmic for m in objectives] == [False, True]
    assert not active_objectives(objectives).any()
    assert all(np.isinf(m.error()) for m in objectives)
    pairs = search.game.evaluate_sets([(0, 1), (0, 2), (1, 2)])
    for objective in objectives:
        alone = objective.drops(search.singles)
        objective.learn(
            objective.drops(pairs) - np.array([alone[0] + alone[1], alone[0] + alone[2], alone[1] + alone[2]])
        )
    assert active_objectives(objectives).tolist() == [False, True]
    assert objectives[1].error() == pytest.approx(0, abs=1e-12)
    assert objectives[0].error() > 0.01


def test_log_odds_are_taken_against_the_classes_that_come_nearest():
    def probabilities(states):
        logits = np.tile([3.0, 0.0, 1.0, 2.0], (len(states), 1))
        logits[:, 1] += 2.9 * states[:, 0]
        p = np.exp(logits)
        return scored(p / p.sum(axis=1, keepdims=True))

    game = Game(StateCache(probabilities, 3, 0, Budget(1000)), 1, np.zeros(3, dtype=bool))
    search = FlipSetSearch(game, np.random.default_rng(0))
    search.singles = game.evaluate_sets([(0,), (1,), (2,)])
    objectives = search.objectives
    assert [m.rival for m in objectives] == [None, 3, 1]
    start = np.array([game.start])
    assert [m.gap for m in objectives[1:]] == pytest.approx([1.0, 3.0])
    for objective in objectives:
        assert objective.drops(start) == pytest.approx(0)


def test_only_recent_errors_count():
    objective = Objective(game_of(additive([1.0], 2.0), 1), None, True)
    objective.learn(np.full(8, 100.0))
    for _ in range(3):
        objective.learn(np.array([3.0, 4.0]))
    assert objective.error() == pytest.approx(12.5**0.5)


@pytest.mark.parametrize("max_rows", [34, 38, 45, 60])
def test_a_set_that_was_found_is_put_in_order_within_the_rows(max_rows):
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        game = game_of(additive(rng.uniform(0.2, 1.2, 30), 2.0), 30)
        search = FlipSetSearch(game, rng)
        find_within(search, max_rows - 1, 100)
        assert game.cache.n_rows <= max_rows
        ordered = replay_orders(search, list(search.found))
        found += bool(ordered)
        for order, index in ordered:
            ends = [game.ended(game.evaluate_sets([tuple(sorted(order[: k + 1]))]))[0] for k in range(len(order))]
            assert ends == [False] * (len(order) - 1) + [True]
            assert index == game.evaluate_sets([tuple(sorted(order))])[0]
    assert found == 20


@given(seed=st.integers(0, 10_000), n=st.integers(1, 25), max_rows=st.integers(1, 120))
@settings(max_examples=60, deadline=None)
def test_a_search_stays_within_its_rows_and_leaves_the_budget_as_it_was(seed, n, max_rows):
    rng = np.random.default_rng(seed)
    game = game_of(random_score(rng, n), n, max_rows=500)
    before = game.cache.n_rows
    search = FlipSetSearch(game, rng)
    find_within(search, max_rows, 50)
    assert game.cache.n_rows - before <= max_rows
    assert game.cache.budget == search.budget == Budget(500)
    for players, index in search.found.items():
        assert game.ended(np.array([index]))[0]
        assert game.evaluate_sets([players])[0] == index


@pytest.mark.parametrize("n_backgrounds", [1, 20])
def test_a_budget_is_judged_by_the_states_that_it_allows(n_backgrounds):
    # 50 states for 40 players: whatever a state costs, one in some rows must be left to find the set
    flips = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        game = game_of(
            additive(rng.uniform(0.2, 1.2, 40), 2.0),
            40,
            rows_per_state=n_backgrounds,
            max_rows=10_000 * n_backgrounds,
        )
        search = FlipSetSearch(game, rng)
        find_within(search, 50 * n_backgrounds, 100 * n_backgrounds)
        assert game.cache.n_rows <= 51 * n_backgrounds
        assert search.low_budget
        flips += bool(replay_orders(search, list(search.found)))
    assert flips == 10
