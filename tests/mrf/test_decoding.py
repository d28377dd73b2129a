"""Most likely assignments on graphs with cycles: checked, improved, with a bound that holds."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf.inference import decoding

COLOURS = 1 - np.eye(3)


@pytest.fixture
def search_only(monkeypatch):
    """No elimination, so that small fields show what the search does."""
    monkeypatch.setattr(decoding, "_EXACT_EDGES", -1)


def colouring(n, n_edges, seed, potential=COLOURS):
    """Neighbours must differ; a colouring is planted, so there is one."""
    rng = np.random.default_rng(seed)
    planted = rng.integers(0, 3, n)
    pairs = [(a, b) for b in range(n) for a in range(b) if planted[a] != planted[b]]
    edges = [pairs[i] for i in rng.choice(len(pairs), min(n_edges, len(pairs)), replace=False)]
    return kp.MarkovRandomField.from_edges(edges, rng.uniform(0.1, 1, (n, 3)), potential=potential)


def test_a_greedy_assignment_that_breaks_a_rule_is_not_given():
    edges = [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)]
    priors = [[0.7, 0.38, 0.65], [0.41, 0.93, 0.21], [0.07, 0.15, 0.57], [0.64, 0.88, 1.0]]
    mrf = kp.MarkovRandomField.from_edges(edges, priors, potential=COLOURS)
    for max_product in (False, True):
        state = kp.belief_propagation(mrf, max_product=max_product)
        assert state.map() == {0: 0, 1: 1, 2: 1, 3: 2}
        assert state.decoding.log_weight == pytest.approx(-2.326, abs=5e-4)
        assert state.decoding.gap == 0
    assert state.log_partition == pytest.approx(mrf.log_weight(state.map()))


@pytest.mark.filterwarnings("ignore::keyplayers.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(25))
def test_the_bound_holds_and_the_weight_is_that_of_the_assignment(search_only, seed):
    if seed % 2:
        mrf = colouring(9, 16, seed)
    else:
        mrf = kp.random_field(9, 16, n_states=3, coupling=0.0, coupling_spread=2.0, random_state=seed)
    if seed % 3 == 0:
        mrf = mrf.observe({0: [1, 1, 0]})
    best = kp.exact_marginals(mrf, max_product=True).log_partition
    state = kp.belief_propagation(mrf, max_product=True)
    found = state.decoding
    assert found.log_weight == pytest.approx(mrf.log_weight(state.map()))
    assert found.log_weight <= best + 1e-9
    assert found.log_bound >= best - 1e-9
    assert found.gap >= 0
    assert found.log_weight == pytest.approx(best)  # of nine variables a tree leaves few out


@pytest.mark.filterwarnings("ignore::keyplayers.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(4))
def test_a_large_field_with_rules_gets_a_possible_assignment(search_only, seed):
    state = kp.belief_propagation(colouring(150, 260, seed), max_sweeps=200)
    assert np.isfinite(state.decoding.log_weight)
    assert state.decoding.gap >= 0


@pytest.mark.filterwarnings("ignore::keyplayers.ConvergenceWarning")
def test_what_no_assignment_allows_is_said(search_only):
    clique = [(a, b) for b in range(4) for a in range(b)]
    mrf = kp.MarkovRandomField.from_edges(clique, potential=COLOURS)
    state = kp.belief_propagation(mrf)
    with pytest.warns(kp.PrecisionWarning, match="no possible assignment"):
        state.map()
    assert state.decoding.log_weight == -np.inf


def test_what_elimination_shows_to_be_impossible_is_a_contradiction():
    clique = [(a, b) for b in range(4) for a in range(b)]
    state = kp.belief_propagation(kp.MarkovRandomField.from_edges(clique, potential=COLOURS))
    with pytest.raises(kp.ContradictionError):
        state.map()


@pytest.mark.filterwarnings("ignore::keyplayers.ConvergenceWarning")
def test_state_counts_that_differ_and_rules_in_one_direction(search_only):
    rng = np.random.default_rng(3)
    counts = [2, 3, 4, 2, 3, 5]
    edges = [(a, b) for b in range(6) for a in range(b)]
    tables = [
        np.where(rng.random((counts[a], counts[b])) < 0.2, 0, rng.random((counts[a], counts[b]))) for a, b in edges
    ]
    mrf = kp.MarkovRandomField.from_edges(edges, [rng.random(k) for k in counts], potential=tables)
    best = kp.exact_marginals(mrf, max_product=True).log_partition
    found = kp.belief_propagation(mrf).decoding
    assert found.log_weight <= best + 1e-9 <= found.log_bound + 2e-9


def test_the_same_field_is_decoded_the_same_way(search_only):
    mrf = kp.grid_field(12, 12, coupling=0.0, coupling_spread=1.0, random_state=0)
    one, two = (kp.belief_propagation(mrf).decoding for _ in range(2))
    assert np.array_equal(one.states, two.states)
    assert one[1:] == two[1:]
