"""How fast does enumeration price coalitions, and what does its incremental update save?

    python benchmarks/enumeration.py            # half a minute
    python benchmarks/enumeration.py --quick    # small inputs, to see that it runs
    python benchmarks/enumeration.py --json

Times are processor time on one core; repetitions of ours and of the rival alternate. "evaluations" counts
coalitions. For each coalition ours gives its worth, the contributions of all its members, their split into a
probabilistic and a topological part, and their direction.

coalitions
    microseconds per coalition, everything included (building the search, the answer's record).
incremental
    against one propagation for every worth asked for, on the same coalitions, compiled too (`_from_scratch.py`);
    the rival leaves the direction out. Its values are compared with ours first.
oracle
    against the tests' listing of all edge subsets in plain Python (without its search for them).
"""

import argparse
import sys
from itertools import combinations
from pathlib import Path

from _table import interleave, limited, paired, pin_to_one_core, show

pin_to_one_core()
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from _from_scratch import walk_binary, walk_general
from tests.oracles import subtrees

import keyplayers as kp
from keyplayers.graphshapley.engines.enumeration import enumerate_coalitions
from keyplayers.graphshapley.engines.search import Search
from keyplayers.graphshapley.game.game import Game
from keyplayers.graphshapley.game.worth import direction_worth, make_worth

# input -> least coalitions per second that two states are meant to reach
GOALS = {"star": 2e6, "two-level tree": 1e6, "binary tree": 0.3e6, "random graph": 0.4e6}
AGREES = 1e-9


def graphs(quick):
    """Edges around target 0."""
    rng = np.random.default_rng(1)
    leaves, children, levels, n, m = (12, 3, 4, 10, 13) if quick else (20, 4, 5, 14, 22)
    yield "star", [(0, v) for v in range(1, leaves + 1)]
    inner = range(1, children + 1)
    yield (
        "two-level tree",
        [(0, v) for v in inner] + [(v, children + (v - 1) * children + i) for v in inner for i in inner],
    )
    yield "binary tree", [((v - 1) // 2, v) for v in range(1, 2**levels - 1)]
    tree = [(int(rng.integers(v)), v) for v in range(1, n)]
    spare = [pair for pair in combinations(range(n), 2) if pair not in tree]
    yield "random graph", tree + [spare[i] for i in rng.permutation(len(spare))[: m - len(tree)]]


def make_game(edges, n_states):
    n = max(map(max, edges)) + 1
    priors = np.random.default_rng(n).random((n, n_states)) + 0.1
    mrf = kp.MarkovRandomField.from_edges(np.array(edges), priors, homophily=0.8)
    log_belief = kp.exact_marginals(mrf).log_belief(0)
    states = range(n_states)
    return Game(
        kp.ball(mrf, 0, None), make_worth("symmetric_kl", log_belief, states), direction_worth(log_belief, states)
    )


def from_scratch(game, n_coalitions):
    """The rival, as a function without arguments that gives values and probabilistic parts."""
    field = game.ball.field
    tape = Search(field, 2 * n_coalitions).advance(n_coalitions)
    k = field.uniform_n_states
    tables = np.exp(field.log_potentials).reshape(-1, k, k)
    slots = field.slots
    # homophily is symmetric: rows and columns need not be told apart
    psi = tables[slots.tables >> 1]
    senders = np.repeat(np.arange(field.n_variables, dtype=np.int32), np.diff(slots.offsets))
    phi = np.exp(field.log_priors).reshape(-1, k)
    walk = walk_binary if k == 2 else walk_general
    log_b = game.worth.log_belief
    arguments = (tape, slots.neighbours, senders, phi, psi, np.ptp(phi, axis=1) == 0, log_b, np.exp(log_b))

    def run():
        sums, splits, counts = walk(*arguments)
        return sums[1:] / counts[1:], splits[1:] / counts[1:]

    return run


def check(found, expected, case):
    for ours, theirs in zip((found.values, found.probabilistic), expected, strict=True):
        gap = np.abs(ours - theirs).max()
        if gap > AGREES:
            raise SystemExit(f"{case}: ours and the rival's values differ by {gap:.1e}")


def measure(quick, repeats):
    for n_states in (2, 5):
        for name, edges in graphs(quick):
            game = make_game(edges, n_states)

            def ours(game=game):
                return enumerate_coalitions(game, max_evals=10**8)

            found = ours()
            rival = from_scratch(game, found.n_evaluations)
            check(found, rival(), name)
            case = f"{name}, {n_states} states, {found.n_evaluations:,} coalitions"
            mine, theirs = interleave(ours, rival, repeats=repeats)
            per = 1e-6 * found.n_evaluations
            goal = None if n_states > 2 or quick else 1e6 / GOALS[name]
            yield limited(
                "coalitions", case, np.median(mine) / per, unit="µs", goal=goal, evaluations=found.n_evaluations
            )
            yield paired(
                *("incremental", case, "from scratch", mine, theirs),
                unit="µs",
                per=per,
                evaluations=found.n_evaluations,
            )


def measure_oracle(repeats):
    for n_states in (2, 5):
        edges = list(graphs(quick=True))[-1][1]
        game = make_game(edges, n_states)
        field = game.ball.field
        priors = np.exp(field.log_priors).reshape(-1, n_states).tolist()
        pairs = [tuple(pair) for pair in field.edges.tolist()]
        potential = np.exp(field.log_potential_at(0)).tolist()
        belief = np.exp(game.worth.log_belief).tolist()

        plain = (priors, pairs, [potential] * len(pairs), 0, belief, ("symmetric_kl", None, None))

        def oracle(plain=plain):
            return subtrees.explain(*plain)

        def ours(game=game):
            for _ in range(20):
                enumerate_coalitions(game, max_evals=10**6)

        n_coalitions = enumerate_coalitions(game, max_evals=10**6).n_evaluations
        mine, theirs = interleave(ours, oracle, repeats=repeats)
        yield paired(
            "oracle",
            f"random graph, {n_states} states, {len(pairs)} edges",
            "plain Python",
            [seconds / 20 for seconds in mine],
            theirs,
            unit="µs",
            per=1e-6 * n_coalitions,
            evaluations=n_coalitions,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    repeats = 1 if arguments.quick else arguments.repeats
    rows = [*measure(arguments.quick, repeats), *measure_oracle(repeats)]
    show(rows, title="Enumeration of coalitions", as_json=arguments.json)


if __name__ == "__main__":
    main()
