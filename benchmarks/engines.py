"""How long do the engines take where enumeration gives up, and how sure are their answers?

    python benchmarks/engines.py --data DIR            # some minutes; without DIR: generated inputs only
    python benchmarks/engines.py --data DIR --quick    # few targets, to see that it runs
    python benchmarks/engines.py --data DIR --every cora       # all variables of one graph, on all cores

DIR holds labelled graphs as DIR/<name>/<name>.npz with edges [E, 2], labels [N] (-1: unknown), num_nodes.

Times are processor time on one core, after a first call that compiles; "evaluations" counts coalitions (for
convolution: grid points at the target). Fields: 30 % of the labels are known (a prior of 0.9 for the label), and
homophily is the largest of a few for which fewer than 5 % of the beliefs exceed log-odds of 10.

convolution
    seconds for one ball with a proven bound; growth: seconds per n log2 n against that of the smallest input.
every
    all variables of a graph, on two cores: their processor time together (360 s is three minutes), and how often
    the top five of two seeds differ, but for ties within 3 standard errors.
second
    sampling for one second: the largest standard error among the top five players as a share of the largest
    value, at the worst of 95 % of the targets (in %), against a chain of swaps alone that takes as many edge
    steps as fit into the same time (the ratio is that of standard errors).
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

from _table import Row, interleave, limited, pin_to_one_core, show

if "--every" not in sys.argv:
    pin_to_one_core()

import numpy as np

import keyplayers as kp
from keyplayers.graphshapley.engines import sampling
from keyplayers.graphshapley.engines.convolution import convolve_game
from keyplayers.graphshapley.engines.sampling import Sampler
from keyplayers.graphshapley.game.game import Game
from keyplayers.graphshapley.game.worth import direction_worth, make_worth

GRAPHS = ("cora", "citeseer", "pubmed", "bitcoin_otc", "sffsd", "tolokers", "facebook100", "yelpchi")
# share of the largest value that the standard errors of the top five may have after a second
WANTED = {"cora": 2.0, "citeseer": 2.0, "pubmed": 2.0}
HOMOPHILIES = (0.8, 0.7, 0.6, 0.55, 0.52, 0.51)
KNOWN = 0.3
NEVER = 10**9
# coalitions per target where all variables of a graph are explained
EVERY_EVALS = 4_000


def make_game(mrf, target, log_belief, radius=2, worth="symmetric_kl"):
    states = mrf.states(target)
    return Game(
        kp.ball(mrf, target, radius),
        make_worth(worth, log_belief, states),
        direction_worth(log_belief, states),
    )


def tree_game(edges, seed=0):
    """Random log-odds on a tree around variable 0."""
    edges = np.array(edges)
    n = int(edges.max()) + 1
    priors = np.column_stack([np.ones(n), np.exp(np.random.default_rng(seed).normal(size=n))])
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.8)
    return make_game(mrf, 0, np.log([0.3, 0.7]), None)


def two_levels(n_inner, n_leaves):
    inner = [(0, 1 + i) for i in range(n_inner)]
    return inner + [(1 + i, 1 + n_inner + i * n_leaves + j) for i in range(n_inner) for j in range(n_leaves)]


def convolution_rows(quick):
    repeats = 1 if quick else 3
    convolve_game(tree_game(two_levels(3, 2)))
    game = tree_game(two_levels(40, 25))
    (seconds,) = interleave(lambda: convolve_game(game, tolerance=1e-5), repeats=repeats)
    found = convolve_game(game, tolerance=1e-5)
    yield limited(
        "convolution", "40 x 25, to 1e-5", float(np.median(seconds)), unit="s", goal=0.5,
        evaluations=found.n_evaluations,
    )  # fmt: skip
    for shape in ("hub", "two levels"):
        first = None
        for n in (100, 1_000, 10_000) if quick else (100, 1_000, 10_000, 100_000):
            width = round(n**0.5)
            edges = [(0, i + 1) for i in range(n)] if shape == "hub" else two_levels(width, width)
            game = tree_game(edges)
            (seconds,) = interleave(lambda game=game: convolve_game(game), repeats=1 if n > 10_000 else repeats)
            found = convolve_game(game) if n < 100_000 else None
            per = float(np.median(seconds)) / (n * np.log2(n))
            first = first or per
            yield Row(
                "convolution", f"{shape}, {n:,} variables", float(np.median(seconds)), "s", "n log n", None,
                None, None, None, None, found.n_evaluations if found else 0,
            )  # fmt: skip
            yield limited("growth", f"{shape}, {n:,} variables", per / first, unit="x", goal=1.5, evaluations=0)


def labelled_field(folder, name):
    """The field, its beliefs, and which variables are not labelled."""
    data = np.load(Path(folder) / name / f"{name}.npz", allow_pickle=False)
    edges, labels, n = data["edges"].astype(np.int64), data["labels"].astype(np.int64), int(data["num_nodes"])
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    k = int(labels.max()) + 1
    known = (np.random.default_rng(0).random(n) < KNOWN) & (labels >= 0)
    priors = np.full((n, k), 1.0 / k)
    priors[known] = 0.1 / (k - 1)
    priors[known, labels[known]] = 0.9
    for homophily in HOMOPHILIES:
        mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=homophily)
        state = kp.belief_propagation(mrf)
        beliefs = np.sort(state.beliefs, axis=1)
        sure = (np.log(beliefs[:, -1]) - np.log(np.maximum(beliefs[:, :-1].sum(axis=1), 1e-300)) > 10.0).mean()
        if state.converged and sure < 0.05:
            break
    return mrf, state, ~known, homophily


def run_for(sampler, seconds):
    """Draw until so much processor time is gone."""
    n_draws, start = 64, time.process_time()
    sampler.advance(1)
    while (gone := time.process_time() - start) < seconds:
        done = sampler.streams[0].n_draws
        n_draws = max(done + 1, int(done * min(2.0, seconds / max(gone, 1e-6))))
        sampler.advance(min(n_draws, done + max(1, int(done * 0.5))))
    return time.process_time() - start


def share_of_largest(sampler):
    """The largest standard error of the top five, as a share of the largest value."""
    estimate = sampler.estimate()
    values, errors = estimate.values[1:], estimate.std_errors[1:]
    top = np.argsort(-np.abs(np.nan_to_num(values)))[:5]
    largest = np.nanmax(np.abs(values))
    return float(errors[top].max() / largest) if largest > 1e-12 else 0.0


def second_rows(folder, name, n_targets):
    mrf, state, free, homophily = labelled_field(folder, name)
    degrees = np.bincount(mrf.edges.ravel(), minlength=mrf.n_variables)
    targets = np.random.default_rng(1).permutation(np.flatnonzero(free & (degrees > 0)))[:n_targets]
    ours, swaps, draws, sizes = [], [], [], []
    for target in targets:
        game = make_game(mrf, int(target), state.log_belief(int(target)))
        began = time.process_time()
        sampler = Sampler(game, random_state=0, n_jobs=1)
        run_for(sampler, 1.0 - (time.process_time() - began))
        ours.append(share_of_largest(sampler))
        draws.append(sampler.n_draws)
        sizes.append((game.ball.n_variables, game.ball.n_edges))
        if sampler.core.members.size > 1:
            alone = Sampler(game, random_state=0, n_jobs=1)
            for stream in alone.streams:
                stream.chain.state.pace[:] = max(1, len(alone.core.ends)), NEVER, NEVER
            run_for(alone, 1.0)
            swaps.append(share_of_largest(alone) / max(ours[-1], 1e-12))
    worst, wanted = 100 * float(np.quantile(ours, 0.95)), WANTED.get(name)
    median_size = np.median(sizes, axis=0).astype(int)
    largest = np.max(sizes, axis=0)
    case = (
        f"{name}, {mrf.uniform_n_states} states, homophily {homophily:g}; median {median_size[0]:,} variables "
        f"{median_size[1]:,} edges, largest {largest[0]:,} {largest[1]:,}; "
        f"{np.mean(np.array(ours) <= 0.02):.0%} within 2 %"
    )
    ratios = sorted(swaps) or [1.0]
    yield limited("second", case, worst, unit="%", goal=wanted, evaluations=int(np.median(draws)))
    yield Row(
        "second", f"{name}, standard error of swaps alone to ours", 1.0, "x", None, None, float(np.median(ratios)),
        ratios[0], ratios[-1], None, int(np.median(draws)),
    )  # fmt: skip


def every_row(folder, name):
    """All variables of one graph with two seeds: seconds, and whether the top five agree."""
    from joblib import Parallel, delayed

    mrf, state, _, _ = labelled_field(folder, name)
    explainer = kp.GraphShapley.as_published(mrf, beliefs=state, max_evals=EVERY_EVALS)

    def explain(target, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return explainer.explain(target, random_state=seed)

    def same_top(a, b):
        """The top five of each are among those of the other, up to ties within 3 standard errors."""
        for one, other in ((a, b), (b, a)):
            if len(other) < 6:
                continue
            last = other.values[4]
            for player in one.players[:5]:
                if player not in other.players[:5]:
                    i = other.players.index(player)
                    if last - other.values[i] > 3 * np.hypot(other.std_errors[i], other.std_errors[4]) + 1e-9:
                        return False
        return True

    explain(0, 0)
    targets = range(mrf.n_variables)
    began = time.process_time()
    first = Parallel(n_jobs=-1, prefer="threads")(delayed(explain)(target, 1) for target in targets)
    seconds = time.process_time() - began
    second = Parallel(n_jobs=-1, prefer="threads")(delayed(explain)(target, 2) for target in targets)
    agree = np.mean([same_top(a, b) for a, b in zip(first, second, strict=True)])
    n = sum(found.n_evaluations for found in first)
    yield limited(
        "every",
        f"{name}, {mrf.n_variables:,} targets, both cores together",
        seconds,
        unit="s",
        goal=360,
        evaluations=n,
    )
    yield limited(
        "every", f"{name}, targets whose top five differ", 100 * (1 - agree), unit="%", goal=5, evaluations=n
    )


def busiest_rows(folder, seconds):
    """The product and the user of Yelp with the largest balls."""
    mrf, state, _, _ = labelled_field(folder, "yelpchi")
    degrees = np.bincount(mrf.edges.ravel(), minlength=mrf.n_variables)
    n_users = int(np.load(Path(folder) / "yelpchi" / "yelpchi.npz")["num_users"])
    users = np.argsort(-degrees[:n_users])[:20]
    user = max(users, key=lambda v: kp.ball(mrf, int(v), 2).n_variables)
    product = n_users + int(np.argmax(degrees[n_users:]))
    for kind, target in (("product", product), ("user", int(user))):
        game = make_game(mrf, target, state.log_belief(target), worth="log_odds")  # the other worths are saturated
        began = time.process_time()
        sampler = Sampler(game, random_state=0, n_jobs=1)
        run_for(sampler, seconds - (time.process_time() - began))
        size = f"{game.ball.n_variables:,} variables, {game.ball.n_edges:,} edges"
        case = f"yelpchi's busiest {kind}: {size}, {seconds} s"
        yield limited(
            "busiest", case, 100 * share_of_largest(sampler), unit="%", goal=5, evaluations=sampler.n_draws
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--targets", type=int, default=40)
    parser.add_argument("--only", choices=[*GRAPHS, "convolution", "busiest"])
    parser.add_argument("--every", choices=GRAPHS)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", kp.KeyPlayersWarning)
    rows = []
    if arguments.every:
        rows += every_row(arguments.data, arguments.every)
    else:
        if arguments.only in (None, "convolution"):
            rows += convolution_rows(arguments.quick)
        if arguments.data:
            sampling.sample_game(tree_game(two_levels(3, 2)), max_evals=8)
            for name in GRAPHS:
                if arguments.only in (None, name):
                    rows += second_rows(arguments.data, name, 3 if arguments.quick else arguments.targets)
            if arguments.only in (None, "busiest"):
                rows += busiest_rows(arguments.data, 10)
    show(rows, title="Engines", as_json=arguments.json)


if __name__ == "__main__":
    main()
