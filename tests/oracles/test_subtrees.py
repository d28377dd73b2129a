"""The oracle itself, against what can be said without it."""

import networkx as nx
import pytest

from tests.oracles import subtrees
from tests.random_fields import random_plain_field


def test_a_triangle_has_five_coalitions():
    edges = [(0, 1), (1, 2), (0, 2)]
    assert subtrees.coalitions(edges, 0) == [(0,), (2,), (0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize(("graph", "count"), [(nx.star_graph(5), 2**5 - 1), (nx.path_graph(6), 5)])
def test_stars_and_paths_have_as_many_coalitions_as_theory_says(graph, count):
    assert len(subtrees.coalitions(list(graph.edges), 0)) == count


@pytest.mark.parametrize("seed", range(20))
def test_beliefs_on_trees_equal_brute_force(seed):
    field = random_plain_field(seed, cyclic=False, max_edges=6)
    for target in range(len(field.priors)):
        found = subtrees.tree_belief(field.priors, field.edges, field.potentials, target)
        assert found == pytest.approx(field.truth.marginals[target], abs=1e-12)
