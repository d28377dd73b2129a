"""How much does it cost to ask about every piece of evidence around a target, beside full runs?

    python benchmarks/what_if.py --data DIR            # a minute; without DIR: a generated graph only

DIR holds graphs as DIR/<name>/<name>.npz with edges [E, 2], labels [N] (-1: unknown), num_nodes, and edge_weight
[E] where ties are signed. 30 % of the labels are observed; signed ties count weight / 10.

For three targets whose balls of radius 2 have about 7,000 edges, all evidence of the ball is asked about: without
it, without the variable, and otherwise. Every such question would take a propagation of the whole field from
uniform messages; the goal is on the processor time of all questions in units of one such run. Ten answers per
target are checked against full runs by the target's log-odds. A full run may end at another fixed point (more than
0.1 nats away): how many did is said, and the error is the largest of the others.
"""

import argparse
from pathlib import Path

from _table import interleave, limited, pin_to_one_core, show

pin_to_one_core()

import numpy as np

import keyplayers as kp
from keyplayers.mrf.what_if import evidence_table

HOMOPHILY = 0.6
GENERATED_HOMOPHILY = 0.51  # of 28 neighbours: below the critical point
ELSEWHERE = 0.1
N_EDGES = 7_000
GOAL = 10.0
CHECKED = 10


def load(data: Path, name: str) -> kp.MarkovRandomField:
    """A graph with 30 % of its labels observed."""
    with np.load(data / name / f"{name}.npz") as arrays:
        edges, labels, n = arrays["edges"], arrays["labels"], int(arrays["num_nodes"])
        weights = arrays["edge_weight"] / 10.0 if "edge_weight" in arrays.files else np.ones(len(edges))
    return observed(edges, weights, labels, n)


def observed(
    edges: np.ndarray, weights: np.ndarray, labels: np.ndarray, n: int, homophily: float = HOMOPHILY
) -> kp.MarkovRandomField:
    """The field, each pair of accounts joined once, by the mean weight of its ties."""
    pairs = np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1)
    weights = weights[edges[:, 0] != edges[:, 1]]
    unique, index = np.unique(pairs, axis=0, return_inverse=True)
    mean = np.bincount(index.reshape(-1), weights) / np.bincount(index.reshape(-1))
    mrf = kp.MarkovRandomField.from_edges(unique, homophily=homophily, edge_weights=mean, n_variables=n)
    rng = np.random.default_rng(0)
    known = np.flatnonzero(labels >= 0)
    known = rng.choice(known, int(0.3 * len(known)), replace=False)
    return mrf.observe({int(v): int(labels[v]) for v in known})


def generated() -> kp.MarkovRandomField:
    """A random graph of 21,000 edges whose balls are dense."""
    rng = np.random.default_rng(0)
    n = 1_500
    edges = rng.integers(n, size=(21_000, 2))
    return observed(edges, np.ones(len(edges)), rng.integers(2, size=n), n, GENERATED_HOMOPHILY)


def targets(mrf: kp.MarkovRandomField) -> list[int]:
    """Three variables without evidence whose balls come nearest to the wanted size."""
    rng = np.random.default_rng(1)
    free = rng.choice(np.flatnonzero(~mrf.observed), min(400, int((~mrf.observed).sum())), replace=False)
    sizes = {int(v): kp.ball(mrf, int(v), 2).n_edges for v in free}
    return sorted(sizes, key=lambda v: abs(sizes[v] - N_EDGES))[:3]


def errors_of(mrf: kp.MarkovRandomField, state: kp.BeliefState, target: int) -> np.ndarray:
    """Differences of the target's log-odds between what-ifs and full runs."""
    around = kp.ball(mrf, target, 2)
    evidence = [name for name in around.players if mrf.observed[mrf.index(name)]][:CHECKED]
    errors = []
    for name in evidence:
        answer = kp.what_if(mrf, target, {name: None}, beliefs=state)
        log_priors = mrf.log_priors.copy()
        log_priors[mrf.offsets[mrf.index(name)] :][:2] = 0.0
        full = kp.belief_propagation(mrf.with_log_priors(log_priors)).log_belief(target)
        errors.append(abs(np.diff(answer.log_after) - np.diff(full)).item())
    return np.array(errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    fields = {"generated": generated()}
    if arguments.data:
        fields |= {name: load(arguments.data, name) for name in ("bitcoin_otc", "facebook100")}
    rows = []
    for name, mrf in fields.items():
        state = kp.belief_propagation(mrf)
        for target in targets(mrf):
            around = kp.ball(mrf, target, 2)
            table = evidence_table(mrf, target, beliefs=state)  # compiles
            ours, run = interleave(
                lambda mrf=mrf, target=target, state=state: evidence_table(mrf, target, beliefs=state),
                lambda mrf=mrf: kp.belief_propagation(mrf, n_jobs=1),
                repeats=3,
            )
            case = f"{name}, {around.n_edges:,} edges, {len(table['name'])} observed"
            in_runs = float(np.median(ours) / np.median(run))
            rows.append(
                limited("what if", case, in_runs, unit="runs", goal=GOAL, evaluations=3 * len(table["name"]))
            )
            errors = errors_of(mrf, state, target)
            near = errors[errors <= ELSEWHERE]
            worst = float(near.max(initial=0.0))
            rows.append(limited("error", case, worst, unit="nats", goal=1e-3, evaluations=len(near)))
            elsewhere = len(errors) - len(near)
            rows.append(limited("elsewhere", case, elsewhere, unit="of 10", goal=None, evaluations=len(errors)))
    show(rows, as_json=arguments.json)


if __name__ == "__main__":
    main()
