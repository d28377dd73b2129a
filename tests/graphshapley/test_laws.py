"""What must hold whatever the field: methods.md 1.6 as property tests."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import keyplayers as kp
from tests.random_fields import random_plain_field

from .balls import on_subtrees

pytestmark = pytest.mark.filterwarnings("ignore::keyplayers.KeyPlayersWarning")

WORTHS = ("symmetric_kl", "neg_cross_entropy", "log_odds", "probability")
cases = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 10**6)
worths = st.sampled_from(WORTHS)


def draw_field(seed, *, cyclic=None, **options):
    """A field without exact zeros in which some variable is not observed, and that variable."""
    cyclic = bool(seed % 2) if cyclic is None else cyclic
    field = random_plain_field(seed, cyclic=cyclic, max_edges=9, zeros=0.0, **options)
    free = np.flatnonzero(~field.mrf.observed)
    assume(len(free) > 0)
    return field, int(free[seed % len(free)])


def explain(mrf, target, worth, **options):
    explainer = on_subtrees(mrf, radius=None, worth=worth, beliefs=kp.exact_marginals(mrf), **options)
    return explainer.explain(target)


def by_name(found):
    game = found.structure
    columns = (found.values, game.probabilistic, game.topological, game.direction)
    return {player: [column[i] for column in columns] for i, player in enumerate(found.players)}


def assert_equal(found, expected):
    found, expected = by_name(found), by_name(expected)
    assert found.keys() == expected.keys()
    for player, parts in expected.items():
        np.testing.assert_allclose(found[player], parts, rtol=1e-9, atol=1e-10, err_msg=str(player))


@cases
@given(seeds, worths)
def test_parts_add_up_and_log_odds_are_their_own_direction(seed, worth):
    field, target = draw_field(seed)
    found = explain(field.mrf, target, worth)
    np.testing.assert_allclose(found.probabilistic + found.topological, found.values, rtol=1e-9, atol=1e-10)
    if worth == "log_odds" and len(found.belief) == 2:
        np.testing.assert_allclose(found.direction, found.values, rtol=1e-9, atol=1e-10)


@cases
@given(seeds, worths)
def test_a_variable_behind_observed_ones_has_value_zero(seed, worth):
    """Whoever sees the target only through observed variables cannot move it."""
    field, target = draw_field(seed)
    mrf = field.mrf
    distances = kp.ball(mrf, target, None)
    near = [name for name, d in zip(distances.field.names, distances.distances, strict=True) if d == 1]
    far = [name for name, d in zip(distances.field.names, distances.distances, strict=True) if d > 1]
    assume(far)
    mrf = mrf.observe({name: int(np.argmax(mrf.log_prior(name))) for name in near})
    found = explain(mrf, target, worth)
    for name in far:
        assert abs(found.value(name)) < 1e-10
    if worth == "log_odds":
        assert np.abs(found.values).max() > 1e-6


@cases
@given(seeds, worths)
def test_a_variable_cut_off_has_value_zero(seed, worth):
    field, target = draw_field(seed)
    found = explain(field.mrf, target, worth)
    inside = {target, *found.players}
    for name in field.mrf.names:
        if name not in inside:
            assert found.value(name) == 0


@cases
@given(seeds, worths, st.randoms(use_true_random=False))
def test_renaming_changes_nothing(seed, worth, random):
    field, target = draw_field(seed)
    order = list(range(len(field.priors)))
    random.shuffle(order)
    names = [f"v{i}" for i in order]
    priors = {names[i]: field.priors[i] for i in sorted(range(len(order)), key=lambda i: order[i])}
    edges = [(names[a], names[b]) for a, b in field.edges]
    together = list(zip(edges, field.potentials, strict=True))
    random.shuffle(together)
    renamed = (
        kp.MarkovRandomField.from_edges(
            [edge for edge, _ in together], priors, potential=[np.array(matrix) for _, matrix in together]
        )
        if together
        else kp.MarkovRandomField.from_edges(np.zeros((0, 2), dtype=int), field.priors)
    )
    assume(together)
    expected = by_name(explain(field.mrf, target, worth))
    found = by_name(explain(renamed, names[target], worth))
    assert found.keys() == {names[v] for v in expected}
    for v, parts in expected.items():
        np.testing.assert_allclose(found[names[v]], parts, rtol=1e-9, atol=1e-10)


@cases
@given(seeds, worths)
def test_permuting_states_changes_nothing(seed, worth):
    field, target = draw_field(seed)
    belief = kp.exact_marginals(field.mrf).belief(target)
    ranked = np.sort(belief)
    assume(ranked[-1] - ranked[-2] > 1e-9)  # a tie goes to the lowest index, which permuting moves
    priors = [row[::-1] for row in field.priors]
    potentials = [[row[::-1] for row in matrix[::-1]] for matrix in field.potentials]
    turned = type(field)(priors, field.edges, potentials)
    assert_equal(explain(turned.mrf, target, worth), explain(field.mrf, target, worth))


@cases
@given(seeds, worths, st.floats(0.01, 100), st.floats(0.01, 100))
def test_scaling_priors_and_potentials_changes_nothing(seed, worth, by, other):
    field, target = draw_field(seed)
    priors = [[by * weight for weight in row] for row in field.priors]
    potentials = [[[other * weight for weight in row] for row in matrix] for matrix in field.potentials]
    scaled = type(field)(priors, field.edges, potentials)
    assert_equal(explain(scaled.mrf, target, worth), explain(field.mrf, target, worth))


@cases
@given(seeds, worths)
def test_exchangeable_variables_have_equal_values(seed, worth):
    """Two twins: the same prior, the same potential to the same neighbours."""
    field, target = draw_field(seed)
    n = len(field.priors)
    neighbour = next((b if a == target else a for a, b in field.edges if target in (a, b)), None)
    assume(neighbour is not None)
    rng = np.random.default_rng(seed)
    prior = rng.random(2).tolist()
    potential = rng.random((2, len(field.priors[neighbour]))).tolist()
    twins = type(field)(
        [*field.priors, prior, prior],
        [*field.edges, (n, neighbour), (n + 1, neighbour)],
        [*field.potentials, potential, potential],
    )
    found = by_name(explain(twins.mrf, target, worth))
    np.testing.assert_allclose(found[n], found[n + 1], rtol=1e-10, atol=1e-12)


@cases
@given(seeds, worths)
def test_a_uniform_potential_on_a_tree_silences_what_is_behind_it(seed, worth):
    field, target = draw_field(seed, cyclic=False)
    tree = kp.ball(field.mrf, target, None)
    assume(tree.n_variables > 2)
    names = list(tree.field.names)
    cut = 1 + seed % (len(names) - 1)
    parent = names[tree.parents[cut]]
    behind = {cut}
    for v in range(1, len(names)):  # parents come first
        if tree.parents[v] in behind:
            behind.add(v)
    potentials = [
        np.ones(np.shape(matrix)).tolist() if {a, b} == {parent, names[cut]} else matrix
        for (a, b), matrix in zip(field.edges, field.potentials, strict=True)
    ]
    found = explain(type(field)(field.priors, field.edges, potentials).mrf, target, worth)
    for v in behind:
        assert abs(found.value(names[v])) < 1e-10


def test_values_do_not_add_up_and_games_do_not_add():
    """What the docs warn of: no efficiency, no additivity over worths of different games."""
    mrf = kp.MarkovRandomField.from_edges([("X", "A"), ("A", "B")], {"B": [0.1, 0.9]}, homophily=0.9)
    found = on_subtrees(mrf, worth="log_odds", state=1).explain("X")
    assert found.values.sum() == pytest.approx(1.5 * (found.worth_ball - found.worth_alone))
