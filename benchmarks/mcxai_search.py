"""What makes the search good: the textbook, the tree with widening and surrogate, the search for sets.

    python benchmarks/mcxai_search.py [--instances N] [--rows N]

prints for five problems that ship with scikit-learn, or are made, how often each variant flips the class, the mean
number of steps and the mean number of rows; greedy and its relatives stand beside them. docs/search.md reads it.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mcxai_problems import problems
from mcxai_rivals import SEARCHES, Game

from keyplayers import McXai
from keyplayers.mcxai import explainer, shares
from keyplayers.mcxai.flip_sets import find, objectives, top_down

PROBLEMS = ("digits mlp", "digits forest", "breast cancer boosting, mean", "wine svm", "acts together, pairs")


TEXTBOOK = {"widening": None, "rollout": "random", "parallel_leaves": 1, "surrogate": "none", "depth": 10}


# the tree search alone: single players are evaluated for the surrogate, no other set is looked for before it
TREE_VARIANTS: dict[str, dict[str, Any]] = {
    "tree, no widening, Q by drop": {"widening": None, "surrogate": "drop"},
    "tree, widening (1, 0.5), Q by drop": {"widening": (1, 0.5), "surrogate": "drop"},
    "tree, widening (2, 0.5), Q by drop": {"widening": (2, 0.5), "surrogate": "drop"},
    "tree, widening (1, 0.5), regression": {},
    "the same, orders share": {"share_orders": True},
}


@contextmanager
def patched(module: Any, name: str, value: Any) -> Iterator[None]:
    """Inside, the module has another value under this name."""
    kept = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, kept)


def share_out_to_the_tree(*arguments: Any) -> Any:
    """Most rows go into the tree search, none into playouts of all first moves."""
    total, (first, second) = shares.share_out(*arguments)
    return total, (replace(first, play=total * 3 // 4, first_moves=0), replace(second, first_moves=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--instances", type=int, default=25)
    parser.add_argument("--rows", type=int, default=300, help="budget of the variants")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [next(problems(None, options.instances, name)) for name in PROBLEMS]
    for problem in chosen:
        print(problem.name)
        for name, search in SEARCHES.items():
            if name in ("greedy + shrink", "beam 5", "best-first", "exhaustive to 4"):
                games = [Game(case, problem.tau) for case in problem.correct]
                found = [search(game) for game in games]
                _show(name, [None if s is None else len(s) for s in found], [g.rows for g in games])
        _run("textbook", problem, TEXTBOOK | {"max_evals": options.rows})
        with (
            patched(find, "STRATEGIES", find.STRATEGIES[:1]),
            patched(explainer, "share_out", share_out_to_the_tree),
        ):
            for name, settings in TREE_VARIANTS.items():
                _run(name, problem, settings | {"max_evals": options.rows})
        _run("default", problem, {})
        for part in ("unmask_top_down", "lazy_greedy", "try_proposals"):
            with patched(find, "STRATEGIES", [s for s in find.STRATEGIES if s.__name__ != part]):
                _run(f"default, without {part}", problem, {})
        for name, module, constant, value in (
            ("default, one rival class", objectives, "N_RIVALS", 1),
            ("default, one order from the top down", top_down, "ATTEMPTS", 1),
            ("default, patience 50", shares, "PATIENCE", 50),
            ("default, patience 200", shares, "PATIENCE", 200),
        ):
            with patched(module, constant, value):
                _run(name, problem, {})


def _run(name: str, problem: Any, settings: dict[str, Any]) -> None:
    explained = [
        McXai(case.predict, baseline=problem.tau, **settings).explain(case.row, random_state=seed)
        for seed, case in enumerate(problem.correct)
    ]
    _show(name, [len(ex.key_set) if ex.flipped else None for ex in explained], [ex.n_rows for ex in explained])


def _show(name: str, sizes: list[int | None], rows: list[int]) -> None:
    flipped = [s for s in sizes if s]
    nos = np.mean(flipped) if flipped else float("nan")
    print(f"  {name:36s} flipped {len(flipped):3d}  NoS {nos:6.3f}  rows {np.mean(rows):6.0f}", flush=True)


if __name__ == "__main__":
    main()
