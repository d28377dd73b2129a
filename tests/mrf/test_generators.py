import networkx as nx
import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf.generators import (
    _pairs,
    chain_field,
    grid_field,
    random_field,
    scale_free_field,
    star_field,
    tree_field,
)

MAKERS = {
    "chain": lambda **kwargs: chain_field(60, **kwargs),
    "tree": lambda **kwargs: tree_field(60, **kwargs),
    "full tree": lambda **kwargs: tree_field(60, branching=3, **kwargs),
    "star": lambda **kwargs: star_field(59, **kwargs),
    "grid": lambda **kwargs: grid_field(6, 10, **kwargs),
    "torus": lambda **kwargs: grid_field(6, 10, periodic=True, **kwargs),
    "random": lambda **kwargs: random_field(60, 100, **kwargs),
    "scale-free": lambda **kwargs: scale_free_field(60, **kwargs),
}


def graph(field):
    g = nx.Graph()
    g.add_nodes_from(range(field.n_variables))
    g.add_edges_from(field.edges.tolist())
    assert g.number_of_edges() == field.n_edges
    assert not nx.number_of_selfloops(g)
    return g


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_the_seed_decides_everything(make):
    one, same, other = make(random_state=1), make(random_state=1), make(random_state=2)
    assert np.array_equal(one.edges, same.edges)
    assert np.array_equal(one.log_priors, same.log_priors)
    assert not np.array_equal(one.log_priors, other.log_priors)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_strengths_are_what_they_say(make):
    field = make(n_states=3, coupling=-0.5, prior_strength=0)
    a, b = field.edges[0]
    assert np.array_equal(field.log_potential(a, b), -0.5 * np.eye(3))
    assert not field.log_priors.any()
    assert len(field.potential_shapes) == 1

    drawn = make(coupling=2.0, coupling_spread=0.5, prior_strength=3.0, random_state=4)
    couplings = drawn.log_potentials.reshape(-1, 2, 2)
    assert len(couplings) == drawn.n_edges
    assert not couplings[:, [0, 1], [1, 0]].any()
    # means and deviations of some 60 normal draws, five standard errors around
    assert couplings[:, 0, 0].mean() == pytest.approx(2.0, abs=5 * 0.5 / np.sqrt(drawn.n_edges))
    assert couplings[:, 0, 0].std() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(2 * drawn.n_edges))
    assert drawn.log_priors.std() == pytest.approx(3.0, abs=5 * 3.0 / np.sqrt(4 * drawn.n_variables))


def test_shapes_are_those_of_the_graphs_named():
    assert nx.is_isomorphic(graph(MAKERS["chain"]()), nx.path_graph(60))
    assert nx.is_isomorphic(graph(MAKERS["star"]()), nx.star_graph(59))
    assert nx.is_isomorphic(graph(MAKERS["grid"]()), nx.grid_2d_graph(6, 10))
    assert nx.is_isomorphic(graph(MAKERS["torus"]()), nx.grid_2d_graph(6, 10, periodic=True))
    assert nx.is_isomorphic(graph(MAKERS["full tree"]()), nx.full_rary_tree(3, 60))
    assert nx.is_tree(graph(MAKERS["tree"](random_state=0)))


def test_single_variables_need_no_edges():
    for make in (chain_field, tree_field, scale_free_field):
        assert (make(1).n_variables, make(1).n_edges) == (1, 0)
    assert star_field(0).n_variables == 1
    assert grid_field(1, 1).n_variables == 1
    assert random_field(3, 0).n_edges == 0


def test_random_graphs_are_uniform():
    # 5 variables have 45 graphs of 2 edges; chi-squared with 44 degrees of freedom exceeds 84 once in 4,000
    n_draws = 4500
    rng = np.random.default_rng(7)
    counts: dict[tuple[tuple[int, int], ...], int] = {}
    for _ in range(n_draws):
        edges = random_field(5, 2, random_state=rng).edges
        key = tuple(sorted((int(min(e)), int(max(e))) for e in edges))
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 45
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 84


@pytest.mark.parametrize("n", [2, 3, 50, 1000])
def test_every_pair_can_be_drawn(n):
    n_edges = n * (n - 1) // 2
    assert nx.density(graph(random_field(n, n_edges))) == 1
    with pytest.raises(kp.InputError, match=f"{n} variables have {n_edges} pairs"):
        random_field(n, n_edges + 1)


def test_pairs_are_right_where_square_roots_round():
    high = np.arange(10**9, 10**9 + 1000)
    for low in (np.zeros_like(high), high // 2, high - 1):
        pairs = _pairs(high * (high - 1) // 2 + low)
        assert np.array_equal(pairs, np.column_stack([low, high]))


@pytest.mark.parametrize("m", [1, 2, 5])
def test_scale_free_graphs_grow_by_degree(m):
    n = 100_000
    field = scale_free_field(n, edges_per_variable=m, random_state=m)
    assert 0.99 * m * n < field.n_edges <= m * n
    assert (field.edges[:, 0] < field.edges[:, 1]).all()
    assert field.n_components == 1
    degrees = np.bincount(field.edges.ravel())
    # P(degree ≥ k) = m (m + 1) / (k (k + 1)) in the limit (Bollobás et al. 2001), and early variables are hubs
    for k in (2 * m, 4 * m, 10 * m):
        assert (degrees >= k).mean() == pytest.approx(m * (m + 1) / (k * (k + 1)), rel=0.12)
    assert degrees[:10].mean() > 50 * m


def test_recursive_trees_are_shallow_and_branching_ones_full():
    depth = nx.eccentricity(graph(tree_field(20_000, random_state=0)), 0)
    assert np.log(20_000) < depth < 4 * np.log(20_000)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: chain_field(0), "n must be at least 1, got 0"),
        (lambda: star_field(-1), "n_leaves must be at least 0, got -1"),
        (lambda: tree_field(5, branching=0), "branching must be at least 1, got 0"),
        (lambda: grid_field(2, 5, periodic=True), "n_rows must be at least 3, got 2"),
        (lambda: grid_field(5, 0), "n_columns must be at least 1, got 0"),
        (lambda: random_field(5, -1), "n_edges must be at least 0"),
        (lambda: scale_free_field(5, edges_per_variable=0), "edges_per_variable must be at least 1"),
        (lambda: chain_field(5, n_states=0), "n_states must be at least 1"),
        (lambda: chain_field(5, coupling=np.inf), "coupling must be a finite number"),
        (lambda: chain_field(5, coupling_spread=-1), "coupling_spread must be a finite number of nats ≥ 0"),
        (lambda: chain_field(5, prior_strength=np.nan), "prior_strength must be a finite number of nats ≥ 0"),
        (lambda: chain_field(5, random_state="one"), "random_state must be"),
    ],
)
def test_bad_sizes_are_named(make, message):
    with pytest.raises(kp.InputError, match=message):
        make()
