"""Rankings of players by LIME, SHAP and shapiq, each with a budget of 2,000 rows, as a user would call them."""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from mcxai_problems import Case, Problem

BUDGET = 2000

Rank = Callable[[Case, Problem, int], tuple[list[int], int]]


class _Counting:
    """P(label) of masked rows; counts the rows."""

    def __init__(self, case: Case, tau: np.ndarray) -> None:
        self.case, self.tau, self.rows = case, tau, 0

    def predict(self, rows: np.ndarray) -> np.ndarray:
        self.rows += len(rows)
        return self.case.predict(rows)

    def worth(self, present: np.ndarray) -> np.ndarray:
        """P(label) with the players [B, n] present, the others at tau."""
        return self.predict(np.where(present.astype(bool), self.case.row, self.tau))[:, self.case.label]


def _order(values: np.ndarray) -> list[int]:
    return np.argsort(-values, kind="stable").tolist()


def lime(case: Case, problem: Problem, seed: int) -> tuple[list[int], int]:
    from lime.lime_tabular import LimeTabularExplainer

    model = _Counting(case, problem.tau)
    explainer = LimeTabularExplainer(problem.background, discretize_continuous=False, random_state=seed)
    found = explainer.explain_instance(
        case.row, model.predict, labels=(case.label,), num_samples=BUDGET, num_features=len(case.row)
    )
    values = np.zeros(len(case.row))
    for player, weight in found.as_map()[case.label]:
        # a linear weight speaks of the distance from the baseline
        values[player] = weight * np.sign(case.row[player] - problem.tau[player])
    return _order(values), model.rows


def kernel_shap(case: Case, problem: Problem, seed: int) -> tuple[list[int], int]:
    import shap

    model = _Counting(case, problem.tau)
    np.random.seed(seed)  # noqa: NPY002
    explainer = shap.KernelExplainer(lambda rows: model.predict(rows)[:, case.label], problem.tau[None])
    return _order(explainer.shap_values(case.row, nsamples=BUDGET, silent=True)), model.rows


def permutation_shap(case: Case, problem: Problem, seed: int) -> tuple[list[int], int]:
    import shap

    model = _Counting(case, problem.tau)
    masker = shap.maskers.Independent(problem.tau[None])
    explainer = shap.PermutationExplainer(lambda rows: model.predict(rows)[:, case.label], masker, seed=seed)
    values = explainer(case.row[None], max_evals=max(BUDGET, 2 * len(case.row) + 1), silent=True).values[0]
    return _order(values), model.rows


def shapiq(case: Case, problem: Problem, seed: int) -> tuple[list[int], int]:
    import shapiq as library

    model = _Counting(case, problem.tau)
    movable = np.flatnonzero(case.row != problem.tau)

    def game(present: np.ndarray) -> np.ndarray:
        full = np.ones((len(present), len(case.row)), dtype=bool)
        full[:, movable] = present
        return model.worth(full)

    approximator = library.KernelSHAP(n=len(movable), random_state=seed)
    found = approximator.approximate(BUDGET, game)
    values = np.full(len(case.row), -np.inf)
    values[movable] = found.get_n_order_values(1)
    return _order(values), model.rows


RANKINGS: dict[str, Rank] = {
    name: rank
    for name, package, rank in (
        ("LIME", "lime", lime),
        ("SHAP Kernel", "shap", kernel_shap),
        ("SHAP Permutation", "shap", permutation_shap),
        ("shapiq KernelSHAP", "shapiq", shapiq),
    )
    if find_spec(package)
}
