"""How far is propagation from the truth on public models, and which of them are solved exactly?

Reads the networks in DATA/uai2014 and DATA/bnlearn with their checked answers (answers.json.gz), and prints one
row per family: how many load, how many `exact_marginals` solves within its default number of entries and how far
it is from the answers, and propagation's error (mean and largest over all states) on all models.

With --trw it asks tree-reweighted propagation instead, at most --seconds per network for its beliefs and as many
for the bounds: its error beside propagation's on the networks that both end on, and how often the bounds of TRW
(above) and mean field (below) bracket a known log Z.

    python benchmarks/models.py --data DATA
    python benchmarks/models.py --data DATA --trw
"""

import argparse
import gzip
import json
import signal
import time
import warnings
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import keyplayers as kp

SLACK = 1e-6  # of log Z, relative: what is lost to rounding where both bounds are exact


def nats(log10):
    return None if log10 is None else log10 * np.log(10)


def models(data):
    """Family, name, field with evidence, checked marginals, log Z in nats or None."""
    answers = json.loads(gzip.decompress((data / "uai2014" / "answers.json.gz").read_bytes()))
    for name, answer in sorted(answers.items()):
        field = kp.read_mrf(data / "uai2014" / f"{name}.uai.gz")
        evidence = {int(v): int(state) for v, state in answer["evidence"].items()}
        yield answer["family"], name, field.observe(evidence), answer["marginals"], nats(answer["log10_Z"])
    answers = json.loads(gzip.decompress((data / "bnlearn" / "answers.json.gz").read_bytes()))
    for name, answer in sorted(answers.items()):
        field = kp.read_mrf(data / "bnlearn" / f"{name}.uai.gz")
        for query in answer["queries"]:
            evidence = {int(v): int(state) for v, state in query["evidence"].items()}
            yield "bnlearn", name, field.observe(evidence), query["marginals"], None


def differences(state, marginals):
    """All differences of a probability."""
    return np.concatenate([np.abs(row - np.array(own)) for row, own in zip(state.beliefs, marginals, strict=True)])


@contextmanager
def time_limit(seconds):
    """Raises TimeoutError in the block once the time is up."""

    def stop(*_):
        raise TimeoutError

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def within(seconds, ask):
    """What `ask` returns; None where time or the field does not allow it."""
    try:
        with time_limit(seconds):
            return ask()
    except (TimeoutError, SystemError, kp.ContradictionError):  # a compiled call wraps the first in the second
        return None


def compare(field, marginals, arguments):
    """Differences of TRW and of propagation, whether TRW converged, and its bounds; None where time was up."""
    sweeps = {"max_sweeps": arguments.max_sweeps}
    tree = within(arguments.seconds, lambda: kp.infer(field, "trw", **sweeps))
    if tree is None:
        return None, None, False, None
    bounds = within(arguments.seconds, lambda: tree.log_partition_bounds)
    plain = within(arguments.seconds, lambda: kp.belief_propagation(field, **sweeps))
    apart = None if plain is None else differences(plain, marginals)
    return differences(tree, marginals), apart, tree.converged, bounds


def print_bounds(arguments):
    rows = defaultdict(list)
    warnings.simplefilter("ignore")
    kp.infer(kp.grid_field(3, 3), "trw").log_partition_bounds  # noqa: B018 - compiles outside the limit
    for family, name, field, marginals, log_z in models(arguments.data):
        found = compare(field, marginals, arguments)
        rows[family].append((*found, log_z))
        print(f"{name:22} {bounds_text(found[3], log_z)}", flush=True)
    print(
        "\n| family | models | TRW in time | converges | mean error | largest | propagation's mean | largest |"
        " log Z known, bounds in time | bracketed | median width |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for family, found in rows.items():
        print(f"| {family} | {len(found)} | " + " | ".join(summary(found)) + " |")


def bounds_text(bounds, log_z):
    return "no bounds in time" if bounds is None else f"{bounds[0]:.4f} <= {log_z} <= {bounds[1]:.4f}"


def summary(found):
    """The cells of a family."""
    ended = [row for row in found if row[0] is not None]
    both = [row for row in ended if row[1] is not None]
    known = [(row[3], row[4]) for row in ended if row[3] is not None and row[4] is not None]
    held = sum(low - SLACK * abs(z) <= z <= high + SLACK * abs(z) for (low, high), z in known)
    width = f"{np.median([high - low for (low, high), _ in known]):.3g}" if known else "-"
    errors = [
        f"{np.mean([r[i].mean() for r in both]):.4f} | {max(r[i].max() for r in both):.3f}" if both else "- | -"
        for i in (0, 1)
    ]
    return [str(len(ended)), str(sum(row[2] for row in ended)), *errors, str(len(known)), str(held), width]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--max-sweeps", type=int, default=300)
    parser.add_argument("--trw", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.5)
    arguments = parser.parse_args()
    if arguments.trw:
        return print_bounds(arguments)
    rows = defaultdict(list)
    for family, name, field, marginals, _ in models(arguments.data):
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
