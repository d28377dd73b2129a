"""What it costs to ask how little evidence must go until a belief flips, in full propagations.

    python benchmarks/flip.py --data DIR      # some seconds; the folder that holds yelpchi/

YelpChi, the user with the most reviews, priors as they ship, homophily 0.55; evidence within one and two hops.
Both are processor time in one process, the choice of players included, after a first call; the propagation is the
faster of two.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import keyplayers as kp


def seconds(call):
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    with np.load(parser.parse_args().data / "yelpchi/yelpchi.npz") as z:
        edges, suspicion, n_users = z["edges"], z["node_prior"], int(z["num_users"])
    warnings.simplefilter("ignore")
    mrf = kp.MarkovRandomField.from_edges(edges, np.column_stack([1 - suspicion, suspicion]), homophily=0.55)
    kp.belief_propagation(mrf)
    run, beliefs = min((seconds(lambda: kp.belief_propagation(mrf)) for _ in range(2)), key=lambda timed: timed[0])
    target = int(np.argmax(np.bincount(edges.ravel(), minlength=mrf.n_variables)[:n_users]))
    for radius in (1, 1, 2):

        def flip(radius=radius):
            predictor = kp.FieldPredictor(mrf, target, radius, beliefs=beliefs)
            explainer = kp.McXai(predictor, predictor.space, class_names=["honest", "spammer"])
            return predictor, explainer.explain(predictor.instance, random_state=0)

        own, (predictor, found) = seconds(flip)
        print(
            f"radius {radius}: {len(predictor.players)} of {len(predictor.evidence):,} pieces of evidence, "
            f"{own:.2f} s, {own / run:.0f} propagations of {run:.3f} s; {found.n_rows} coalitions"
        )


if __name__ == "__main__":
    main()
