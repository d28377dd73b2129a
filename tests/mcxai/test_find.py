import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyplayers.mcxai.flip_sets import _set_kernels as kernels
from keyplayers.mcxai.flip_sets.minimise import minimise_by_deletion
from keyplayers.mcxai.flip_sets.search import FlipSetSearch, replay_orders
from tests.mcxai.games import additive, find_within, game_of, random_score
from tests.oracles.mask_games import smallest_sets


def sought(score, n, *, rows=600, patience=150, seed=0):
    game = game_of(score, n)
    search = FlipSetSearch(game, np.random.default_rng(seed))
    find_within(search, rows, patience)
    return search


def acts_together(hidden, n, decoys):
    """All of `hidden` must go; decoys lower the probability alone and never flip it with fewer than six."""
    weights = dict.fromkeys(decoys, 0.6)

    def score(masked):
        logit = 3.5 - sum(weights.get(p, 0.0) for p in masked) - 8.0 * hidden.issubset(masked)
        return 1 / (1 + np.exp(-logit))

    return score


@pytest.mark.parametrize("size", [2, 3])
def test_sets_that_act_only_together_are_found_among_decoys(size):
    found, rows = 0, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        players = rng.permutation(40).tolist()
        hidden, decoys = frozenset(players[:size]), players[size : size + 8]
        search = sought(acts_together(hidden, 40, decoys), 40, seed=seed)
        found += tuple(sorted(hidden)) in search.found
        rows.append(search.game.cache.n_rows)
    assert found >= 18
    assert np.mean(rows) < 400


@given(seed=st.integers(0, 10_000), n=st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_with_rows_enough_the_smallest_set_is_found_or_none_exists(seed, n):
    score = random_score(np.random.default_rng(seed), n)
    search = sought(score, n, rows=2000, patience=2000)
    smallest = smallest_sets(lambda s: search.game.sign * (score(s) - 0.5) < 0, n)
    if smallest:
        assert search.best_size() == len(smallest[0])
        assert search.game.lower_bound() <= len(smallest[0])
    else:
        assert search.found == {}


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_what_is_found_ends_the_game_and_no_player_of_it_can_be_spared(seed):
    score = random_score(np.random.default_rng(seed), 9)
    search = sought(score, 9)
    for players in search.found:
        assert search.game.ended(search.game.evaluate_sets([players]))[0]
        smaller = [tuple(p for p in players if p != q) for q in players]
        assert not search.game.ended(search.game.evaluate_sets(smaller)).any()
    for order, index in replay_orders(search, list(search.found)):
        ends = [
            search.game.ended(search.game.evaluate_sets([tuple(sorted(order[: k + 1]))]))[0]
            for k in range(len(order))
        ]
        assert ends == [False] * (len(order) - 1) + [True]
        assert index >= 0


def test_shrinking_leaves_a_minimal_set():
    game = game_of(additive([2.0, 0.1, 2.0, 0.1], 3.0), 4)
    search = FlipSetSearch(game, np.random.default_rng(0))
    assert minimise_by_deletion(search, (0, 1, 2, 3)) == (0, 2)
    assert list(search.found) == [(0, 2)]


def test_single_players_are_ruled_out_when_the_budget_is_three_times_their_number():
    n = 30
    search = sought(additive([0.1] * n, 99.0), n, rows=3 * n)
    assert search.game.lower_bound() >= 2


def test_a_game_that_nothing_ends_stops_early():
    search = sought(lambda s: 0.9, 30)
    assert search.found == {}
    assert search.game.cache.n_rows < 300


def test_labels_alone_are_enough_for_joint_sets():
    hidden = frozenset({4, 17})
    search = sought(lambda s: 0.0 if hidden <= s else 1.0, 25)
    assert search.best_size() == 2
    assert (4, 17) in search.found


def test_the_surrogate_of_pairs_recovers_what_was_planted():
    rng = np.random.default_rng(0)
    n = 6
    gains, truth = rng.normal(size=n), np.zeros((n, n))
    truth[1, 4] = truth[4, 1] = 2.0
    members = np.array([[a, b] for a in range(n) for b in range(a)])
    drops = np.array([gains[a] + gains[b] + truth[a, b] for a, b in members])
    pairs, seen = np.zeros((n, n)), np.eye(n, dtype=bool)
    taught = kernels.TaughtStates(members, np.full(len(members), 2), drops)
    kernels.fit_pairs(taught, gains, pairs, seen, 3)
    assert pairs == pytest.approx(truth, abs=1e-12)
    assert seen.all()


def test_the_beam_lists_the_best_sets_of_the_surrogate():
    rng = np.random.default_rng(1)
    n = 8
    gains, pairs = rng.normal(size=n), rng.normal(size=(n, n))
    pairs += pairs.T
    codes = rng.integers(1, 2**56, size=n)
    sets, scores = kernels.beam_sets(gains, pairs, 2, 28, codes, np.zeros(0, dtype=np.int64))
    every = {frozenset((a, b)): gains[a] + gains[b] + pairs[a, b] for a in range(n) for b in range(a)}
    assert [frozenset(s.tolist()) for s in sets] == sorted(every, key=lambda s: -every[s])
    assert scores == pytest.approx(sorted(every.values(), reverse=True))
    known = np.sort(codes[sets[:3]].sum(axis=1))
    rest, _ = kernels.beam_sets(gains, pairs, 2, 28, codes, known)
    assert rest.tolist() == sets[3:].tolist()


def test_pairs_never_seen_are_drawn_as_wide_as_those_seen():
    rng = np.random.default_rng(2)
    n = 60
    pairs = rng.normal(0, 3.0, (n, n))
    pairs += pairs.T
    seen = rng.random((n, n)) < 0.5
    seen = seen | seen.T | np.eye(n, dtype=bool)
    pairs[~seen] = 0
    drawn = kernels.draw_pairs(pairs, seen, np.zeros(n), rng.standard_normal((n, n)))
    assert (drawn[seen] == pairs[seen]).all()
    assert drawn == pytest.approx(drawn.T)
    known = pairs[seen & ~np.eye(n, dtype=bool)]
    # some 900 different draws: their standard deviation is known to one part in 40
    assert drawn[~seen].std() == pytest.approx(known.std(), rel=0.1)
    nothing = np.eye(n, dtype=bool)
    drawn = kernels.draw_pairs(np.zeros((n, n)), nothing, np.full(n, -7.0), rng.standard_normal((n, n)))
    assert drawn[~nothing].std() == pytest.approx(0.7, rel=0.1)
