"""Models of other libraries, each with the real package; skipped where it is not installed."""

import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import keyplayers as kp
from keyplayers import FileFormatError, InputError, PredictionError, PredictorError
from keyplayers.models import Predictor, load_predictor
from keyplayers.models.predictor import difference

X, Y = make_classification(200, 4, n_informative=3, n_redundant=0, random_state=0)
X3, Y3 = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)


def asked(model, rows, **settings):
    return Predictor(model, **settings)(rows, len(rows))


# torch


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def dropping(torch, n_out=2, **dtype):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Dropout(0.5)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(16, n_out)).to(**dtype)


def test_a_torch_module_is_asked_in_evaluation_mode_and_left_as_it_was(torch):
    model = dropping(torch)
    model.train()
    model[3].eval()  # a part that was evaluated stays so
    modes = [part.training for part in model.modules()]
    state = {name: value.clone() for name, value in model.state_dict().items()}
    seen = []
    model[0].register_forward_hook(lambda part, given, out: seen.append((given[0].dtype, torch.is_grad_enabled())))
    p = asked(model, X[:6], output="logits")
    assert [part.training for part in model.modules()] == modes
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert seen == [(torch.float32, False)]
    model.eval()
    with torch.no_grad():
        expected = torch.softmax(model(torch.tensor(X[:6], dtype=torch.float32)).double(), dim=1).numpy()
    assert p == pytest.approx(expected, abs=1e-6)
    predictor = Predictor(model.train(), "logits")
    assert difference(predictor(X, len(X)), predictor(X, len(X))) == 0


def test_a_torch_module_that_raises_is_left_as_it_was(torch):
    model = dropping(torch)
    with pytest.raises(PredictorError, match="the model raised RuntimeError"):
        asked(model, X3[:6], output="logits")
    assert model.training
    assert model[3].training


def test_precision_and_outputs_of_torch_modules(torch):
    for dtype in (torch.float64, torch.bfloat16):
        p = asked(dropping(torch, dtype=dtype), X[:5], output="logits")
        assert p.shape == (5, 2)
    one = asked(dropping(torch, n_out=1), X[:5], output="logits")
    assert one.shape == (5, 2)
    closed = torch.nn.Sequential(dropping(torch), torch.nn.Softmax(dim=1))
    frame = pd.DataFrame(X[:5], columns=list("abcd"))
    for rows in (X[:5], X[:5].astype(np.float32), frame, frame.astype("Float64"), X[:5].astype(object)):
        assert asked(closed, rows) == pytest.approx(asked(closed, X[:5]))

    class Several(torch.nn.Module):
        def forward(self, rows):
            return rows[:, :2], rows[:, 2:]

    assert asked(Several(), X[:5], output="logits").shape == (5, 2)
    with pytest.raises(PredictionError, match="output='logits'"):
        asked(dropping(torch), 100 * X[:5])
    with pytest.raises(PredictorError, match="a torch module takes numbers, the rows hold object"):
        asked(closed, np.array([["a", 1, 2, 3]], dtype=object))


def test_a_torch_module_is_explained(torch):
    model = torch.nn.Linear(3, 2)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.0, 0, 0], [4.0, 1.0, 0]]))
        model.bias.copy_(torch.tensor([0.0, -2.0]))
    ex = kp.McXai(model, baseline=0, output="logits").explain(np.array([1.0, 1.0, 1.0]), random_state=0)
    assert ex.key_set == (0,)
    assert ex.predicted == 1
    back = Predictor(pickle.loads(pickle.dumps(model)), "logits")
    assert back(X[:2, :3], 2) == pytest.approx(asked(model, X[:2, :3], output="logits"))


def test_a_torch_module_may_be_asked_by_several_threads(torch):
    model = dropping(torch)
    expected = asked(model, X, output="logits")
    found = []
    threads = [threading.Thread(target=lambda: found.append(asked(model, X, output="logits"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(np.array_equal(p, expected) for p in found)
    assert model.training


# XGBoost


@pytest.fixture
def xgboost():
    return pytest.importorskip("xgboost")


@pytest.mark.parametrize(
    ("objective", "x", "y"),
    [("binary:logistic", X, Y), ("binary:logitraw", X, Y), ("multi:softprob", X3, Y3), ("multi:softmax", X3, Y3)],
)
def test_xgboost_boosters_of_classes(xgboost, objective, x, y):
    many = {"num_class": 3} if objective.startswith("multi") else {}
    settings = {"max_depth": 3, "nthread": 1, "objective": objective} | many
    names = [f"c{i}" for i in range(x.shape[1])]
    frame = pd.DataFrame(x, columns=names)
    booster = xgboost.train(settings, xgboost.DMatrix(frame, y), 8)
    scores = booster.predict(xgboost.DMatrix(frame), output_margin=True).astype(float)
    scores = scores if many else np.c_[np.zeros(len(x)), scores]
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    for rows in (frame, x):
        assert asked(booster, rows) == pytest.approx(expected, abs=1e-5)
    ex = kp.McXai(booster, background=frame).explain(frame.iloc[[0]], random_state=0)
    assert ex.predicted == asked(booster, frame.iloc[[0]]).argmax()


def test_xgboost_boosters_of_numbers_are_refused(xgboost):
    for objective in ("reg:squarederror", "count:poisson", "rank:pairwise"):
        booster = xgboost.train({"objective": objective, "nthread": 1}, xgboost.DMatrix(X, Y), 2)
        with pytest.raises(InputError, match=f"the booster's objective is {objective}"):
            Predictor(booster)


def test_the_estimators_of_boosting_libraries_decide_by_a_rule(xgboost):
    lightgbm = pytest.importorskip("lightgbm")
    frame = pd.DataFrame(X3, columns=list("abcde"))
    for model in (xgboost.XGBClassifier(n_estimators=5, n_jobs=1),
                  lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)):  # fmt: skip
        model.fit(frame, Y3)
        predictor = Predictor(model)
        prediction = predictor.predict(frame, len(frame))
        assert prediction.votes is None
        assert predictor.decide(prediction).tolist() == model.predict(frame).tolist()
    with pytest.raises(InputError, match="XGBRegressor is a regressor"):
        Predictor(xgboost.XGBRegressor(n_estimators=2).fit(X, Y))


# LightGBM


@pytest.mark.parametrize(
    ("objective", "x", "y"), [("binary", X, Y), ("multiclass", X3, Y3), ("multiclassova", X3, Y3)]
)
@pytest.mark.parametrize("from_text", [False, True])
def test_lightgbm_boosters_of_classes(objective, x, y, from_text):
    lightgbm = pytest.importorskip("lightgbm")
    many = {} if objective == "binary" else {"num_class": 3}
    settings = {"objective": objective, "verbose": -1, "num_threads": 1} | many
    booster = lightgbm.train(settings, lightgbm.Dataset(x, y), 6)
    if from_text:
        booster = lightgbm.Booster(model_str=booster.model_to_string())
    p = asked(booster, x)
    raw = booster.predict(x)
    expected = np.c_[1 - raw, raw] if objective == "binary" else raw / raw.sum(axis=1, keepdims=True)
    assert p == pytest.approx(expected)
    assert kp.McXai(booster, background=x).explain(x[0], random_state=0).predicted == expected[0].argmax()


def test_lightgbm_boosters_of_numbers_are_refused():
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.train(
        {"objective": "regression", "verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, Y), 2
    )
    with pytest.raises(InputError, match="the booster's objective is regression"):
        Predictor(booster)


# ONNX


@pytest.fixture
def onnx(tmp_path):
    """Writes a scikit-learn model as a file in ONNX."""
    pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")

    def write(model, types, **options):
        path = tmp_path / "model.onnx"
        options = {id(model): options} if options else None
        path.write_bytes(skl2onnx.to_onnx(model, initial_types=types, options=options).SerializeToString())
        return str(path)

    return write


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zipmap", [True, False])
def test_a_file_in_onnx_is_a_model(onnx, zipmap):
    from skl2onnx.common.data_types import FloatTensorType

    words = np.array(["bad", "fair", "good"])[Y3]
    model = LogisticRegression(max_iter=500).fit(X3, words)
    path = onnx(model, [("rows", FloatTensorType([None, 5]))], zipmap=zipmap)
    loaded = load_predictor(path)
    p = asked(loaded, X3)
    assert p == pytest.approx(model.predict_proba(X3), abs=1e-5)
    predictor = Predictor(loaded)
    predictor(X3[:2], 2)
    assert predictor.classes == (["bad", "fair", "good"] if zipmap else [0, 1, 2])
    assert asked(pickle.loads(pickle.dumps(loaded)), X3[:3]) == pytest.approx(p[:3])
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert asked(session, X3) == pytest.approx(p)
    assert Predictor(session).classes == (["bad", "fair", "good"] if zipmap else [])
    many = kp.explain_many(kp.McXai(loaded, background=X3), X3[:2], random_state=0, n_jobs=1)
    assert [many[i].predicted for i in (0, 1)] == [predictor.classes[at] for at in p[:2].argmax(axis=1)]


@pytest.mark.filterwarnings("ignore")
def test_a_model_in_onnx_may_take_its_columns_one_by_one(onnx):
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    frame = pd.DataFrame({"age": [20.0, 50, 30, 60], "city": ["a", "b", "b", "a"]})
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(sparse_output=False), ["city"]), remainder="passthrough"),
        LogisticRegression(),
    ).fit(frame, [0, 1, 0, 1])
    types = [("age", FloatTensorType([None, 1])), ("city", StringTensorType([None, 1]))]
    loaded = load_predictor(onnx(model, types))
    for rows in (frame, frame[["city", "age"]], frame.to_numpy(dtype=object)):
        assert asked(loaded, rows) == pytest.approx(model.predict_proba(frame), abs=1e-5)
    with pytest.raises(PredictorError, match="inputs age, which the rows lack|inputs age"):
        asked(loaded, frame[["city"]])


def test_what_is_no_onnx_is_said(tmp_path):
    pytest.importorskip("onnxruntime")
    (tmp_path / "bad.onnx").write_text("no model")
    with pytest.raises(FileFormatError, match=r"bad\.onnx: not an ONNX model"):
        load_predictor(str(tmp_path / "bad.onnx"))
    with pytest.raises(FileFormatError, match=r"gone\.onnx: no such file"):
        load_predictor(str(tmp_path / "gone.onnx"))


# like Keras: an object that is called, and gives tensors


class Tensor:
    def __init__(self, values):
        self.values = values

    def numpy(self):
        return self.values


class LikeKeras:
    def __call__(self, rows):
        return Tensor(1 / (1 + np.exp(-rows.sum(axis=1, keepdims=True))).astype(np.float32))

    def predict(self, rows):
        raise AssertionError("shows a bar of progress")


def test_an_object_that_is_called_and_gives_tensors():
    assert asked(LikeKeras(), X)[:, 1] == pytest.approx(1 / (1 + np.exp(-X.sum(axis=1))), abs=1e-6)
