"""Wherever two engines can run they agree."""

import numpy as np
import pytest

from keyplayers.graphshapley.engines import estimates
from keyplayers.graphshapley.engines.convolution import convolve_game
from keyplayers.graphshapley.engines.enumeration import enumerate_coalitions
from keyplayers.graphshapley.engines.sampling import sample_game

from .balls import WORTHS, random_game


def z_scores(exact, sampled):
    """z of all players; where the standard error is rounding the value must be exact."""
    known = sampled.std_errors > 1e-10
    np.testing.assert_allclose(sampled.values[~known], exact[~known], atol=2e-6)
    return (sampled.values[known] - exact[known]) / sampled.std_errors[known]


@pytest.fixture
def batches_alone(monkeypatch):
    """Standard errors from batches, which must be right by themselves, not raised for what was not seen."""
    monkeypatch.setattr(estimates, "RULE_OF_THREE", 0.0)


def check_pooled(z):
    """Errors of the size stated; among a thousand, one beyond 4 standard errors is chance."""
    assert len(z) > 500
    assert 0.85 < z.std() < 1.2
    assert (np.abs(z) > 4).sum() <= 1
    assert np.abs(z).max() < 5


def test_three_engines_agree_on_150_binary_trees(batches_alone):
    rng = np.random.default_rng(11)
    z = []
    for i in range(150):
        game = random_game(rng, int(rng.integers(2, 12)), worth=WORTHS[i % 5])
        exact = enumerate_coalitions(game, max_evals=10**6)
        convolved = convolve_game(game)
        assert (np.abs(convolved.values - exact.values) <= convolved.error_bounds).all()
        z.append(z_scores(exact.values, sample_game(game, max_evals=4_000, random_state=i, n_jobs=1)))
    check_pooled(np.concatenate(z))


def test_two_engines_agree_on_150_balls_with_cycles_or_more_states(batches_alone):
    rng = np.random.default_rng(12)
    z = []
    for i in range(150):
        n = int(rng.integers(2, 10))
        game = random_game(rng, n, i % 5, worth=WORTHS[i // 5 % 5], max_states=2 + i % 3, zeros=i % 4 == 0)
        exact = enumerate_coalitions(game, max_evals=10**6)
        sampled = sample_game(game, max_evals=4_000, random_state=i, n_jobs=1)
        assert sampled.diagnostics["chains_agree"]
        z.append(z_scores(exact.values, sampled))
    check_pooled(np.concatenate(z))
