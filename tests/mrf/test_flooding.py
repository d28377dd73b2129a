"""Flooding in ratio form against the log-domain kernel, which shares no code with it."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf import flooding, propagation
from keyplayers.mrf.messages import pack, uniform

pytestmark = pytest.mark.filterwarnings("ignore::keyplayers.ConvergenceWarning")


def random_field(rng, *, n=30, n_edges=45, strength=2.0, prior_strength=3.0):
    codes = rng.permutation(n * n)
    edges = np.stack([codes // n, codes % n], axis=1)
    edges = edges[edges[:, 0] < edges[:, 1]][:n_edges]
    flip = rng.random(len(edges)) < 0.5
    edges[flip] = edges[flip][:, ::-1]
    priors = np.exp(rng.uniform(-prior_strength, prior_strength, (n, 2)))
    priors[rng.random(n) < 0.1, rng.integers(0, 2)] = 0.0
    potentials = np.exp(rng.uniform(-strength, strength, (len(edges), 2, 2)))
    return kp.MarkovRandomField.from_edges(edges, priors, potential=potentials)


def in_logs(monkeypatch, mrf, **options):
    with monkeypatch.context() as patch:
        patch.setattr(propagation, "fits_ratios", lambda _: False)
        return kp.belief_propagation(mrf, **options)


@pytest.mark.parametrize("strength", [0.5, 2.0, 25.0])
@pytest.mark.parametrize("prior_strength", [3.0, 600.0])
@pytest.mark.parametrize("damping", [0.0, 0.4])
@pytest.mark.parametrize("max_product", [False, True])
def test_every_sweep_equals_the_log_domain(monkeypatch, strength, prior_strength, damping, max_product):
    rng = np.random.default_rng(17)
    for _ in range(10):
        mrf = random_field(rng, strength=strength, prior_strength=prior_strength)
        options = {
            "schedule": "flooding",
            "damping": damping,
            "max_product": max_product,
            "max_sweeps": 7,
            "tolerance": 0,
        }
        state = kp.belief_propagation(mrf, **options)
        expected = in_logs(monkeypatch, mrf, **options)
        np.testing.assert_allclose(state.beliefs, expected.beliefs, atol=1e-10)
        both = min(state.n_sweeps, expected.n_sweeps)  # one of them may come to an exact standstill
        np.testing.assert_allclose(state.residuals[:both], expected.residuals[:both], atol=1e-10)
        np.testing.assert_allclose(
            state.log_residuals[:both], expected.log_residuals[:both], rtol=1e-8, atol=1e-10
        )


def test_trees_that_hang_on_cycles_hear_of_the_final_cycle(monkeypatch):
    rng = np.random.default_rng(5)
    for _ in range(20):
        mrf = random_field(rng, n=40, n_edges=44, strength=0.4)
        state = kp.belief_propagation(mrf, tolerance=1e-13)
        expected = in_logs(monkeypatch, mrf, schedule="flooding", tolerance=1e-13)
        assert state.converged
        assert expected.converged
        np.testing.assert_allclose(state.beliefs, expected.beliefs, atol=1e-11)


@pytest.mark.parametrize(("degree", "bounded"), [(50, True), (3000, False)])
def test_hubs_neither_overflow_nor_underflow(monkeypatch, degree, bounded):
    leaves = np.arange(1, degree + 1)
    edges = np.concatenate([np.stack([0 * leaves, leaves], axis=1), [[1, 2]]])
    priors = np.full((degree + 1, 2), 0.5)
    # half pull one way and half the other, one half first: on the way the product is far out of range
    priors[1:] = np.where(leaves[:, None] <= degree // 2, [0.7, 0.3], [0.3, 0.7])
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.9)
    laid_out = flooding.lay_out(pack(mrf, ratio=True), uniform(mrf, ratio=True), np.arange(degree + 1))
    assert laid_out.bounded is bounded

    state = kp.belief_propagation(mrf, schedule="flooding", max_sweeps=6, tolerance=0)
    expected = in_logs(monkeypatch, mrf, schedule="flooding", max_sweeps=6, tolerance=0)
    np.testing.assert_allclose(state.beliefs, expected.beliefs, atol=1e-10)
    assert np.ptp(state.beliefs[1:, 0]) > 0.1
    assert 0.5 < state.beliefs[0, 0] < 0.9


def test_parts_and_threads_change_nothing(monkeypatch):
    mrf = random_field(np.random.default_rng(2), n=200, n_edges=700)
    whole = kp.belief_propagation(mrf, schedule="flooding", max_sweeps=9, tolerance=0)
    monkeypatch.setattr(flooding, "_EDGES_PER_PART", 100)
    monkeypatch.setattr(flooding, "_PART_BYTES_PER_EDGE", 1000)
    monkeypatch.setattr(propagation, "_SLOTS_PER_THREAD", 100)
    one, two = (
        kp.belief_propagation(mrf, schedule="flooding", max_sweeps=9, tolerance=0, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert len(flooding.lay_out(pack(mrf, ratio=True), uniform(mrf, ratio=True), np.arange(200)).parts) == 7
    np.testing.assert_allclose(one.beliefs, whole.beliefs, atol=1e-12)
    np.testing.assert_array_equal(two.beliefs, one.beliefs)
    np.testing.assert_array_equal(two.log_residuals, one.log_residuals)
