"""Flooding edge by edge against the log-domain kernel, which shares no code with it."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf.inference import _flooding_kernels as kernels
from keyplayers.mrf.inference import flooding, propagation
from keyplayers.mrf.inference.messages import pack, uniform

pytestmark = pytest.mark.filterwarnings("ignore::keyplayers.ConvergenceWarning")


def random_field(rng, *, n_states=2, n=30, n_edges=45, strength=2.0, prior_strength=3.0):
    codes = rng.permutation(n * n)
    edges = np.stack([codes // n, codes % n], axis=1)
    edges = edges[edges[:, 0] < edges[:, 1]][:n_edges]
    flip = rng.random(len(edges)) < 0.5
    edges[flip] = edges[flip][:, ::-1]
    priors = np.exp(rng.uniform(-prior_strength, prior_strength, (n, n_states)))
    observed = rng.random(n) < 0.1
    priors[observed, : n_states - 1] = 0.0
    types = rng.integers(0, 4, len(edges))
    potentials = np.exp(rng.uniform(-strength, strength, (4, n_states, n_states)))[types]
    return kp.MarkovRandomField.from_edges(edges, priors, potential=potentials)


def in_logs(monkeypatch, mrf, **options):
    with monkeypatch.context() as patch:
        for choice in ("fits_ratios", "are_narrow"):
            patch.setattr(propagation, choice, lambda _: False)
        return kp.belief_propagation(mrf, **options)


@pytest.mark.parametrize("n_states", [2, 3, 5])
@pytest.mark.parametrize("strength", [0.5, 2.0, 25.0])
@pytest.mark.parametrize("prior_strength", [3.0, 600.0])
@pytest.mark.parametrize("damping", [0.0, 0.4])
@pytest.mark.parametrize("max_product", [False, True])
def test_every_sweep_equals_the_log_domain(monkeypatch, n_states, strength, prior_strength, damping, max_product):
    rng = np.random.default_rng(17)
    for _ in range(5):
        mrf = random_field(rng, n_states=n_states, strength=strength, prior_strength=prior_strength)
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


@pytest.mark.parametrize("n_states", [2, 3])
def test_trees_that_hang_on_cycles_hear_of_the_final_cycle(monkeypatch, n_states):
    rng = np.random.default_rng(5)
    for _ in range(20):
        mrf = random_field(rng, n_states=n_states, n=40, n_edges=44, strength=0.4)
        state = kp.belief_propagation(mrf, tolerance=1e-13)
        expected = in_logs(monkeypatch, mrf, schedule="flooding", tolerance=1e-13)
        assert state.converged
        assert expected.converged
        np.testing.assert_allclose(state.beliefs, expected.beliefs, atol=1e-11)


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize(("degree", "bounded"), [(50, True), (3000, False)])
def test_hubs_neither_overflow_nor_underflow(monkeypatch, n_states, degree, bounded):
    leaves = np.arange(1, degree + 1)
    edges = np.concatenate([np.stack([0 * leaves, leaves], axis=1), [[1, 2]]])
    priors = np.full((degree + 1, n_states), 0.01)
    # half pull one way and half the other, one half first: on the way the product is far out of range
    priors[1:, :2] = np.where(leaves[:, None] <= degree // 2, [0.7, 0.3], [0.3, 0.7])
    priors[0] = 0.5
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.9)
    packed = pack(mrf, ratio=n_states == 2)
    laid_out = flooding.lay_out(mrf, packed, uniform(mrf, packed.in_ratios), np.arange(degree + 1))
    assert laid_out.bounded is (bounded and n_states == 2)

    state = kp.belief_propagation(mrf, schedule="flooding", max_sweeps=6, tolerance=0)
    expected = in_logs(monkeypatch, mrf, schedule="flooding", max_sweeps=6, tolerance=0)
    np.testing.assert_allclose(state.beliefs, expected.beliefs, atol=1e-10)
    assert np.ptp(state.beliefs[1:, 0]) > 0.05
    assert 0.5 < state.beliefs[0, 0] < 0.9


@pytest.mark.parametrize("n_states", [2, 3])
def test_parts_and_threads_change_nothing(monkeypatch, n_states):
    mrf = random_field(np.random.default_rng(2), n_states=n_states, n=200, n_edges=700)
    whole = kp.belief_propagation(mrf, schedule="flooding", max_sweeps=9, tolerance=0)
    monkeypatch.setattr(flooding, "_EDGES_PER_PART", 100)
    monkeypatch.setattr(flooding, "_PRODUCTS_PER_EDGE", 10)
    monkeypatch.setattr(propagation, "_SLOTS_PER_THREAD", 100)
    one, two = (
        kp.belief_propagation(mrf, schedule="flooding", max_sweeps=9, tolerance=0, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    packed = pack(mrf, ratio=n_states == 2)
    assert len(flooding.lay_out(mrf, packed, uniform(mrf, packed.in_ratios), np.arange(200)).parts) == 7
    np.testing.assert_allclose(one.beliefs, whole.beliefs, atol=1e-12)
    np.testing.assert_array_equal(two.beliefs, one.beliefs)
    np.testing.assert_array_equal(two.log_residuals, one.log_residuals)


@pytest.mark.parametrize("n_parts", [1, 3])
def test_products_of_several_parts_meet_across_powers_of_the_scale(n_parts):
    rng = np.random.default_rng(8)
    scale = np.log(kernels.SCALE)
    # the states of a variable are comparable, but their products may lie on both sides of a power of the scale
    logs = rng.uniform(-4 * scale, 0, (1000, 1)) + rng.uniform(-5, 0, (1000, 3))
    shares = rng.dirichlet(np.ones(n_parts), (1000, 3))
    parts = np.moveaxis(logs[..., None] * shares, -1, 0)
    shifts = np.ceil(parts / scale).astype(np.int64)
    mantissas = np.exp(parts - shifts * scale)
    own = np.ones((1000, 3)), np.zeros((1000, 3), np.int64)

    totals = np.empty((1000, 3))
    kernels.gather_states(mantissas.copy(), shifts.copy(), *own, totals)
    np.testing.assert_allclose(totals, np.exp(logs - logs.max(axis=1, keepdims=True)), rtol=1e-9)

    # one ratio per variable: up to the scale, beyond which it is clipped
    logs = logs[:, 0] + 2 * scale
    shifts[0, :, 0] += 2
    ratios = np.empty(1000)
    kernels.gather_ratios(mantissas[:, :, 0].copy(), shifts[:, :, 0].copy(), own[0][:, 0], own[1][:, 0], ratios)
    np.testing.assert_allclose(np.log(ratios), np.clip(logs, -scale, scale), atol=1e-9)


def test_edges_come_by_ranges_of_first_ends_and_none_is_lost(monkeypatch):
    mrf = kp.random_field(20, 60, random_state=1)
    whole = flooding.order_edges(mrf.slots, np.ones(20, dtype=bool))
    monkeypatch.setattr(flooding, "RANGE", 4)
    ranged = flooding.order_edges(mrf.slots, np.ones(20, dtype=bool))
    keys = np.column_stack([ranged.firsts // 4, ranged.seconds]).tolist()
    assert keys == sorted(keys)
    assert len(np.unique(ranged.firsts // 4)) > 3
    for some, plain in zip(ranged, whole, strict=True):
        assert np.array_equal(some[np.argsort(ranged.slots)], plain[np.argsort(whole.slots)])


@pytest.mark.parametrize("n_states", [2, 3])
def test_neighbours_across_ranges_talk_to_each_other(n_states):
    small = random_field(np.random.default_rng(4), n_states=n_states)
    size = flooding.RANGE
    # spread over three ranges: neighbours within one and across them
    positions = np.sort(np.concatenate([np.arange(10), size + np.arange(-5, 5), 2 * size + np.arange(-5, 5)]))
    priors = np.full((2 * size + 5, n_states), 1.0)
    priors[positions] = np.exp(small.log_priors.reshape(-1, n_states))
    mrf = kp.MarkovRandomField.from_edges(
        positions[small.edges],
        priors,
        log_potential=small.log_potentials.reshape(-1, n_states, n_states)[small.potential_index],
    )
    packed = pack(mrf, ratio=n_states == 2)
    firsts = flooding.lay_out(
        mrf, packed, uniform(mrf, packed.in_ratios), np.arange(mrf.n_variables)
    ).messages.firsts
    assert len(np.unique(firsts // flooding.RANGE)) == 3
    options = {"schedule": "flooding", "max_sweeps": 7, "tolerance": 0}
    state = kp.belief_propagation(mrf, **options)
    expected = kp.belief_propagation(small, **options)
    np.testing.assert_allclose(state.beliefs[positions], expected.beliefs, atol=1e-12)
    np.testing.assert_allclose(state.log_residuals, expected.log_residuals, atol=1e-12)
