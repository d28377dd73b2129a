"""Does McXai's search find smaller flip sets than what a user would do otherwise, and for how many rows?

    python benchmarks/mcxai_quality.py [--data DIR] [--quick] [--wrong] [--rankings] [--only NAME] [--first N]
        [--without PART]

prints, for every problem, the mean number of steps (NoS: players masked until the class changes) and the mean
number of rows given to the model: for McXai with its default settings, with 0.6 of greedy's rows and with a long
run, for greedy masking and its relatives, and with --rankings for LIME, SHAP and shapiq where they are installed
(benchmarks/requirements-mcxai.txt). An instance that a method does not flip counts for it as one more than the
largest set found there ("gap" is the mean distance to the best set that any method found).
"""

import argparse
import gc
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# CPU seconds would count threads that only wait
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mcxai_problems import Case, Problem, acts_together, problems
from mcxai_rankings import RANKINGS
from mcxai_rivals import SEARCHES, Game, State, along, exhaustive

from keyplayers import McXai
from keyplayers.explanation import Explanation
from keyplayers.mcxai.flip_sets import find

# parts of the search that can be left out
PARTS = [strategy.__name__ for strategy in find.STRATEGIES[1:]]
# the authors' figures for one instance of digits with an MLP: rows, CPU seconds, NoS
AUTHORS = (46_532, 7.4, 2.80)


class Timed:
    """A model that knows how much CPU time it took."""

    def __init__(self, predict: Callable[[np.ndarray], np.ndarray]) -> None:
        self.predict, self.seconds = predict, 0.0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        start = time.process_time()
        p = self.predict(rows)
        self.seconds += time.process_time() - start
        return p


def run(case: Case, tau: np.ndarray, seed: int, max_evals: int | str = "auto") -> Explanation:
    """Our explanation."""
    return McXai(case.predict, baseline=tau, max_evals=max_evals).explain(
        case.row, target=case.label, random_state=seed
    )


def timed(cases: list[Case], tau: np.ndarray) -> tuple[list[Explanation], float, float]:
    """Our explanations by default, their CPU seconds, and those outside the models."""
    run(cases[0], tau, 0)  # whatever a first call costs
    models = [Timed(case.predict) for case in cases]
    gc.collect()
    gc.freeze()
    start = time.process_time()
    found = [
        McXai(model, baseline=tau).explain(case.row, target=case.label, random_state=seed)
        for seed, (model, case) in enumerate(zip(models, cases, strict=True))
    ]
    seconds = time.process_time() - start
    return found, seconds, seconds - sum(model.seconds for model in models)


@dataclass(frozen=True)
class Summary:
    """What counts over all problems."""

    gap: float  # mean distance to the best set known
    n_rows: float  # mean rows given to the model
    rows_per_call: float
    lean: float  # mean NoS with 0.6 of greedy's rows, as a part of greedy's on the same instances
    lost: float  # part of the instances that greedy flips and this does not


def compare(problem: Problem, cases: list[Case], rankings: bool) -> Summary:
    """One problem's table."""
    sizes: dict[str, list[int | None]] = {}
    rows: dict[str, list[int]] = {}
    for name, search in SEARCHES.items():
        if name == "exhaustive to 4":
            continue
        found: list[tuple[State | None, int]] = []
        for case in cases:
            game = Game(case, problem.tau)
            found.append((search(game), game.rows))
        sizes[name] = [None if s is None else len(s) for s, _ in found]
        rows[name] = [r for _, r in found]
    ours, seconds, own = timed(cases, problem.tau)
    sizes["McXai"] = [len(ex.key_set) if ex.flipped else None for ex in ours]
    rows["McXai"] = [ex.n_rows for ex in ours]
    budget = max(4, int(0.6 * np.mean(rows["greedy"])))
    for name, max_evals in (("McXai, 0.6 of greedy's rows", budget), ("McXai, 3,000 rows", 3000)):
        limited = [run(case, problem.tau, seed, max_evals) for seed, case in enumerate(cases)]
        sizes[name] = [len(ex.key_set) if ex.flipped else None for ex in limited]
        rows[name] = [ex.n_rows for ex in limited]
    # only sizes below the best found so far are worth listing
    listed = [exhaustive(Game(case, problem.tau), min(4, _best(sizes, i, 5) - 1)) for i, case in enumerate(cases)]
    sizes["exhaustive below the best"] = [None if s is None else len(s) for s in listed]
    if rankings:
        for name, rank in RANKINGS.items():
            ranked = [rank(case, problem, seed) for seed, case in enumerate(cases)]
            masked = [along(Game(c, problem.tau), order) for c, (order, _) in zip(cases, ranked, strict=True)]
            sizes[name] = [None if s is None else len(s) for s in masked]
            rows[name] = [n for _, n in ranked]
    best = [_best(sizes, i, 0) for i in range(len(cases))]
    flippable = [i for i, b in enumerate(best) if b]
    largest = max(best, default=0)
    print(f"{problem.name}: {len(cases)} instances, {len(flippable)} of them flipped by some method")
    for name in sizes:
        if name == "exhaustive below the best":
            continue
        gap = np.mean([(sizes[name][i] or largest + 1) - best[i] for i in flippable]) if flippable else 0.0
        flipped = [s for s in sizes[name] if s]
        nos = np.mean(flipped) if flipped else float("nan")
        print(
            f"  {name:28s} flipped {len(flipped):3d}  NoS {nos:6.3f}  gap {gap:6.3f}"
            f"  rows {np.mean(rows[name]):7.0f}"
        )
    calls = sum(ex.n_rows for ex in ours) / max(1, sum(ex.n_calls for ex in ours))
    own *= 1e3 / sum(ex.n_rows for ex in ours) * 300
    cpu = seconds / len(cases)
    print(f"  McXai: {calls:.1f} rows a call, {own:.1f} ms of its own for 300 rows, {1e3 * cpu:.1f} CPU ms in all")
    pairs = list(zip(sizes["McXai, 0.6 of greedy's rows"], sizes["greedy"], strict=True))
    both = [(a, b) for a, b in pairs if a and b]
    lean = sum(a for a, _ in both) / max(1, sum(b for _, b in both)) if both else 1.0
    lost = float(np.mean([a is None for a, b in pairs if b] or [0]))
    print(f"  with 0.6 of greedy's rows: NoS {lean:.3f} of greedy's where both flip, {lost:.1%} not flipped")
    if problem.name == "digits mlp":
        ratio_rows = AUTHORS[0] / np.mean(rows["McXai"])
        print(
            f"  authors' code: NoS {AUTHORS[2]}, {ratio_rows:.0f} times our rows, "
            f"{AUTHORS[1] / cpu:.0f} times our CPU"
        )
    known = [(s, case.minimum) for s, case in zip(sizes["McXai"], cases, strict=True) if case.minimum]
    if known:
        print(f"  true minimum found: {np.mean([s == m for s, m in known]):.0%} of {len(known)}")
    sys.stdout.flush()
    gap = np.mean([(sizes["McXai"][i] or largest + 1) - best[i] for i in flippable]) if flippable else 0.0
    return Summary(float(gap), float(np.mean(rows["McXai"])), calls, lean, lost)


def _best(sizes: dict[str, list[int | None]], i: int, default: int) -> int:
    return min((s[i] for s in sizes.values() if s[i]), default=default)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with cora, covertype, kddcup99 and spambase")
    parser.add_argument("--quick", action="store_true", help="10 instances instead of 50")
    parser.add_argument("--wrong", action="store_true", help="misclassified instances instead of correct ones")
    parser.add_argument("--rankings", action="store_true", help="LIME, SHAP and shapiq too (slow)")
    parser.add_argument("--only", default="", help="problems whose name holds this")
    parser.add_argument("--first", type=int, default=0, help="leave out so many instances of every problem")
    parser.add_argument("--without", choices=PARTS, help="leave a part of the search out, to see what it is for")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.without:
        find.STRATEGIES[:] = [strategy for strategy in find.STRATEGIES if strategy.__name__ != options.without]
    warm = acts_together(2, "compilation", 1)
    start = time.perf_counter()
    run(warm.correct[0], warm.tau, 0)
    print(f"first call: {time.perf_counter() - start:.1f} s (compilation, unless cached)")
    found = []
    for problem in problems(options.data, options.first + (10 if options.quick else 50), options.only):
        cases = (problem.wrong if options.wrong else problem.correct)[options.first :]
        if cases:
            found.append(compare(problem, cases, options.rankings))
    print(
        f"over {len(found)} problems: gap {np.mean([s.gap for s in found]):.4f} (largest "
        f"{max(s.gap for s in found):.3f}), rows {np.mean([s.n_rows for s in found]):.0f}, rows a call "
        f"{np.mean([s.rows_per_call for s in found]):.1f}, with 0.6 of greedy's rows NoS "
        f"{np.mean([s.lean for s in found]):.3f} of greedy's, {np.mean([s.lost for s in found]):.1%} not flipped"
    )


if __name__ == "__main__":
    main()
