"""Do learned potentials tell hidden labels at least as well as label propagation and as homophily 0.8?

    python benchmarks/learning.py --data DIR [--splits 3] [--unseen | NAME ...]

DIR holds a folder per graph with an .npz of `edges`, `labels` (-1: unknown), `num_nodes` and, where edges are
rated, `rating`. 30 % of the labels are seen. Accuracy where there are several classes, AUC where there are two.
Pairs: everybody sees the same labels of the same split, in one process.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import keyplayers as kp
from keyplayers.learning.evaluation import FIELD, LEARNED, RIVALS

GRAPHS = (
    "cora", "citeseer", "pubmed", "polblogs", "yelpchi", "yelpchi/yelpchi_rur", "tolokers", "squirrel_filtered",
    "bitcoin_otc", "sffsd",
)  # fmt: skip

# Nothing was chosen while looking at these.
UNSEEN = ("actor", "minesweeper", "twitch_de", "chameleon_filtered", "sybil_facebook")

COLUMNS = (
    "graph", "by", "label propagation", "degree rule", "priors", "homophily .8", "learned",
    "over label propagation", "calib. error of .8", "of learned", "beyond .99",
    "of these wrong", "of all", "time",
)  # fmt: skip


def load(data, name):
    """Edges without loops, labels, ratings or None."""
    path = Path(data) / (f"{name}.npz" if "/" in name else f"{name}/{name}.npz")
    arrays = np.load(path, allow_pickle=False)
    apart = arrays["edges"][:, 0] != arrays["edges"][:, 1]
    rating = arrays["rating"][apart].astype(float) if "rating" in arrays.files else None
    return arrays["edges"][apart].astype(np.int64), arrays["labels"].astype(int), rating


def measure(edges, labels, rating, splits):
    """The evaluation of homophily 0.8, and that of what is learned and of its rivals."""
    once = np.unique(np.sort(edges, axis=1), axis=0)
    n_states = int(labels.max()) + 1
    fixed = kp.MarkovRandomField.from_edges(once, np.ones((len(labels), n_states)), homophily=0.8)
    options = {"splits": splits, "random_state": 0}
    learned = kp.evaluate(
        edges, labels, states=range(n_states), edge_weights=rating, directed=rating is not None, **options
    )
    return kp.evaluate(fixed, labels, learn=False, **options), learned


def row(name, edges, labels, rating, splits):
    began = time.perf_counter()
    fixed, learned = measure(edges, labels, rating, splits)
    which = "accuracy" if learned.positive is None else "auc"
    values = [f"{learned.mean(rival, which):.3f}" for rival in RIVALS]
    sure, wrong = learned.mean(LEARNED, "sure"), learned.mean(LEARNED, "sure_wrong")
    beyond = np.mean([each.sure * each.sure_wrong for each in learned.scores[LEARNED]])
    gain, doubt = learned.difference(LEARNED, RIVALS[0], which)
    return [
        name,
        which,
        *values,
        f"{fixed.mean(FIELD, which):.3f}",
        f"{learned.mean(LEARNED, which):.3f}",
        f"{gain:+.3f} ± {doubt:.3f}",
        f"{fixed.mean(FIELD, 'calibration_error'):.3f}",
        f"{learned.mean(LEARNED, 'calibration_error'):.3f}",
        f"{sure:.3f}",
        f"{wrong:.3f}",
        f"{beyond:.3f}",
        f"{time.perf_counter() - began:.0f} s",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=GRAPHS)
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--unseen", action="store_true", help="the graphs that nothing was chosen on")
    given = parser.parse_args()
    warnings.simplefilter("ignore", kp.KeyPlayersWarning)
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + " --- |" * len(COLUMNS))
    for name in UNSEEN if given.unseen else given.names:
        print("| " + " | ".join(row(name, *load(given.data, name), given.splits)) + " |", flush=True)


if __name__ == "__main__":
    main()
