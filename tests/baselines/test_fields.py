"""Baselines of fields: against closed forms on stars, through batches and files."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.baselines import Gradient, HopDistance, LeaveOneOut, PriorShapley, RandomOrder
from keyplayers.games import shapley_values
from keyplayers.metrics import faithfulness
from tests.metrics.test_metrics import message, star

PRIORS = {"a": [0.1, 0.9], "b": [0.2, 0.8], "c": [0.6, 0.4], "d": [0.5, 0.5]}
ALL = [RandomOrder, HopDistance, LeaveOneOut, PriorShapley, Gradient]


@pytest.mark.parametrize("method", [LeaveOneOut, PriorShapley])
def test_on_a_star_a_value_is_the_message(method):
    """Log-odds add up there, so whoever goes takes its message with it."""
    ex = method(star(PRIORS)).explain("x", random_state=0)
    values = dict(zip(ex.players, ex.values, strict=True))
    assert set(values) == {"a", "b", "c"}  # d has nothing to say
    for name in values:
        assert values[name] == pytest.approx(message(PRIORS[name]), abs=1e-4)


def test_leaving_a_variable_out_is_more_than_leaving_its_evidence_out():
    mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "x")], {"a": [1, 9], "b": [4, 6]}, homophily=0.8)
    prior = dict(LeaveOneOut(mrf).explain("x").top())
    variable = dict(LeaveOneOut(mrf, what="variable").explain("x").top())
    assert variable["b"] > prior["b"]
    assert variable["a"] == pytest.approx(prior["a"], abs=1e-3)


def test_near_evidence_comes_first():
    mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "x")], {"a": [1, 9], "b": [4, 6]}, homophily=0.8)
    ex = HopDistance(mrf).explain("x")
    assert ex.players == ("b", "a")
    assert ex.values.tolist() == [1.0, 0.5]
    assert HopDistance(mrf, radius=1).explain("x").players == ("b",)


def test_sampled_values_are_those_of_the_prior_game():
    rng = np.random.default_rng(4)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4)]
    mrf = kp.MarkovRandomField.from_edges(
        edges, {v: (rng.random(2) + 0.2).tolist() for v in range(1, 5)}, homophily=0.75
    )
    ex = PriorShapley(mrf, max_evals=20_000).explain(0, random_state=0)
    predictor = kp.FieldPredictor(mrf, 0, 2, max_players=None)
    best = int(kp.belief_propagation(mrf).belief(0).argmax())

    def worth(coalitions):
        p = predictor(coalitions)[:, best]
        return np.log(p) - np.log1p(-p)

    exact = dict(zip(predictor.players, shapley_values(worth, 4), strict=True))
    for name, value, error in zip(ex.players, ex.values, ex.std_errors, strict=True):
        assert abs(value - exact[name]) < 5 * error + 1e-4


@pytest.mark.parametrize("method", ALL)
def test_they_go_through_batches_stores_and_files(method, tmp_path):
    mrf = kp.tree_field(30, random_state=1)
    store = kp.explain_many(method(mrf), range(4), store=tmp_path / "s", n_jobs=1, random_state=3)
    ex = method(mrf).explain(2, random_state=np.random.default_rng(0))
    assert len(ex) > 0
    ex.save(tmp_path / "a.json")
    found = kp.load(tmp_path / "a.json")
    assert found.players == ex.players
    assert found.structure.method == ex.structure.method
    assert len(store) == 4


def test_an_informed_ranking_is_measured_as_better_than_chance():
    rng = np.random.default_rng(0)
    mrf = star({f"l{i}": [1.0, float(np.exp(abs(rng.normal())))] for i in range(20)})
    informed = faithfulness(mrf, "x", LeaveOneOut(mrf).explain("x").players)
    for seed in range(8):
        chance = faithfulness(mrf, "x", RandomOrder(mrf).explain("x", random_state=seed).players)
        assert informed.delete_share > chance.delete_share
        assert informed.keep_area < chance.keep_area


def test_settings_are_checked():
    with pytest.raises(kp.InputError, match="what must be"):
        LeaveOneOut(star(PRIORS), what="edge")


def test_near_certainty_values_are_numbers():
    mrf = star({i: [0.2, 0.8] for i in range(80)})
    ex = PriorShapley(mrf, max_evals=400).explain("x", random_state=0)
    assert np.isfinite(ex.values).all()
    assert ex.values == pytest.approx(np.full(80, message([0.2, 0.8])), abs=2e-3)
    assert ex.settings["seed"] == 0


def test_other_beliefs_are_another_explainer():
    mrf = star(PRIORS)
    given = LeaveOneOut(mrf, beliefs=kp.exact_marginals(mrf))
    assert given.identity().fingerprint != LeaveOneOut(mrf).identity().fingerprint


@pytest.mark.parametrize("seed", range(12))
def test_gradients_are_those_of_finite_differences(seed):
    """Of full runs of propagation, on fields with cycles, two to four states and hard evidence."""
    rng = np.random.default_rng(seed)
    k = 2 + seed % 3
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4)]
    priors = {v: (rng.random(k) + 0.3).tolist() for v in range(5)}
    if seed % 4 == 0:
        priors[4] = np.eye(k)[0].tolist()
    potentials = [np.exp(0.4 * rng.normal(size=(k, k))) for _ in edges]
    mrf = kp.MarkovRandomField.from_edges(np.array(edges), priors, potential=potentials)
    exactly = {"tolerance": 1e-14, "max_sweeps": 5_000}
    state = kp.belief_propagation(mrf, **exactly)
    best = int(state.belief(0).argmax())
    ex = Gradient(mrf, beliefs=state).explain(0)
    for player, value in zip(ex.players, ex.values, strict=True):
        prior = np.array(priors[player]) / np.sum(priors[player])
        towards = prior - 1 / k

        def log_odds(step, player=player, prior=prior, towards=towards):
            moved = prior + step * towards
            belief = kp.belief_propagation(
                kp.MarkovRandomField.from_edges(
                    np.array(edges), priors | {player: moved.tolist()}, potential=potentials
                ),
                **exactly,
            ).belief(0)
            return np.log(belief[best]) - np.log(np.delete(belief, best).sum())

        if (prior == 0).any():  # from inside only: beyond it a weight would be negative
            h = -1e-4
            expected = (4 * log_odds(h) - log_odds(2 * h) - 3 * log_odds(0.0)) / (2 * h)
        else:
            h = 1e-4
            expected = (log_odds(h) - log_odds(-h)) / (2 * h)
        assert value == pytest.approx(expected, abs=1e-6)


def test_gradients_need_messages_and_positive_potentials():
    mrf = star(PRIORS)
    with pytest.raises(kp.InputError, match="messages of belief_propagation"):
        Gradient(mrf, beliefs=kp.exact_marginals(mrf))
    with pytest.raises(kp.InputError, match="exact zeros"):
        Gradient(kp.MarkovRandomField.from_edges([(0, 1)], potential=[[1.0, 0.0], [0.0, 1.0]]))
