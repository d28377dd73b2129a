"""Is the new source faster or slower than the old one?

    python benchmarks/paired.py --old OLD_SRC                  # some minutes; NEW_SRC: this checkout, or --new
    python benchmarks/paired.py --old OLD_SRC --only enumeration --repeats 15
    python benchmarks/paired.py --old OLD_SRC --first-use 0    # without the compilation at first use

Each source has processes of its own, warmed up; all share one core and take turns (old new new old ..), so that
they meet the same noise. Where a process happens to lie in memory can cost it some per cent for as long as it
lives, so there are several pairs of them. Times are processor time. Neighbours on a busy machine make blocks
slower and never faster, so only the fastest third of each process's blocks counts, paired by rank; the ratio is
the median of old / new over all pairs: above 1 the new one is faster. Run a source against itself to see what
the machine allows. Only public names are used, so the old source may be any commit that has them.

propagation
    nanoseconds per directed edge and sweep of flooding, 100,000 edges.
enumeration, sampling, convolution
    microseconds per coalition (convolution: seconds per ball) of ``GraphShapley.explain``, everything included.
mcxai
    milliseconds per explanation of 300 rows; the model is a small MLP in NumPy.
batch
    milliseconds per target of 2,000 small ones, into a store.
first use
    seconds of processor time that the first call takes where no kernel was ever compiled.

"evaluations" counts messages, coalitions, rows and targets.
"""

import argparse
import inspect
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from _table import paired, pin_to_one_core, show

SRC = Path(__file__).resolve().parents[1] / "src"
# seconds of a block: long enough that the clock does not matter, short enough that both meet the same noise
BLOCK = 0.1
# pairs of processes
PAIRS = 3
FIRST_USES = ("propagation", "enumeration", "sampling", "mcxai")


# --- what a worker runs. A case gives: what to call, how many evaluations that makes, unit, seconds per unit


def propagation(n_states):
    import numpy as np
    from _graphs import random_graph

    import keyplayers as kp

    rng = np.random.default_rng(0)
    n, edges = random_graph(100_000, 8, rng)
    priors = rng.random((n, n_states)) + 0.2
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.6, n_variables=n)
    sweeps = 10 if n_states == 2 else 3

    def run():
        kp.belief_propagation(mrf, schedule="flooding", max_sweeps=sweeps, tolerance=0.0, n_jobs=1)

    return run, 2 * len(edges) * sweeps, "ns", 1e-9


def star(n=16):
    return [(0, v) for v in range(1, n + 1)]


def two_levels(inner, leaves):
    edges = [(0, 1 + i) for i in range(inner)]
    return edges + [(1 + i, 1 + inner + i * leaves + j) for i in range(inner) for j in range(leaves)]


def cyclic(n=13, m=20):
    draw = random.Random(1)
    tree = [(int(draw.random() * v), v) for v in range(1, n)]
    spare = [pair for pair in combinations(range(n), 2) if pair not in set(tree)]
    return tree + sorted(spare, key=lambda _: draw.random())[: m - len(tree)]


def literal_game():
    """Settings for the game over subtrees, the only one that old sources play."""
    import keyplayers as kp

    known = "coalitions" in inspect.signature(kp.GraphShapley).parameters
    return {"worth": "symmetric_kl"} | ({"coalitions": "subtrees"} if known else {})


def explaining(edges, n_states, **asked):
    """A call of ``explain`` for variable 0, after inference."""
    import numpy as np

    import keyplayers as kp

    edges = np.array(edges)
    priors = np.random.default_rng(edges.max()).random((edges.max() + 1, n_states)) + 0.1
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.8)
    asked = literal_game() | asked
    explainer = kp.GraphShapley(mrf, beliefs=kp.belief_propagation(mrf), **asked)

    def run():
        return explainer.explain(0, random_state=0)

    return run


def enumeration(edges, n_states):
    run = explaining(edges, n_states, radius=None, method="enumeration", max_evals=10**7)
    return run, run().n_evaluations, "µs", 1e-6


def sampling(n_states):
    import numpy as np
    from _graphs import power_law_graph

    n, edges = power_law_graph(800, 4, np.random.default_rng(3))
    # the target is a variable of about 15 neighbours
    degrees = np.bincount(edges.ravel(), minlength=n)
    target = int(np.argmin(np.abs(degrees - 15)))
    names = np.arange(n)
    names[[0, target]] = target, 0
    run = explaining(names[edges], n_states, radius=2, method="sampling", max_evals=4_000)
    return run, run().n_evaluations, "µs", 1e-6


def convolution():
    run = explaining(two_levels(40, 25), 2, radius=None, method="convolution")
    return run, run().n_evaluations, "s", None


def mcxai():
    import numpy as np

    import keyplayers as kp

    with np.load(os.environ["KEYPLAYERS_BENCHMARK_MLP"]) as arrays:
        w1, b1, w2, b2, rows = (arrays[name] for name in ("w1", "b1", "w2", "b2", "rows"))

    def predict(batch):
        scores = np.exp(np.maximum(batch @ w1 + b1, 0) @ w2 + b2)
        return scores / scores.sum(axis=1, keepdims=True)

    explainer = kp.McXai(predict, baseline=0, max_evals=300)

    def run():
        for i, row in enumerate(rows):
            explainer.explain(row, random_state=i)

    return run, 300 * len(rows), "ms", 1e-3 / 300


def batch():
    import numpy as np

    import keyplayers as kp

    rng = np.random.default_rng(0)
    users, products = rng.integers(0, 6_000, 10_000), 6_000 + np.minimum(rng.zipf(1.5, 10_000), 200)
    edges = np.unique(np.column_stack([users, products]), axis=0)
    suspicion = rng.beta(2, 5, 6_201)
    mrf = kp.MarkovRandomField.from_edges(edges, np.column_stack([1 - suspicion, suspicion]), homophily=0.8)
    degrees = np.bincount(edges.ravel(), minlength=mrf.n_variables)
    targets = np.flatnonzero((degrees > 0) & (degrees <= 4))[:2_000].tolist()
    asked = {"radius": 1, "worth": "log_odds", "method": "enumeration"}
    asked = literal_game() | asked
    explainer = kp.GraphShapley(mrf, **asked)

    def run():
        with tempfile.TemporaryDirectory() as folder:
            kp.explain_many(explainer, targets, n_jobs=1, store=f"{folder}/store", random_state=0)

    return run, len(targets), "ms", 1e-3


CASES = {
    "propagation, 2 states": lambda: propagation(2),
    "propagation, 5 states": lambda: propagation(5),
    **{
        f"enumeration, {shape}, {k} states": lambda edges=edges, k=k: enumeration(edges, k)
        for k in (2, 5)
        for shape, edges in (("star", star()), ("two levels", two_levels(4, 3)), ("cyclic", cyclic()))
    },
    "sampling, power law, 2 states": lambda: sampling(2),
    "sampling, power law, 5 states": lambda: sampling(5),
    "convolution, 40 x 25": convolution,
    "mcxai, digits": mcxai,
    "batch, small targets": batch,
}


def first_use(family):
    """The first call of a family; what it takes is mostly compilation."""
    import numpy as np

    import keyplayers as kp

    if family == "mcxai":
        model = np.random.default_rng(0).normal(size=12)
        kp.McXai(lambda rows: 1 / (1 + np.exp(-rows @ model)), baseline=0).explain(np.ones(12), random_state=0)
        return
    mrf = kp.MarkovRandomField.from_edges(cyclic(8, 11), {0: [0.2, 0.8]}, homophily=0.8)
    if family == "propagation":
        kp.belief_propagation(mrf)
    else:
        asked = {"worth": "symmetric_kl", "method": family, "max_evals": 2_000}
        if "coalitions" in inspect.signature(kp.GraphShapley).parameters:
            asked |= {"coalitions": "subtrees"}
        kp.GraphShapley(mrf, **asked).explain(0, random_state=0)


def work():
    """Answer the requests of the other process, one line each: a case is prepared, then timed in blocks."""
    warnings.simplefilter("ignore")
    answers, run = os.fdopen(os.dup(1), "w"), None
    os.dup2(2, 1)  # whatever is printed must not get between the answers
    for line in sys.stdin:
        request = json.loads(line)
        if "first use" in request:
            start = time.process_time()
            first_use(request["first use"])
            answer = {"seconds": time.process_time() - start}
        elif "case" in request:
            run, evaluations, unit, scale = CASES[request["case"]]()
            run()
            answer = {"evaluations": evaluations, "unit": unit, "scale": scale}
        else:
            start = time.process_time()
            for _ in range(request["times"]):
                run()
            answer = {"seconds": time.process_time() - start}
        print(json.dumps(answer), file=answers, flush=True)


# --- who asks the workers


class Worker:
    """A process that imports keyplayers from one source."""

    def __init__(self, source, **environment):
        paths = [str(source), str(Path(__file__).parent)]
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | environment,
        )

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker ended while it was asked for {request}; its message stands above")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def speeds(old, new, only, repeats):
    """A row for each case."""
    with ExitStack() as stack:
        pairs = [[stack.enter_context(Worker(source)) for source in (old, new)] for _ in range(PAIRS)]
        for name in CASES:
            if only in name:
                yield speed(name, pairs, repeats)


def speed(name, pairs, repeats):
    """One case, timed in blocks: every process in turn, old before new and new before old."""
    about, *_ = [[worker.ask(case=name) for worker in pair] for pair in pairs]
    once = min(worker.ask(times=1)["seconds"] for pair in pairs for worker in pair)
    times = max(1, round(BLOCK / max(once, 1e-4)))
    seconds = {worker: [] for pair in pairs for worker in pair}
    for turn in range(repeats):
        for pair in pairs:
            for worker in pair if turn % 2 else pair[::-1]:
                seconds[worker].append(worker.ask(times=times)["seconds"])
    fastest = {worker: sorted(mine)[: max(1, repeats // 3)] for worker, mine in seconds.items()}
    before, after = ([second for pair in pairs for second in fastest[pair[which]]] for which in (0, 1))
    evaluations, scale = about[1]["evaluations"], about[1]["scale"]
    if about[0]["evaluations"] != evaluations:
        print(f"  {name}: {about[0]['evaluations']:,} evaluations in the old source", file=sys.stderr)
    family, case = name.split(", ", 1)
    row = paired(
        *(family, case, "old", after, before),
        unit=about[1]["unit"],
        per=times * (evaluations * scale if scale else 1),
        evaluations=times * evaluations,
    )
    print(f"  {name}: {row.ratio:.3f}", file=sys.stderr, flush=True)
    return row


def first_uses(old, new, only, repeats):
    """A row for each family: seconds until the first answer, nothing compiled before."""
    for family in FIRST_USES:
        if not repeats or only not in f"first use, {family}":
            continue
        seconds = [[], []]
        for turn in range(repeats):
            for which in (0, 1) if turn % 2 else (1, 0):
                source = (old, new)[which]
                print(f"  first use, {family}", file=sys.stderr, flush=True)
                with tempfile.TemporaryDirectory() as empty:
                    caches = {"NUMBA_CACHE_DIR": f"{empty}/numba", "XDG_CACHE_HOME": empty}
                    with Worker(source, **caches) as worker:
                        seconds[which].append(worker.ask(**{"first use": family})["seconds"])
                    if not any(Path(empty).rglob("*.nbc")):
                        raise SystemExit(f"{source} keeps its kernels elsewhere than in NUMBA_CACHE_DIR")
        yield paired("first use", family, "old", seconds[1], seconds[0], unit="s", evaluations=1)


def keep_mlp(path):
    """An MLP on digits, and the rows that are explained."""
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    x, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((32,), max_iter=30, random_state=0).fit(x, y)
    (w1, w2), (b1, b2) = model.coefs_, model.intercepts_
    np.savez(path, w1=w1, b1=b1, w2=w2, b2=b2, rows=x[:10])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, metavar="OLD_SRC", help="folder that holds the old keyplayers")
    parser.add_argument("--new", type=Path, default=SRC, metavar="NEW_SRC")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds TEXT")
    parser.add_argument("--repeats", type=int, default=12, help="blocks of each process")
    parser.add_argument("--first-use", type=int, default=1, metavar="N", help="processes that compile everything")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work()
    for source in (options.old, options.new):
        if source is None or not (source / "keyplayers").is_dir():
            parser.error(f"--old and --new are folders that hold keyplayers, got {source}")
    pin_to_one_core()
    old, new = options.old.resolve(), options.new.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KEYPLAYERS_BENCHMARK_MLP"] = f"{folder}/mlp.npz"
        if options.only in "mcxai, digits":
            keep_mlp(os.environ["KEYPLAYERS_BENCHMARK_MLP"])
        rows = list(speeds(old, new, options.only, options.repeats))
    rows += first_uses(old, new, options.only, options.first_use)
    show(rows, title="Old and new source", as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
