from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyplayers as kp
from keyplayers.mrf.balls import ball

from_edges = kp.MarkovRandomField.from_edges


def random_graph(seed, n, m):
    """A connected graph: a random tree and some further edges."""
    rng = np.random.default_rng(seed)
    edges = {(int(rng.integers(v)), v) for v in range(1, n)}
    spare = [pair for pair in combinations(range(n), 2) if pair not in edges]
    extra = rng.permutation(len(spare))[: max(m - len(edges), 0)]
    return sorted(edges | {spare[i] for i in extra})


def count_coalitions(edges, target=0):
    """Edge sets that are trees and hold the target, one by one."""
    n_found = 0
    for size in range(1, len(edges) + 1):
        for chosen in combinations(edges, size):
            graph = nx.Graph(chosen)
            if target in graph and nx.is_tree(graph):
                n_found += 1
    return n_found


def test_members_come_nearest_first_and_keep_their_names():
    mrf = from_edges([("c", "d"), ("b", "c"), ("a", "b"), ("a", "e"), ("d", "z")], homophily=0.8)
    found = ball(mrf, "b", 2)
    assert found.target == "b"
    assert found.players == ["c", "a", "d", "e"]  # as a queue meets them
    assert found.distances.tolist() == [0, 1, 1, 2, 2]
    assert (found.n_edges, found.is_tree, found.n_cycles) == (4, True, 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(0, 12), st.integers(0, 4))
def test_members_and_distances_are_those_of_networkx(seed, n, extra, radius):
    edges = random_graph(seed, n, n - 1 + extra)
    mrf = from_edges([(a, b) for a, b in edges] or np.zeros((0, 2), int), priors=np.ones((n, 2)), homophily=0.8)
    target = seed % n
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(n))
    distances = nx.single_source_shortest_path_length(graph, target, cutoff=radius)
    found = ball(mrf, target, radius)
    assert dict(zip(found.field.names, found.distances.tolist(), strict=True)) == distances
    assert (np.diff(found.distances) >= 0).all()
    inside = graph.subgraph(distances)
    names = list(found.field.names)
    assert {frozenset((names[a], names[b])) for a, b in found.field.edges} == {frozenset(e) for e in inside.edges}
    assert found.is_tree == nx.is_tree(inside)
    assert found.n_cycles == inside.number_of_edges() - inside.number_of_nodes() + 1
    for v, parent in enumerate(found.parents.tolist()):
        if v:
            assert found.distances[parent] == found.distances[v] - 1
            assert inside.has_edge(names[v], names[parent])


def test_the_subfield_keeps_priors_states_and_the_direction_of_potentials():
    mrf = from_edges(
        [("a", "b"), ("c", "b"), ("c", "d"), ("e", "f")],
        {"a": [1, 2], "b": [1, 2, 3], "c": [4, 1], "d": [1, 1, 1, 5], "e": [1, 1], "f": [1, 3]},
        potential=[[[1, 2, 3], [4, 5, 6]], [[6, 5, 4], [3, 2, 1]], np.arange(1, 9).reshape(2, 4), np.ones((2, 2))],
        states={"b": ["x", "y", "z"]},
    )
    found = ball(mrf, "b", 2).field
    assert list(found.names) == ["b", "a", "c", "d"]
    for a, b in [("a", "b"), ("b", "a"), ("c", "b"), ("b", "c"), ("c", "d")]:
        assert np.array_equal(found.log_potential(a, b), mrf.log_potential(a, b))
    for name in found.names:
        assert np.array_equal(found.log_prior(name), mrf.log_prior(name))
        assert found.states(name) == mrf.states(name)
    assert len(found.potential_shapes) == 3  # what no edge needs is left behind


@pytest.mark.parametrize("seed", range(25))
def test_coalitions_are_counted_on_trees_and_bounded_with_cycles(seed):
    n = 2 + seed % 6
    edges = random_graph(seed, n, n - 1 + (seed % 4 if seed % 2 else 0))
    found = ball(from_edges(edges, homophily=0.8), 0, None)
    lower, upper = found.log10_coalition_bounds
    count = np.log10(count_coalitions(edges))
    if found.is_tree:
        assert lower == upper == found.log10_coalitions == pytest.approx(count, abs=1e-12)
    else:
        assert found.log10_coalitions is None
        assert lower - 1e-9 <= count <= upper + 1e-9
        assert upper - lower < 1.5


def test_the_triangle_is_bounded_tightly():
    lower, upper = ball(from_edges([(0, 1), (1, 2), (0, 2)], homophily=0.8), 0).log10_coalition_bounds
    assert 10**lower == pytest.approx(3)  # a path of two edges has 3 coalitions, and there are 3 spanning trees
    assert 10**upper == pytest.approx(7)  # det [[3, -1], [-1, 3]] = 8, less the target alone; in truth 5


def test_what_dangles_from_cycles_is_counted_exactly():
    # a triangle with trees at each corner: bounds differ by what the triangle leaves open, no more
    edges = [(0, 1), (1, 2), (0, 2), *((v, 3 + 10 * v + i) for v in range(3) for i in range(10))]
    lower, upper = ball(from_edges(edges, homophily=0.8), 0).log10_coalition_bounds
    weight = 2**10
    exact = weight * (1 + 2 * weight + 3 * weight**2) - 1
    assert lower <= np.log10(exact) <= upper
    assert upper - lower < 0.3


def test_counts_of_players_on_a_tree():
    edges = [(0, 1), (0, 2), (1, 3), (1, 4), (4, 5)]
    found = ball(from_edges(edges, homophily=0.8), 0, None)
    with_player = dict.fromkeys(range(1, 6), 0)
    for size in range(1, len(edges) + 1):
        for chosen in combinations(edges, size):
            graph = nx.Graph(chosen)
            if 0 in graph and nx.is_tree(graph):
                for v in graph:
                    if v:
                        with_player[v] += 1
    expected = [np.log10(with_player[v]) for v in found.players]
    np.testing.assert_allclose(found.log10_coalitions_per_player, expected, atol=1e-12)


def test_counts_of_any_size_on_deep_and_wide_trees():
    chain = ball(from_edges([(i, i + 1) for i in range(5000)], homophily=0.8), 0, None)
    assert chain.log10_coalitions == pytest.approx(np.log10(5000), abs=1e-12)
    star = ball(from_edges([(0, i) for i in range(1, 5001)], homophily=0.8), 0, None)
    assert star.log10_coalitions == pytest.approx(5000 * np.log10(2))
    assert star.log10_coalitions_per_player == pytest.approx(4999 * np.log10(2))


def test_a_lonely_target_has_no_coalitions():
    mrf = from_edges([("b", "c")], {"a": [0.25, 0.75]}, homophily=0.8)
    found = ball(mrf, "a")
    assert found.players == []
    assert found.log10_coalitions == -np.inf
    assert len(found.log10_coalitions_per_player) == 0


def test_hops_out_of_helpers_count_nothing():
    # x0, x1, x2 share a factor (helper f); x2 and y share another (helper g)
    mrf = from_edges([("x0", "f"), ("x1", "f"), ("x2", "f"), ("x2", "g"), ("y", "g")], homophily=0.8)
    mrf = replace(mrf, auxiliary=np.array([name in ("f", "g") for name in mrf.names]))
    found = ball(mrf, "x0", 1)
    assert dict(zip(found.field.names, found.distances.tolist(), strict=True)) == {
        "x0": 0,
        "f": 1,
        "x1": 1,
        "x2": 1,
    }
    found = ball(mrf, "x0", 2)
    assert dict(zip(found.field.names, found.distances.tolist(), strict=True))["y"] == 2
    assert found.is_tree
    assert found.log10_coalitions == pytest.approx(np.log10((1 + 2 * (1 + (1 + 2))) - 1))


@pytest.mark.parametrize("radius", [-1, 1.5, "2", True])
def test_a_radius_is_a_number_of_hops(radius):
    with pytest.raises(kp.InputError, match="number of hops"):
        ball(from_edges([(0, 1)], homophily=0.8), 0, radius)


def test_an_unknown_target_is_named():
    with pytest.raises(kp.UnknownNameError, match="there is no variable 'Q'"):
        ball(from_edges([("a", "b")], homophily=0.8), "Q")
