"""The decision is the estimator's own: against its predict, on rows of all kinds."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.covariance import EllipticEnvelope
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM

from keyplayers import InputError, PredictionError, PredictorError
from keyplayers.models import Predictor
from keyplayers.models.decisions import Prediction, average
from keyplayers.models.predictor import ROUNDING_OF_MODELS, difference

X, Y = make_classification(150, 5, n_informative=3, flip_y=0.3, class_sep=0.5, random_state=0)
X3, Y3 = make_classification(200, 6, n_informative=4, n_classes=3, flip_y=0.3, class_sep=0.4, random_state=1)
X4, Y4 = make_classification(200, 6, n_informative=4, n_classes=4, flip_y=0.3, class_sep=0.4, random_state=1)
WORDS = np.array(["bad", "good"])[Y]


class OwnRule(ClassifierMixin, BaseEstimator):
    """Somebody's classifier whose predict is not the largest probability."""

    def fit(self, x, y):
        self.inner_ = LogisticRegression().fit(x, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, x):
        return self.inner_.predict_proba(x)

    def predict(self, x):
        return self.classes_[(self.predict_proba(x)[:, 1] > 0.35).astype(int)]


BINARY = [
    LogisticRegression(),
    OwnRule(),
    FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
    FixedThresholdClassifier(LogisticRegression(), threshold=0.9),
    FixedThresholdClassifier(LogisticRegression(), threshold=0.4, pos_label="bad"),
    FixedThresholdClassifier(LogisticRegression(), threshold=0.4, response_method="decision_function"),
    FixedThresholdClassifier(LinearSVC(), threshold=0.4),
    TunedThresholdClassifierCV(LogisticRegression(), cv=3),
    TunedThresholdClassifierCV(LinearSVC(), cv=3),
    make_pipeline(StandardScaler(), FixedThresholdClassifier(LogisticRegression(), threshold=0.3)),
    GridSearchCV(FixedThresholdClassifier(LogisticRegression()), {"threshold": [0.2, 0.25]}, cv=2),
    SVC(probability=True, random_state=0),
    make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)),
    NuSVC(probability=True, random_state=0),
    VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())]),
    StackingClassifier([("a", GaussianNB())], FixedThresholdClassifier(LogisticRegression(), threshold=0.3), cv=2),
    KNeighborsClassifier(4),
    RidgeClassifier(),
    DummyClassifier(),
]
MANY = [
    (SVC(probability=True, random_state=0), X3, Y3),
    (SVC(decision_function_shape="ovo"), X3, Y3),
    (SVC(decision_function_shape="ovo"), X4, Y4),
    (make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")), X3, Y3),
    (OneVsOneClassifier(LinearSVC()), X3, Y3),
    (OneVsRestClassifier(SVC(probability=True, random_state=0)), X3, Y3),
    (MLPClassifier((5,), max_iter=300, tol=1e-2, random_state=0), X4, Y4),
    (RandomForestClassifier(7, random_state=0), X4, Y4),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "x", "y"),
    [*((m, X, WORDS) for m in BINARY), *MANY],
    ids=lambda value: str(value)[:40].split("\n")[0],
)
def test_the_decision_is_what_predict_says(model, x, y):
    model.fit(x, y)
    predictor = Predictor(model)
    said = predictor.decide(predictor.predict(x, len(x)))
    assert [predictor.classes[at] for at in said] == model.predict(x).tolist()
    frozen = Predictor(FrozenEstimator(model))
    assert frozen.decide(frozen.predict(x, len(x))).tolist() == said.tolist()


def test_where_the_rule_is_known_predict_is_not_called():
    for model in (LogisticRegression(), FixedThresholdClassifier(LogisticRegression(), threshold=0.3)):
        predictor = Predictor(model.fit(X, Y))
        assert predictor.predict(X, len(X)).votes is None
        assert predictor.n_calls == 1
    asked = Predictor(OwnRule().fit(X, Y))
    assert asked.predict(X, len(X)).votes is not None
    assert asked.n_calls == 2


@pytest.mark.filterwarnings("ignore:The covariance matrix")
@pytest.mark.parametrize(
    "model", [IsolationForest(n_estimators=10, random_state=0), OneClassSVM(), LocalOutlierFactor(novelty=True),
              EllipticEnvelope(random_state=0)],
)  # fmt: skip
def test_outlier_detectors_have_their_own_labels(model):
    predictor = Predictor(model.fit(X))
    said = predictor.decide(predictor.predict(X, len(X)))
    assert predictor.classes == [-1, 1]
    assert [predictor.classes[at] for at in said] == model.predict(X).tolist()
    assert predictor.index(-1) == 0


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.8])
def test_a_threshold_given_is_the_decision(threshold):
    predictor = Predictor(LogisticRegression().fit(X, Y), threshold=threshold)
    prediction = predictor.predict(X, len(X))
    assert (
        predictor.decide(prediction).tolist() == (prediction.probabilities[:, 1] >= threshold).astype(int).tolist()
    )
    labels = Predictor(lambda rows: np.full((len(rows), 3), [0.1, 0.3, 0.9]), multilabel=True, threshold=threshold)
    found = labels.predict(X, len(X))
    on = [int(labels.decide(found, label)[0] == label) for label in range(3)]
    assert on == [int(p >= threshold) for p in (0.1, 0.3, 0.9)]


@pytest.mark.parametrize("threshold", [0, 1, 1.5, -0.1, True, "half", float("nan")])
def test_a_threshold_is_a_probability(threshold):
    with pytest.raises(InputError, match="threshold must be a probability between 0 and 1"):
        Predictor(lambda rows: rows, threshold=threshold)


def test_a_threshold_needs_two_classes_and_probabilities():
    with pytest.raises(PredictionError, match="the model gives 3 classes"):
        Predictor(LogisticRegression().fit(X3, Y3), threshold=0.4)(X3, len(X3))
    with pytest.raises(InputError, match="this model gives labels"):
        Predictor(lambda rows: rows[:, 0] > 0, output="label", threshold=0.4)


def test_the_estimators_threshold_gives_way_to_the_callers():
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.9).fit(X, Y)
    predictor = Predictor(model, threshold=0.2)
    prediction = predictor.predict(X, len(X))
    assert predictor.decide(prediction).tolist() == (prediction.probabilities[:, 1] >= 0.2).astype(int).tolist()


@pytest.mark.parametrize("make", [LinearRegression, HistGradientBoostingRegressor])
def test_a_regressor_is_refused_whatever_it_predicts(make):
    model = make().fit(X, Y * 100)
    for given in (model, make_pipeline(StandardScaler(), make()).fit(X, Y * 100)):
        for output in ("proba", "label"):
            with pytest.raises(InputError, match=r"is a regressor, and McXai explains classes"):
                Predictor(given, output)


@pytest.mark.parametrize("given", [None, "model", 5, StandardScaler(), LogisticRegression, [LogisticRegression()]])
def test_what_is_no_model_is_refused(given):
    with pytest.raises(InputError, match="predict must be a function of a batch of rows or a fitted estimator"):
        Predictor(given)


def test_clusters_are_classes():
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    predictor = Predictor(model)
    said = predictor.decide(predictor.predict(X, len(X)))
    assert [predictor.classes[at] for at in said] == model.predict(X).tolist()


def test_several_outputs_are_labels_or_refused():
    x, y = make_multilabel_classification(120, 5, n_classes=3, random_state=0)
    for model in (
        MultiOutputClassifier(LogisticRegression()),
        RandomForestClassifier(8, random_state=0),
        OneVsRestClassifier(LogisticRegression()),
        KNeighborsClassifier(3),
        MLPClassifier((4,), max_iter=50, tol=1, random_state=0),
    ):
        model.fit(x, y)
        predictor = Predictor(model, multilabel=True)
        prediction = predictor.predict(x, len(x))
        assert prediction.probabilities.shape == y.shape
        for label in range(3):
            assert ((predictor.decide(prediction, label) == label) == model.predict(x)[:, label]).all()
    with pytest.raises(PredictionError, match=r"the model has 3 outputs \(\(120, 2\), .*multilabel=True"):
        Predictor(RandomForestClassifier(3, random_state=0).fit(x, y))(x, len(x))
    two = RandomForestClassifier(3, random_state=0).fit(X3, np.c_[Y3, Y3])
    with pytest.raises(PredictionError, match="two probabilities each"):
        Predictor(two, multilabel=True)(X3, len(X3))


def test_sparse_outputs_and_frames_are_read():
    sparse = pytest.importorskip("scipy.sparse")
    p = np.array([[0.25, 0.75], [1.0, 0.0]])
    for given in (sparse.csr_matrix(p), sparse.coo_array(p), pd.DataFrame(p), p.tolist()):
        assert Predictor(lambda rows, given=given: given)(None, 2).tolist() == p.tolist()


def test_votes_of_background_rows_are_counted():
    p = np.array([[0.9, 0.1], [0.45, 0.55], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3], [0.6, 0.4]])
    votes = np.eye(2)[[0, 1, 1, 1, 0, 0]]
    state = average([Prediction(p[:2], votes[:2]), Prediction(p[2:], votes[2:])], 3)
    assert state.probabilities == pytest.approx(np.array([[0.58333, 0.41667], [0.5, 0.5]]), abs=1e-5)
    predictor = Predictor(lambda rows: rows)
    assert predictor.decide(state).tolist() == [1, 0]
    # split votes: the likelier class
    assert predictor.decide(average([Prediction(p[2:4], np.eye(2))], 2)).tolist() == [1]
    assert predictor.decide(p).tolist() == [0, 1, 1, 1, 0, 0]


def test_a_model_that_answers_differently_each_time_is_noticed():
    rng = np.random.default_rng(0)
    noisy = Predictor(lambda rows: np.clip(0.5 + rng.normal(0, 0.05, len(rows)), 0, 1))
    assert difference(noisy(X, len(X)), noisy(X, len(X))) > ROUNDING_OF_MODELS
    p = Predictor(LogisticRegression().fit(X, Y))(X, len(X))
    assert difference(p, p + 0.9 * ROUNDING_OF_MODELS) == 0
    labels = iter([["a", "b"], ["a", "c"]])
    model = Predictor(lambda rows: next(labels))
    assert difference(model(X[:2], 2), model(X[:2], 2)) == 1


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_reach_the_model_in_the_order_that_it_was_fitted_on(make):
    columns = {name: X[:, at] for at, name in enumerate("abcde")}
    model = LogisticRegression().fit(make(columns), Y)
    expected = model.predict_proba(make(columns))
    for given in (model, make_pipeline(StandardScaler(), LogisticRegression()).fit(make(columns), Y)):
        right = given.predict_proba(make(columns))
        assert Predictor(given)(make(dict(reversed(columns.items()))), len(X)) == pytest.approx(right)
    assert Predictor(model)(make(columns), len(X)) == pytest.approx(expected)
    with pytest.raises(PredictorError, match="feature names"):
        Predictor(model)(make({f"{name}{name}": x for name, x in columns.items()}), len(X))
