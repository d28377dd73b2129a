"""The oracle of the walk game, against what can be said without it."""

import pytest

from tests.oracles import walks
from tests.oracles.fields import flood
from tests.random_fields import random_plain_field

HOMOPHILY = [[0.9, 0.1], [0.1, 0.9]]
# X, A, B in a triangle; A is for state 1, B against it
TRIANGLE = ([[1.0, 1.0], [0.2, 0.8], [0.6, 0.4]], [(0, 1), (0, 2), (1, 2)], [HOMOPHILY] * 3)


@pytest.fixture(scope="module")
def messages():
    return walks.fixed_point(*TRIANGLE)


@pytest.mark.parametrize(
    ("radius", "boundary", "a", "b", "ball"),
    [
        (2, "messages", 2.302393, 0.529424, 2.128943),
        (3, "messages", 2.302393, 0.529424, 2.128943),
        (2, "cut", 1.762936, -0.132162, 1.328248),
        (3, "cut", 1.762936, -0.132162, 1.328248),
        (1, "messages", 1.344615, 0.784328, 2.128943),
        (1, "cut", 1.045969, -0.322773, 0.723195),
    ],
)
def test_triangle_worked_by_hand(radius, boundary, a, b, ball, messages):
    belief = walks.bethe_belief(TRIANGLE[0], messages, 0)
    tree = walks.walk_tree(*TRIANGLE, 0, radius, messages if boundary == "messages" else None)
    [(values, alone, whole)] = walks.explain(tree, belief, ("log_odds", 1, None))
    assert values[1][0] == pytest.approx(a, abs=1e-6)
    assert values[2][0] == pytest.approx(b, abs=1e-6)
    assert alone == 0.0
    assert whole == pytest.approx(ball, abs=1e-6)


def test_triangle_has_the_copies_and_coalitions_that_one_can_draw():
    tree = walks.walk_tree(*TRIANGLE, 0, 2)
    assert [copy.walk for copy in walks.copies_of(tree)] == [(0,), (0, 1), (0, 1, 2), (0, 2), (0, 2, 1)]
    assert len(walks.subtrees_at(tree)) == walks.n_subtrees(tree) == 9  # eight and X alone


@pytest.mark.parametrize("radius", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_belief_on_the_whole_tree_is_that_of_propagation(radius, seed):
    field = random_plain_field(seed, cyclic=True, max_edges=8, coupling=0.5, zeros=0.0)
    messages = walks.fixed_point(field.priors, field.edges, field.potentials)
    if messages is None:
        pytest.skip("propagation does not converge")
    for target in range(len(field.priors)):
        tree = walks.walk_tree(field.priors, field.edges, field.potentials, target, radius, messages)
        present = {copy.walk for copy in walks.copies_of(tree)}
        expected = walks.bethe_belief(field.priors, messages, target)
        assert walks.belief_on(tree, present) == pytest.approx(expected, abs=1e-12)


def test_fixed_point_is_where_flooding_ends(messages):
    last = flood(*TRIANGLE, 400)[-1]
    assert messages == {edge: pytest.approx(row, abs=1e-12) for edge, row in last.messages.items()}


def test_star_has_the_shapley_values():
    """On a star the law is Shapley's: every order in which leaves arrive counts the same."""
    from itertools import permutations

    priors = [[0.4, 0.6], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1]]
    edges, potentials = [(0, 1), (0, 2), (0, 3)], [HOMOPHILY] * 3
    tree = walks.walk_tree(priors, edges, potentials, 0, 2)
    belief = walks.belief_on(tree, {copy.walk for copy in walks.copies_of(tree)})
    [(values, alone, whole)] = walks.explain(tree, belief, ("symmetric_kl", None, None), law="shapley")
    expected = dict.fromkeys((1, 2, 3), 0.0)
    orders = list(permutations(expected))
    for order in orders:
        present, before = {(0,)}, alone
        for leaf in order:
            present = present | {(0, leaf)}
            now = walks.worth_of("symmetric_kl", belief, walks.belief_on(tree, present))
            expected[leaf] += (now - before) / len(orders)
            before = now
    assert {v: parts[0] for v, parts in values.items()} == pytest.approx(expected, abs=1e-12)
    assert sum(parts[0] for parts in values.values()) == pytest.approx(whole - alone, abs=1e-12)


def test_shapley_law_shares_out_what_the_tree_adds(messages):
    belief = walks.bethe_belief(TRIANGLE[0], messages, 0)
    tree = walks.walk_tree(*TRIANGLE, 0, 2, messages)
    for worth in (("log_odds", 1, None), ("symmetric_kl", None, None), ("probability", 0, None)):
        [(values, alone, whole)] = walks.explain(tree, belief, worth, law="shapley")
        assert sum(parts[0] for parts in values.values()) == pytest.approx(whole - alone, abs=1e-12)


def test_weights_of_the_shapley_law_add_up_to_the_chance_that_the_way_is_there():
    """The d - 1 copies on the way are present with probability q each, q uniform: q^(d - 1) integrates to 1/d."""
    tree = walks.walk_tree(*TRIANGLE, 0, 2)
    for walk in ((0, 1), (0, 1, 2)):
        holding = [present for present in walks.subtrees_at(tree) if walk in present]
        weights = [walks.law_of("shapley", tree, len(walk) - 1, present) for present in holding]
        assert sum(weights) == pytest.approx(1 / (len(walk) - 1))
