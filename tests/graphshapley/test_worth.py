from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyplayers as kp
from keyplayers.graphshapley.game.beliefs import Beliefs
from keyplayers.graphshapley.game.worth import direction_worth, make_worth, price, replaces_zero, worth_of
from tests.oracles import subtrees

log_weights = st.lists(st.floats(-30, 30), min_size=2, max_size=5)
KINDS = ("symmetric_kl", "neg_cross_entropy", "log_odds", "probability")


def normalised(logs):
    logs = np.asarray(logs, dtype=float)
    return logs - np.logaddexp.reduce(logs)


@settings(deadline=None)
@given(log_weights, st.data())
def test_worths_are_those_of_the_definition(logs, data):
    log_b = normalised(logs)
    log_q = normalised(data.draw(st.lists(st.floats(-30, 30), min_size=len(logs), max_size=len(logs))))
    for kind in KINDS:
        worth = make_worth(kind, log_b, range(len(logs)))
        expected = subtrees.worth_of(kind, np.exp(log_b).tolist(), np.exp(log_q).tolist())
        # the definition works with probabilities, which lose digits near certainty
        assert worth_of(worth, log_q[None])[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    contrast = make_worth("symmetric_kl", log_b, range(len(logs)), contrast=(1, 0))
    assert worth_of(contrast, log_q[None])[0] == pytest.approx(log_q[1] - log_q[0])


@settings(deadline=None)
@given(st.floats(-800, 800), st.floats(-800, 800))
def test_two_states_have_no_floor(odds_b, odds_q):
    """−(p − q)(ℓ − ℓ₀), to full precision where probabilities have none left."""
    log_b = -np.logaddexp(0, [odds_b, -odds_b])
    log_q = -np.logaddexp(0, [odds_q, -odds_q])
    found = worth_of(make_worth("symmetric_kl", log_b, (0, 1)), log_q[None])[0]
    # p − q from whichever of the two states is rarer
    gap = np.exp(log_b[0]) - np.exp(log_q[0]) if odds_b > 0 else np.exp(log_q[1]) - np.exp(log_b[1])
    rarer = (
        min(np.exp(log_b).min(), np.exp(log_q).min())
        if odds_b * odds_q < 0
        else np.exp([log_b, log_q]).min(1).max()
    )
    rounding = 1e-14 * rarer * abs(odds_b - odds_q)
    assert found == pytest.approx(-abs(gap * (odds_b - odds_q)), rel=1e-9, abs=max(rounding, 1e-300))
    assert worth_of(make_worth("log_odds", log_b, (0, 1), state=1), log_q[None])[0] == pytest.approx(odds_q)


def test_only_exact_zeros_are_floored():
    log_b = np.array([-inf, 0.0])
    worth = make_worth("symmetric_kl", log_b, (0, 1))
    assert worth_of(worth, np.log([[0.5, 0.5]]))[0] == pytest.approx(
        -0.5 * (700 - 0) - (log(0.5) * (0.5 - 0.5)) - 0
    )
    assert worth_of(worth, log_b[None])[0] == 0
    tiny = np.array([-800.0, 0.0])
    assert worth_of(make_worth("log_odds", tiny, (0, 1), state=0), tiny[None])[0] == -800
    assert worth_of(make_worth("log_odds", tiny, (0, 1), state=0), log_b[None])[0] == -700


def test_zeros_that_matter_are_told():
    open_, shut = np.log([0.5, 0.5]), np.array([-inf, 0.0])
    for kind, log_b, log_q, expected in [
        ("symmetric_kl", open_, shut, True),
        ("symmetric_kl", shut, open_, True),
        ("symmetric_kl", shut, shut, False),
        ("neg_cross_entropy", open_, shut, True),
        ("neg_cross_entropy", shut, open_, False),
        ("neg_cross_entropy", shut, shut, False),
        ("log_odds", open_, shut, True),
        ("log_odds", shut, open_, False),
        ("probability", open_, shut, False),
    ]:
        assert replaces_zero(make_worth(kind, log_b, (0, 1)), log_q[None]) is expected, (kind, log_b, log_q)


@settings(deadline=None)
@given(log_weights, st.sampled_from(KINDS), st.integers(0, 1))
def test_weights_and_logarithms_are_priced_alike(logs, kind, state):
    log_b, log_q = normalised(logs[::-1]), np.array([logs])
    worth = make_worth(kind, log_b, range(len(logs)), state=state)
    probabilities = Beliefs.from_weights(np.exp(log_q - np.logaddexp.reduce(log_q, axis=1)))
    assert price(worth, probabilities)[0] == pytest.approx(worth_of(worth, log_q)[0], rel=1e-9, abs=1e-13)


def test_all_states_excluded_are_worth_nan():
    worth = make_worth("symmetric_kl", np.log([0.2, 0.3, 0.5]), "abc")
    probabilities = np.array([[np.nan, np.nan, np.nan], [0.0, 1.0, 0.0]])
    logs = np.array([[-inf, -inf, -inf], [-inf, 3.0, -inf]])
    for beliefs in (Beliefs.from_weights(probabilities), Beliefs.from_logs(logs)):
        assert np.isnan(price(worth, beliefs)).tolist() == [True, False]


def test_direction_and_the_most_believed_state():
    assert direction_worth(np.log([0.5, 0.5]), "ab").states == (0,)  # ties to the lowest index
    assert direction_worth(np.log([0.2, 0.8]), "ab").name == "log_odds"
    assert direction_worth(np.log([0.2, 0.5, 0.3]), "abc").unit == "probability"
    assert make_worth("probability", np.log([0.2, 0.5, 0.3]), "abc").states == (1,)


def test_unknown_worths_are_named():
    with pytest.raises(kp.InputError, match="worth must be one of"):
        make_worth("contrast", np.log([0.5, 0.5]), "ab")
