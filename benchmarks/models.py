"""How far is propagation from the truth on public models, and which of them are solved exactly?

Reads the networks in DATA/uai2014 and DATA/bnlearn with their checked answers (answers.json.gz), and prints one
row per family: how many load, how many `exact_marginals` solves within its default number of entries and how far
it is from the answers, and propagation's error (mean and largest over all states) on all models.

    python benchmarks/models.py --data DATA
"""

import argparse
import gzip
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

import keyplayers as kp


def models(data):
    """Family, name, field with evidence, checked marginals."""
    answers = json.loads(gzip.decompress((data / "uai2014" / "answers.json.gz").read_bytes()))
    for name, answer in sorted(answers.items()):
        field = kp.read_mrf(data / "uai2014" / f"{name}.uai.gz")
        evidence = {int(v): int(state) for v, state in answer["evidence"].items()}
        yield answer["family"], name, field.observe(evidence), answer["marginals"]
    answers = json.loads(gzip.decompress((data / "bnlearn" / "answers.json.gz").read_bytes()))
    for name, answer in sorted(answers.items()):
        field = kp.read_mrf(data / "bnlearn" / f"{name}.uai.gz")
        for query in answer["queries"]:
            evidence = {int(v): int(state) for v, state in query["evidence"].items()}
            yield "bnlearn", name, field.observe(evidence), query["marginals"]


def differences(state, marginals):
    """All differences of a probability."""
    return np.concatenate([np.abs(row - np.array(own)) for row, own in zip(state.beliefs, marginals, strict=True)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--max-sweeps", type=int, default=300)
    arguments = parser.parse_args()
    rows = defaultdict(list)
    for family, name, field, marginals in models(arguments.data):
        bound = kp.treewidth_bound(field)
        exact = None
        if not bound.exceeded:
            exact = float(differences(kp.exact_marginals(field), marginals).max())
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                state = kp.belief_propagation(field, max_sweeps=arguments.max_sweeps)
                apart, converged = differences(state, marginals), state.converged
            except kp.ContradictionError:
                apart, converged = np.array([np.nan]), False
        seconds = time.perf_counter() - begin
        rows[family].append((bound.width, exact, apart.mean(), apart.max(), converged, seconds))
        print(f"{name:22} width {bound.width:3} exact {exact} bp {apart.mean():.5f} {apart.max():.3f} {converged}")
    print("\n| family | models | solved exactly | largest difference | converges | mean error | largest |")
    print("|---|---|---|---|---|---|---|")
    for family, found in rows.items():
        solved = [row[1] for row in found if row[1] is not None]
        exact = f"{max(solved):.1e}" if solved else "-"
        mean, largest = (np.nanmean([r[2] for r in found]), np.nanmax([r[3] for r in found]))
        n_converged = sum(row[4] for row in found)
        print(
            f"| {family} | {len(found)} | {len(solved)} | {exact} | {n_converged} | {mean:.4f} | {largest:.3f} |"
        )


if __name__ == "__main__":
    main()
