"""Classifiers, instances and mask values on which the search of McXai is measured.

Each problem is fitted with fixed seeds. What scikit-learn ships is always there; the other data sets are read
from a folder that holds ``cora/cora.npz`` and ``<name>/<name>.csv.gz``, and are left out without it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Case:
    """One instance and what is asked of it."""

    predict: Predict  # [B, n] -> [B, K] probabilities
    row: np.ndarray  # [n]
    label: int  # the class that the games are about
    minimum: int | None = None  # size of the smallest flip set, where it is known by construction


@dataclass(frozen=True)
class Problem:
    """A fitted classifier and the rows to explain."""

    name: str
    tau: np.ndarray  # [n] what masking puts in
    correct: list[Case]  # correctly classified: mask until the class changes
    wrong: list[Case] = field(default_factory=list)  # misclassified: mask until the true class is predicted
    background: np.ndarray | None = None  # [R, n] training rows, for rivals that need some


def problems(data: Path | None, n_instances: int = 50, only: str = "") -> Iterator[Problem]:
    """The problems, fitted one at a time; those whose name does not hold `only` are skipped."""
    for name, (load, model, tau) in _FITTED.items():
        if only in name:
            loaded = load(data)
            if loaded is not None:
                yield _fit(name, *loaded, model(), tau, n_instances)
    for size, name in ((2, "acts together, pairs"), (3, "acts together, triples")):
        if only in name:
            yield acts_together(size, name, n_instances)


def acts_together(size: int, name: str, n_instances: int = 50, n_players: int = 40, n_decoys: int = 8) -> Problem:
    """Classifiers whose smallest flip set acts only together.

    Masking all of `size` hidden players flips the class and masking fewer of them changes next to nothing,
    while each of the decoys lowers the probability alone, and it takes more than `size` of them to flip it.
    """
    cases = []
    for seed in range(n_instances):
        rng = np.random.default_rng([size, seed])
        players = rng.permutation(n_players)
        hidden, decoys, rest = np.split(players, [size, size + n_decoys])
        shares = rng.uniform(0.7, 1.3, n_decoys)
        # size + 1 of the strongest decoys fall just short of flipping, one more does it
        shares *= 4.0 / np.sort(shares)[::-1][: size + 1].sum() * rng.uniform(0.85, 0.99)
        weights = np.zeros(n_players)
        weights[decoys] = shares
        weights[rest] = rng.normal(0, 0.05, len(rest))
        weights[hidden] = rng.normal(0, 0.05, size)
        row = rng.uniform(0.5, 1.5, n_players)
        cases.append(Case(_Redundant(weights, hidden), row, 1, size))
    background = np.random.default_rng(0).uniform(0.5, 1.5, (100, n_players))
    return Problem(name, np.zeros(n_players), cases, background=background)


@dataclass(frozen=True)
class _Redundant:
    """The hidden players say the same thing: as long as one of them is there, nothing is lost."""

    weights: np.ndarray
    hidden: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        gone = rows == 0
        logit = 4.0 - gone @ self.weights - 9.0 * gone[:, self.hidden].all(1)
        p = 1 / (1 + np.exp(-logit))
        return np.column_stack([1 - p, p])


def _fit(name: str, x: np.ndarray, y: np.ndarray, model: Any, tau: str, n_instances: int) -> Problem:
    from sklearn.model_selection import train_test_split

    train, test, y_train, y_test = train_test_split(x, y, test_size=0.5, random_state=0, stratify=y)
    model.fit(train, y_train)
    rng = np.random.default_rng(1)
    predicted = model.predict_proba(test).argmax(1)
    truth = np.searchsorted(model.classes_, y_test)
    order = rng.permutation(len(test))
    right, wrong = (order[(predicted == truth)[order] == ok][:n_instances] for ok in (True, False))
    return Problem(
        name,
        train.mean(0) if tau == "mean" else np.zeros(x.shape[1]),
        [Case(model.predict_proba, test[i], int(truth[i])) for i in right],
        [Case(model.predict_proba, test[i], int(truth[i])) for i in wrong],
        train[rng.choice(len(train), min(100, len(train)), replace=False)],
    )


def _shipped(loader: str) -> Callable[[Path | None], tuple[np.ndarray, np.ndarray]]:
    def load(data: Path | None) -> tuple[np.ndarray, np.ndarray]:
        import sklearn.datasets

        return getattr(sklearn.datasets, loader)(return_X_y=True)

    return load


def _table(file: str) -> Callable[[Path | None], tuple[np.ndarray, np.ndarray] | None]:
    def load(data: Path | None) -> tuple[np.ndarray, np.ndarray] | None:
        if data is None or not (data / file).exists():
            return None
        import pandas as pd

        table = pd.read_csv(data / file)
        labels = table.pop("label").to_numpy()
        common = table.groupby(labels)[table.columns[0]].transform("size").to_numpy() >= 20
        table, labels = table[common].copy(), labels[common]
        for column in table.columns:
            if not pd.api.types.is_numeric_dtype(table[column]):
                table[column] = table[column].astype("category").cat.codes
        return table.to_numpy(dtype=float), labels

    return load


def _cora(data: Path | None) -> tuple[np.ndarray, np.ndarray] | None:
    if data is None or not (data / "cora/cora.npz").exists():
        return None
    from scipy.sparse import csr_matrix

    z = np.load(data / "cora/cora.npz")
    x = csr_matrix((z["x_data"], z["x_indices"], z["x_indptr"]), shape=z["x_shape"])
    return x.toarray().astype(float), z["labels"]


def _mlp() -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), MLPClassifier((32,), max_iter=100, alpha=1e-3, tol=1e-3, random_state=0))


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(50, random_state=0)


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=50, random_state=0)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _svm() -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), ensemble=False)


_DIGITS, _CANCER, _WINE = (_shipped(f"load_{name}") for name in ("digits", "breast_cancer", "wine"))

_FITTED: dict[str, tuple[Callable[[Path | None], Any], Callable[[], Any], str]] = {
    "digits mlp": (_DIGITS, _mlp, "0"),
    "digits forest": (_DIGITS, _forest, "0"),
    "breast cancer logistic, mean": (_CANCER, _logistic, "mean"),
    "breast cancer logistic, 0": (_CANCER, _logistic, "0"),
    "breast cancer boosting, mean": (_CANCER, _boosting, "mean"),
    "breast cancer boosting, 0": (_CANCER, _boosting, "0"),
    "wine svm": (_WINE, _svm, "mean"),
    "wine forest": (_WINE, _forest, "mean"),
    "cora mlp": (_cora, _mlp, "0"),
    "covertype boosting": (_table("covertype/covertype.csv.gz"), _boosting, "mean"),
    "kddcup99 boosting": (_table("kddcup99/kddcup99_sample.csv.gz"), _boosting, "mean"),
    "spambase forest": (_table("spambase/spambase.csv.gz"), _forest, "mean"),
}
