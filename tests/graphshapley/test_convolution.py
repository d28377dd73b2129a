"""The convolution engine against enumeration and closed forms, and its error bound against both."""

import tracemalloc

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import keyplayers as kp
from keyplayers.graphshapley.engines import derivatives
from keyplayers.graphshapley.engines.convolution import convolve_game, why_not
from keyplayers.graphshapley.engines.enumeration import enumerate_coalitions
from keyplayers.graphshapley.game.worths import logistic
from tests.oracles import hubs

from .balls import WORTHS, make_game, odds, random_field, random_game

HOMOPHILY = 0.8


def star_game(log_odds, worth="symmetric_kl", belief_log_odds=0.0):
    """A target of uniform prior among leaves."""
    n = len(log_odds)
    priors = np.ones((n + 1, 2))
    priors[1:, 1] = np.exp(log_odds)
    edges = np.column_stack([np.zeros(n, dtype=int), np.arange(1, n + 1)])
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=HOMOPHILY)
    log_belief = -np.logaddexp(0.0, [belief_log_odds, -belief_log_odds])
    return make_game(mrf, 0, log_belief, worth)


@pytest.mark.parametrize("strength", [0.5, 1.0, 2.0, 4.0])
def test_error_bound_holds_on_a_thousand_trees(strength):
    rng = np.random.default_rng(int(10 * strength))
    largest = 0.0
    for i in range(250):
        n = int(rng.integers(2, 11))
        game = random_game(rng, n, worth=WORTHS[i % 5], strength=strength)
        exact = enumerate_coalitions(game, max_evals=10**6)
        found = convolve_game(game)
        errors = np.abs(found.values - exact.values)
        assert (errors <= found.error_bounds).all()
        assert found.error_bounds.max() < 3e-6 * max(1.0, strength)
        largest = max(largest, errors.max())
        np.testing.assert_allclose(found.probabilistic, exact.probabilistic, atol=found.error_bounds.max())
        np.testing.assert_allclose(found.probabilistic + found.topological, found.values, atol=1e-12)
        np.testing.assert_allclose(found.direction, exact.direction, atol=3e-6)
        assert found.n_coalitions == pytest.approx(exact.n_coalitions)
        np.testing.assert_allclose(found.player_counts, exact.player_counts)
    assert largest > 1e-12  # the grid does make errors; they are not zero by accident


def test_wanted_accuracy_is_reached_and_needed():
    rng = np.random.default_rng(5)
    game = random_game(rng, 10, strength=1.5)
    exact = enumerate_coalitions(game, max_evals=10**6).values
    for tolerance in (1e-2, 1e-4, 1e-6, 1e-8):
        found = convolve_game(game, tolerance=tolerance)
        assert found.error_bounds.max() <= tolerance
        assert (np.abs(found.values - exact) <= found.error_bounds).all()
    with pytest.raises(kp.InputError, match="tolerance"):
        convolve_game(game, tolerance=0.0)


def test_equal_branches_are_computed_once_and_agree_with_enumeration():
    edges = [("X", f"b{i}") for i in range(3)] + [(f"b{i}", f"c{i}{j}") for i in range(3) for j in range(2)]
    edges += [("X", "d"), ("d", "e"), ("d", "f")]
    priors = {f"b{i}": odds(1.0) for i in range(3)} | {f"c{i}{j}": odds(-2.0) for i in range(3) for j in range(2)}
    priors |= {"d": odds(0.5), "e": odds(2.0), "f": odds(2.0), "X": odds(0.3)}
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.85)
    for worth in WORTHS:
        game = make_game(mrf, "X", np.log([0.3, 0.7]), worth)
        exact = enumerate_coalitions(game, max_evals=10**6)
        found = convolve_game(game)
        np.testing.assert_allclose(found.values, exact.values, atol=found.error_bounds.max())
        np.testing.assert_allclose(found.probabilistic, exact.probabilistic, atol=found.error_bounds.max())
        assert found.diagnostics["equal_classes"] == 4  # b, c, d, and e with f
        values = dict(zip(game.ball.players, found.values, strict=True))
        assert values["b0"] == values["b1"] == values["b2"]
        assert values["e"] == values["f"]


@pytest.mark.parametrize(("sizes", "pulls"), [((500, 500), (1.0, -1.0)), ((6000, 4000), (0.6, -0.9))])
@pytest.mark.parametrize("belief", [1.0, 3.0])
def test_balanced_hubs_in_closed_form(sizes, pulls, belief):
    sent = [hubs.message(pull, HOMOPHILY) for pull in pulls]
    game = star_game(np.repeat(pulls, sizes), belief_log_odds=belief)
    found = convolve_game(game)
    for group, player in ((0, 0), (1, sizes[0])):
        exact = hubs.value_in_two_groups(lambda x: hubs.symmetric_kl(x, belief), sent, sizes, group)
        assert abs(exact) > 1e-3
        assert abs(found.values[player] - exact) <= found.error_bounds[player] < 2e-6


def test_hub_of_a_thousand_different_leaves_on_a_lattice():
    """Messages are multiples of 1/1000, so that the law of their sum can be written down."""
    rng = np.random.default_rng(0)
    delta = 1e-3
    steps = rng.choice(np.arange(-1000, 1001), 1000, replace=False)
    steps = np.where(np.abs(steps) < 2, 2, steps)
    game = star_game([hubs.prior_for(step * delta, HOMOPHILY) for step in steps], belief_log_odds=1.0)
    found = convolve_game(game)
    for which in np.argsort(steps)[[0, 1, 400, 998, 999]]:
        exact = hubs.value_on_lattice(lambda x: hubs.symmetric_kl(x, 1.0), steps.tolist(), delta, int(which))
        assert abs(found.values[which] - exact) <= found.error_bounds[which] < 2e-6


@pytest.mark.parametrize("n", [1_000, 10_000])
def test_log_odds_of_hubs_with_mixed_signs(n):
    """Log-odds is additive on a star: every value is the leaf's message, whatever the others are."""
    log_odds = np.random.default_rng(n).normal(size=n)
    tracemalloc.start()
    found = convolve_game(star_game(log_odds, "log_odds", belief_log_odds=1.0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    exact = np.array([hubs.message(pull, HOMOPHILY) for pull in log_odds])
    assert np.ptp(exact) > 2
    assert (np.abs(found.values - exact) <= np.maximum(found.error_bounds, 1e-9)).all()
    assert peak < 2 * 2**30


def test_two_thousand_equal_neighbours():
    found = convolve_game(star_game(np.full(2000, np.log(0.6 / 0.4)), "log_odds", belief_log_odds=5.0))
    expected = hubs.message(np.log(0.6 / 0.4), HOMOPHILY)
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    assert len(set(found.values)) == 1


def test_behind_an_observed_variable_nothing_counts():
    edges = [("X", "a"), ("a", "b"), ("b", "c"), ("X", "d"), ("d", "e")]
    priors = {"a": [0.0, 1.0], "b": odds(2.0), "c": odds(1.0), "d": odds(-1.0), "e": odds(1.0)}
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.8)
    game = make_game(mrf, "X", np.log([0.4, 0.6]))
    values = dict(zip(game.ball.players, convolve_game(game).values, strict=True))
    assert abs(values["b"]) < 1e-12 > abs(values["c"])
    assert abs(values["a"]) > 1e-2 < abs(values["e"])


def test_refuses_what_it_cannot_do():
    rng = np.random.default_rng(0)
    log_belief = np.log([0.5, 0.5])
    cyclic = make_game(random_field(rng, 6, 2), 0, log_belief)
    assert "2 cycles" in why_not(cyclic)
    with pytest.raises(kp.InputError, match="2 cycles"):
        convolve_game(cyclic)
    mrf = kp.MarkovRandomField.from_edges([("X", "a")], potential=[[1.0, 0.0], [0.5, 0.5]])
    assert "zeros" in why_not(make_game(mrf, "X", log_belief))
    mrf = kp.MarkovRandomField.from_edges(
        [("X", "a")], {"a": [1, 1, 1]}, potential=[[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]
    )
    assert "two states" in why_not(make_game(mrf, "X", log_belief))
    mrf = kp.MarkovRandomField.from_edges([("X", "a")], log_potential=[[1e6, 0.0], [0.0, 1e6]])
    assert "strong" in why_not(make_game(mrf, "X", log_belief))


def test_bounds_of_derivatives_are_bounds():
    """The constants for the logistic function, from its derivatives as polynomials in itself."""
    p = np.linspace(0.0, 1.0, 200_001)[1:-1]
    log_odds = np.log(p / (1 - p))
    derivative = Polynomial([0, 1])
    for bound in logistic.DERIVATIVES:
        derivative = derivative.deriv() * Polynomial([0, 1, -1])
        values = np.abs(derivative(p))
        assert bound * 0.999 < values.max() <= bound
        assert (values * np.abs(log_odds)).max() <= logistic.REACH * values.max()


def test_composed_derivatives_are_those_of_a_known_composition():
    """exp(exp(x)) at 0 has the Bell numbers times e as derivatives."""
    bounds = derivatives.compose(np.full(6, np.e), np.ones(6))
    np.testing.assert_allclose(bounds, np.e * np.array([1, 2, 5, 15, 52, 203]))
