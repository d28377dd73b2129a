"""Values are contributions to P(target), with standard errors that hold."""

import numpy as np
import pytest

from tests.mcxai.games import random_score
from tests.mcxai.test_explainer import explain_game
from tests.oracles.mask_games import shapley_values


def by_player(ex, numbers):
    return np.array([numbers[ex.players.index(player)] for player in range(len(ex))])


@pytest.mark.parametrize("seed", range(3))
def test_values_are_exact_where_all_states_were_seen(seed):
    score = random_score(np.random.default_rng(seed), 6)
    ex = explain_game(score, 6, max_evals=300)
    assert by_player(ex, ex.values) == pytest.approx([-value for value in shapley_values(score, 6)])
    assert not ex.std_errors.any()
    assert ex.unit == "probability"


def planted(n=11):
    """Players 3 and 7 are not read."""
    rng = np.random.default_rng(5)
    weights, pairs = rng.normal(0.4, 0.6, n), rng.normal(0, 0.3, (n, n))
    weights[[3, 7]] = 0
    pairs[[3, 7]] = pairs[:, [3, 7]] = 0

    def score(masked):
        members = sorted(masked)
        total = sum(weights[a] for a in members) + sum(pairs[a, b] for a in members for b in members if a < b)
        return 1 / (1 + np.exp(total - 1.5))

    return score


def test_players_that_the_model_does_not_read_are_worth_nothing_and_come_last():
    for seed in range(5):
        ex = explain_game(planted(), 11, random_state=seed)
        assert ex.value(3) == ex.value(7) == 0.0
        assert set(ex.players[-2:]) == {3, 7}
        assert (np.diff(np.abs(ex.values)) <= 0).all()


def test_standard_errors_hold():
    exact = -np.array(shapley_values(planted(), 11))
    read = [player for player in range(11) if player not in (3, 7)]
    z, means = [], []
    for seed in range(60):
        ex = explain_game(planted(), 11, random_state=seed)
        values, errors = by_player(ex, ex.values), by_player(ex, ex.std_errors)
        z.append(((values - exact) / errors)[read])
        means.append(values)
    # 540 values of few pairs each; players of one run are not independent
    assert 0.75 < np.std(z) < 1.25
    assert 0.9 < (np.abs(z) < 1.96).mean() < 0.99
    assert np.mean(means, axis=0) == pytest.approx(exact, abs=0.02)


def test_rows_too_few_for_orders_give_what_each_player_changes_alone():
    score = planted()
    ex = explain_game(score, 11, max_evals=18)
    assert np.isnan(ex.std_errors).all()
    assert "no others (too few rows for random orders)" in ex.quantity
    assert ex.value(0) in (0.0, pytest.approx(score(frozenset()) - score(frozenset({0}))))


def test_values_speak_of_the_target_also_where_the_model_decides_against_it():
    ex = explain_game(lambda s: 0.4 + 0.3 * ({1, 3} <= s) - 0.25 * (4 in s), 5, target=1)
    assert ex.main.kind == "misclassification"
    assert ex.value(4) == pytest.approx(0.25)
    assert ex.value(1) == ex.value(3) == pytest.approx(-0.15)
    assert ex.top(1)[0][0] == 4
