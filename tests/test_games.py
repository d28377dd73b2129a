import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyplayers as kp
from keyplayers.games import Counting, Remembering, sample_shapley_values, shapley_values


def additive(weights):
    return lambda coalitions: coalitions @ np.asarray(weights, dtype=float)


def unanimity(members):
    return lambda coalitions: coalitions[:, members].all(axis=1).astype(float)


def airport(costs):
    """A runway must be long enough for the largest plane that lands."""
    return lambda coalitions: (coalitions * np.asarray(costs, dtype=float)).max(axis=1)


def glove(left, right):
    return lambda coalitions: np.minimum(coalitions[:, left].sum(axis=1), coalitions[:, right].sum(axis=1))


def tabled(table):
    """Any game: a worth per coalition, numbered by its members' bits."""
    n = int(np.log2(len(table)))
    return lambda coalitions: np.asarray(table)[coalitions @ (1 << np.arange(n))]


random_tables = st.integers(1, 5).flatmap(lambda n: st.lists(st.floats(-100, 100), min_size=2**n, max_size=2**n))


def test_an_additive_game_gives_everybody_their_weight():
    np.testing.assert_allclose(shapley_values(additive([3, -1, 0.5]), 3), [3, -1, 0.5], atol=1e-12)


def test_a_unanimity_game_is_shared_by_its_members():
    np.testing.assert_allclose(shapley_values(unanimity([0, 2]), 4), [0.5, 0, 0.5, 0], atol=1e-12)


def test_the_airport_game_shares_each_stretch_among_those_who_need_it():
    values = shapley_values(airport([1, 3, 6]), 3)
    np.testing.assert_allclose(values, [1 / 3, 1 / 3 + 2 / 2, 1 / 3 + 2 / 2 + 3], atol=1e-12)


def test_the_glove_game_favours_the_scarce_side():
    np.testing.assert_allclose(shapley_values(glove([0], [1, 2]), 3), [2 / 3, 1 / 6, 1 / 6], atol=1e-12)


@settings(deadline=None)
@given(random_tables)
def test_values_add_up_to_what_everybody_is_worth(table):
    values = shapley_values(tabled(table), int(np.log2(len(table))))
    assert values.sum() == pytest.approx(table[-1] - table[0], abs=1e-9)


@settings(deadline=None)
@given(random_tables, st.data())
def test_values_are_linear_in_the_game(table, data):
    other = data.draw(st.lists(st.floats(-100, 100), min_size=len(table), max_size=len(table)))
    n = int(np.log2(len(table)))
    both = shapley_values(tabled(np.array(table) + 2 * np.array(other)), n)
    np.testing.assert_allclose(
        both, shapley_values(tabled(table), n) + 2 * shapley_values(tabled(other), n), atol=1e-9
    )


@settings(deadline=None)
@given(random_tables, st.randoms())
def test_renaming_players_renames_values(table, random):
    n = int(np.log2(len(table)))
    order = list(range(n))
    random.shuffle(order)
    game = tabled(table)
    renamed = shapley_values(lambda coalitions: game(coalitions[:, order]), n)
    # player order[i] of the renamed game plays the part of i
    np.testing.assert_allclose(renamed[order], shapley_values(game, n), atol=1e-9)


def test_a_player_who_changes_nothing_has_value_zero():
    game = airport([0, 3, 6])
    assert shapley_values(game, 3)[0] == pytest.approx(0, abs=1e-12)


def test_batches_do_not_change_values_and_all_coalitions_are_asked_once():
    game = Counting(airport([1, 3, 6, 7]))
    whole = shapley_values(game, 4)
    assert game.n_evaluations == 16
    np.testing.assert_array_equal(shapley_values(airport([1, 3, 6, 7]), 4, batch_size=3), whole)


def test_a_remembering_game_evaluates_nothing_twice():
    inner = Counting(airport([1, 3, 6]))
    game = Remembering(inner)
    coalitions = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0]], dtype=bool)
    assert game(coalitions).tolist() == [1, 3, 1]
    assert inner.n_evaluations == 2
    assert game(coalitions[::-1]).tolist() == [1, 3, 1]
    assert inner.n_evaluations == 2


def test_sampled_values_do_not_depend_on_batches_and_stay_within_the_budget():
    game = Counting(airport([1, 3, 6, 7]))
    found = sample_shapley_values(game, 4, max_evals=1000, random_state=3)
    assert found.n_evaluations == game.n_evaluations <= 1000
    assert found.n_permutations == 332
    small = sample_shapley_values(airport([1, 3, 6, 7]), 4, max_evals=1000, random_state=3, batch_size=7)
    # sums in another order: equal up to rounding
    np.testing.assert_allclose(small.values, found.values, rtol=1e-12)
    np.testing.assert_allclose(small.std_errors, found.std_errors, rtol=1e-9)
    assert found.values.sum() == pytest.approx(7)


def test_sampled_standard_errors_are_calibrated():
    rng = np.random.default_rng(0)
    table = rng.normal(size=64)
    exact = shapley_values(tabled(table), 6)
    scores = []
    for seed in range(200):
        found = sample_shapley_values(tabled(table), 6, max_evals=500, random_state=seed)
        scores.append((found.values - exact) / found.std_errors)
    # 1,200 scores, dependent within a run: the standard deviation of z is 1 within about 4 %
    assert 0.9 < np.std(scores) < 1.1
    assert abs(np.mean(scores)) < 0.1


def test_a_game_without_variance_has_no_standard_error():
    found = sample_shapley_values(additive([3, -1, 0.5]), 3, max_evals=100, random_state=0)
    np.testing.assert_allclose(found.values, [3, -1, 0.5], atol=1e-12)
    np.testing.assert_allclose(found.std_errors, 0, atol=1e-7)


def test_one_player_and_one_order():
    assert shapley_values(additive([2]), 1).tolist() == [2]
    found = sample_shapley_values(additive([2, 1]), 2, max_evals=3, random_state=0)
    assert np.isnan(found.std_errors).all()


def test_limits_are_named():
    with pytest.raises(kp.TooLargeError, match="2\\^40 worths"):
        shapley_values(additive([1] * 40), 40)
    with pytest.raises(kp.InputError, match="one order of 5 players takes 6 evaluations"):
        sample_shapley_values(additive([1] * 5), 5, max_evals=4)
    with pytest.raises(kp.InputError, match="at least one player"):
        shapley_values(additive([]), 0)
