"""Inputs on which tools of this kind fail, with right answers; one test per case."""

import json
import pickle
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from keyplayers import InputError, McXai, PredictorError, Tabular, UnknownNameError
from keyplayers.mcxai.codec import explanation_from_dict, write_record


def p1(rows):
    return 1 / (1 + np.exp(-(2 * rows[:, 0] + rows[:, 1] - 1)))


class Watching:
    """A model that keeps what it was given."""

    def __init__(self, predict):
        self.predict, self.seen = predict, []

    def __call__(self, rows):
        self.seen.append(rows)
        return self.predict(rows)


def people():
    df = pd.DataFrame({"age": [20, 50, 30, 60], "city": ["a", "b", "b", "a"]})
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough"), LogisticRegression()
    ).fit(df, [0, 1, 0, 1])
    return df, model


# 1. A frame reaches the model as a bare array


@pytest.mark.parametrize("as_series", [False, True])
def test_a_frame_reaches_the_model_as_a_frame(as_series):
    df, model = people()
    predict = Watching(model.predict_proba)
    row = df.iloc[0] if as_series else df.iloc[[0]]
    ex = McXai(predict, background=df).explain(row, random_state=0)
    assert set(ex.players) == {"age", "city"}
    for rows in predict.seen:
        assert list(rows.columns) == ["age", "city"]
        assert (rows.dtypes == predict.seen[0].dtypes).all()


def test_categories_stay_categories():
    df, _ = people()
    df["city"] = df["city"].astype("category")
    predict = Watching(lambda rows: np.where(rows["city"] == "a", 0.9, 0.2))
    ex = McXai(predict, baseline={"city": "b", "age": 30}).explain(df.iloc[[0]], random_state=0)
    assert ex.key_set == ("city",)
    assert all(rows["city"].dtype == df["city"].dtype for rows in predict.seen)
    assert all(rows["age"].dtype == np.int64 for rows in predict.seen)


def test_a_polars_frame_stays_one():
    df = pl.DataFrame({"age": [20, 50], "city": ["a", "b"], "ok": [True, False]})
    predict = Watching(lambda rows: rows["age"].to_numpy() / 100 + 0.3 * (rows["city"] == "b").to_numpy())
    ex = McXai(predict, background=df[:1]).explain(df[1:2], random_state=0)
    assert set(ex.key_set) <= {"age", "city"}
    assert ex.flipped
    assert {tuple(rows.schema.items()) for rows in predict.seen} == {tuple(df.schema.items())}


# 3. Raw string and mixed-type columns


def test_mixed_columns_are_replaced_not_computed_with():
    row = np.array(["red", 3.0, True, None], dtype=object)
    predict = Watching(lambda rows: np.array([0.9 if r[0] == "red" else 0.1 for r in rows]))
    ex = McXai(predict, baseline=["blue", 0.0, False, None]).explain(row, random_state=0)
    assert ex.key_set == (0,)
    assert ex.value(3) == 0.0
    assert 3 not in ex.main.players
    assert all(rows.dtype == object for rows in predict.seen)


# 4. The mask value is unknown to the encoder


def test_a_baseline_that_the_encoder_does_not_know_is_named():
    codes = np.array([[1, 2], [2, 3], [3, 1], [1, 1]])
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(codes, [0, 1, 1, 0])
    with pytest.raises(PredictorError, match=r"baseline of 0, 1 is unlike") as caught:
        McXai(model, baseline=0).explain(codes[1])
    assert isinstance(caught.value.__cause__, ValueError)
    space = Tabular(background=codes, categorical=[0, 1])
    assert McXai(model, space).explain(codes[1], random_state=0).flipped
    assert space.bind(codes[1]).display_masked == ("1", "1")


# 5. One-hot columns masked one by one


def test_a_group_is_one_player():
    def predict(rows):
        assert (rows[:, :3].sum(axis=1) == 1).all()
        return 0.9 - 0.6 * rows[:, 0]

    space = Tabular(baseline=[1, 0, 0, 2.0], groups={"colour": [0, 1, 2], "size": [3]})
    ex = McXai(predict, space).explain(np.array([0, 1, 0, 5.0]), random_state=0)
    assert ex.key_set == ("colour",)
    assert set(ex.players) == {"colour", "size"}


# 6. Missing values


@pytest.mark.parametrize("tau", [[0, 0, 0], [0, np.nan, 0]])
def test_missing_values_are_values(tau):
    x, y = make_classification(200, 3, n_informative=3, n_redundant=0, random_state=0)
    x[::3, 1] = np.nan
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(x, y)
    ex = McXai(model, baseline=tau).explain(np.array([1.0, np.nan, 2.0]), random_state=0)
    moves = set(ex.main.players)
    assert moves == ({0, 1, 2} if tau[1] == 0 else {0, 2})


# 7. A code outside the list of names


def test_a_code_without_a_name_is_shown_as_it_is():
    space = Tabular(baseline=[0, 1, 1], category_names={0: ["a", "b", "c"]}, categorical=[0])
    bound = space.bind(np.array([-1, 0, 2]))
    assert bound.display_values == ("-1", "0", "2")
    assert bound.display_masked[0] == "a"
    ex = McXai(lambda rows: np.where(rows[:, 0] == -1, 0.9, 0.1), space).explain(np.array([-1, 0, 2]))
    assert ex.key_set == (0,)
    assert "-1" in ex.to_frame().loc[0, "instance"]


# 8. A constant column


def test_a_constant_column_costs_nothing_and_is_worth_nothing():
    x = np.random.default_rng(0).normal(size=(50, 3))
    x[:, 2] = 7.0
    predict = Watching(p1)
    ex = McXai(predict, baseline=x.mean(axis=0)).explain(np.array([1.0, 1.0, 7.0]), random_state=0)
    assert ex.value(2) == 0.0
    assert ex.players[-1] == 2
    assert 2 not in ex.main.players
    # four states; the two ends and the key set are asked again, to see whether the answers are the same
    assert sum(len(rows) for rows in predict.seen) == ex.n_rows <= 4 + 3


# 10. Integer rows and fractional masks


def test_integers_are_promoted_to_hold_a_fraction_and_codes_refuse_one():
    predict = Watching(lambda rows: rows[:, 0] / 10)
    McXai(predict, baseline=[0.5, 0.5, 0.5]).explain(np.array([8, 2, 3]))
    assert {rows.dtype for rows in predict.seen} == {np.dtype(np.float64)}
    assert all((rows[:, 0] == 0.5).any() or (rows[:, 0] == 8).all() for rows in predict.seen)
    predict = Watching(lambda rows: rows[:, 0] / 10)
    McXai(predict, baseline=0).explain(np.array([8, 2, 3]))
    assert {rows.dtype for rows in predict.seen} == {np.dtype(np.int64)}
    with pytest.raises(InputError, match="codes, so its baseline must be an integer, got 0.5"):
        McXai(predict, Tabular(baseline=0.5, categorical=[0, 1, 2])).explain(np.array([8, 2, 3]))


# 13. One column, or one dimension


@pytest.mark.parametrize(
    "predict", [lambda rows: p1(np.asarray(rows)), lambda rows: p1(np.asarray(rows))[:, None]]
)
@pytest.mark.parametrize("row", [[1.0, 1.0], pd.DataFrame({"a": [1.0], "b": [1.0]})])
def test_one_column_of_probabilities_is_that_of_the_second_class(predict, row):
    ex = McXai(predict, baseline=0).explain(row, random_state=0)
    assert ex.predicted == 1
    assert ex.p_target == pytest.approx(p1(np.ones((1, 2)))[0])
    assert ex.key_set == (ex.main.players[0],)


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (lambda rows: np.ones((len(rows), 2, 2)), r"shape \(2, 2, 2\)"),
        (lambda rows: np.ones(len(rows) + 1), r"given 2 rows and returned shape \(3,\)"),
        (lambda rows: 5 * np.ones(len(rows)), "output='logits'"),
        (lambda rows: np.full(len(rows), np.nan), "NaN in 2 of 2"),
        (lambda rows: 0.5, r"shape \(\)"),
        (lambda rows: np.ones((len(rows), 0)), r"shape \(2, 0\)"),
        (lambda rows: [[0.5], [0.2, 0.8]], "list, is no array"),
        (lambda rows: np.array([None, [1]], dtype=object), r"returned \[1\] where a label"),
        (lambda rows: np.array([None, np.nan], dtype=object), "returned nan where a label"),
    ],
)
def test_other_outputs_are_refused_with_the_shape_seen_and_wanted(predict, message):
    with pytest.raises(InputError, match=message):
        McXai(predict, baseline=0).explain(np.ones(2))


@pytest.mark.parametrize(
    ("output", "row", "message"),
    [
        ("logits", [np.inf, 0.0], "NaN or infinite scores in 2 of 2 rows"),
        ("logits", [-np.inf, -np.inf], "NaN or infinite scores in 2 of 2 rows"),
        ("log_proba", [1e5, -1.0], r"from -1 to 1e\+05 in shape \(2, 2\); log-probabilities are at most 0"),
    ],
)
def test_scores_that_are_no_probabilities_are_refused(output, row, message):
    with pytest.raises(InputError, match=message):
        McXai(lambda rows: [row] * len(rows), baseline=0, output=output).explain(np.ones(2))


def test_infinite_scores_that_mean_something_are_taken():
    def scores(rows):
        return np.where(rows[:, [0]] > 0, [[-np.inf, 0.0]], [[0.0, -np.inf]])

    for output in ("logits", "log_proba"):
        assert McXai(scores, baseline=0, output=output).explain(np.ones(2), random_state=0).trail[:2] == (1.0, 0.0)


def test_a_regression_is_no_classifier():
    model = LinearRegression().fit(np.eye(3), [0.1, 0.7, 0.2])
    with pytest.raises(InputError, match="LinearRegression is a regressor.*whether that number is above"):
        McXai(model, baseline=0).explain(np.ones(3))
    assert McXai(lambda rows: model.predict(rows) > 0.5, baseline=0).explain(np.ones(3)).predicted in (True, False)


@pytest.mark.parametrize("names", ["ab", 5, ["a", "a"], [["a"], ["b"]]])
def test_names_of_classes_are_distinct(names):
    with pytest.raises(InputError, match="class_names must be"):
        McXai(p1, class_names=names)


@pytest.mark.filterwarnings("error")
def test_infinite_scores_are_no_probabilities():
    def predict(rows):
        return np.where(rows == 0, np.inf, rows)

    with pytest.raises(InputError, match="NaN or infinite scores in 1 of 2 rows"):
        McXai(predict, baseline=0, output="logits").explain(np.ones(2))


# 15. Labels only


def test_labels_alone_can_be_explained():
    ex = McXai(lambda rows: np.where(p1(rows) > 0.5, "spam", "ham"), baseline=0).explain(
        np.ones(2), random_state=0
    )
    assert ex.predicted == "spam"
    assert ex.flipped
    assert ex.key_set == (0,)
    assert ex.main.new_class == "ham"
    assert set(ex.classes) == {"spam", "ham"}
    assert ex.trail[:2] == (1.0, 0.0)


def test_a_label_that_the_model_never_gave_can_be_asked_for():
    ex = McXai(lambda rows: np.full(len(rows), "a"), baseline=0).explain(np.ones(3), target="b")
    assert (ex.target, ex.predicted) == ("b", "a")
    assert ex.main.kind == "misclassification"
    assert ex.p_target == ex.p_masked == ex.main.p_best == 0
    assert not ex.flipped
    flips = McXai(lambda rows: np.where(rows[:, 0] + rows[:, 1] == 0, "b", "a"), baseline=[0, 0, 9])
    assert set(flips.explain(np.array([1.0, 1.0, 9.0]), target="b", random_state=0).key_set) == {0, 1}


def test_a_label_is_found_as_it_is_spelled():
    explainer = McXai(lambda rows: np.where(p1(rows) > 0.5, "2", "1"), baseline=0)
    assert explainer.explain(np.ones(2), target=1, random_state=0).target == "1"
    assert explainer.explain(np.ones(2), target=3, random_state=0).target == "3"
    codes = McXai(lambda rows: np.where(p1(rows) > 0.5, 20, 10), baseline=0)
    assert codes.explain(np.ones(2), target=10, random_state=0).trail[:2] == (0.0, 1.0)
    # not whichever label happened to come second
    assert codes.explain(np.ones(2), target=1, random_state=0).p_masked == 0


def test_estimators_without_probabilities_can_be_explained():
    x, y = make_classification(100, 4, n_informative=3, n_redundant=0, random_state=0)
    assert McXai(LinearSVC().fit(x, y), baseline=0).explain(x[0], random_state=0).predicted in (0, 1)
    forest = IsolationForest(random_state=0, n_estimators=20).fit(x)
    forest_labels = McXai(forest.predict, baseline=0).explain(x[0], random_state=0)
    assert forest_labels.predicted in (-1, 1)


# 16. Which class, and what it is called


def test_classes_have_names_and_indices():
    predict = lambda rows: 0.3 * p1(rows)  # noqa: E731
    ex = McXai(predict, baseline=0, class_names=["no", "yes"]).explain(np.ones(2), random_state=0)
    assert ex.target == ex.predicted == "no"
    sevens = McXai(lambda rows: p1(rows), baseline=0, class_names=[5, 7])
    assert sevens.explain(np.ones(2), target=7).target == 7
    assert sevens.explain(np.ones(2), target=1).target == 7
    assert McXai(lambda rows: p1(rows), baseline=0, class_names=[1, 0]).explain(np.ones(2), target=1).target == 1
    with pytest.raises(UnknownNameError, match="no class 'maybe'; the classes are 'no', 'yes'"):
        McXai(predict, baseline=0, class_names=["no", "yes"]).explain(np.ones(2), target="maybe")


# 17. Multi-label


def three_labels(rows):
    return np.c_[p1(rows), 1 - p1(rows) / 2, np.full(len(rows), 0.7)]


def test_multilabel_is_about_one_label():
    ex = McXai(three_labels, baseline=0, multilabel=True).explain(np.ones(2), target=0, random_state=0)
    assert ex.flipped
    assert ex.key_set == (0,)
    assert ex.main.new_class == "not 0"
    assert ex.p_target == pytest.approx(p1(np.ones((1, 2)))[0])
    with pytest.raises(InputError, match="multilabel=True"):
        McXai(three_labels, baseline=0).explain(np.ones(2), target=0)
    with pytest.raises(InputError, match="which label"):
        McXai(three_labels, baseline=0, multilabel=True).explain(np.ones(2))


# 19. Nothing flips, or the search never ends


@pytest.mark.parametrize("limits", [{}, {"max_evals": 150}, {"max_seconds": 0.2, "max_evals": 10**6}])
def test_an_answer_exists_where_nothing_flips(limits):
    weights = np.linspace(0.01, 0.03, 30)

    def predict(rows):
        return np.clip(0.6 + 0.3 * rows @ weights / weights.sum() + 0.0 * rows[:, 0], 0, 1)

    ex = McXai(predict, baseline=0, **limits).explain(np.ones(30), random_state=0)
    assert not ex.flipped
    assert ex.key_set == ()
    assert ex.key_sets() == ()
    assert len(ex.best_set) == 30
    assert ex.probability_change == pytest.approx(0.3)
    assert ex.p_masked == pytest.approx(0.6)
    assert ex.n_rows <= limits.get("max_evals", 700)
    assert "no set that was tried" in ex.sentence
    assert ex.values.max() > 0
    assert ex.unit == "probability"


# 20. The model itself raises


def test_the_models_own_error_comes_through():
    def predict(rows):
        if ((rows[:, 0] == 0) & (rows[:, 1] == 1)).any():
            raise ValueError("bad row")
        return np.clip(rows.sum(axis=1) / 4, 0, 1)

    with pytest.raises(PredictorError, match="bad row") as caught:
        McXai(predict, baseline=0).explain(np.ones(4), random_state=0)
    assert isinstance(caught.value.__cause__, ValueError)
    assert 0 in caught.value.masked
    assert 1 not in caught.value.masked
    assert caught.value.partial.n_rows >= 2
    assert caught.value.partial.p_target == 1.0


def test_a_prediction_that_is_none_says_of_whom_and_loses_nothing():
    def predict(rows):
        p = np.clip(rows.sum(axis=1) / 4, 0, 1)
        p[(rows[:, 0] == 0) & (rows[:, 1] == 1)] = np.nan
        return p

    with pytest.raises(InputError, match="returned NaN in") as caught:
        McXai(predict, baseline=0).explain(np.ones(4), random_state=0)
    assert 0 in caught.value.masked
    assert 1 not in caught.value.masked
    assert caught.value.partial.p_target == 1.0


def test_a_model_that_refuses_the_baseline_names_the_column():
    def predict(rows):
        if (rows[:, 0] == 0).any():
            raise ValueError("bad row")
        return np.clip(rows.sum(axis=1) / 4, 0, 1)

    with pytest.raises(PredictorError, match="baseline of 0 is unlike") as caught:
        McXai(predict, baseline=0).explain(np.ones(2))
    assert str(caught.value.__cause__) == "bad row"
    assert caught.value.masked == (0,)


# 21. Memory: one giant batch


@pytest.mark.parametrize("n_backgrounds", [1, 3])
def test_no_call_exceeds_the_batch_size(n_backgrounds):
    sizes = []

    def predict(rows):
        assert len(rows) <= 32
        sizes.append(len(rows))
        return 1 / (1 + np.exp(-(rows[:, :50].sum(axis=1) - 40)))

    row = np.ones(3000, dtype=np.float32)
    groups = [list(range(g * 60, g * 60 + 60)) for g in range(50)]
    space = Tabular(baseline=np.zeros((n_backgrounds, 3000), dtype=np.float32), groups=groups)
    ex = McXai(predict, space, batch_size=32).explain(row, random_state=0)
    assert ex.flipped
    assert sum(sizes) == ex.n_rows
    assert max(sizes) <= 32


# 22. Two runs, two answers


def test_the_seed_decides_and_the_batch_size_does_not():
    x, y = make_classification(300, 14, n_informative=8, random_state=0)
    model = RandomForestClassifier(20, random_state=0).fit(x, y)
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    explainer = McXai(model, baseline=0)
    answers = [explainer.explain(x[0], random_state=3) for _ in range(2)]
    answers += [McXai(model, baseline=0, batch_size=size).explain(x[0], random_state=3) for size in (1, 64)]
    first = write_record(answers[0].main)
    assert first["flipped"]
    assert all(write_record(ex.main) == first for ex in answers)
    assert all(write_record(ex.continuation) == write_record(answers[0].continuation) for ex in answers)
    other = explainer.explain(x[0], random_state=4)
    assert write_record(other.main) != first
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002


# 25. Saving it


def test_explainer_and_result_can_be_saved():
    df, model = people()
    explainer = pickle.loads(pickle.dumps(McXai(model, background=df)))
    ex = explainer.explain(df.iloc[[1]], random_state=0)
    data = json.loads(json.dumps(ex.to_dict(), allow_nan=False))
    back = explanation_from_dict(data)
    assert back.to_dict() == data
    assert back.key_set == ex.key_set
    assert back.players == ex.players
    assert back.trail == ex.trail
    assert np.array_equal(back.values, ex.values)
    assert back.main.text() == ex.main.text()
    with pytest.raises(InputError, match="schema 1"):
        explanation_from_dict({"kind": "mcxai", "schema": 2})
