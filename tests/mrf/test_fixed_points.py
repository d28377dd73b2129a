"""Several fixed points: a hub that hears its own echo is not believed."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf.inference import propagation
from keyplayers.mrf.inference.fixed_points import find_doubt


def wheel(n, seed, agree=0.55):
    """A hub in the middle of a ring of random evidence."""
    rng = np.random.default_rng(seed)
    rim = np.arange(1, n + 1)
    edges = np.concatenate([np.column_stack([np.zeros(n, int), rim]), np.column_stack([rim, np.roll(rim, -1)])])
    log_priors = rng.normal(0, 1, (n + 1, 2))
    log_priors[0] = 0
    return kp.MarkovRandomField.from_edges(edges, log_priors=log_priors, homophily=agree)


@pytest.mark.parametrize("schedule", ["auto", "sequential"])
def test_a_hub_that_hears_its_own_echo_is_doubted(schedule):
    mrf = wheel(20_000, 0)
    with pytest.warns(kp.PrecisionWarning, match="several fixed points: variable 0 is believed"):
        state = kp.belief_propagation(mrf, schedule=schedule)
    assert state.doubt.log_odds > 30
    exact = kp.exact_marginals(mrf, max_entries=2**27).log_belief(0)
    position = mrf.state_index(0, state.doubt.state)
    assert state.doubt.weighed == pytest.approx(exact[position] - exact[1 - position], abs=0.05)
    assert "several fixed points" in state.caveat


def test_a_hub_whose_neighbours_agree_is_believed():
    rng = np.random.default_rng(0)
    edges = [(0, v) for v in range(1, 301)] + [(v, v + 1) for v in range(1, 300)]
    priors = np.column_stack([np.ones(301), np.r_[1, rng.uniform(2, 4, 300)]])
    assert kp.belief_propagation(kp.MarkovRandomField.from_edges(edges, priors, homophily=0.6)).doubt is None


def test_forests_and_small_graphs_are_not_looked_at():
    assert kp.belief_propagation(kp.star_field(5000, coupling=0.1, random_state=0)).doubt is None
    assert kp.belief_propagation(kp.grid_field(6, 6, coupling=2.0, random_state=0)).doubt is None


def test_runs_with_a_hub_held_are_not_doubted_in_turn(monkeypatch):
    calls = []
    monkeypatch.setattr(propagation, "find_doubt", lambda *given: calls.append(given) or find_doubt(*given))
    with pytest.warns(kp.PrecisionWarning):
        kp.belief_propagation(wheel(20_000, 1))
    assert len(calls) == 1
