"""What signed weights are worth: Bitcoin OTC, ratings from -10 to 10, who is a fraud?

    python benchmarks/signed_weights.py --data DIR      # the folder that holds bitcoin_otc/

Thirty per cent of the labels are evidence; the area under the curve is that of the others, over ten such splits.
Signed: the weight of an edge is rating / 10, and negative ones turn agreement into disagreement. Unsigned: every
edge counts the same. Both at the same homophily.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import keyplayers as kp

SHARE, SPLITS, HOMOPHILY = 0.3, 10, 0.6


def area_under_curve(scores, positive):
    """Chance that a positive one has the higher score."""
    ranks, n = rankdata(scores), int(positive.sum())
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    with np.load(next((parser.parse_args().data / "bitcoin_otc").glob("*.npz"))) as z:
        edges, labels, ratings = (
            z["edges"],
            z["labels"],
            z[next(k for k in z.files if "rating" in k or "weight" in k)],
        )
    kept = edges[:, 0] != edges[:, 1]
    edges, weights = edges[kept], ratings[kept] / 10.0
    known = np.flatnonzero(labels >= 0)
    areas = {"signed": [], "unsigned": []}
    for split in range(SPLITS):
        seen = np.random.default_rng(split).random(len(known)) < SHARE
        evidence = {int(v): int(labels[v]) for v in known[seen]}
        hidden = known[~seen]
        for name, given in (("signed", weights), ("unsigned", None)):
            mrf = kp.MarkovRandomField.from_edges(
                edges, n_variables=len(labels), homophily=HOMOPHILY, edge_weights=given, duplicates="multiply"
            )
            beliefs = np.array(kp.belief_propagation(mrf.observe(evidence)).beliefs)
            with np.errstate(divide="ignore"):
                odds = np.log(beliefs[hidden, 1]) - np.log(beliefs[hidden, 0])
            areas[name].append(area_under_curve(odds, labels[hidden] == 1))
    for name, found in areas.items():
        print(f"{name:10} AUC {np.mean(found):.3f} ({np.min(found):.3f}-{np.max(found):.3f})")


if __name__ == "__main__":
    main()
