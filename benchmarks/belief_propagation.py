"""How fast are fields and beliefs, next to what else one would use?

    pip install -e . && pip install --no-deps -r benchmarks/requirements.txt
    python benchmarks/belief_propagation.py                   # everything, some minutes
    python benchmarks/belief_propagation.py --quick           # small inputs, to see that it runs
    python benchmarks/belief_propagation.py --edges 100000 --skip-speagle --skip-large --json

Every row pairs keyplayers with a rival on the same input, in the same process, on one core: the process is pinned
before NumPy, Numba or JAX start, XLA is told to use one thread, and times are processor time of the whole process
(`_table.interleave`). Repetitions alternate (A B A B ..); a row shows the median ratio, its smallest and its
largest value. Before anything is timed the rival's beliefs after the same number of flooding sweeps are compared
with ours, and the benchmark stops where they differ by more than 1e-10 (PGMax is timed in float32, its default,
and compared in double precision, by the same functions).

What is timed:

per sweep
    one undamped flooding sweep with its residual, as the difference of two numbers of sweeps divided by how many
    more the second makes: set-up, compilation and read-out cancel. Fields have three types of edges, one of them
    asymmetric. PGMax runs sum-product (temperature 1) without damping, jitted as a whole.
building
    arrays in, ready to run out. Ours includes one sweep and the beliefs, because it indexes the edges when first
    used. One potential for all edges.
arrays to beliefs
    a review network until the messages change by less than 1e-6; SpEagle sweeps a graph of Python objects.
large
    one process for each size: time per edge and sweep, and the peak of memory above what the input arrays take.
second start
    the wall-clock time of the command ``keyplayers beliefs`` on a small table once kernels are cached.

"evaluations" counts the messages of one timed repetition of ours.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

from _table import interleave, limited, paired, per_step, pin_to_one_core, show

pin_to_one_core()
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import numpy as np
from _graphs import binary_types, power_law_graph, random_graph

import keyplayers as kp

MEAN_DEGREE = 10
FEW_SWEEPS, MANY_SWEEPS = 5, 25
AGREES = 1e-10  # after the same number of sweeps
SPEAGLE_TOLERANCE, SPEAGLE_AGREES = 1e-6, 1e-5

GROUPS = ("sweeps", "five-states", "building", "speagle", "large", "start")

# what has to be reached: least ratios, and largest values where there is no rival
GOAL_PGMAX, GOAL_PGMAX_FIVE_STATES, GOAL_BUILDING, GOAL_SPEAGLE = 5.0, 2.0, 20.0, 1000.0
GOAL_NUMPY_UP_TO_1E5, GOAL_NUMPY = 3.0, 1.5
GOAL_GROWTH, GOAL_BYTES, GOAL_SECONDS_TO_START = 5.0, 100.0, 2.0


def main():
    arguments = _parse()
    if arguments.child:
        _run_child(Path(arguments.child))
        return
    rng = np.random.default_rng(arguments.seed)
    small, repeats = min(arguments.edges), arguments.repeats
    sizes = (10_000, 100_000) if arguments.quick else (100_000, 10_000_000)
    groups = {
        "sweeps": lambda: [
            row
            for n_edges in arguments.edges
            for graph in (random_graph, power_law_graph)
            for row in sweep_rows(graph, n_edges, repeats, rng)
        ],
        "five-states": lambda: five_state_rows(small, repeats, rng),
        "building": lambda: building_rows(small, repeats, rng),
        "speagle": lambda: speagle_rows(1_000 if arguments.quick else 10_000, rng),
        "large": lambda: large_rows(*sizes, rng),
        "start": lambda: start_rows(repeats),
    }
    skipped = {"speagle"} if arguments.skip_speagle else set()
    skipped |= {"large"} if arguments.skip_large else set()
    wanted = arguments.only or [name for name in groups if name not in skipped]
    rows = []
    for name in wanted:
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += groups[name]()
    show(rows, title="Belief propagation on one core", as_json=arguments.json)


def sweep_rows(graph, n_edges, repeats, rng):
    """Binary variables, per sweep: PGMax and NumPy."""
    import _numpy_propagation as in_numpy
    import _pgmax

    name = _describe(graph, n_edges)
    n, edges = graph(n_edges, MEAN_DEGREE, rng)
    priors = rng.uniform(0.1, 1.0, (n, 2))
    table, types = binary_types(rng, n_edges)
    sweep = _sweeper(_field(edges, priors, table, types))
    variables, bp, arrays = _pgmax.build(edges, priors, table[types])
    pgmax_sweep = _pgmax.sweeper(bp, arrays)
    numpy_field = in_numpy.build(edges, priors, table, types)

    expected = sweep(FEW_SWEEPS).beliefs
    found = _pgmax.exact_beliefs(variables, bp, arrays, priors, table[types], FEW_SWEEPS)
    _agree("PGMax", name, found, expected, AGREES)
    for general in (False, True):
        found, _ = in_numpy.propagate(numpy_field, FEW_SWEEPS, general=general)
        _agree("NumPy", name, found, expected, AGREES)

    for n_sweeps in (FEW_SWEEPS, MANY_SWEEPS):
        pgmax_sweep(n_sweeps)  # compiles
    ours, pgmax, blocked, textbook = [], [], [], []
    for _ in range(repeats):
        ours.append(per_step(sweep, FEW_SWEEPS, MANY_SWEEPS))
        pgmax.append(per_step(pgmax_sweep, FEW_SWEEPS, MANY_SWEEPS))
        ours_again = per_step(sweep, FEW_SWEEPS, MANY_SWEEPS)
        ours[-1] = (ours[-1] + ours_again) / 2
        blocked.append(per_step(lambda k: in_numpy.propagate(numpy_field, k), FEW_SWEEPS, MANY_SWEEPS))
        textbook.append(per_step(lambda k: in_numpy.propagate(numpy_field, k, general=True), 1, 3))
    common = {"unit": "ns/edge", "per": 1e-9 * n_edges, "evaluations": 2 * n_edges * (MANY_SWEEPS - FEW_SWEEPS)}
    numpy_goal = GOAL_NUMPY_UP_TO_1E5 if n_edges <= 100_000 else GOAL_NUMPY
    return [
        paired("per sweep", name, "PGMax", ours, pgmax, goal=GOAL_PGMAX, **common),
        paired("per sweep", name, "NumPy, in blocks", ours, blocked, goal=numpy_goal, **common),
        paired("per sweep", name, "NumPy, logaddexp", ours, textbook, goal=numpy_goal, **common),
    ]


def five_state_rows(n_edges, repeats, rng):
    """Five states, per sweep: PGMax."""
    import _pgmax

    name = _describe(random_graph, n_edges) + ", five states"
    n, edges = random_graph(n_edges, MEAN_DEGREE, rng)
    priors = rng.uniform(0.1, 1.0, (n, 5))
    table, types = rng.uniform(0.4, 1.0, (3, 5, 5)), rng.integers(0, 3, n_edges)
    sweep = _sweeper(_field(edges, priors, table, types))
    variables, bp, arrays = _pgmax.build(edges, priors, table[types])
    pgmax_sweep = _pgmax.sweeper(bp, arrays)
    found = _pgmax.exact_beliefs(variables, bp, arrays, priors, table[types], FEW_SWEEPS)
    _agree("PGMax", name, found, sweep(FEW_SWEEPS).beliefs, AGREES)
    for n_sweeps in (FEW_SWEEPS, MANY_SWEEPS):
        pgmax_sweep(n_sweeps)  # compiles
    ours, pgmax = [], []
    for _ in range(repeats):
        ours.append(per_step(sweep, FEW_SWEEPS, MANY_SWEEPS))
        pgmax.append(per_step(pgmax_sweep, FEW_SWEEPS, MANY_SWEEPS))
    evaluations = 2 * n_edges * (MANY_SWEEPS - FEW_SWEEPS)
    return [
        paired("per sweep", name, "PGMax", ours, pgmax, unit="ns/edge", per=1e-9 * n_edges,
               goal=GOAL_PGMAX_FIVE_STATES, evaluations=evaluations)
    ]  # fmt: skip


def building_rows(n_edges, repeats, rng):
    """Arrays in, ready to run out: PGMax."""
    import _pgmax

    n, edges = random_graph(n_edges, MEAN_DEGREE, rng)
    priors = rng.uniform(0.1, 1.0, (n, 2))
    potential = np.array([[0.7, 0.3], [0.4, 0.6]])

    def build():
        return _sweeper(kp.MarkovRandomField.from_edges(edges, priors, potential=potential))(1)

    build()
    _pgmax.build(edges, priors, potential)
    ours, pgmax = interleave(build, lambda: _pgmax.build(edges, priors, potential), repeats=repeats)
    return [
        paired("building", _describe(random_graph, n_edges), "PGMax", ours, pgmax, unit="ms", per=1e-3,
               goal=GOAL_BUILDING, evaluations=2 * n_edges)
    ]  # fmt: skip


def speagle_rows(n_edges, rng):
    """Arrays to converged beliefs: SpEagle."""
    import _speagle

    network = _speagle.review_network(n_edges // 2, rng)
    edges, priors, potential, types = _speagle.as_field(*network)

    def run():
        field = kp.MarkovRandomField.from_edges(edges, priors, potential=potential, edge_types=types)
        return kp.belief_propagation(
            field, schedule="flooding", max_sweeps=500, tolerance=SPEAGLE_TOLERANCE, n_jobs=1
        )

    state = run()
    if not state.converged:
        raise SystemExit("the review network does not converge, so SpEagle cannot be compared")
    found = []
    ours, speagle = interleave(
        run, lambda: found.append(_speagle.beliefs(*network, tolerance=SPEAGLE_TOLERANCE)), repeats=1
    )
    ours = [median(interleave(run, repeats=5)[0] + ours)]
    _agree("SpEagle", "reviews", found[0], state.beliefs[-len(found[0]) :, 1], SPEAGLE_AGREES)
    return [
        paired("arrays to beliefs", f"review network, {n_edges:,} edges", "SpEagle", ours, speagle, unit="ms",
               per=1e-3, goal=GOAL_SPEAGLE, evaluations=2 * n_edges * len(state.residuals))
    ]  # fmt: skip


def large_rows(small, large, rng):
    """Time per edge as fields grow, and memory: each size in a process of its own."""
    found = {small: [], large: []}
    with tempfile.TemporaryDirectory() as folder:
        for n_edges in (small, large):
            n, edges = random_graph(n_edges, MEAN_DEGREE, rng)
            np.save(Path(folder) / f"{n_edges}-edges.npy", edges.astype(np.int32))
            np.save(Path(folder) / f"{n_edges}-priors.npy", rng.uniform(0.1, 1.0, (n, 2)))
        for n_edges in (small, large) * 2:
            command = [sys.executable, __file__, "--child", str(Path(folder) / str(n_edges))]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            found[n_edges].append(json.loads(answer))
    growth = median(
        big["ns_per_edge"] / small_one["ns_per_edge"]
        for small_one, big in zip(found[small], found[large], strict=True)
    )
    speed = median(one["ns_per_edge"] for one in found[large])
    size = median(one["bytes_per_directed_edge"] for one in found[large])
    inputs = f"random, {large:,} edges"
    n_messages = 2 * large * (MANY_SWEEPS - FEW_SWEEPS)
    return [
        limited("per sweep", inputs, speed, unit="ns/edge", evaluations=n_messages),
        limited("growth of time per edge", f"{small:,} to {large:,} edges", growth, unit="times",
                goal=GOAL_GROWTH, evaluations=n_messages),
        limited("peak memory", inputs, size, unit="B/directed edge", goal=GOAL_BYTES, evaluations=n_messages),
    ]  # fmt: skip


def _run_child(prefix):
    """Measure one size: prints JSON."""
    warm = kp.MarkovRandomField.from_edges(
        np.array([[0, 1], [1, 2], [2, 0]]), [[0.2, 0.8], [0.5, 0.5], [0.6, 0.4]], homophily=0.3
    )
    _sweeper(warm)(2)
    edges, priors = np.load(f"{prefix}-edges.npy"), np.load(f"{prefix}-priors.npy")
    before = _resident_bytes()
    # neighbours that dislike each other on a random graph do not settle, so every sweep is made
    sweep = _sweeper(kp.MarkovRandomField.from_edges(edges, priors, homophily=0.3))
    sweep(1)  # indexes the edges, which must not count against the first, shorter run
    seconds = median(per_step(sweep, FEW_SWEEPS, MANY_SWEEPS) for _ in range(3))
    peak = _peak_bytes()
    print(
        json.dumps(
            {
                "ns_per_edge": seconds / len(edges) * 1e9,
                "bytes_per_directed_edge": (peak - before) / (2 * len(edges)),
            }
        )
    )


def start_rows(repeats):
    """The command on a small table, kernels cached."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "edges.csv"
        table.write_text(
            "source,target\n" + "".join(f"v{i},v{(i * 7 + 1) % 50}\n" for i in range(50) if i * 6 % 50 != 49)
        )
        code = "from keyplayers.cli import main; main()"
        command = [sys.executable, "-c", code, "beliefs", str(table), "--homophily", "0.8",
                   "--observe", "v0=0", "--duplicates", "merge"]  # fmt: skip

        def start():
            subprocess.run(command, check=True, capture_output=True)

        start()  # fills the cache of compiled kernels
        seconds = interleave(start, repeats=repeats, clock=time.perf_counter)[0]
    return [
        limited("second start", "keyplayers beliefs, 50 edges", median(seconds), unit="s",
                goal=GOAL_SECONDS_TO_START, evaluations=1)
    ]  # fmt: skip


def _field(edges, priors, table, types):
    return kp.MarkovRandomField.from_edges(
        edges, priors, potential=dict(enumerate(table)), edge_types=types.tolist()
    )


def _sweeper(field):
    """A function that runs a number of flooding sweeps from uniform messages on one core."""

    def run(n_sweeps):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kp.ConvergenceWarning)
            state = kp.belief_propagation(field, schedule="flooding", max_sweeps=n_sweeps, tolerance=0, n_jobs=1)
        if state.n_sweeps != n_sweeps:
            raise SystemExit(
                f"the field came to a standstill after {state.n_sweeps} of {n_sweeps} sweeps: not timed"
            )
        return state

    return run


def _agree(rival, name, theirs, ours, bound):
    worst = np.abs(theirs - ours).max()
    if not worst <= bound:
        raise SystemExit(
            f"{rival} on {name}: beliefs differ by {worst:.3g}, more than {bound:g}; nothing to compare"
        )


def _describe(graph, n_edges):
    return f"{graph.__name__.removesuffix('_graph').replace('_', '-')}, {n_edges:,} edges"


def _peak_bytes():
    """Of this program alone; the ru_maxrss of a child starts at what its parent held."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, nargs="+", default=[100_000, 1_000_000], help="sizes for the sweeps")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small inputs, two repetitions: does it run?")
    parser.add_argument("--only", nargs="+", choices=GROUPS, help="these groups of rows only")
    parser.add_argument("--skip-speagle", action="store_true", help="leave SpEagle out (half a minute)")
    parser.add_argument("--skip-large", action="store_true", help="leave ten million edges out (5 GB of memory)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.edges, arguments.repeats = [10_000], 2
    return arguments


if __name__ == "__main__":
    main()
