"""Do values of direct neighbours follow what leaving each of them out does? Dense accounts of bitcoin_otc.

    python benchmarks/walk_neighbours.py --data DIR      # some seconds; the folder that holds bitcoin_otc/

Signed weights (rating / 10), homophily 0.6, 30 % of the labels are evidence: 20 random unobserved accounts with 30
to 300 neighbours, default settings of GraphShapley. Of up to 60 direct neighbours the correlation of their values
with the log-odds that the target loses where the neighbour and its edges are gone (`what_ifs`).
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

import keyplayers as kp

FEWEST, MOST, TARGETS, NEIGHBOURS = 30, 300, 20, 60


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    with np.load(parser.parse_args().data / "bitcoin_otc/bitcoin_otc.npz") as z:
        edges, labels, ratings = z["edges"], z["labels"], z["rating"]
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    n, kept = len(labels), edges[:, 0] != edges[:, 1]
    seen = (rng.random(n) < 0.3) & (labels >= 0)
    mrf = kp.MarkovRandomField.from_edges(
        edges[kept], n_variables=n, homophily=0.6, edge_weights=ratings[kept] / 10.0, duplicates="multiply"
    ).observe({int(v): int(labels[v]) for v in np.flatnonzero(seen)})
    beliefs = kp.belief_propagation(mrf)
    explainer = kp.GraphShapley(mrf, beliefs=beliefs)
    degrees = np.bincount(mrf.edges.ravel(), minlength=n)
    dense = np.flatnonzero((degrees >= FEWEST) & (degrees <= MOST) & ~seen)
    found = []
    for target in rng.permutation(dense)[:TARGETS].tolist():
        ex = explainer.explain(target, random_state=0)
        values = dict(zip(ex.players, ex.values, strict=True))
        beside = np.concatenate([mrf.edges[mrf.edges[:, i] == target, 1 - i] for i in (0, 1)])
        neighbours = sorted(set(beside.tolist()))[:NEIGHBOURS]
        lost = kp.what_ifs(mrf, target, [{v: kp.REMOVED} for v in neighbours], beliefs=beliefs)
        ours = [values.get(v, 0.0) for v in neighbours]
        found.append(np.corrcoef(ours, [-one.shift for one in lost])[0, 1])
    print(
        f"median {np.median(found):.2f}, {len(found)} targets, lowest {min(found):.2f}, highest {max(found):.2f}"
    )


if __name__ == "__main__":
    main()
