"""log Z of propagation: exact on forests to the last digits, also at hubs."""

import math

import numpy as np
import pytest

import keyplayers as kp


def star_log_partition(mrf):
    """log Z of a star, its terms added with all digits."""
    hub = mrf.log_prior(0)
    per_state = []
    for x in range(len(hub)):
        terms = [float(hub[x])]
        for slot in range(mrf.slots.offsets[0], mrf.slots.offsets[1]):
            leaf = int(mrf.slots.neighbours[slot])
            prior = mrf.log_priors[mrf.offsets[leaf] : mrf.offsets[leaf + 1]]
            terms.append(float(np.logaddexp.reduce(mrf.log_potential_at(slot)[x] + prior)))
        per_state.append(math.fsum(terms))
    return float(np.logaddexp.reduce(per_state))


@pytest.mark.parametrize("n_leaves", [10_000, 100_000])
@pytest.mark.parametrize("n_states", [2, 3])
def test_a_hub_costs_no_digits(n_leaves, n_states):
    coupling = math.log(0.6 / 0.4)
    mrf = kp.star_field(n_leaves, n_states=n_states, coupling=coupling, random_state=0)
    expected = star_log_partition(mrf)
    assert kp.belief_propagation(mrf).log_partition == pytest.approx(expected, rel=1e-11)
    assert kp.exact_marginals(mrf).log_partition == pytest.approx(expected, rel=1e-11)


def test_two_hubs_that_share_an_edge_and_a_forest_of_stars():
    leaves = np.arange(2, 40_002)
    edges = np.column_stack([np.where(leaves % 2, 0, 1), leaves])
    for joined in ([], [[0, 1]]):
        rng = np.random.default_rng(1)
        mrf = kp.MarkovRandomField.from_edges(
            np.concatenate([edges, np.array(joined, dtype=int).reshape(-1, 2)]),
            log_priors=rng.normal(0, 1, (40_002, 2)),
            homophily=0.6,
        )
        exact = kp.exact_marginals(mrf).log_partition
        assert kp.belief_propagation(mrf).log_partition == pytest.approx(exact, rel=1e-10)


def test_an_observed_hub_with_zeros_in_its_potential():
    mrf = kp.MarkovRandomField.from_edges(
        [(0, v) for v in range(1, 2001)],
        {0: [1, 2, 0]},
        log_potential=np.log([[1, 0.5, 1e-300], [1, 1, 2], [1, 3, 1]]),
    )
    for field in (mrf, mrf.observe({0: 1}), mrf.observe({5: 0, 6: 2})):
        exact = kp.exact_marginals(field).log_partition
        assert kp.belief_propagation(field).log_partition == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("max_product", [False, True])
def test_on_random_forests_it_is_that_of_elimination(seed, max_product):
    mrf = kp.tree_field(25, n_states=2 + seed % 3, coupling_spread=1.0, random_state=seed)
    if seed % 2:
        mrf = mrf.observe({1: 0, 3: [0.0] + [1.0] * (1 + seed % 3)})
    exact = kp.exact_marginals(mrf, max_product=max_product).log_partition
    passed = kp.belief_propagation(mrf, max_product=max_product).log_partition
    assert passed == pytest.approx(exact, rel=1e-12, abs=1e-12)


def test_state_counts_that_differ():
    mrf = kp.MarkovRandomField.from_edges(
        [(0, 1), (1, 2), (3, 2)],
        [[1, 2], [1, 1, 3], [2, 1], [1, 0, 2, 1]],
        potential=[np.arange(1, 7).reshape(2, 3), np.eye(3, 2) + 0.1, np.arange(8).reshape(4, 2)],
    )
    exact = kp.exact_marginals(mrf).log_partition
    assert kp.belief_propagation(mrf).log_partition == pytest.approx(exact, rel=1e-13)
