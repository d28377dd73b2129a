"""Inputs on which tools of this kind are known to fail, with the right answers worked out by hand or listing."""

import warnings

import numpy as np
import pandas as pd
import pytest

import keyplayers as kp

from_edges = kp.MarkovRandomField.from_edges
S = [[0.9, 0.1], [0.1, 0.9]]
U = [0.5, 0.5]
I = [[1, 0], [0, 1]]
CHAIN = [(0, 1), (1, 2)]
TRIANGLE = [(0, 1), (1, 2), (0, 2)]
K4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
SCHEDULES = ["auto", "flooding", "sequential", "residual"]
INFERENCES = [*SCHEDULES, "exact"]
NINE_DECIMALS = 1e-9


def infer(mrf, how):
    return kp.exact_marginals(mrf) if how == "exact" else kp.belief_propagation(mrf, schedule=how)


def close(expected, within=NINE_DECIMALS):
    return pytest.approx(np.array(expected), abs=within, rel=0)


@pytest.mark.parametrize("how", INFERENCES)
def test_a1_zero_prior_entries(how):
    state = infer(from_edges(CHAIN, [[0, 1], U, [1, 0]], potential=[S, [[0.8, 0.2], [0.3, 0.7]]]), how)
    assert state.beliefs == close([[0, 1], [0.228571429, 0.771428571], [1, 0]])
    assert state.belief(0)[0] == 0
    assert state.belief(2)[1] == 0
    assert state.log_partition == pytest.approx(-1.742969305, abs=1e-9)
    assert state.map() == {0: 1, 1: 1, 2: 0}


@pytest.mark.parametrize("how", INFERENCES)
def test_a2_contradictory_evidence_names_the_variable(how):
    # schedules in which 1 has told 2 of 0 before it hears from 2 find no state for 2, and name 1 as its neighbour
    named = r"[12] has no possible state: .*1.*" if how in ("sequential", "residual") else "1 has no"
    mrf = from_edges(CHAIN, [[1, 0], U, [0, 1]], potential=I)
    with pytest.raises(kp.ContradictionError, match=f"variable {named}"):
        infer(mrf, how)


@pytest.mark.parametrize("how", INFERENCES)
def test_a4_no_underflow_at_two_thousand_neighbours(how):
    leaves = [[0.6, 0.4]] * 1001 + [[0.4, 0.6]] * 1000
    state = infer(from_edges([(0, v) for v in range(1, 2002)], [U, *leaves], potential=S), how)
    assert state.belief(0) == close([0.58, 0.42])
    assert state.belief(1) == close([0.6, 0.4])
    assert state.belief(1001) == close([0.6, 0.4])
    # a leaf of the minority: what the centre hears from the others is [.58², .42²]
    centre = 0.58**2 / (0.58**2 + 0.42**2)
    agree, differ = 0.4 * (0.1 + 0.8 * centre), 0.6 * (0.9 - 0.8 * centre)
    assert state.belief(1002)[0] == pytest.approx(agree / (agree + differ), abs=1e-12)
    assert state.belief(2001) == close([0.526108374, 0.473891626])


@pytest.mark.parametrize("how", INFERENCES)
def test_a5_log_potentials_whose_exponentials_overflow(how):
    state = infer(from_edges([(0, 1)], [[0.3, 0.7], U], log_potential=[[800, -800], [-800, 800]]), how)
    assert state.beliefs == close([[0.3, 0.7], [0.3, 0.7]], within=1e-15)


@pytest.mark.parametrize("how", INFERENCES)
def test_a6_many_labels(how):
    state = infer(from_edges(CHAIN, np.ones((3, 350)), potential=np.ones((350, 350))), how)
    assert state.beliefs == close(np.full((3, 350), 0.002857142857), within=1e-12)
    assert state.beliefs.sum(axis=1) == close(np.ones(3), within=1e-12)


def test_a7a_an_all_zero_prior_names_the_variable():
    with pytest.raises(kp.InputError, match="variable 0 excludes every state"):
        from_edges([(0, 1)], [[0, 0], U], potential=S)


@pytest.mark.parametrize("how", INFERENCES)
def test_a7b_c8_an_unnormalised_prior_on_a_single_variable(how):
    state = infer(from_edges(np.zeros((0, 2), int), [[3, 1]]), how)
    assert state.beliefs == close([[0.75, 0.25]])
    assert state.converged
    assert state.n_sweeps <= 1
    assert state.log_partition == pytest.approx(np.log(4))
    assert state.map() == {0: 0}


@pytest.fixture
def frustrated():
    fields = [0.1, 0.2, -0.1, 0.3]
    return from_edges(K4, np.exp([[h, -h] for h in fields]), log_potential=[[-1, 1], [1, -1]])


def test_b1_oscillation_is_reported_with_its_residual(frustrated):
    with pytest.warns(kp.ConvergenceWarning, match=r"did not converge in 1000 sweeps .*damping=0\.5"):
        state = kp.belief_propagation(frustrated, schedule="flooding")
    assert not state.converged
    assert state.residuals[-10:] == close(np.full(10, 0.72), within=0.005)
    states = []
    for n_sweeps in (101, 102, 103):
        with pytest.warns(kp.ConvergenceWarning):
            states.append(kp.belief_propagation(frustrated, schedule="flooding", max_sweeps=n_sweeps))
    assert states[2].beliefs == close(states[0].beliefs)
    low, high = sorted([states[0].belief(0)[1], states[1].belief(0)[1]])
    assert low < 0.01
    assert high > 0.98


@pytest.mark.parametrize("how", [("flooding", 0.5), ("sequential", 0.5), ("auto", 0.0)])
def test_b1_damping_reaches_the_fixed_point(frustrated, how):
    state = kp.belief_propagation(frustrated, schedule=how[0], damping=how[1], tolerance=1e-12)
    assert state.converged
    assert state.damping == 0.5
    assert state.beliefs[:, 1] == close([0.497942175, 0.482466137, 0.528197944, 0.467327660])
    assert state.log_partition == pytest.approx(5.391486519, abs=1e-9)
    exact = kp.exact_marginals(frustrated)
    assert exact.beliefs[:, 1] == close([0.507281612, 0.442356049, 0.631198028, 0.380824027])
    assert exact.log_partition == pytest.approx(4.018021302, abs=1e-9)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_b3_no_early_stop(schedule):
    mrf = from_edges(TRIANGLE, [[0.6, 0.4], U, [0.2, 0.8]], potential=[[3, 1], [1, 2]])
    state = kp.belief_propagation(mrf, schedule=schedule)
    assert state.beliefs[:, 1] == close([0.359512128, 0.411024348, 0.593658581])
    assert state.log_partition == pytest.approx(1.511916733, abs=1e-9)
    exact = kp.exact_marginals(mrf)
    assert exact.beliefs[:, 1] == close([0.375, 0.420833333, 0.583333333])
    assert exact.log_partition == pytest.approx(1.568615918, abs=1e-9)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_b4_a_fixed_point_on_a_loop_is_not_called_exact(schedule):
    potentials = [[[1, 0], [0.2, 0.8]], [[1, 0], [0.3, 0.7]], [[1, 0], [0.4, 0.6]]]
    mrf = from_edges(TRIANGLE, np.ones((3, 2)), potential=potentials)
    state = kp.belief_propagation(mrf, schedule=schedule, tolerance=1e-12)
    assert state.beliefs[:, 0] == close([0.751380267, 0.833800026, 0.932703738])
    assert (state.converged, state.exact) == (True, False)
    assert "cycles" in repr(state)
    assert "exact_marginals can check them (treewidth 2)" in state.caveat
    exact = kp.exact_marginals(mrf)
    assert exact.beliefs[:, 0] == close([0.661375661, 0.714285714, 0.777777778])
    assert exact.log_partition == pytest.approx(np.log(1.512))
    assert (exact.exact, kp.treewidth_bound(mrf).width) == (True, 2)


def test_b5_a_deterministic_loop_never_settles_in_logarithms():
    mrf = from_edges(TRIANGLE, [[0.7, 0.3], U, U], potential=I)
    with pytest.warns(kp.ConvergenceWarning, match=r"log ratio by 0\.85"):
        state = kp.belief_propagation(mrf, schedule="flooding")
    assert not state.converged
    assert state.beliefs == close([[1, 0]] * 3)
    # every sweep adds log(0.7 / 0.3), once round the triangle; probabilities seem to have settled long before
    assert state.log_residuals[-10:] == close(np.full(10, np.log(0.7 / 0.3)), within=1e-9)
    assert state.log_residuals[-1] == pytest.approx(0.847, abs=5e-4)
    assert state.residuals[100] < 1e-9
    assert kp.exact_marginals(mrf).beliefs == close([[0.7, 0.3]] * 3)


@pytest.fixture
def long_chain():
    n = 5000
    priors = np.full((n, 2), 0.5)
    priors[0] = [0.99, 0.01]
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    return from_edges(edges, priors, log_potential=[[3, -3], [-3, 3]])


@pytest.mark.parametrize("how", ["auto", "sequential", "exact"])
def test_b6_a_long_chain_is_exact_in_two_passes(long_chain, how):
    state = infer(long_chain, how)
    assert state.converged
    assert state.n_sweeps <= 3
    assert state.belief(4999)[0] == pytest.approx(0.500000000008, abs=1e-12)
    assert state.belief(100)[0] == pytest.approx(0.798465378, abs=1e-9)


def test_b6_five_hundred_synchronous_sweeps_are_not_enough(long_chain):
    with pytest.warns(kp.ConvergenceWarning):
        state = kp.belief_propagation(long_chain, schedule="flooding", max_sweeps=500)
    assert not state.converged


@pytest.mark.parametrize("how", INFERENCES)
def test_b7_nothing_is_left_over_between_queries(how):
    mrf = from_edges(CHAIN, [[0.7, 0.3], U, U], potential=S)
    queries = [{}, {2: 0}, {2: 1}, {}]
    states = [infer(mrf.observe(evidence), how) for evidence in queries]
    assert [s.belief(0)[0] for s in states] == close([0.7, 0.914012739, 0.338709677, 0.7])
    assert [s.belief(1)[0] for s in states] == close([0.66, 0.945859873, 0.177419355, 0.66])
    assert np.exp([s.log_partition for s in states]) == close([0.25, 0.157, 0.093, 0.25])
    if how != "exact":
        warm, state = [], None
        for evidence in queries:
            state = kp.belief_propagation(mrf.observe(evidence), schedule=how, start=state)
            warm.append(state.belief(0)[0])
        assert warm == close([0.7, 0.914012739, 0.338709677, 0.7], within=1e-8)


def test_b8_most_likely_states_and_the_most_likely_assignment_differ():
    mrf = from_edges([(0, 1)], np.ones((2, 2)), potential=[[0, 3], [2, 2]])
    for infer_it in (kp.belief_propagation, kp.exact_marginals):
        state = infer_it(mrf)
        assert state.beliefs == close([[3 / 7, 4 / 7], [2 / 7, 5 / 7]])
        assert state.most_likely_states() == {0: 1, 1: 1}
        assert state.map() == {0: 0, 1: 1}
        assert mrf.log_weight(state.map()) == pytest.approx(np.log(3))
        largest = infer_it(mrf, max_product=True)
        assert largest.beliefs == close([[0.6, 0.4], [0.4, 0.6]])
        assert largest.log_partition == pytest.approx(np.log(3))


@pytest.mark.parametrize("how", INFERENCES)
def test_c1_components_and_isolated_variables(how):
    mrf = from_edges([(0, 1), (2, 3)], [[0.7, 0.3], U, [0.2, 0.8], U, [0.25, 0.75]], potential=S)
    expected = [[0.7, 0.3], [0.66, 0.34], [0.2, 0.8], [0.26, 0.74], [0.25, 0.75]]
    assert infer(mrf, how).beliefs == close(expected)


@pytest.mark.parametrize("how", INFERENCES)
def test_c3_duplicate_and_reversed_edges_multiply(how):
    potentials = [[[4, 1], [1, 4]], [[3, 1], [2, 1]]]
    mrf = from_edges([(0, 1), (1, 0)], [U, [0.3, 0.7]], potential=potentials, duplicates="multiply")
    assert np.exp(mrf.log_potential(0, 1)) == close(np.array(potentials[0]) * np.transpose(potentials[1]))
    state = infer(mrf, how)
    assert state.beliefs == close([[0.617283951, 0.382716049], [0.481481481, 0.518518519]])
    assert np.exp(state.log_partition) == pytest.approx(4.05)
    with pytest.raises(kp.InputError, match="join the same variables"):
        from_edges([(0, 1), (1, 0)], [U, [0.3, 0.7]], potential=potentials)


@pytest.mark.parametrize("how", INFERENCES)
def test_c5_different_state_counts(how):
    priors = [[0.2, 0.8], [1, 2, 1], [1, 1, 1, 3]]
    potentials = [[[1, 2, 3], [3, 1, 1]], [[1, 2, 1, 1], [2, 1, 1, 4], [1, 1, 5, 1]]]
    state = infer(from_edges(CHAIN, priors, potential=potentials), how)
    assert state.belief(0) == close([0.286118980, 0.713881020])
    assert state.belief(1) == close([0.257790368, 0.543909348, 0.198300283])
    assert state.belief(2) == close([0.124645892, 0.127478754, 0.169971671, 0.577903683])
    assert state.log_partition == pytest.approx(4.257030144, abs=1e-9)
    assert state.map() == {0: 1, 1: 1, 2: 3}


def test_c5_a_transposed_potential_is_refused():
    with pytest.raises(kp.InputError, match=r"edge 0 \(0 - 1\): the potential has shape 3×2, but 0 has 2 states"):
        from_edges([(0, 1)], [[1, 1], [1, 1, 1]], potential=np.ones((3, 2)))


@pytest.mark.parametrize("how", INFERENCES)
def test_c6_a_variable_without_a_prior(how):
    edges = pd.DataFrame({"source": ["a"], "target": ["b"]})
    state = infer(from_edges(edges, {"a": [0.7, 0.3]}, potential=S), how)
    assert state.belief("b") == close([0.66, 0.34])
    with pytest.raises(kp.InputError, match="'b' .* has no prior"):
        from_edges(edges, {"a": [0.7, 0.3]}, potential=S, missing_priors="error")


def test_c6_a_prior_without_an_edge():
    state = kp.belief_propagation(from_edges([("a", "b")], {"a": [0.7, 0.3], "c": [1, 3]}, potential=S))
    assert list(state.mrf.names) == ["a", "c", "b"]
    assert state.belief("c") == close([0.25, 0.75])


@pytest.mark.parametrize("how", INFERENCES)
def test_c7_a_hub_of_a_hundred_thousand(how):
    # a sweep whose cost were quadratic in the degree would take minutes here
    n = 100_001
    leaves = np.tile([[0.6, 0.4]], (n, 1))
    leaves[50_001:] = [0.4, 0.6]
    edges = np.column_stack([np.zeros(n, int), np.arange(1, n + 1)])
    state = infer(from_edges(edges, np.concatenate([[U], leaves]), potential=S), how)
    assert state.belief(0) == close([0.58, 0.42])
    assert state.converged
    assert state.n_sweeps <= 5


def test_an_impossible_cycle_may_pass_propagation_but_not_elimination():
    mrf = from_edges(TRIANGLE, potential=[[0, 1], [1, 0]])
    state = kp.belief_propagation(mrf)
    assert state.beliefs == close([U, U, U])
    assert not state.exact
    with pytest.raises(kp.ContradictionError, match="no assignment is possible"):
        kp.exact_marginals(mrf)


def test_no_case_ends_in_a_silent_nan():
    # zeros that say nothing together with zeros that decide
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    mrf = from_edges(edges, [[1, 0], U, U, U], potential=[[1, 1], [0, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kp.ConvergenceWarning)
        for how in INFERENCES:
            assert not np.isnan(infer(mrf, how).log_beliefs).any()
