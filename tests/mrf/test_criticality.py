"""t · ρ against the eigenvalues of the whole matrix, and where it is known."""

import numpy as np
import pytest

import keyplayers as kp


def by_eigenvalues(mrf):
    """Spectral radius of the dense weighted non-backtracking matrix of the unobserved part."""
    observed = mrf.observed
    directed = [(a, b) for a, b in mrf.edges.tolist()] + [(b, a) for a, b in mrf.edges.tolist()]
    directed = [(a, b) for a, b in directed if not (observed[a] or observed[b])]
    matrix = np.zeros((len(directed), len(directed)))
    for i, (a, b) in enumerate(directed):
        logs = mrf.log_potential(a, b)
        odds = [
            abs(logs[i1, j1] + logs[i2, j2] - logs[i1, j2] - logs[i2, j1])
            for i1 in range(len(logs))
            for i2 in range(len(logs))
            for j1 in range(logs.shape[1])
            for j2 in range(logs.shape[1])
        ]
        for j, (c, d) in enumerate(directed):
            if d == a and c != b:
                matrix[i, j] = np.tanh(max(odds) / 4)
    return abs(np.linalg.eigvals(matrix)).max() if directed else 0.0


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_spectral_radius_of_the_whole_matrix(seed):
    mrf = kp.random_field(9, 14, n_states=2 + seed % 2, coupling=0.8, coupling_spread=0.5, random_state=seed)
    if seed % 3 == 0:
        mrf = mrf.observe({0: 1, 4: 0})
    assert kp.criticality(mrf) == pytest.approx(by_eigenvalues(mrf), abs=1e-4)


def test_on_graphs_where_it_is_known():
    clique = [(a, b) for b in range(5) for a in range(b)]  # every variable hands on to three others
    assert kp.criticality(kp.MarkovRandomField.from_edges(clique, homophily=0.7)) == pytest.approx(0.4 * 3)
    ring = [(v, (v + 1) % 8) for v in range(8)]
    assert kp.criticality(kp.MarkovRandomField.from_edges(ring, homophily=0.7)) == pytest.approx(0.4)
    pair = [(a, b) for a in range(3) for b in range(3, 6)]  # bipartite
    assert kp.criticality(kp.MarkovRandomField.from_edges(pair, homophily=0.2)) == pytest.approx(0.6 * 2)


def test_forests_and_observed_cycles_have_none():
    assert kp.criticality(kp.tree_field(30, random_state=0)) == 0
    assert kp.criticality(kp.chain_field(1)) == 0
    ring = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (2, 0)], homophily=0.9)
    assert kp.criticality(ring.observe({0: 0})) == 0


def test_an_exact_zero_is_as_strong_as_can_be():
    potential = [[1, 0], [1, 1]]
    mrf = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (2, 0)], potential=potential)
    assert kp.criticality(mrf) == pytest.approx(1)


def test_edges_of_different_shapes():
    potential = [np.eye(2, 3) + 1, np.eye(3, 2) + 1, np.eye(2) + 1]
    priors = [[1, 1], [1, 1, 1], [1, 1]]
    mrf = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (2, 0)], priors, potential=potential)
    assert kp.criticality(mrf) == pytest.approx(by_eigenvalues(mrf), abs=1e-6)


def test_a_saturated_field_says_so_in_its_caveat():
    weak = kp.random_field(80, 400, coupling=0.05, prior_strength=0.3, random_state=0)
    strong = kp.random_field(80, 400, coupling=1.4, prior_strength=0.3, random_state=0)
    assert "surer than" not in kp.belief_propagation(weak).caveat
    caveat = kp.belief_propagation(strong).caveat
    assert "% of the beliefs are surer than 0.99" in caveat
    assert "criticality" in caveat


def test_strong_evidence_alone_is_no_saturation():
    ring = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (2, 0)], np.tile([1e6, 1], (3, 1)), homophily=0.6)
    assert "surer than" not in kp.belief_propagation(ring).caveat
