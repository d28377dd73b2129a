import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier

import keyplayers as kp
from keyplayers import InputError, McXai
from keyplayers.mcxai.codec import explanation_from_dict
from tests.mcxai.games import random_score, saturating_score
from tests.oracles.mask_games import shapley_values, smallest_sets


def model_of(score):
    """A model on rows of ones whose zeros are masked players."""
    return lambda rows: np.array([score(frozenset(np.flatnonzero(r == 0).tolist())) for r in rows])


def explain_game(score, n, **settings):
    seed, target = settings.pop("random_state", 0), settings.pop("target", None)
    return McXai(model_of(score), baseline=0, **settings).explain(np.ones(n), target, random_state=seed)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_the_key_set_ends_the_game_at_its_last_player_and_not_before(seed, n):
    score = random_score(np.random.default_rng(seed), n)
    ex = explain_game(score, n)
    starts = score(frozenset()) > 0.5
    for order in (*ex.key_sets(), *([ex.best_path] if ex.flipped else [])):
        says = [(score(frozenset(order[:k])) > 0.5) == starts for k in range(len(order) + 1)]
        assert says == [True] * len(order) + [False]
    assert ex.minimal == ex.flipped
    if not ex.flipped:
        assert ex.key_set == ()
        assert ex.continuation is None
    assert ex.lower_bound <= (len(ex.key_set) if ex.flipped else n + 1)
    if ex.continuation is not None and ex.continuation.flipped:
        both = frozenset(ex.key_set) | frozenset(ex.opposition)
        assert (score(both) > 0.5) == starts
        assert not set(ex.key_set) & set(ex.opposition)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_a_lower_bound_is_never_wrong(seed):
    score = random_score(np.random.default_rng(seed), 7)
    ex = explain_game(score, 7)
    starts = score(frozenset()) > 0.5
    smallest = smallest_sets(lambda s: (score(s) > 0.5) != starts, 7)
    assert ex.lower_bound <= (len(smallest[0]) if smallest else 8)
    # "nothing changes the decision" may be proven, too
    assert not ex.proven or len(ex.key_set) == (len(smallest[0]) if smallest else 0)
    assert ex.flipped <= bool(smallest)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_permuting_the_players_permutes_the_answer(seed):
    rng = np.random.default_rng(seed)
    # a unique smallest set: only masking exactly these players together flips
    n, size = 10, int(rng.integers(1, 4))
    key = frozenset(rng.permutation(n)[:size].tolist())
    weights = rng.uniform(0.05, 0.2, n)
    score = lambda s: 0.9 - 0.1 * sum(weights[p] for p in s) - 0.5 * (key <= s)  # noqa: E731
    moved = rng.permutation(n)
    there = explain_game(score, n)
    here = explain_game(lambda s: score(frozenset(int(moved[p]) for p in s)), n)
    assert set(there.key_set) == key == {int(moved[p]) for p in here.key_set}


def test_every_result_says_what_it_cost():
    calls = []

    def predict(rows):
        calls.append(len(rows))
        return np.clip(rows.sum(axis=1) / 6, 0, 1)

    ex = McXai(predict, baseline=0, max_evals=80).explain(np.ones(6), random_state=0)
    assert ex.n_rows == ex.n_evaluations == sum(calls) <= 80
    assert ex.n_calls == len(calls)
    assert ex.seconds > 0
    assert ex.flipped
    assert ex.lower_bound >= 2
    assert set(ex.to_frame()["name"]) == set(range(6))


def test_a_number_of_rows_is_used_up():
    rng = np.random.default_rng(1)
    ex = explain_game(random_score(rng, 12), 12, max_evals=1500)
    assert 1400 <= ex.n_rows <= 1500


def test_a_misclassified_instance_is_asked_what_stands_in_the_way():
    score = lambda s: 0.4 + 0.3 * ({1, 3} <= s) - 0.25 * (4 in s)  # noqa: E731
    ex = McXai(model_of(score), baseline=0).explain(np.ones(5), target=1, random_state=0)
    assert ex.predicted == 0
    assert ex.target == 1
    assert ex.main.kind == "misclassification"
    assert set(ex.key_set) == {1, 3} == set(ex.opposition)
    assert ex.continuation.kind == "classification"
    assert ex.continuation.best_set == (4,)
    assert ex.trail == pytest.approx((0.4, 0.7, 0.45))
    assert "stand in the way of 1" in ex.sentence


def test_the_trail_of_a_planted_game():
    # 0.93 -> 0.31 with the key set masked -> 0.8 with the opposition masked too
    score = lambda s: 0.93 - 0.62 * (0 in s) + 0.49 * (0 in s and 2 in s)  # noqa: E731
    ex = explain_game(score, 4)
    assert ex.key_set == (0,)
    assert ex.opposition == (2,)
    assert ex.trail == pytest.approx((0.93, 0.31, 0.8))
    assert "Against 1 speaks 2" in ex.sentence
    assert ex.continuation.new_class == 1


@pytest.mark.parametrize("max_evals", [300, 2000])
def test_planted_relations_are_among_the_first_five(max_evals):
    # 0 and 1 are the same feature twice: once one is gone the other has nothing left to lose; 4 and 5 act together
    score = lambda s: 0.95 - 0.25 * bool(s & {0, 1}) - 0.3 * ({4, 5} <= s) - sum(0.02 for p in s if p > 6)  # noqa: E731
    ex = explain_game(score, 12, max_evals=max_evals)
    first = {frozenset((r.player, r.given)): r for r in ex.relations()[:5]}
    assert first[frozenset({0, 1})].kind == "competing"
    assert first[frozenset({0, 1})].change == pytest.approx(-0.25)
    assert first[frozenset({4, 5})].kind == "conditional"
    assert first[frozenset({4, 5})].change == pytest.approx(0.3)
    assert all(r.n_visits >= 0 and r.n_visits_given >= 0 for r in ex.relations())


@pytest.mark.parametrize("make", [random_score, saturating_score])
def test_values_follow_exact_shapley_values_better_than_win_rates_do(make):
    n, rates, values = 10, [], []
    for seed in range(12):
        score = make(np.random.default_rng(seed), n)
        ex = explain_game(score, n, max_evals=600)
        assert ex.flipped
        exact = [-value for value in shapley_values(score, n)]
        values.append(spearmanr([ex.value(i) for i in range(n)], exact)[0])
        rates.append(spearmanr([ex.win_rates[i] for i in range(n)], exact)[0])
    assert np.mean(values) >= 0.93
    assert np.mean(values) > np.mean(rates) + 0.05


@pytest.mark.parametrize("rollout", ["surrogate", "random"])
@pytest.mark.parametrize("surrogate", ["none", "drop", "regression", "auto"])
@pytest.mark.parametrize("widening", [None, (1.5, 0.4), "auto"])
def test_all_settings_of_the_search_find_an_easy_key_set(rollout, surrogate, widening):
    score = lambda s: 0.9 - 0.5 * ({2, 5} <= s) - 0.05 * len(s & {0, 1})  # noqa: E731
    ex = explain_game(score, 8, rollout=rollout, surrogate=surrogate, widening=widening, share_orders=True)
    assert set(ex.key_set) == {2, 5}
    assert ex.proven


def test_the_textbook_search_neither_seeks_nor_shrinks():
    explainer = McXai(
        model_of(lambda s: 0.9 - 0.14 * len(s)), baseline=0, widening=None, rollout="random", parallel_leaves=1,
        surrogate="none", max_evals=60, depth=10,
    )  # fmt: skip
    assert explainer.textbook
    ex = explainer.explain(np.ones(6), random_state=0)
    assert ex.flipped
    assert len(ex.key_set) == 3
    assert ex.main.n_playouts > 5


def test_digits_get_strokes_for_and_against():
    x, y = load_digits(return_X_y=True)
    model = RandomForestClassifier(30, random_state=0).fit(x[:900], y[:900])
    row = x[np.flatnonzero((model.predict(x) == y) & (y == 8))[0]]
    ex = McXai(model, baseline=0).explain(row, random_state=0)
    assert ex.target == 8
    assert ex.flipped
    assert len(ex.trail) == 3
    assert ex.trail[0] > ex.trail[1]
    assert all(row[p] != 0 for p in (*ex.key_set, *ex.opposition))
    assert "carr" in ex.sentence
    assert ex.text().count("game:") == 2


def test_frames_name_the_players_in_every_readout():
    data = load_wine(as_frame=True)
    model = RandomForestClassifier(20, random_state=0).fit(data.data, data.target)
    ex = McXai(model, background=data.data).explain(data.data.iloc[[0]], random_state=0)
    names = set(data.data.columns)
    assert set(ex.players) == names
    frame = ex.to_frame()
    assert list(frame["name"]) == list(ex.players)
    assert frame.loc[frame["in_key_set"], "name"].isin(ex.key_set).all()
    assert isinstance(frame, pd.DataFrame)
    graph = ex.main.to_networkx()
    assert graph.number_of_nodes() == len(ex.tree)
    assert {graph.nodes[t]["player"] for t in graph} <= names | {None}
    assert all(set(s.players) <= names for s in ex.sets(2))
    assert max(len(s.players) for s in ex.sets(2)) == 2
    assert explanation_from_dict(ex.to_dict()).to_dict() == ex.to_dict()


def test_several_background_rows_are_averaged_and_counted():
    background = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    calls = []

    def predict(rows):
        calls.append(len(rows))
        return 1 / (1 + np.exp(-(3 * rows[:, 0] + rows[:, 1] - 2)))

    ex = McXai(predict, baseline="background", background=background).explain(np.array([2.0, 2.0]))
    assert ex.n_rows == sum(calls)
    assert ex.n_rows % 3 == 0
    rows = background.copy()
    assert ex.p_masked == pytest.approx(np.mean(1 / (1 + np.exp(-(3 * rows[:, 0] + rows[:, 1] - 2)))))


@pytest.mark.parametrize("max_evals", [20, 100, 301, 500, 1001, 2999])
def test_any_number_of_rows_goes_with_several_background_rows(max_evals):
    rng = np.random.default_rng(max_evals)
    weights, background = rng.normal(1, 1, 12), rng.normal(size=(7, 12))

    def predict(rows):
        return 1 / (1 + np.exp(-(rows @ weights + rows[:, 0] * rows[:, 1])))

    for seed in range(5):
        ex = McXai(predict, baseline="background", background=background, max_evals=max_evals).explain(
            rng.normal(1, 1, 12), random_state=seed
        )
        assert ex.n_rows <= max(max_evals, 14)
        assert ex.n_rows % 7 == 0


@pytest.mark.parametrize("limits", [{"max_evals": 2}, {"max_seconds": 1e-9}])
def test_a_set_that_rows_or_seconds_did_not_check_is_not_called_minimal(limits):
    score = lambda s: 0.9 - 0.6 * (len(s) > 3) - 0.001 * len(s)  # noqa: E731
    ex = explain_game(score, 9, **limits)
    assert ex.flipped
    assert not ex.minimal
    assert set(ex.key_set) == set(range(9))
    assert ex.main.new_class == 0
    assert "did not tell whether all of them are needed" in ex.sentence
    assert ex.partial == ("max_seconds" in limits)
    against = explain_game(lambda s: 1 - score(s), 9, target=1, **limits)
    assert against.main.kind == "misclassification"
    assert "did not tell whether all of them are needed" in against.sentence


def test_a_set_longer_than_the_depth_is_not_dropped():
    ex = explain_game(lambda s: 0.9 - 0.6 * (len(s) > 3) - 0.001 * len(s), 9, depth=2)
    assert len(ex.key_set) == 4
    assert ex.minimal


@pytest.mark.parametrize("n_backgrounds", [1, 3])
def test_a_single_player_needs_no_row_but_those_of_the_ends(n_backgrounds):
    space = kp.Tabular(baseline=np.zeros((n_backgrounds, 1)))
    ex = McXai(lambda rows: 0.9 * rows[:, 0], space, max_evals=2).explain([1.0], random_state=0)
    assert ex.key_set == (0,)
    assert ex.proven
    assert ex.n_rows == 2 * n_backgrounds


def test_nothing_to_mask_is_an_answer_too():
    ex = McXai(lambda rows: 0.8 + 0 * rows[:, 0], baseline=0).explain(np.zeros(3))
    assert ex.players == (0, 1, 2)
    assert not ex.values.any()
    assert not ex.flipped
    assert "already has its masked value" in ex.sentence
    assert ex.n_rows == 1


def test_thousands_of_players_fit_in_memory():
    import tracemalloc

    n = 16_384
    key = {7, 9_000}

    def predict(rows):
        gone = rows == 0
        return 0.9 - 0.2 * gone[:, 7] - 0.2 * gone[:, 9_000] - 0.25 * (gone[:, 7] & gone[:, 9_000])

    tracemalloc.start()
    ex = McXai(predict, baseline=0).explain(np.ones(n, dtype=np.float32), random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(ex.key_set) == key
    assert ex.lower_bound == 2
    assert peak < 1e9


def test_sets_of_hundreds_of_players_fit_in_memory():
    import tracemalloc

    n = 3000
    weights = np.random.default_rng(0).uniform(0.2, 1, n)

    def predict(rows):
        return 1 / (1 + np.exp(0.05 * (0.7 * weights.sum() - rows @ weights)))

    tracemalloc.start()
    ex = McXai(predict, baseline=0).explain(np.ones(n, dtype=np.float32), random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(ex.key_set) > 500
    # random numbers for all replays of first moves at once take more than that
    assert peak < 2e8


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("depth", 0),
        ("depth", 2.5),
        ("eta", 1.5),
        ("eta", "half"),
        ("exploration", -1),
        ("exploration", float("inf")),
        ("exploration", None),
        ("surrogate", "net"),
        ("rollout", "best"),
        ("widening", (0, 1)),
        ("widening", (float("inf"), 1)),
        ("widening", (1, 2, 3)),
        ("widening", 5),
        ("widening", "ab"),
        ("parallel_leaves", 0),
        ("max_evals", 1),
        ("max_seconds", 0),
        ("max_seconds", float("inf")),
        ("max_seconds", "1"),
        ("batch_size", 0),
        ("output", "odds"),
        ("space", np.zeros(2)),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused_with_what_is_allowed(setting, value):
    with pytest.raises(InputError, match=f"{setting} must be"):
        McXai(lambda rows: rows[:, 0], **{setting: value})


def test_settings_may_be_scalars_of_numpy():
    score = lambda s: 0.9 - 0.5 * ({2, 5} <= s)  # noqa: E731
    plain = {
        "max_evals": 300, "depth": 3, "eta": 0.5, "exploration": 1.0, "batch_size": 4, "parallel_leaves": 3,
        "widening": (1.0, 0.5), "max_seconds": 60.0, "share_orders": True,
    }  # fmt: skip
    scalars = {
        "max_evals": np.int64(300), "depth": np.int32(3), "eta": np.float32(0.5), "exploration": np.float64(1),
        "batch_size": np.uint8(4), "parallel_leaves": np.int8(3), "widening": np.array([1.0, 0.5]),
        "max_seconds": np.float32(60), "share_orders": np.bool_(True),
    }  # fmt: skip
    given, same = (explain_game(score, 8, **settings).to_dict() for settings in (scalars, plain))
    assert json.loads(json.dumps(given, allow_nan=False)) | {"seconds": 0} == same | {"seconds": 0}


def test_a_width_beyond_every_integer_is_no_limit():
    trees = [explain_game(lambda s: 0.9 - 0.1 * len(s), 6, widening=w).tree for w in ((1e300, 0.0), None)]
    assert len(trees[0].children(0)) == 6
    assert np.array_equal(trees[0].n_visits, trees[1].n_visits)


def test_space_and_baseline_exclude_each_other():
    from keyplayers import Tabular

    with pytest.raises(InputError, match="leave the space out"):
        McXai(lambda rows: rows[:, 0], Tabular(baseline=0), baseline=1)


def test_progress_counts_the_rows():
    class Counting:
        def __init__(self):
            self.rows, self.stages = 0, 0

        def begin(self, label, total=None):
            self.total = total

        def advance(self, amount=1, note=""):
            self.rows += amount

        def end(self):
            self.stages += 1

    progress = Counting()
    ex = McXai(model_of(lambda s: 0.9 - 0.14 * len(s)), baseline=0).explain(np.ones(6), progress=progress)
    assert progress.rows == ex.n_rows - 4  # the instance and everything masked, asked twice
    assert progress.stages == 1
    assert progress.total >= ex.n_rows


def test_the_json_is_as_the_page_about_it_says():
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    schema = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[-1])
    validator = jsonschema.Draft202012Validator(schema)
    score = random_score(np.random.default_rng(3), 6)
    textbook = {"widening": None, "rollout": "random", "parallel_leaves": 1, "surrogate": "none"}
    found = [
        *(explain_game(score, 6, **limits) for limits in ({}, {"max_evals": 400}, {"max_evals": 2}, textbook)),
        explain_game(lambda s: 0.7, 3),
        explain_game(lambda s: 0.7, 0),
        McXai(
            lambda rows: np.where(rows[:, 0] > 0, "a", "b"), kp.Tabular(baseline=0, feature_names=[("t", 1)])
        ).explain([1.0], "c", random_state=np.random.default_rng(0)),
        McXai(lambda rows: rows[:, :2] / 2, baseline=0, multilabel=True).explain([1.2, 0.4], 0, random_state=1),
    ]
    assert {one.flipped for one in found} == {True, False}
    for one in found:
        data = json.loads(json.dumps(one.to_dict(), allow_nan=False))
        assert list(validator.iter_errors(data)) == []
    data["key_set"] = "no list"
    assert list(validator.iter_errors(data))


@pytest.mark.parametrize("suffix", ["json", "json.gz", "npz"])
def test_a_saved_explanation_reads_back_with_names_of_any_kind(suffix, tmp_path):
    names = [
        ("a", 1),
        "b",
        np.float64(2.5),
        None,
        3,
        date(2020, 1, 2),
        Decimal("1.50"),
        ("c", None),
        float("inf"),
        b"x",
    ]
    score = lambda rows: 1 / (1 + np.exp(-(rows.sum(axis=1) - 7.5)))  # noqa: E731
    space = kp.Tabular(baseline=0, feature_names=names)
    classes = [date(2020, 1, 1), date(2021, 1, 1)]
    ex = McXai(score, space, class_names=classes).explain(np.ones(10), random_state=0)
    ex.save(tmp_path / f"e.{suffix}")
    back = kp.load(tmp_path / f"e.{suffix}")
    assert back.players == ex.players
    assert back.target == ex.target == classes[1]
    assert back.key_set == ex.key_set
    assert back.to_dict() == ex.to_dict()
    assert back.relations() == ex.relations() or np.isnan([r.win_rate_given for r in ex.relations()]).any()
