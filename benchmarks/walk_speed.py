"""What an explanation by the game of walks costs, r = 2, and how sure its values are.

    python benchmarks/walk_speed.py --data DIR      # about three minutes; needs cora, bitcoin_otc, facebook100

Two states: processor seconds of one target at quantiles of the size of its ball, of 200 random targets; "unsure"
is the largest uncertainty as a share of the largest value. Seven states (Cora): 150 random targets whose label is
hidden. Beliefs are found once and not counted; 30 % of the labels are evidence; the first call, which compiles, is
left out.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import keyplayers as kp

QUANTILES = (0.5, 0.75, 0.9, 0.97, 1.0)


def load(data, name):
    with np.load(next((data / name).glob(f"{name}*.npz"))) as z:
        held = {key: z[key] for key in z.files}
    edges = held["edges"]
    kept = edges[:, 0] != edges[:, 1]
    return edges[kept], held["labels"], held["rating"][kept] / 10.0 if "rating" in held else None


def field(edges, labels, weights, homophily, rng):
    """The field with 30 % of the labels, and the variables without."""
    seen = (rng.random(len(labels)) < 0.3) & (labels >= 0)
    states = list(range(int(labels.max()) + 1))
    mrf = kp.MarkovRandomField.from_edges(
        edges,
        n_variables=len(labels),
        homophily=homophily,
        edge_weights=weights,
        states=states,
        duplicates="multiply",
    )
    return mrf.observe({int(v): int(labels[v]) for v in np.flatnonzero(seen)}), np.flatnonzero(~seen)


def timed(explainer, target):
    began = time.process_time()
    found = explainer.explain(target, random_state=0)
    return time.process_time() - began, found


def unsure(found):
    largest = np.abs(found.values).max(initial=0.0)
    return float(found.uncertainties.max(initial=0.0) / largest) if largest else 0.0


def two_states(data, name, homophily):
    rng = np.random.default_rng(0)
    mrf, hidden = field(*load(data, name), homophily, rng)
    explainer = kp.GraphShapley(mrf, beliefs=kp.belief_propagation(mrf))
    balls = sorted((kp.ball(mrf, int(v), 2).n_edges, int(v)) for v in rng.permutation(hidden)[:200])
    timed(explainer, balls[0][1])
    for q in QUANTILES:
        n_edges, target = balls[min(len(balls) - 1, int(q * len(balls)))]
        seconds, found = timed(explainer, target)
        print(
            f"{name:12} {n_edges:8,} edges {len(found.values):7,} players {seconds:6.2f} s  {found.engine:11} "
            f"unsure {unsure(found):.1e}",
            flush=True,
        )


def seven_states(data):
    rng = np.random.default_rng(0)
    mrf, hidden = field(*load(data, "cora"), 0.8, rng)
    explainer = kp.GraphShapley(mrf, beliefs=kp.belief_propagation(mrf))
    chosen = rng.permutation(hidden)[:150].tolist()
    timed(explainer, chosen[0])
    seconds, found = zip(*(timed(explainer, target) for target in chosen), strict=True)
    errors = np.array([unsure(one) for one in found])
    print(
        f"cora, seven states: {np.mean(seconds):.3f} s a target, at most {max(seconds):.2f}; "
        f"{np.sum(errors <= 0.02)} of {len(errors)} unsure by at most 2 %; "
        f"all {len(hidden):,} hidden variables: {np.mean(seconds) * len(hidden):.0f} s"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    warnings.simplefilter("ignore")
    two_states(data, "bitcoin_otc", 0.6)
    two_states(data, "facebook100", 0.51)
    seven_states(data)


if __name__ == "__main__":
    main()
