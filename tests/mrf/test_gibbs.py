"""Sampling: standard errors that hold, and chains that say when they disagree."""

import numpy as np
import pytest

import keyplayers as kp


@pytest.mark.filterwarnings("ignore::keyplayers.ConvergenceWarning")  # of 200 runs a few are unlucky
def test_standard_errors_are_calibrated_over_seeds():
    mrf = kp.random_field(5, 7, n_states=3, coupling=0.8, random_state=2)
    truth = np.exp(kp.exact_marginals(mrf).log_beliefs)
    runs = [kp.infer(mrf, "gibbs", n_sweeps=1000, random_state=seed) for seed in range(200)]
    beliefs = np.array([np.exp(run.log_beliefs) for run in runs])
    errors = np.array([run.std_errors for run in runs])
    scores = (beliefs - truth) / errors
    # no bias: the mean of 200 runs is within four of its standard errors
    assert (np.abs(beliefs.mean(axis=0) - truth) < 4 * beliefs.std(axis=0) / np.sqrt(200)).all()
    # an error is never below what the chains differ by, so intervals are somewhat too wide rather than too narrow
    assert 0.6 < np.sqrt((scores**2).mean()) < 1.05
    assert 0.94 < (np.abs(scores) < 2).mean() < 0.995
    assert np.mean([run.converged for run in runs]) > 0.9


def test_chains_in_two_modes_disagree():
    grid = kp.MarkovRandomField.from_edges([(i, j) for i in range(12) for j in range(i)], homophily=0.9)
    with pytest.warns(kp.ConvergenceWarning, match="chains disagree about 12 variables"):
        state = kp.infer(grid, "gibbs", n_sweeps=200, n_chains=8, random_state=0)
    assert not state.converged
    assert np.nanmax(state.std_errors) > 0.1


def test_zeros_and_evidence_are_kept():
    mrf = kp.MarkovRandomField.from_edges(
        [("a", "b"), ("b", "c")], {"a": [0, 1, 0]}, potential=[[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    )
    state = kp.infer(mrf, "gibbs", random_state=0)
    truth = kp.exact_marginals(mrf)
    assert state.belief("a").tolist() == [0, 1, 0]
    assert np.allclose(state.beliefs, truth.beliefs, atol=0.03)
    assert state.belief("b")[0] == 0


def test_a_seed_gives_the_same_numbers():
    mrf = kp.random_field(6, 8, random_state=1)
    first, second, other = (kp.infer(mrf, "gibbs", random_state=seed).log_beliefs for seed in (1, 1, 2))
    assert (first == second).all()
    assert (first != other).any()


def test_errors_are_zero_where_exact_and_unknown_elsewhere():
    mrf = kp.random_field(6, 8, random_state=1)
    assert (kp.infer(mrf, "exact").std_errors == 0).all()
    assert np.isnan(kp.infer(mrf, "bp").std_errors).all()
