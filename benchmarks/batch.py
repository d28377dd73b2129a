"""What do thousands of targets in one go cost, and what do two workers bring?

    pip install -e '.[demo]'
    python benchmarks/batch.py --data DIR               # DIR/yelpchi/yelpchi.npz; 100,000 targets, an hour
    python benchmarks/batch.py --data DIR --n 3000      # the same questions in minutes
    python benchmarks/batch.py --n 3000                 # without the data: a made review network

overhead
    small targets of a review network, into a store, against a bare loop over ``explain`` on the same targets.
    Processor time of the process, one worker, the two in turn.
memory
    what the process grows by from the first tenth of the batch to its end. The names of all targets are there
    from the beginning.
two workers
    the same targets with one worker and with two: fields with threads and with processes, on targets with many
    coalitions (kernels, which release the GIL) and on small ones (Python, which does not); a random forest of
    scikit-learn with processes. Wall-clock time. On a machine that is not idle two workers cannot bring what
    they would: below each row stands what two bare processes bring over one at the same moment, and a goal counts
    where that is nearly two.

"evaluations" counts targets.
"""

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from _table import interleave, limited, paired, show

import keyplayers as kp
from keyplayers._base.progress import Silent

# small: at most so many neighbours; large: so many, and a ball whose coalitions take tens of milliseconds
_SMALL_DEGREE = 4
_LARGE_DEGREES = (18, 19)
_WORKERS = 2
# what two bare processes must bring before goals for two workers count
_NEARLY_TWO = 1.8


class Memory(Silent):
    """Resident memory at every sign of life."""

    def __init__(self):
        self.done, self.seen = 0, []

    def advance(self, amount=1, note=""):
        self.done += amount
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.seen.append((self.done, pages * os.sysconf("SC_PAGE_SIZE") / 2**20))

    def growth(self):
        """MiB from the first tenth to the end."""
        last = self.seen[-1]
        early = next(size for done, size in self.seen if done >= last[0] / 10)
        return last[1] - early


def load_field(data):
    """The review network of YelpChi, or one that is made up."""
    if data is None:
        rng = np.random.default_rng(0)
        users = rng.integers(0, 38_000, 67_000)
        products = 38_000 + np.minimum(rng.zipf(1.5, 67_000), 200)
        edges = np.unique(np.column_stack([users, products]), axis=0)
        suspicion = rng.beta(2, 5, 38_201)
    else:
        with np.load(data / "yelpchi" / "yelpchi.npz") as arrays:
            edges, suspicion = arrays["edges"], arrays["node_prior"]
    priors = np.column_stack([1 - suspicion, suspicion])
    return kp.MarkovRandomField.from_edges(edges, priors, homophily=0.8)


def choose_targets(mrf, n):
    """Small targets (repeated under other names where there are too few), and large ones."""
    degrees = np.bincount(mrf.edges.ravel(), minlength=mrf.n_variables)
    small = np.flatnonzero((degrees > 0) & (degrees <= _SMALL_DEGREE))
    large = np.flatnonzero((degrees >= _LARGE_DEGREES[0]) & (degrees <= _LARGE_DEGREES[1]))
    return np.resize(small, n).tolist(), large.tolist()


class Renamed:
    """Explains target ``i`` as the i-th of a list, so that one variable can be many targets."""

    prefer = "threads"

    def __init__(self, explainer, targets):
        self.explainer, self.targets = explainer, targets

    def explain(self, position, /, *, random_state=None, progress=None):
        return self.explainer.explain(self.targets[position], random_state=random_state, progress=progress)


def overhead(explainer, targets, n_paired, folder):
    """Rows about one worker."""
    some = targets[:n_paired]
    turn = iter(range(1000))
    stored, bare = interleave(
        lambda: kp.explain_many(explainer, some, n_jobs=1, store=folder / f"o{next(turn)}"),
        lambda: [explainer.explain(target) for target in some],
        repeats=3,
    )
    each = [(a - b) / len(some) * 1e3 for a, b in zip(stored, bare, strict=True)]
    yield limited(
        "overhead",
        f"{len(some):,} small targets",
        float(np.median(each)),
        unit="ms/target",
        goal=2,
        evaluations=len(some),
    )
    yield paired(
        "overhead",
        "as a whole",
        "bare loop",
        stored,
        bare,
        unit="ms/target",
        per=1e-3 * len(some),
        evaluations=len(some),
    )


def memory(explainer, targets, n_jobs, folder):
    """A row about the whole batch."""
    seen = Memory()
    many = Renamed(explainer, targets)
    store = kp.explain_many(many, range(len(targets)), n_jobs=n_jobs, store=folder / "all", progress=seen)
    assert store.counts["done"] == len(targets)
    size = sum(file.stat().st_size for file in (folder / "all").rglob("*.parquet")) / len(targets)
    yield limited(
        "memory",
        f"growth over {len(targets):,} targets",
        seen.growth(),
        unit="MiB",
        goal=100,
        evaluations=len(targets),
    )
    yield limited("size", "store", size, unit="B/target", evaluations=len(targets))


def two_workers(name, explainer, targets, prefer, goal):
    """Two workers against one, and what two bare processes bring over one at the same moment."""
    kp.explain_many(explainer, targets[:8], n_jobs=_WORKERS, prefer=prefer)  # start workers, load kernels
    ours, one, two_bare, one_bare = interleave(
        lambda: kp.explain_many(explainer, targets, n_jobs=_WORKERS, prefer=prefer),
        lambda: kp.explain_many(explainer, targets, n_jobs=1),
        lambda: _spin_in(2),
        lambda: [_spin_in(1), _spin_in(1)],
        repeats=3,
        clock=time.perf_counter,
    )
    bare = paired("", "two bare processes meanwhile", "one", two_bare, one_bare, unit="s", evaluations=2)
    counts = goal if bare.ratio > _NEARLY_TWO else None
    yield paired("two workers", name, "one", ours, one, unit="s", goal=counts, evaluations=len(targets))
    yield bare


def _spin_in(n):
    processes = [multiprocessing.Process(target=_spin) for _ in range(n)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def _spin():
    total = 0
    for i in range(20_000_000):
        total += i * i


def forest():
    """An explainer of a forest, and rows to explain."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    table, classes = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(100, random_state=0).fit(table, classes)
    return kp.McXai(model, background=table), table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--n", type=int, default=100_000, help="targets of the whole batch")
    parser.add_argument("--paired", type=int, default=1000, help="targets of each timed repetition")
    parser.add_argument("--only", choices=["one", "two"], help="rows about one worker, or about two")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", kp.KeyPlayersWarning)
    mrf = load_field(arguments.data)
    small, large = choose_targets(mrf, arguments.n)
    explainer = kp.GraphShapley(mrf, coalitions="subtrees", radius=1, worth="log_odds", method="enumeration")
    explainer.prepare()
    explainer.explain(small[0])
    rows = []
    if arguments.only != "two":
        with tempfile.TemporaryDirectory() as folder:
            rows += overhead(explainer, small, arguments.paired, Path(folder))
            rows += memory(explainer, small, 1, Path(folder))
    if arguments.only != "one":
        few = small[: arguments.paired]
        for prefer, goal in (("threads", 1.7), ("processes", None)):
            rows += two_workers(f"field, large targets, {prefer}", explainer, large[:64], prefer, goal)
            rows += two_workers(f"field, small targets, {prefer}", explainer, few, prefer, None)
        model, table = forest()
        rows += two_workers("forest, processes", model, table[:24], "processes", 1.6)
    show(rows, title="Many targets", as_json=arguments.json)


if __name__ == "__main__":
    sys.exit(main())
