"""The classifiers of the golden files as plain NumPy functions, and what is asked of each.

Their weights (`classifiers.npz`, see fit.py) and features are whole numbers, and instead of an exponential they
have x / (1 + |x|), so that every processor and every version of NumPy gives the same bits.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import keyplayers as kp

WEIGHTS = Path(__file__).with_name("classifiers.npz")
TEXTBOOK = {"widening": None, "rollout": "random", "parallel_leaves": 1, "surrogate": "none"}


@dataclass(frozen=True)
class Problem:
    """A classifier, instances, and how they are explained."""

    name: str
    predict: Any
    instances: list  # (row, target or None) each
    settings: dict
    space: Any = None
    more: list = field(default_factory=list)  # further settings, tried on the first instance

    def explain(self):
        """Name of a run -> JSON form of an explanation."""
        for i, (row, target) in enumerate(self.instances):
            yield f"{self.name} {i}", lambda i=i, r=row, t=target: self._explain(r, t, self.settings, i)
        for more in self.more:
            name = " ".join(f"{key}={value}" for key, value in more.items())
            row, target = self.instances[0]
            yield (
                f"{self.name} {name}",
                lambda m=more, r=row, t=target: self._explain(r, t, self.settings | m, 0),
            )

    def _explain(self, row, target, settings, seed):
        explainer = kp.McXai(self.predict, self.space, **settings)
        return explainer.explain(row, target=target, random_state=seed).to_dict()


@cache
def weights():
    with np.load(WEIGHTS) as arrays:
        return {name: arrays[name].astype(np.float64) for name in arrays.files}


def squashed(scores):
    """Scores of any size as numbers in (0, 1), by IEEE's basic operations alone."""
    return 0.5 + 0.5 * scores / (1 + np.abs(scores))


def shares(scores):
    """[B, K] probabilities whose order is that of the scores."""
    parts = squashed(scores) ** 2
    total = parts[:, 0].copy()
    for column in parts.T[1:]:
        total += column
    return parts / total[:, None]


def digits_logistic(rows):
    w = weights()
    return shares((rows @ w["digits_logistic_weights"] + w["digits_logistic_bias"]) / 1024)


def digits_mlp(rows):
    return shares(mlp("digits", rows))


def mlp(name, rows):
    w = weights()
    hidden = np.maximum(rows @ w[f"{name}_mlp_weights1"] + w[f"{name}_mlp_bias1"] * _UNIT[name], 0)
    scale = _UNIT[name] * (1024 if name == "digits" else 256)
    return (hidden @ w[f"{name}_mlp_weights2"] + w[f"{name}_mlp_bias2"] * scale) / (256 * scale)


# units of one in the features: digits are whole, standardised columns count 64ths
_UNIT = {"digits": 1, "iris": 64}


def iris_mlp(rows):
    return shares(mlp("iris", rows))


def cancer_logistic(rows):
    w = weights()
    return squashed((rows @ w["cancer_logistic_weights"] + 64 * w["cancer_logistic_bias"]) / (64 * 256))


def tree_sum(packed, rows):
    """[B] sum of the trees' values, in 1024ths."""
    total = np.zeros(len(rows))
    for tree in packed:
        feature, threshold, left, right = tree[:, :4].astype(int).T
        at = np.zeros(len(rows), dtype=int)
        for _ in range(5):  # no tree is deeper
            go_left = rows[np.arange(len(rows)), feature[at]] <= threshold[at]
            at = np.where(go_left, left[at], right[at])
        total += tree[at, 4]
    return total


def cancer_forest(rows):
    packed = weights()["cancer_forest"]
    p = tree_sum(packed, rows) / (1024 * len(packed))
    return np.column_stack([1 - p, p])


def cancer_boosting(rows):
    return tree_sum(weights()["cancer_boosting"], rows) / 1024 + 0.5


def wine_neighbours(rows):
    """Labels: the majority among the five nearest, the nearer first where distances tie."""
    w = weights()
    distances = ((rows[:, None] - w["wine_train"][None]) ** 2).sum(2)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :5]
    votes = (w["wine_train_labels"][nearest][:, :, None] == np.arange(3)).sum(1)
    return np.array(["barolo", "grignolino", "barbera"])[votes.argmax(1)]


def wine_bayes(rows):
    """Log-probabilities."""
    w = weights()
    squares = rows**2 @ w["wine_bayes_squares"]
    scores = (rows @ w["wine_bayes_weights"] * 64 - squares) / (64 * 64 * 256) + w["wine_bayes_bias"] / 256
    return np.log(shares(scores / 4))


def wine_svc(rows):
    """Margins of one class against the others."""
    w = weights()
    total = np.full(len(rows), w["wine_svc_bias"][0])
    for vector, weight in zip(w["wine_svc_rows"], w["wine_svc_weights"], strict=True):
        total += weight / (1 + ((rows - vector) ** 2).sum(1) / (8 * 64 * 64))
    return 2 * total / 1024


def together(rows):
    """Two of 40 players say the same thing; ten decoys take more of them to flip the class."""
    gone = rows == 0
    lost = gone[:, 5:15] @ np.array([90, 85, 80, 77, 75, 71, 66, 60, 52, 45.0])
    lost += gone @ np.array([(7 * i) % 11 for i in range(40)]) / 4 - 600.0 * (gone[:, 21] & gone[:, 33])
    return squashed((260 - lost - 1200.0 * (gone[:, 21] & gone[:, 33])) / 64)


def labels_on(rows):
    """Three labels that are on or off independently."""
    matrix = np.array([[3, -2, 0], [2, 1, -1], [-1, 4, 2], [0, 1, 3], [-4, 0, 2], [1, 1, -5]])
    return squashed((rows @ matrix - np.array([3, 4, 1])) / 4)


def credit(frame):
    """Scores of a frame with texts, categories, booleans, whole numbers and missing values."""
    columns = {name: list(frame[name]) for name in ("age", "income", "job", "home", "married", "debt")}
    scores = []
    for age, income, job, home, married, debt in zip(*columns.values(), strict=True):
        score = (float(age) - 40) / 8 + (0.0 if income is None or income != income else float(income) / 1024 - 2)
        score += {"clerk": 0.5, "nurse": 1.25, "artist": -1.5}.get(job, 0.0)
        score += {"own": 1.5, "rent": -0.75}.get(home, 0.0) * (2.0 if married else 0.5)
        score -= 2.5 if debt > 3 and not married else 0.25 * debt
        scores.append(score)
    return squashed(np.array(scores))


def credit_table():
    return {
        "age": [52, 23, 37, 61, 44, 30],
        "income": [4096.0, 512.0, float("nan"), 2560.0, 3072.0, 1024.0],
        "job": ["nurse", "artist", "clerk", "clerk", "artist", "nurse"],
        "home": ["own", "rent", "rent", "own", "rent", "rent"],
        "married": [True, False, False, True, True, False],
        "debt": [1, 5, 2, 0, 7, 4],
    }


def problems():
    """All of them."""
    yield from _digits()
    yield from _cancer()
    yield from _wine_and_iris()
    yield from _made()
    yield from _frames()


def _digits():
    rows, labels = weights()["digits_rows"], weights()["digits_labels"].astype(int)
    predicted = digits_mlp(rows).argmax(1)
    wrong = [(rows[i], int(labels[i])) for i in np.flatnonzero(predicted != labels)[:3]]
    yield Problem("digits logistic", digits_logistic, [(rows[i], None) for i in (3, 4)], {"baseline": 0})
    yield Problem(
        "digits mlp",
        digits_mlp,
        [(rows[i], None) for i in (0, 1, 2)],
        {"baseline": 0},
        more=[
            {"max_evals": 90},
            {"max_evals": 2000},
            {"batch_size": 7},
            {"surrogate": "drop"},
            {"surrogate": "regression", "max_evals": 400},
            {"surrogate": "none", "rollout": "random"},
            {"widening": (2, 0.5), "share_orders": True, "eta": 0.2, "exploration": 0.7},
            {"parallel_leaves": 3, "depth": 4},
            TEXTBOOK | {"max_evals": 500, "depth": 8},
        ],
    )
    yield Problem("digits mlp, misclassified", digits_mlp, wrong, {"baseline": 0})


def _cancer():
    w = weights()
    rows, labels, background = w["cancer_rows"], w["cancer_labels"].astype(int), w["cancer_background"]
    some = [(rows[i], None) for i in (0, 1, 5)]
    wrong = np.flatnonzero((cancer_forest(rows)[:, 1] > 0.5) != labels)[:2]
    names = [f"{part} {i}" for part in ("mean", "error", "worst") for i in range(10)]
    groups = {f"cell {i}": [f"{part} {i}" for part in ("mean", "error", "worst")] for i in range(10)}
    yield Problem(
        "cancer logistic, rows of background",
        cancer_logistic,
        some[:2],
        {"class_names": ["malignant", "benign"]},
        kp.Tabular(baseline="background", background=background[:8], feature_names=names),
        [{"max_evals": 700}],
    )
    yield Problem(
        "cancer forest, groups",
        cancer_forest,
        some,
        {"max_evals": 60},
        kp.Tabular(baseline="median", background=background, feature_names=names, groups=groups),
        [{"max_evals": "auto"}],
    )
    yield Problem(
        "cancer forest, misclassified",
        cancer_forest,
        [(rows[i], int(labels[i])) for i in wrong],
        {"baseline": background[3]},
    )
    yield Problem("cancer boosting", cancer_boosting, some, {"output": "logits", "background": background[:1]})


def _wine_and_iris():
    w = weights()
    wine, iris = w["wine_rows"], w["iris_rows"]
    train = {"baseline": "median", "background": w["wine_train"]}
    yield Problem(
        "wine neighbours", wine_neighbours, [(wine[i], None) for i in (0, 40)], train | {"output": "label"}
    )
    yield Problem("wine neighbours, target", wine_neighbours, [(wine[70], "barolo")], train | {"output": "label"})
    yield Problem(
        "wine bayes", wine_bayes, [(wine[i], None) for i in (2, 45, 80)], train | {"output": "log_proba"}
    )
    yield Problem("wine svc", wine_svc, [(wine[i], None) for i in (3, 50)], train | {"output": "logits"})
    yield Problem(
        "iris mlp",
        iris_mlp,
        [(iris[i], None) for i in (0, 30, 60)],
        {"baseline": 0, "class_names": ["setosa", "versicolor", "virginica"]},
        more=[TEXTBOOK | {"max_evals": 40}],
    )


def _made():
    yield Problem(
        "together",
        together,
        [(np.ones(40), None), (np.where(np.arange(40) % 7 == 6, 0.0, 2.0), None)],
        {"baseline": 0},
        more=[{"max_evals": 3000}, {"max_evals": 120}],
    )
    row = np.array([1.0, 2, 1, 1, 0, 1])
    yield Problem(
        "labels on or off",
        labels_on,
        [(row, 0), (row, 1), (row[::-1].copy(), "c")],
        {"baseline": [0, 0, 0, 0, 1, 0], "multilabel": True, "class_names": ["a", "b", "c"]},
    )


def _frames():
    import pandas as pd
    import polars as pl

    table = pd.DataFrame(credit_table())
    table["home"] = table["home"].astype("category")
    tau = {"age": "mean", "income": "missing", "job": "most_frequent", "home": "rent", "married": False, "debt": 3}
    yield Problem(
        "credit, pandas",
        credit,
        [(table.iloc[[i]], None) for i in (0, 1)],
        {},
        kp.Tabular(baseline=tau, background=table.astype({"age": float}), groups={"person": ["age", "married"]}),
    )
    frame = pl.DataFrame(credit_table())
    yield Problem(
        "credit, polars",
        credit,
        [(frame[i : i + 1], None) for i in (3, 4)],
        {"max_evals": 300},
        kp.Tabular(baseline="background", background=frame[:3]),
    )
