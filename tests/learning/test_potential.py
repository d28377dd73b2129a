"""Potentials from labels: what is prior, what is potential, and how strong it may be."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.learning import counting
from keyplayers.learning.graph import read_graph
from tests.oracles.labelled_pairs import count_pairs, scale

TRUTH = np.array([[0.6, 0.3, 0.1], [0.3, 0.2, 0.5], [0.1, 0.5, 0.4]])  # symmetric, margins 1


def sampled_tree(n, transition, rng, *, weights=None):
    """Edges (parent, child), and states drawn down from a root; uniform shares."""
    k = len(transition)
    parents = [int(rng.integers(0, i)) for i in range(1, n)]
    states = np.zeros(n, dtype=int)
    states[0] = rng.integers(k)
    for child, parent in enumerate(parents, 1):
        row = transition[states[parent]]
        if weights is not None and weights[child - 1] < 0:
            row = row[::-1]
        states[child] = rng.choice(k, p=row)
    return np.column_stack([parents, np.arange(1, n)]), states


def graph_of(edges, labels, n_states, **options):
    given = {
        "states": range(n_states),
        "per_type": False,
        "edge_types": None,
        "edge_weights": None,
        "directed": False,
    }
    return read_graph(edges, labels, **(given | options))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("n_kinds", [1, 3])
def test_pairs_are_counted_as_one_by_one(directed, n_kinds):
    rng = np.random.default_rng(n_kinds + directed)
    edges = rng.integers(0, 30, size=(200, 2))
    labels = rng.integers(-1, 3, size=30)
    kinds = np.concatenate([np.arange(n_kinds), rng.integers(0, n_kinds, size=200 - n_kinds)])
    types = {"edge_types": kinds.tolist()} if n_kinds > 1 else {}
    graph = graph_of(edges, labels, 3, directed=directed, **types)
    slow = count_pairs(edges.tolist(), kinds.tolist(), labels.tolist(), n_kinds, 3, directed=directed)
    assert counting.count(graph, graph.labels).pairs.tolist() == slow
    assert np.sum(slow) > 10


def test_an_association_keeps_odds_ratios_and_says_nothing_of_the_unknown():
    pairs = np.array([[40.0, 5.0, 9.0], [5.0, 80.0, 3.0], [9.0, 3.0, 20.0]])
    shares = np.array([0.2, 0.5, 0.3])
    psi = np.exp(counting.association(pairs, shares, 1e-9))
    assert np.allclose(psi @ shares, 1)
    assert np.allclose(psi * np.outer(shares, shares), scale(pairs.tolist(), shares, shares), rtol=1e-6)


@pytest.mark.parametrize("method", ["counts", "pseudo_likelihood"])
def test_the_true_potential_is_found(method):
    edges, states = sampled_tree(6000, TRUTH, np.random.default_rng(0))
    learned = kp.learn_potential(edges, states, method=method)
    # 6,000 pairs over 9 cells: a cell of probability .1 / 3 has a relative standard error of 7 %
    assert np.allclose(learned.compatibility[""], 3 * TRUTH, rtol=0.25)
    assert np.allclose(learned.shares, 1 / 3, atol=0.03)


def test_heterophily_is_learned_and_used():
    rng = np.random.default_rng(1)
    edges, states = sampled_tree(800, np.array([[0.1, 0.9], [0.9, 0.1]]), rng)
    known = np.where(rng.random(800) < 0.5, states, -1)
    learned = kp.learn_potential(edges, known)
    assert learned.potential[0, 1] > 2 * learned.potential[0, 0]
    beliefs = kp.belief_propagation(learned.field).beliefs
    hidden = known < 0
    assert (beliefs.argmax(axis=1) == states)[hidden].mean() > 0.8


def test_a_signed_weight_changes_sides():
    rng = np.random.default_rng(2)
    weights = rng.choice([-2.0, 1.0, 3.0], size=1499)
    edges, states = sampled_tree(1500, np.array([[0.9, 0.1], [0.1, 0.9]]), rng, weights=weights)
    learned = kp.learn_potential(edges, np.where(rng.random(1500) < 0.6, states, -1), edge_weights=weights)
    assert learned.potential.shape == (1499, 2, 2)
    agree = learned.potential[:, 0, 0] > learned.potential[:, 0, 1]
    assert (agree == (weights > 0)).all()
    assert sorted(kind.low for kind in learned.compatibility) == sorted({k.low for k in learned.compatibility})


def test_each_type_has_its_own_potential():
    rng = np.random.default_rng(3)
    signs = rng.choice([-1.0, 1.0], size=999)
    edges, states = sampled_tree(1000, np.array([[0.9, 0.1], [0.1, 0.9]]), rng, weights=signs)
    rows = [
        (f"v{a}", f"v{b}", "friend" if s > 0 else "foe") for (a, b), s in zip(edges.tolist(), signs, strict=True)
    ]
    labels = {f"v{i}": "xy"[s] for i, s in enumerate(states) if i % 2}
    learned = kp.learn_potential(rows, labels, per_type=True, hubs=False)
    assert learned.potential["friend"][0, 0] > 1 > learned.potential["foe"][0, 0]
    mrf = kp.MarkovRandomField.from_edges(rows, learned.priors, potential=learned.potential, states=learned.states)
    own = kp.belief_propagation(mrf.observe(labels))
    assert np.allclose(own.belief("v0"), kp.belief_propagation(learned.field).belief("v0"), atol=1e-6)


def test_imbalance_is_prior_and_no_potential():
    rng = np.random.default_rng(4)
    edges = rng.integers(0, 400, size=(1500, 2))
    labels = (rng.random(400) < 0.1).astype(int)
    learned = kp.learn_potential(edges, labels)
    assert np.allclose(learned.shares, np.bincount(labels) / 400, atol=0.01)
    assert max(abs(np.log(learned.potential)).max(), abs(np.log(learned.compatibility[""])).max() / 3) < 0.35
    assert any("does not help" in note for note in learned.notes)


def test_beliefs_in_cliques_are_not_surer_than_they_should_be():
    """Members of a clique follow it four times in five; pair by pair they would make each other certain."""
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 2, size=60)
    states = np.where(rng.random((60, 12)) < 0.8, groups[:, None], 1 - groups[:, None]).ravel()
    edges = [(12 * g + i, 12 * g + j) for g in range(60) for i in range(12) for j in range(i)]
    known = np.where(rng.random(720) < 0.3, states, -1)
    hidden = known < 0

    def wrong_though_sure(learned):
        beliefs = kp.belief_propagation(learned.field).beliefs[hidden]
        return ((beliefs.max(axis=1) > 0.99) & (beliefs.argmax(axis=1) != states[hidden])).mean()

    learned = kp.learn_potential(edges, known)
    assert learned.strength < 0.5
    assert wrong_though_sure(learned) < 0.02
    assert wrong_though_sure(kp.learn_potential(edges, known, strength=1.0)) > 0.1


def test_few_labels_stay_below_the_critical_point():
    ring = [(i, (i + j) % 40) for i in range(40) for j in (1, 2, 3)]
    learned = kp.learn_potential(ring, {0: "a", 1: "a", 2: "a", 20: "b", 21: "b"})
    assert not learned.trials
    assert learned.criticality <= 1
    assert "too few labels" in " ".join(learned.notes)


def test_without_labelled_pairs_nothing_is_known():
    learned = kp.learn_potential([("a", "x"), ("x", "b"), ("b", "y")], {"a": 0, "b": 1})
    assert np.allclose(learned.potential, 1)
    assert "nothing is known" in learned.notes[0]


def test_priors_of_a_field_are_kept():
    mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "c")], {"c": [0.2, 0.8]}, homophily=0.7)
    learned = kp.learn_potential(mrf, {"a": 1, "b": 1})
    assert np.allclose(learned.priors["c"], [0.2, 0.8])


def test_the_order_of_edges_and_names_does_not_matter():
    rng = np.random.default_rng(6)
    edges, states = sampled_tree(300, TRUTH, rng)
    there = rng.permutation(300)
    turned = there[edges][rng.permutation(299)]
    labels = np.empty(300, dtype=int)
    labels[there] = states
    first = kp.learn_potential(edges, states, strength=0.7)
    assert np.allclose(first.potential, kp.learn_potential(turned, labels, strength=0.7).potential)


def test_reciprocal_rows_count_once():
    edges, states = sampled_tree(200, TRUTH, np.random.default_rng(7))
    twice = np.concatenate([edges, edges[:, ::-1]])
    first, second = (kp.learn_potential(given, states, strength=1.0) for given in (edges, twice))
    assert np.allclose(first.potential, second.potential)
    assert first.n_pairs == second.n_pairs == 199


@pytest.mark.parametrize(
    ("labels", "options", "said"),
    [
        ({"a": 1, "b": 1}, {}, "at least two states"),
        ({"a": 1, "b": 0}, {"method": "guess"}, "method must be one of counts, pseudo_likelihood"),
        ({"a": 1, "b": 0}, {"strength": 2}, "from 0 to 1"),
        ({"a": 1, "b": 0}, {"per_type": True, "edge_weights": [1.0]}, "type of an edge or on its weight"),
        ("ab", {}, "labels must be"),
        ({"a": "x", "b": "z"}, {"states": ["x", "y"]}, "no state 'z'"),
    ],
)
def test_what_cannot_be_used_is_refused(labels, options, said):
    with pytest.raises(kp.KeyPlayersError, match=said):
        kp.learn_potential([("a", "b")], labels, **options)


def test_the_record_says_what_it_is():
    learned = kp.learn_potential([("a", "b"), ("b", "c")], {"a": "x", "b": "y"})
    assert "2 states: one potential from 2 labels and 1 labelled pairs (counts" in repr(learned)
