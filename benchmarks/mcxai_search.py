"""What makes the search good: the textbook, the tree with widening and surrogate, the search for sets.

    python benchmarks/mcxai_search.py [--instances N] [--rows N]

prints for five problems that ship with scikit-learn, or are made, how often each variant flips the class, the mean
number of steps and the mean number of rows; greedy and its relatives stand beside them. docs/search.md reads it.
"""

import argparse
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mcxai_problems import problems
from mcxai_rivals import SEARCHES, Game

from keyplayers import McXai
from keyplayers.mcxai import explainer as settings_of
from keyplayers.mcxai.flip_sets import find as seek
from keyplayers.mcxai.flip_sets import objectives as measures
from keyplayers.mcxai.flip_sets import top_down as above

PROBLEMS = ("digits mlp", "digits forest", "breast cancer boosting, mean", "wine svm", "acts together, pairs")


class TreeOnly(McXai):
    """The tree search alone: single players are looked at for the surrogate, no sets are sought before it."""

    def _budget(self, n: int, rows_per_state: int) -> Any:
        total, (first, second) = super()._budget(n, rows_per_state)
        return total, (replace(first, play=total * 3 // 4, survey=0), replace(second, survey=0))


TEXTBOOK = {"widening": None, "rollout": "random", "parallel_leaves": 1, "surrogate": "none", "depth": 10}


def variants(rows: int) -> dict[str, tuple[type[McXai], dict[str, Any]]]:
    return {
        "textbook": (McXai, TEXTBOOK | {"max_evals": rows}),
        "tree, no widening, Q by drop": (TreeOnly, {"max_evals": rows, "widening": None, "surrogate": "drop"}),
        "tree, widening (1, 0.5), Q by drop": (
            TreeOnly,
            {"max_evals": rows, "widening": (1, 0.5), "surrogate": "drop"},
        ),
        "tree, widening (2, 0.5), Q by drop": (
            TreeOnly,
            {"max_evals": rows, "widening": (2, 0.5), "surrogate": "drop"},
        ),
        "tree, widening (1, 0.5), regression": (TreeOnly, {"max_evals": rows}),
        "the same, orders share": (TreeOnly, {"max_evals": rows, "share_orders": True}),
        "default": (McXai, {}),
    }


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
        for name, (kind, settings) in variants(options.rows).items():
            _run(name, problem, kind, settings)
        for name, module, constant, value in (
            ("default, no unmasking from above", above, "ATTEMPTS", 0),
            ("default, no descent", seek, "descend", _skip),
            ("default, no proposals", seek, "propose", _skip),
            ("default, one rival class", measures, "N_RIVALS", 1),
            ("default, patience 50", settings_of, "PATIENCE", 50),
            ("default, patience 200", settings_of, "PATIENCE", 200),
        ):
            kept = getattr(module, constant)
            setattr(module, constant, value)
            _run(name, problem, McXai, {})
            setattr(module, constant, kept)


def _skip(*_: Any) -> None:
    """Instead of a part of the search."""


def _alone(found: Any, _patience: int) -> None:
    """Instead of the search for sets: every player alone."""
    seek._singles(found, np.arange(found.game.n))


def _run(name: str, problem: Any, kind: type[McXai], settings: dict[str, Any]) -> None:
    kept, seek._seek = seek._seek, _alone if kind is TreeOnly else seek._seek
    explained = [
        kind(case.predict, baseline=problem.tau, **settings).explain(case.row, random_state=seed)
        for seed, case in enumerate(problem.correct)
    ]
    seek._seek = kept
    _show(name, [len(ex.key_set) if ex.flipped else None for ex in explained], [ex.n_rows for ex in explained])


def _show(name: str, sizes: list[int | None], rows: list[int]) -> None:
    flipped = [s for s in sizes if s]
    nos = np.mean(flipped) if flipped else float("nan")
    print(f"  {name:36s} flipped {len(flipped):3d}  NoS {nos:6.3f}  rows {np.mean(rows):6.0f}", flush=True)


if __name__ == "__main__":
    main()
