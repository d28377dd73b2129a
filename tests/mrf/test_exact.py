import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf.generators import (
    chain_field,
    grid_field,
    random_field,
    scale_free_field,
    star_field,
    tree_field,
)
from keyplayers.mrf.inference.elimination import find_elimination
from tests.oracles.elimination import cheapest_elimination
from tests.oracles.fields import flood
from tests.random_fields import random_plain_field

from_edges = kp.MarkovRandomField.from_edges
DIFFER = [[0, 1], [1, 0]]


@pytest.mark.parametrize("seed", range(300))
def test_everything_equals_a_listing_of_all_assignments(seed):
    field = random_plain_field(seed, cyclic=seed % 2 == 1)
    state, truth = kp.exact_marginals(field.mrf), field.truth
    assert state.exact
    assert state.converged
    assert state.schedule == "exact"
    assert state.log_partition == pytest.approx(truth.log_partition, abs=1e-10)
    for v, marginal in enumerate(truth.marginals):
        assert state.belief(v) == pytest.approx(marginal, abs=1e-10)
        assert ((state.belief(v) == 0) == (np.array(marginal) == 0)).all()
    for (a, b), pair in zip(field.edges, truth.pairs, strict=True):
        assert state.edge_belief(a, b) == pytest.approx(np.array(pair), abs=1e-10)
        assert np.array_equal(state.edge_belief(b, a), state.edge_belief(a, b).T)
    assert list(state.map().values()) in truth.modes


@pytest.mark.parametrize("seed", range(300))
def test_max_product_equals_a_listing_of_all_assignments(seed):
    field = random_plain_field(seed, cyclic=seed % 2 == 1)
    state, truth = kp.exact_marginals(field.mrf, max_product=True), field.truth
    assert state.log_partition == pytest.approx(truth.best_log_weight, abs=1e-10)
    for v, largest in enumerate(truth.max_marginals):
        assert state.belief(v) == pytest.approx(largest, abs=1e-10)
    mode = state.map()
    assert list(mode.values()) in truth.modes
    assert field.mrf.log_weight(mode) == pytest.approx(truth.best_log_weight, abs=1e-10)


def test_ties_are_broken_to_one_assignment():
    # both assignments where neighbours agree are best; single states say nothing
    ring = from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], potential=[[2, 1], [1, 2]])
    assert list(kp.exact_marginals(ring).map().values()) in ([0, 0, 0, 0], [1, 1, 1, 1])


def test_a_contradiction_on_a_cycle_is_noticed():
    triangle = from_edges([("a", "b"), ("b", "c"), ("c", "a")], potential=DIFFER)
    with pytest.raises(kp.ContradictionError, match="no assignment is possible: variable '[abc]'"):
        kp.exact_marginals(triangle)
    with pytest.raises(kp.ContradictionError, match="no assignment"):
        kp.exact_marginals(triangle, max_product=True)


def test_every_impossible_cycle_with_three_states_is_told_from_possible_ones():
    # seven variables on a ring with a chord, neighbours one step apart modulo 3: possible or not by the signs
    rng = np.random.default_rng(0)
    edges = [*((i, (i + 1) % 7) for i in range(7)), (0, 3)]
    step = np.roll(np.eye(3), 1, axis=1)
    n_impossible = 0
    for _ in range(60):
        signs = rng.integers(0, 3, len(edges))
        potentials = [np.linalg.matrix_power(step, int(sign)) for sign in signs]
        possible = signs[:7].sum() % 3 == 0 and (signs[:3].sum() - signs[7]) % 3 == 0
        field = from_edges(edges, np.ones((7, 3)), potential=potentials)
        if possible:
            assert kp.exact_marginals(field).log_partition == pytest.approx(np.log(3))
        else:
            n_impossible += 1
            with pytest.raises(kp.ContradictionError):
                kp.exact_marginals(field)
    assert 0 < n_impossible < 60


def test_evidence_that_excludes_all_of_a_neighbour_names_it():
    chain = from_edges([("x", "y"), ("y", "z")], {"x": [1, 0], "y": [1, 1], "z": [0, 1]}, potential=np.eye(2))
    with pytest.raises(kp.ContradictionError, match="variable 'y' has no possible state"):
        kp.exact_marginals(chain)


def test_two_observed_neighbours_that_exclude_each_other():
    pair = from_edges([("x", "y")], {"x": [1, 0], "y": [0, 1]}, potential=np.eye(2))
    with pytest.raises(kp.ContradictionError, match="variable 'x' has no possible state"):
        kp.exact_marginals(pair)


def test_a_grid_equals_a_sum_row_by_row():
    # transfer matrices over the 2^5 states of a row
    n_rows, n_columns = 9, 5
    field = grid_field(n_rows, n_columns, coupling=0.7, random_state=3)
    priors = field.log_priors.reshape(n_rows, n_columns, 2)
    rows = np.array(list(np.ndindex(*[2] * n_columns)))
    inside = 0.7 * (rows[:, 1:] == rows[:, :-1]).sum(axis=1)
    across = np.exp(0.7 * (rows[:, None, :] == rows[None, :, :]).sum(axis=2))
    weights = [np.exp(inside + priors[r][np.arange(n_columns), rows].sum(axis=1)) for r in range(n_rows)]
    below = np.ones(len(rows))
    for weight in weights[:0:-1]:
        below = across @ (weight * below)
    first = weights[0] * below
    state = kp.exact_marginals(field)
    assert state.log_partition == pytest.approx(np.log(first.sum()), rel=1e-12)
    for c in range(n_columns):
        assert state.belief(c)[1] == pytest.approx(first[rows[:, c] == 1].sum() / first.sum(), abs=1e-12)


def test_a_deep_tree_agrees_with_its_closed_form():
    n, coupling = 20_000, 2.0
    field = chain_field(n, coupling=coupling, prior_strength=0).observe({0: 1})
    state = kp.exact_marginals(field)
    for v in (1, 10, 100, n - 1):
        assert state.belief(v)[1] == pytest.approx(0.5 + 0.5 * np.tanh(coupling / 2) ** v, abs=1e-12)
    assert state.log_partition == pytest.approx((n - 1) * np.log1p(np.exp(coupling)), rel=1e-12)


def test_tiny_probabilities_keep_their_logarithms():
    field = chain_field(4, coupling=900, prior_strength=0).observe({0: 1})
    assert kp.exact_marginals(field).log_belief(3)[0] == pytest.approx(np.log(3) - 900)


def test_a_field_without_edges_and_a_field_without_variables():
    state = kp.exact_marginals(from_edges(np.zeros((0, 2), int), [[3, 1], [1, 2, 1]]))
    assert state.belief(0) == pytest.approx([0.75, 0.25])
    assert state.log_partition == pytest.approx(np.log(16))
    assert kp.exact_marginals(from_edges(np.zeros((0, 2), int))).log_partition == 0


@pytest.mark.parametrize(
    ("field", "width"),
    [
        (chain_field(50), 1),
        (tree_field(200, random_state=0), 1),
        (star_field(1000), 1),
        (from_edges(np.zeros((0, 2), int), np.ones((3, 2))), 0),
        (from_edges([(i, (i + 1) % 30) for i in range(30)], homophily=0.7), 2),
        (from_edges([(a, b) for b in range(7) for a in range(b)], homophily=0.7), 6),
        (grid_field(2, 500), 2),
        (grid_field(4, 4), 4),
        (grid_field(15, 15), 15),
        (from_edges([(0, v) for v in range(1, 5001)] + [(v, v + 1) for v in range(1, 5000)], homophily=0.7), 2),
    ],
    ids=["chain", "tree", "star", "isolated", "ring", "clique", "ladder", "grid", "large-grid", "fan"],
)
def test_the_width_of_graphs_whose_treewidth_is_known(field, width):
    bound = kp.treewidth_bound(field)
    assert (bound.width, bound.exceeded) == (width, False)
    assert bound.log10_table == pytest.approx((width + 1) * np.log10(2))
    assert bound.log10_entries >= bound.log10_table


@pytest.mark.parametrize("seed", range(20))
def test_chordal_graphs_are_eliminated_without_a_new_edge(seed):
    # every variable joins some members of one clique, so there is such an order
    rng = np.random.default_rng(seed)
    cliques, edges = [[0]], []
    for v in range(1, 60):
        clique = cliques[rng.integers(len(cliques))]
        joined = rng.permutation(clique)[: rng.integers(1, 7)].tolist()
        edges += [(u, v) for u in joined]
        cliques.append([*joined, v])
    largest = max(len(clique) for clique in cliques)
    found = find_elimination(from_edges(edges, homophily=0.7), max_entries=2**20)
    assert len(found.members) == len(found.order) + len(edges)
    assert found.bound.width == largest - 1


def test_few_neighbours_are_no_reason_to_go_first():
    # two cliques of six and one variable between them: taken first it would join what was apart
    cliques = [(a + shift, b + shift) for shift in (0, 6) for b in range(6) for a in range(b)]
    edges = [*cliques, (12, 0), (12, 6)]
    found = find_elimination(from_edges(edges, homophily=0.7), max_entries=2**20)
    assert len(found.members) == 13 + len(edges)


def test_observed_variables_do_not_count():
    wheel = from_edges([(0, v) for v in range(1, 9)] + [(v, v % 8 + 1) for v in range(1, 9)], homophily=0.7)
    assert kp.treewidth_bound(wheel).width == 3
    assert kp.treewidth_bound(wheel.observe({0: 1})).width == 2
    assert kp.treewidth_bound(wheel.observe({0: 1, 3: 0})).width == 1


@pytest.mark.parametrize("seed", range(20))
def test_an_elimination_covers_every_edge_and_runs_along_a_tree(seed):
    field = scale_free_field(40, edges_per_variable=1 + seed % 2, random_state=seed)
    found = find_elimination(field, max_entries=2**26)
    assert sorted(found.order) == list(range(40))
    cliques = [found.clique(i).tolist() for i in range(40)]
    for a, b in field.edges.tolist():
        assert {a, b} <= set(cliques[min(found.ranks[a], found.ranks[b])])
    for i, clique in enumerate(cliques):
        ranks = [int(found.ranks[v]) for v in clique]
        assert ranks == sorted(ranks, reverse=True)
        assert ranks[-1] == i
        if len(clique) > 1:  # what is left of a clique fits into that of its next member
            assert set(clique[:-1]) <= set(cliques[ranks[-2]])


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_an_order_weighs_what_new_edges_cost(seed):
    # factors of three variables, each with a helper of eight states; min-fill takes no notice of the eight
    rng = np.random.default_rng(seed)
    joined = [rng.choice(60, 3, replace=False).tolist() for _ in range(50)]
    edges = [(v, 60 + helper) for helper, own in enumerate(joined) for v in own]
    field = from_edges(edges, [[1] * 2] * 60 + [[1] * 8] * 50, potential=np.ones((2, 8)))
    assert kp.treewidth_bound(field, max_entries=2**17).exceeded is False


def test_what_is_too_large_is_refused_with_its_width():
    field = random_field(200, 600, n_states=3, random_state=0)
    bound = kp.treewidth_bound(field)
    assert bound.exceeded
    assert bound.width > 10
    message = rf"over {bound.width + 1} variables \(treewidth {bound.width} .*max_entries allows 67,108,864"
    with pytest.raises(kp.TooLargeError, match=message):
        kp.exact_marginals(field)


@pytest.mark.parametrize("seed", range(60))
def test_what_no_order_can_do_is_refused_with_true_lower_bounds(seed):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, 5, 6)
    pairs = [(a, b) for b in range(6) for a in range(b)]
    edges = [pairs[i] for i in rng.permutation(len(pairs))[: rng.integers(8, 16)]]
    cheapest = cheapest_elimination(n_states.tolist(), edges)
    field = from_edges(
        edges, [np.ones(k) for k in n_states], potential=[np.ones(n_states[[a, b]]) for a, b in edges]
    )
    n_proven = 0
    for max_entries in (7, 15, 30, 60, 120, 240, 480):
        bound = kp.treewidth_bound(field, max_entries=max_entries)
        assert bound.exceeded or max_entries >= cheapest.all_tables
        if bound.proven:
            n_proven += 1
            assert bound.exceeded
            assert bound.width <= cheapest.width
            assert np.log10(max_entries) < bound.log10_table <= np.log10(cheapest.largest_table) + 1e-9
            assert bound.log10_entries <= np.log10(cheapest.all_tables)
    assert n_proven > 0


def test_a_part_that_is_too_dense_is_refused_without_an_order():
    # a clique of 40 somewhere in a large ring, and one of 90 elsewhere
    cliques = [(a + shift, b + shift) for n, shift in ((40, 0), (90, 200)) for b in range(n) for a in range(b - 1)]
    field = from_edges([*cliques, *((v, v + 1) for v in range(1000))], homophily=0.7)
    bound = kp.treewidth_bound(field)
    assert (bound.width, bound.proven, bound.exceeded) == (89, True, True)
    assert bound.log10_table == pytest.approx(90 * np.log10(2))
    message = r"any order of elimination comes to a table over 90 variables or more \(treewidth at least 89\)"
    with pytest.raises(kp.TooLargeError, match=message):
        kp.exact_marginals(field)
    assert not kp.treewidth_bound(field.observe(dict.fromkeys([*range(30), *range(200, 280)], 0))).exceeded


@pytest.mark.parametrize(
    "field",
    [
        chain_field(10),
        grid_field(4, 4),
        grid_field(5, 5),
        from_edges([(a, b) for b in range(7) for a in range(b)], homophily=0.7),
    ],
)
def test_the_limit_is_on_all_tables_together(field):
    needed = round(10 ** kp.treewidth_bound(field).log10_entries)
    kp.exact_marginals(field, max_entries=needed)
    with pytest.raises(kp.TooLargeError):
        kp.exact_marginals(field, max_entries=needed - 1)
    with pytest.raises(kp.InputError, match="max_entries must be at least 1"):
        kp.exact_marginals(field, max_entries=0)


def test_a_large_sparse_field_agrees_with_sweeps_over_its_tree():
    field = tree_field(100_000, random_state=1)
    exact, passed = kp.exact_marginals(field), kp.belief_propagation(field)
    assert np.abs(exact.beliefs - passed.beliefs).max() < 1e-12
    assert exact.log_partition == pytest.approx(passed.log_partition, rel=1e-12)


def test_renaming_and_permuting_states_permutes_the_answer():
    field = random_plain_field(5, cyclic=True)
    n = len(field.priors)
    rng = np.random.default_rng(0)
    place = rng.permutation(n)
    flips = [rng.permutation(len(row)) for row in field.priors]
    priors = [None] * n
    for v, row in enumerate(field.priors):
        priors[place[v]] = np.array(row)[flips[v]]
    potentials = [
        7 * np.array(potential)[np.ix_(flips[a], flips[b])]
        for (a, b), potential in zip(field.edges, field.potentials, strict=True)
    ]
    moved = from_edges([(int(place[a]), int(place[b])) for a, b in field.edges], priors, potential=potentials)
    one, other = kp.exact_marginals(field.mrf), kp.exact_marginals(moved)
    for v in range(n):
        assert other.belief(int(place[v])) == pytest.approx(one.belief(v)[flips[v]], abs=1e-12)
    assert other.log_partition - one.log_partition == pytest.approx(len(field.edges) * np.log(7), abs=1e-10)


def test_the_two_oracles_agree_with_it_on_a_tree():
    field = random_plain_field(0, cyclic=False)
    last = flood(field.priors, field.edges, field.potentials, len(field.edges) + 1)[-1]
    state = kp.exact_marginals(field.mrf)
    for v, belief in enumerate(last.beliefs):
        assert state.belief(v) == pytest.approx(belief, abs=1e-12)
