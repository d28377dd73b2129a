"""Do the values follow exact Shapley values of P(target), and better than win rates or drops of single players?

    python benchmarks/mcxai_importance.py [--rows N] [--instances N]

prints the mean Spearman correlation with exact values (all 4,096 states of 12 players) over instances.
"""

import argparse
import warnings
from collections.abc import Iterator
from math import factorial
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from keyplayers import McXai


def models() -> Iterator[tuple[str, Any, np.ndarray, np.ndarray]]:
    from sklearn.datasets import load_breast_cancer, load_wine, make_classification
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def mlp() -> Any:
        return make_pipeline(StandardScaler(), MLPClassifier((20,), max_iter=500, random_state=0))

    wine, cancer = load_wine(), load_breast_cancer()
    made = make_classification(1000, 12, n_informative=8, n_redundant=2, n_classes=3, random_state=0)
    yield "wine forest", RandomForestClassifier(30, random_state=0), wine.data[:, :12], wine.target
    yield "wine mlp", mlp(), wine.data[:, :12], wine.target
    yield "cancer boosting", HistGradientBoostingClassifier(max_iter=40), cancer.data[:, :12], cancer.target
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    yield "cancer logistic", logistic, cancer.data[:, :12], cancer.target
    yield "made mlp", mlp(), *made
    yield "made forest", RandomForestClassifier(30, random_state=0), *made


def exact(predict: Any, row: np.ndarray, tau: np.ndarray, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values of what masking takes from P(label), and what masking one player alone takes [n]."""
    n = len(row)
    masked = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    p, sizes = predict(np.where(masked, tau, row))[:, label], masked.sum(axis=1)
    share = np.array([factorial(s) * factorial(n - s - 1) / factorial(n) for s in range(n)])
    values = np.empty(n)
    for player in range(n):
        without = np.flatnonzero(~masked[:, player])
        values[player] = share[sizes[without]] @ (p[without] - p[without | 1 << player])
    return values, p[0] - p[1 << np.arange(n)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--instances", type=int, default=12)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    totals: dict[str, list[float]] = {"win rates": [], "values": [], "single drops": []}
    for name, model, x, y in models():
        model.fit(x, y)
        tau = x.mean(axis=0)
        order = np.random.default_rng(0).permutation(len(x))
        chosen = [i for i in order if model.predict(x[i : i + 1])[0] == y[i]][: options.instances]
        found: dict[str, list[float]] = {key: [] for key in totals}
        for row in x[chosen]:
            ex = McXai(model, baseline=tau, max_evals=options.rows).explain(row, random_state=0)
            values, drops = exact(model.predict_proba, row, tau, ex.classes.index(ex.target))
            ours = [ex.win_rates.get(i, 0.0) for i in range(12)]
            for key, scores in zip(totals, (ours, [ex.value(i) for i in range(12)], drops), strict=True):
                found[key].append(spearmanr(scores, values)[0])
        for key in totals:
            totals[key] += found[key]
        print(f"{name:18s} " + "  ".join(f"{key} {np.mean(found[key]):.3f}" for key in totals), flush=True)
    print(f"{'all':18s} " + "  ".join(f"{key} {np.mean(totals[key]):.3f}" for key in totals))


if __name__ == "__main__":
    main()
