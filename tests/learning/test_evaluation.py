"""Hidden labels: who tells them best, and whether that is said."""

import json

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.learning.evaluation import FIELD, LEARNED
from keyplayers.learning.graph import read_graph
from keyplayers.learning.rivals import degree_rule, label_propagation


@pytest.fixture(scope="module")
def blocks():
    """Two groups of 60 that are joined within more than between."""
    rng = np.random.default_rng(0)
    states = np.arange(120) % 2
    pairs = np.array([(i, j) for i in range(120) for j in range(i)])
    same = states[pairs[:, 0]] == states[pairs[:, 1]]
    return pairs[rng.random(len(pairs)) < np.where(same, 0.08, 0.02)], states


def test_propagation_that_helps_is_said_to_help(blocks):
    found = kp.evaluate(*blocks)
    assert found.mean(LEARNED, "auc") > 0.85
    assert found.difference(LEARNED, "priors alone", "auc")[0] > 0.3
    assert found.mean("priors alone", "auc") == 0.5
    assert "AUC" in found.sentence


def test_propagation_that_does_not_help_is_said_not_to(blocks):
    edges, _ = blocks
    found = kp.evaluate(edges, np.random.default_rng(1).permutation(120) % 2)
    assert not found.helps
    assert "does not help" in found.sentence
    assert found.mean(LEARNED, "sure_wrong") * found.mean(LEARNED, "sure") < 0.05


def test_hidden_labels_are_hidden_from_everybody(blocks):
    """Evidence of the field about hidden variables must not leak."""
    edges, states = blocks
    labels = np.random.default_rng(2).permutation(states)
    mrf = kp.MarkovRandomField.from_edges(edges, homophily=0.6, n_variables=120)
    told = mrf.observe({i: int(s) for i, s in enumerate(labels)})
    first, second = (kp.evaluate(field, labels, learn=False, splits=2) for field in (mrf, told))
    assert first.scores[FIELD] == second.scores[FIELD]
    assert first.mean(FIELD, "auc") < 0.7


def test_priors_of_a_field_are_a_rival(blocks):
    edges, states = blocks
    rows = np.column_stack([1 - states, states]) * 0.4 + 0.3
    mrf = kp.MarkovRandomField.from_edges(edges, rows, homophily=0.5)
    found = kp.evaluate(mrf, states, learn=False, splits=2)
    assert found.mean("priors alone", "auc") == 1.0
    assert found.mean(FIELD, "auc") == 1.0


def test_splits_come_from_the_seed(blocks):
    first, second, other = (kp.evaluate(*blocks, splits=2, random_state=seed).scores for seed in (1, 1, 2))
    assert first == second != other


def test_intervals_widen_as_splits_share_labels(blocks):
    found = kp.evaluate(*blocks, splits=3, share=0.5)
    values = np.array([each.auc for each in found.scores[LEARNED]])
    naive = 4.302652729911275 * values.std(ddof=1) / np.sqrt(3)  # t quantile of 2 degrees of freedom
    assert found.half_width(LEARNED, "auc") == pytest.approx(naive * np.sqrt(1 + 3))
    assert np.isnan(kp.evaluate(*blocks, splits=1).half_width(LEARNED, "auc"))


def test_json_holds_the_table(blocks):
    data = json.loads(json.dumps(kp.evaluate(*blocks, splits=2).to_dict(), allow_nan=False))
    assert [row["name"] for row in data["rows"]] == [LEARNED, "label propagation", "degree rule", "priors alone"]


def graph_of(edges, labels):
    return read_graph(
        edges, labels, states=(0, 1), per_type=False, edge_types=None, edge_weights=None, directed=False
    )


def test_label_propagation_solves_its_linear_system():
    """At the fixed point F = a S F + (1 - a) Y."""
    graph = graph_of([(0, 1), (1, 2), (2, 3), (1, 3)], [0, -1, -1, 1])
    adjacency = np.zeros((4, 4))
    for a, b in [(0, 1), (1, 2), (2, 3), (1, 3)]:
        adjacency[a, b] = adjacency[b, a] = 1
    roots = np.diag(adjacency.sum(axis=1) ** -0.5)
    start = np.array([[1, 0], [0, 0], [0, 0], [0, 1]], dtype=float)
    solved = np.linalg.solve(np.eye(4) - 0.9 * roots @ adjacency @ roots, 0.1 * start)
    # 50 rounds leave 0.9^50 = 0.5 % of the start
    assert np.allclose(
        label_propagation(graph, graph.labels), solved / solved.sum(axis=1, keepdims=True), atol=0.01
    )


def test_the_degree_rule_sees_degrees_only():
    star = [(0, i) for i in range(1, 40)]
    labels = np.array([1] + [0] * 39)
    rule = degree_rule(graph_of(star, labels), labels)
    assert rule[0, 1] > rule[1, 1]
    assert np.allclose(rule[1:], rule[1])


@pytest.mark.parametrize(
    ("options", "said"),
    [({"share": 1.0}, "share must be"), ({"splits": 0}, "splits"), ({"positive": 7}, "one of")],
)
def test_what_cannot_be_is_refused(blocks, options, said):
    with pytest.raises(kp.InputError, match=said):
        kp.evaluate(*blocks, **options)


def test_too_few_labels_are_refused():
    with pytest.raises(kp.InputError, match="too few"):
        kp.evaluate([(0, 1)], [0, 1])


def test_labels_may_be_the_numbers_of_named_states(blocks):
    edges, states = blocks
    mrf = kp.MarkovRandomField.from_edges(edges, homophily=0.7, n_variables=120, states=["left", "right"])
    named = {i: ("left", "right")[s] for i, s in enumerate(states.tolist())}
    by_name, by_number = (
        kp.evaluate(mrf, labels, learn=False, splits=2) for labels in (named, dict(enumerate(states.tolist())))
    )
    assert by_name.scores == by_number.scores
    with pytest.raises(kp.UnknownNameError, match="no state 2"):
        kp.evaluate(mrf, {0: 0, 1: 2}, splits=2)


def test_labels_of_variables_without_an_edge_are_told():
    ring = [(i, (i + 1) % 60) for i in range(60)]
    labels = {i: i // 10 % 2 for i in range(60)}
    assert kp.evaluate(ring, labels, splits=2).notes == ()
    found = kp.evaluate(ring, labels | {"zoe": 1}, splits=2)
    assert found.notes == ("1 label is about a variable without an edge (first 'zoe')",)
    assert found.to_dict()["notes"] == list(found.notes)
    learned = kp.learn_potential(ring, labels | {"zoe": 1, "yan": 0}, strength=1.0)
    assert learned.notes[0] == "2 labels are about variables without an edge (first 'zoe')"
