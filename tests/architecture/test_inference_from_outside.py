"""An algorithm of inference from outside: twenty lines, one line of registration, and it works everywhere."""

from itertools import pairwise

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf.inference import registry


def gibbs(mrf, *, n_sweeps=3000, random_state=0):
    rng = np.random.default_rng(random_state)
    slots, offsets = mrf.slots, mrf.offsets
    x = np.array([mrf.log_priors[a:b].argmax() for a, b in pairwise(offsets)])
    counts = np.zeros(offsets[-1])
    for _ in range(n_sweeps):
        for v in range(mrf.n_variables):
            logits = mrf.log_priors[offsets[v] : offsets[v + 1]].copy()
            for slot in range(slots.offsets[v], slots.offsets[v + 1]):
                logits += mrf.log_potential_at(slot)[:, x[slots.neighbours[slot]]]
            weights = np.exp(logits - logits.max())
            x[v] = rng.choice(len(weights), p=weights / weights.sum())
            counts[offsets[v] + x[v]] += 1
    return kp.BeliefState.from_marginals(mrf, np.split(counts, offsets[1:-1]), schedule="draws")


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(registry, "_ALGORITHMS", dict(registry._ALGORITHMS))
    kp.register_inference("draws", gibbs)


def test_an_algorithm_from_outside_is_found_by_its_name_and_agrees(known):
    mrf = kp.random_field(6, 8, coupling=0.5, random_state=1)
    assert kp.inference_algorithms()[0] == "bp"
    assert kp.inference_algorithms()[-1] == "draws"
    state = kp.infer(mrf, "draws", n_sweeps=4000)
    # a mean over 4000 dependent draws: five standard errors of a run with autocorrelation time 2
    assert np.allclose(state.beliefs, kp.infer(mrf, "exact").beliefs, atol=5 * 0.5 * np.sqrt(2 * 2 / 4000))
    assert state.schedule == "draws"
    assert state.caveat


@pytest.mark.filterwarnings("ignore::keyplayers.PrecisionWarning")  # few draws: they oppose the ball
def test_its_beliefs_are_explained(known):
    mrf = kp.random_field(6, 8, coupling=0.5, random_state=1)
    state = kp.infer(mrf, "draws", n_sweeps=50)
    explained = kp.GraphShapley(mrf, beliefs=state).explain(0, random_state=0)
    assert np.allclose(explained.belief, state.belief(0))


def test_what_it_does_not_know_is_said(known):
    mrf = kp.chain_field(3, random_state=0)
    state = kp.infer(mrf, "draws", n_sweeps=2)
    assert np.isnan(state.log_partition)
    with pytest.raises(kp.InputError, match="not a jointly most likely"):
        state.map()
    with pytest.raises(kp.InputError, match="one of bp, trw, .*draws"):
        kp.infer(mrf, "gips")


def test_marginals_are_checked_with_their_variable():
    mrf = kp.chain_field(3, random_state=0)
    with pytest.raises(kp.InputError, match="variable 1 must be 2 numbers"):
        kp.BeliefState.from_marginals(mrf, [[1, 1], [1, -1], [1, 1]], schedule="x")
    with pytest.raises(kp.InputError, match="must be 3 rows"):
        kp.BeliefState.from_marginals(mrf, [[1, 1]], schedule="x")
