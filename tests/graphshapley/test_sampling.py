"""The sampling engine against exact answers: agreement, calibration, traps, sameness."""

import numpy as np
import pytest
from scipy import stats

import keyplayers as kp
from keyplayers._base.progress import Silent
from keyplayers.graphshapley.engines import _chain_kernels, estimates, rehanging, sampling
from keyplayers.graphshapley.engines.enumeration import enumerate_coalitions
from keyplayers.graphshapley.engines.sampling import Sampler, sample_game

from .balls import WORTHS, clustered_game, karate_game, make_game, odds, random_game, trap_game


def z_scores(result, exact):
    """z of all players; where the standard error is rounding the value must be exact."""
    known = result.std_errors > 1e-10
    np.testing.assert_allclose(result.values[~known], exact[~known], atol=1e-9)
    return (result.values[known] - exact[known]) / result.std_errors[known]


@pytest.mark.parametrize("worth", WORTHS)
@pytest.mark.parametrize("zeros", [False, True])
def test_parts_and_direction_follow_enumeration(worth, zeros):
    rng = np.random.default_rng(WORTHS.index(worth) + 10 * zeros)
    for seed in range(6):
        game = random_game(
            rng, int(rng.integers(2, 8)), seed % 3, worth=worth, max_states=2 + seed % 2, zeros=zeros
        )
        exact = enumerate_coalitions(game, max_evals=10**6)
        found = sample_game(game, max_evals=20_000, random_state=seed, n_jobs=1)
        np.testing.assert_allclose(found.probabilistic + found.topological, found.values, atol=1e-12)
        for name in ("probabilistic", "topological", "direction"):
            expected = getattr(exact, name)
            np.testing.assert_allclose(getattr(found, name), expected, atol=0.06 * max(1.0, exact.spread))
        assert exact.worth_min - 1e-9 <= found.worth_min <= found.worth_max <= exact.worth_max + 1e-9


def test_calibration_over_seeds(monkeypatch):
    """z-scores of the largest values, pooled over 24 balls and 200 seeds, are those of a t distribution."""
    rng = np.random.default_rng(1)
    games = [random_game(rng, 10, 1 + i % 4, max_states=2 + i % 2, worth=WORTHS[i % 5]) for i in range(12)]
    games += [karate_game(target) for target in (5, 11, 16, 12, 24, 20)]
    references = [enumerate_coalitions(game, max_evals=10**7).values for game in games[:12]]
    games += [clustered_game(seed) for seed in range(6)]
    assert sum(game.ball.n_cycles > 50 for game in games) >= 4
    references += [sample_game(game, max_evals=80_000, random_state=999).values for game in games[12:]]
    z, covered = [], []
    # standard errors from batches must be right by themselves, not because they are raised for what was not seen
    monkeypatch.setattr(estimates, "RULE_OF_THREE", 0.0)
    for game, reference in zip(games, references, strict=True):
        largest = np.argsort(-np.abs(reference))[:10]
        for seed in range(200):
            # with and without averages over ways into the target
            monkeypatch.setattr(rehanging, "_ROOM_PER_WAY", seed % 2 * 1000)
            sampler = Sampler(game, random_state=seed, n_jobs=1)
            sampler.advance(128)
            estimate = sampler.estimate()
            errors = estimate.std_errors[1:][largest]
            known = errors > 1e-10
            scores = (estimate.values[1:][largest] - reference[largest])[known] / errors[known]
            z.append(scores)
            covered.append(np.abs(scores) < stats.t.ppf(0.975, estimate.degrees))
    z, covered = np.concatenate(z), np.concatenate(covered)
    assert 0.85 < z.std() < 1.2
    assert 0.93 < covered.mean() < 0.97


@pytest.mark.parametrize(("n_light", "n_leaves"), [(1, 16), (2, 14), (1, 4), (3, 10)])
@pytest.mark.parametrize("seed", [0, 1])
def test_chain_changes_the_way_by_which_a_heavy_branch_hangs(n_light, n_leaves, seed):
    game = trap_game(n_light, n_leaves)
    exact = enumerate_coalitions(game, max_evals=10**7)
    found = sample_game(game, max_evals=40_000, random_state=seed)
    assert found.diagnostics["chains_agree"]
    assert np.abs(z_scores(found, exact.values)).max() < 4.5
    h = game.ball.players.index("h")
    assert found.values[h] == pytest.approx(exact.values[h], abs=0.01)


def test_the_four_cycle_of_the_method():
    """The number that chains of leaf moves miss, for the belief that propagation gives."""
    mrf = trap_game().ball.field
    game = make_game(mrf, "X", np.log(kp.belief_propagation(mrf).belief("X")))
    found = sample_game(game, max_evals=400_000, random_state=3)
    h = game.ball.players.index("h")
    assert found.std_errors[h] < 3e-4
    assert found.values[h] == pytest.approx(0.078604, abs=4 * found.std_errors[h])


@pytest.mark.parametrize("refreshed", [False, True])
def test_uniform_law_of_the_chain(refreshed):
    """Edge steps alone, and with fresh spanning trees, visit every subtree of a small core equally often."""
    game = random_game(np.random.default_rng(3), 5, 3)
    sampler = Sampler(game, random_state=0, n_jobs=1)
    chain, core = sampler.streams[0].chain, sampler.core
    exact = enumerate_coalitions(game, max_evals=10**6, keep_table=True)
    counts = {}
    n_draws = 40_000
    for _ in range(n_draws):
        _chain_kernels.metropolis_steps(12, chain.rng, core, chain.state)
        if refreshed:
            _chain_kernels.resample_spanning_tree(chain.rng, core, chain.state)
        slots = chain.state.up_slots[chain.state.inside]
        tree = frozenset(frozenset((s, core.reverse[s])) for s in slots[slots >= 0].tolist())
        counts[tree] = counts.get(tree, 0) + 1
    assert not core.log_weights.any()
    assert len(counts) == exact.n_coalitions + 1  # the target alone is a state of the chain
    expected = n_draws / len(counts)
    statistic = sum((count - expected) ** 2 / expected for count in counts.values())
    # steps are few, so draws are a little dependent: the statistic is somewhat larger than chi-squared
    assert statistic < 2.0 * stats.chi2.ppf(0.999, len(counts) - 1)


def test_same_seed_same_numbers_whatever_blocks_and_threads(monkeypatch):
    game = karate_game(0)
    first = sample_game(game, max_evals=3_000, random_state=5, n_jobs=1)
    assert np.abs(first.values).max() > 0.01
    monkeypatch.setattr(sampling, "_BLOCK_SECONDS", 1e-9)
    second = sample_game(game, max_evals=3_000, random_state=5, n_jobs=4)
    for name in ("values", "std_errors", "probabilistic", "direction"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    other = sample_game(game, max_evals=3_000, random_state=6)
    assert not np.array_equal(first.values, other.values)


def test_budget_and_goal():
    game = karate_game(0)
    assert sample_game(game, max_evals=1000, random_state=0).n_evaluations == 1000
    unguided = sample_game(game, random_state=0)
    largest = np.argsort(-np.abs(unguided.values))[:5]
    assert unguided.std_errors[largest].max() <= 0.01 * np.abs(unguided.values).max()
    loose = sample_game(game, std_error_goal=4 * unguided.std_errors[largest].max(), random_state=0)
    assert loose.n_evaluations < unguided.n_evaluations
    assert loose.std_errors[largest].max() <= 4 * unguided.std_errors[largest].max()
    with pytest.raises(kp.InputError, match="max_evals"):
        sample_game(game, max_evals=0)
    with pytest.raises(kp.InputError, match="std_error_goal"):
        sample_game(game, std_error_goal=-1.0)


def test_interruption_keeps_what_there_is():
    class Impatient(Silent):
        n = 0

        def advance(self, amount=1, note=""):
            self.n += amount
            if self.n > 500:
                raise KeyboardInterrupt

    game = karate_game(0)
    found = sample_game(game, max_evals=100_000, random_state=0, progress=Impatient())
    assert found.partial
    assert 500 < found.n_evaluations < 100_000
    assert np.isfinite(found.std_errors).all()


def test_star_of_equal_leaves_in_closed_form():
    """Log-odds is additive on a star: every contribution is the leaf's message."""
    edges = [("X", f"leaf{i}") for i in range(300)]
    mrf = kp.MarkovRandomField.from_edges(edges, {f"leaf{i}": [0.4, 0.6] for i in range(300)}, homophily=0.9)
    game = make_game(mrf, "X", np.log([0.01, 0.99]), "log_odds")
    found = sample_game(game, max_evals=4_000, random_state=0)
    np.testing.assert_allclose(found.values, np.log(0.58 / 0.42), atol=1e-12)
    np.testing.assert_allclose(found.std_errors, 0.0, atol=1e-12)
    assert len(set(found.values)) == 1


def test_a_branch_with_nothing_to_say_is_exactly_zero():
    mrf = kp.MarkovRandomField.from_edges(
        [("X", "a"), ("a", "b"), ("X", "c"), ("c", "d"), ("X", "d")], {"d": odds(1.0)}, homophily=0.8
    )
    game = make_game(mrf, "X", np.log([0.4, 0.6]))
    found = sample_game(game, max_evals=2_000, random_state=0)
    values = dict(zip(game.ball.players, found.values, strict=True))
    errors = dict(zip(game.ball.players, found.std_errors, strict=True))
    assert values["a"] == values["b"] == errors["a"] == errors["b"] == 0.0
    assert values["d"] != 0.0


def test_players_never_visited_are_not_a_number():
    """A path of 60 with the target at its end: deep variables are in hardly any coalition."""
    n = 60
    mrf = kp.MarkovRandomField.from_edges(
        [(i, i + 1) for i in range(n - 1)] + [(0, n + i) for i in range(3)],
        {i: odds(1.0) for i in range(n + 3)},
        homophily=0.7,
    )
    game = make_game(mrf, 0, np.log([0.4, 0.6]))
    found = sample_game(game, max_evals=4, random_state=0)
    missing = np.isnan(found.values)
    assert missing.any()
    assert np.isnan(found.std_errors[missing]).all()
    assert found.diagnostics["never_visited"] == missing.sum()


def test_contradictions_are_errors():
    mrf = kp.MarkovRandomField.from_edges(
        [("X", "a"), ("X", "b"), ("a", "b")],
        {"a": [1.0, 0.0], "b": [0.0, 1.0]},
        potential=[[[1.0, 0.0], [0.0, 1.0]]] * 3,
    )
    with pytest.raises(kp.ContradictionError, match="'X'"):
        sample_game(make_game(mrf, "X", np.log([0.5, 0.5])), max_evals=100, random_state=0)


def test_chains_that_disagree_are_marked():
    rng = np.random.default_rng(0)
    sums = rng.normal(size=(64, 3))
    visits = np.ones((64, 3))
    chain_of = np.repeat(np.arange(4), 16)
    players = estimates.Players.of(np.arange(3), np.zeros(3, dtype=bool), np.zeros(3))

    def estimate():
        moments = estimates.Moments((sums**2).sum(axis=0), np.abs(sums).sum(axis=0), 0.0)
        return estimates.ratio_estimate(sums, visits, moments, players, chain_of, dependent=True)

    together = estimate()
    assert together.chains_agree
    assert together.degrees == 63
    sums[:16, 1] += 5.0
    apart = estimate()
    assert not apart.chains_agree
    assert apart.degrees == 3
    assert apart.std_errors[1] > 0.5 > 2 * together.std_errors[1]


def test_neighbours_weigh_right_whatever_their_edges_say(monkeypatch):
    """Gains are averaged over edges to the target that were not drawn: these may speak where it is mute."""
    monkeypatch.setattr(rehanging, "_ROOM_PER_WAY", 0)
    rng = np.random.default_rng(11)
    mute = [[2.0, 1.0], [1.0, 2.0]]  # to a uniform sender
    edges = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 4), (1, 4), (1, 5)])
    for seed in range(10):
        potentials = [mute if rng.random() < 0.5 else rng.uniform(0.2, 2.0, (2, 2)).tolist() for _ in edges]
        priors = [[0.5, 0.5] if v and rng.random() < 0.7 else [0.8, 0.2] for v in range(6)]
        mrf = kp.MarkovRandomField.from_edges(edges, priors, potential=potentials)
        game = make_game(mrf, 0, np.log([0.7, 0.3]), WORTHS[seed % len(WORTHS)])
        exact = enumerate_coalitions(game, max_evals=10**6)
        found = sample_game(game, max_evals=60_000, random_state=seed, n_jobs=1)
        assert np.abs(z_scores(found, exact.values)).max() < 4.5
        for name in ("probabilistic", "direction"):
            np.testing.assert_allclose(
                getattr(found, name), getattr(exact, name), atol=0.01 * max(1.0, exact.spread)
            )
