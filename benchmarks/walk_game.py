"""Does the walk game name the evidence that makes a belief, and what does it cost?

    python benchmarks/walk_game.py --data DIR --out FILE.csv                 # all graphs, both couplings
    python benchmarks/walk_game.py --data DIR --out FILE.csv --graphs cora --couplings critical --targets 5
    python benchmarks/walk_game.py --neighbours --data DIR --out FILE.csv    # against leaving a neighbour out
    python benchmarks/walk_game.py --tables FILE.csv                         # medians, differences with intervals

DIR holds labelled graphs as DIR/<name>/<name>.npz with edges [E, 2], labels [N] (-1: unknown), num_nodes.

Fields: two states (the most frequent label against all others), 30 % of the given labels observed, ratings of
bitcoin_otc as signed weights (rating / 10). Couplings: "weak" is the homophily at which t·ρ = 0.7, t being the
tanh of the coupling and ρ the spectral radius of the non-backtracking matrix of the unobserved part; "0.6" is
that homophily.

A ranking lists the evidence of the ball, what supports the belief most first. keep: KL(k) / KL(0) where only the
first k keep their priors, lower is better; delete: share of the log-odds that is lost where the first k lose
theirs, higher is better; both are means over k = 1, 2, 3, 5, 10 by propagation on the whole field. Leaving out
one prior or variable at a time is asked for the first 10 of each other ranking. Seconds are processor time after
a first call.
"""

import argparse
import csv
import dataclasses
import time
import warnings
from pathlib import Path

from _table import pin_to_one_core

pin_to_one_core()

import numpy as np

import keyplayers as kp
from keyplayers.graphshapley.engines.walk_convolution import convolve_walks
from keyplayers.graphshapley.game.walk_tree import BoundaryMessages, walk_tree
from keyplayers.graphshapley.game.worth import make_worth

GRAPHS = ("bitcoin_otc", "polblogs", "cora", "citeseer", "facebook100", "email_eu", "pubmed")
COUPLINGS = ("weak", "0.6")
KNOWN = 0.3
T_RHO = 0.7
KS = (1, 2, 3, 5, 10)
SHORTLIST = 10
# Copies beyond which three steps are left out.
MAX_COPIES = 60_000
# Log-odds below which areas are shares of next to nothing.
SMALLEST = 0.05
REFERENCE = "walks r=2"
GAMES = {  # name -> steps, boundary, law
    "walks r=1": (1, True, "uniform"),
    "walks r=2": (2, True, "uniform"),
    "walks r=3": (3, True, "uniform"),
    "walks r=2 cut": (2, False, "uniform"),
    "walks r=2 shapley": (2, True, "shapley"),
}


def load(data, name):
    """Edges, weights or None, binary labels (-1: unknown)."""
    z = np.load(Path(data) / name / f"{name}.npz")
    n = int(z["num_nodes"])
    edges, labels = z["edges"].astype(np.int64), z["labels"].astype(np.int64)
    if labels.ndim > 1:
        labels = labels.argmax(axis=1)
    weights = z["rating"] / 10 if "rating" in z.files else None
    if name == "facebook100":  # the smallest school
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        graph = coo_array((np.ones(len(edges)), edges.T), shape=(n, n))
        part = connected_components(graph, directed=False)[1]
        sizes = np.bincount(part)
        chosen = np.flatnonzero(part == np.argmin(np.where(sizes > 500, sizes, n + 1)))
        position = np.full(n, -1)
        position[chosen] = np.arange(len(chosen))
        edges = position[edges[(position[edges] >= 0).all(axis=1)]]
        labels, n = labels[chosen], len(chosen)
    common = np.bincount(labels[labels >= 0]).argmax()
    return n, edges, weights, np.where(labels < 0, -1, (labels == common).astype(np.int64))


def make_field(n, edges, weights, labels, homophily, rng):
    known = np.flatnonzero(labels >= 0)
    observed = rng.permutation(known)[: round(KNOWN * len(known))]
    priors = np.ones((n, 2))
    priors[observed] = np.eye(2)[labels[observed]]
    return kp.MarkovRandomField.from_edges(
        edges, priors, homophily=homophily, edge_weights=weights, self_loops="drop", n_variables=n,
        duplicates="merge" if weights is None else "multiply",
    )  # fmt: skip


def couplings_of(mrf):
    """[2E] J of each directed edge: log cross ratio / 4; its tanh is how much of a change passes."""
    tables = mrf.log_potentials.reshape(-1, 4)[mrf.slots.tables >> 1]
    return (tables[:, 0] - tables[:, 1] - tables[:, 2] + tables[:, 3]) / 4


def criticality(mrf, scale=1.0):
    """t·ρ: the spectral radius of the non-backtracking matrix, each step weighed by its tanh."""
    slots = mrf.slots
    sender, receiver = slots.neighbours[slots.reverse], slots.neighbours
    t = np.abs(np.tanh(scale * couplings_of(mrf))) * ~(mrf.observed[sender] | mrf.observed[receiver])
    x = np.ones(len(t))
    rate = 0.0
    for _ in range(80):
        into = np.bincount(receiver, t * x, mrf.n_variables)
        y = into[sender] - (t * x)[slots.reverse] + x  # shifted by one: no oscillation
        rate = np.linalg.norm(y) / np.linalg.norm(x)
        x = y / np.linalg.norm(y)
    return rate - 1.0


def weak_homophily(build):
    """The homophily at which t·ρ = T_RHO."""
    mrf = build(0.6)
    unit = np.arctanh(2 * 0.6 - 1)
    low, high = 0.0, 6.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if criticality(mrf, middle) < T_RHO else (low, middle)
    return (1 + np.tanh(unit * low)) / 2


def propagate(mrf, start=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kp.belief_propagation(mrf, tolerance=1e-7, max_sweeps=2000, start=start)


class Case:
    """One target of one field, and the beliefs of its changed twins."""

    def __init__(self, mrf, state, target):
        self.mrf, self.state, self.target = mrf, state, target
        self.log_belief = state.log_belief(target)
        self.best = int(np.argmax(self.log_belief))
        self.known = {}
        self.n_unconverged = 0

    def log_odds(self, log_belief):
        return log_belief[self.best] - log_belief[1 - self.best]

    def belief(self, uniform):
        """Log-belief of the target where the priors of some variables are uniform."""
        key = uniform.tobytes()
        if key not in self.known:
            log_priors = self.mrf.log_priors.copy().reshape(-1, 2)
            log_priors[uniform] = 0.0
            state = propagate(self.mrf.with_log_priors(log_priors.ravel()))
            self.n_unconverged += not state.converged
            self.known[key] = state.log_belief(self.target)
        return self.known[key]

    def without(self, v):
        """Log-belief of the target where variable v and its edges are gone."""
        mrf = self.mrf
        gone = (mrf.edges == v).any(axis=1)
        priors = mrf.log_priors.copy()
        priors[2 * v : 2 * v + 2] = 0.0
        flat = len(mrf.potential_shapes)
        field = dataclasses.replace(
            mrf,
            log_priors=priors,
            potential_index=np.where(gone, flat, mrf.potential_index).astype(mrf.potential_index.dtype),
            potential_shapes=np.vstack([mrf.potential_shapes, [[2, 2]]]).astype(mrf.potential_shapes.dtype),
            log_potentials=np.append(mrf.log_potentials, np.zeros(4)),
        )
        state = propagate(field, None if mrf.observed[v] else self.state)
        self.n_unconverged += not state.converged
        return state.log_belief(self.target)

    def areas(self, ranking):
        """Keep and delete areas of evidence in an order."""
        observed = self.mrf.observed
        empty, whole = self.belief(observed), self.log_belief
        keep, delete = [], []
        for k in KS:
            kept, lost = observed.copy(), np.zeros_like(observed)
            kept[ranking[:k]] = False
            lost[ranking[:k]] = True
            keep.append(divergence(whole, self.belief(kept)) / divergence(whole, empty))
            left = self.log_odds(self.belief(lost)) - self.log_odds(empty)
            delete.append(1 - left / (self.log_odds(whole) - self.log_odds(empty)))
        return float(np.mean(keep)), float(np.mean(delete))


def divergence(log_p, log_q):
    return float(((np.exp(log_p) - np.exp(log_q)) * (log_p - log_q)).sum())


def play(case, messages, steps, boundary, law):
    """Values by variable [N] (all, probabilistic), and what the play was like."""
    mrf = case.mrf
    worth = make_worth("log_odds", case.log_belief, (0, 1))
    start = time.process_time()
    tree = walk_tree(mrf, case.target, steps, messages if boundary else None)
    if tree.n_copies > MAX_COPIES:
        return None
    found = convolve_walks(tree, worth, worth, law=law, tolerance=1e-6 if law == "uniform" else 1e-4)
    seconds = time.process_time() - start
    values, probabilistic = (
        np.bincount(tree.variables, x, mrf.n_variables) for x in (found.values, found.probabilistic)
    )
    return values, probabilistic, {
        "seconds": seconds,
        "copies": tree.n_copies,
        "bound": float(found.bounds.max()),
        "quadrature": float(found.quadrature.max()),
        "sum": float(values.sum()),
    }  # fmt: skip


def rankings(case, messages, around, rng, with_paper):
    """Evidence of the ball in the order of each method: name -> (ranking, facts)."""
    mrf = case.mrf
    evidence = around.members[mrf.observed[around.members]]
    hops = np.full(mrf.n_variables, 99)
    hops[around.members] = around.distances
    shuffled = rng.permutation(evidence)
    found = {
        "random": (shuffled, {}),
        "hop distance": (shuffled[np.argsort(hops[shuffled], kind="stable")], {}),
    }
    for name, game in GAMES.items():
        played = play(case, messages, *game)
        if played is None:
            continue
        values, probabilistic, facts = played
        shown = evidence if game[0] < 3 else np.flatnonzero(mrf.observed)
        found[name] = shown[np.argsort(-probabilistic[shown], kind="stable")], facts
        if name == REFERENCE:
            found["walks r=2 by |value|"] = shown[np.argsort(-np.abs(values[shown]), kind="stable")], {}
    if with_paper:
        found["paper's game"] = paper(case, evidence)
    short = np.unique(np.concatenate([ranking[:SHORTLIST] for ranking, _ in found.values()]))
    whole = case.log_odds(case.log_belief)
    for name, ask in (("leave one prior out", case.belief), ("leave one variable out", case.without)):
        drops = []
        for v in short.tolist():
            mask = np.zeros(mrf.n_variables, dtype=bool)
            mask[v] = True
            drops.append(whole - case.log_odds(ask(mask) if ask == case.belief else ask(v)))
        found[name] = short[np.argsort(-np.array(drops), kind="stable")], {}
    return found


def paper(case, evidence):
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = kp.GraphShapley(case.mrf, worth="log_odds", beliefs=case.state, **SUBTREES)
        ex = explainer.explain(case.target, random_state=0)
    probabilistic = np.full(case.mrf.n_variables, -np.inf)
    probabilistic[[int(player) for player in ex.players]] = np.nan_to_num(ex.probabilistic)
    facts = {"seconds": time.process_time() - start, "sum": float(np.nansum(ex.values)), "copies": len(ex.players)}
    return evidence[np.argsort(-probabilistic[evidence], kind="stable")], facts


# the paper's game by its name, where the explainer knows others; so many coalitions take some seconds
SUBTREES = (
    {"max_evals": 1_000} | {"coalitions": "subtrees"}
    if "coalitions" in kp.GraphShapley.__init__.__annotations__
    else {"max_evals": 1_000}
)


def run(data, out, graphs, couplings, n_targets, with_paper):
    with Path(out).open("a", newline="") as file:
        writer = None
        for graph in graphs:
            n, edges, weights, labels = load(data, graph)
            for coupling in couplings:

                def build(h):
                    return make_field(n, edges, weights, labels, h, np.random.default_rng(0))  # noqa: B023

                homophily = weak_homophily(build) if coupling == "weak" else float(coupling)
                mrf = build(homophily)
                t_rho = criticality(mrf)
                state = propagate(mrf)
                messages = BoundaryMessages.of(state)
                rng = np.random.default_rng(1)
                n_done = 0
                for target in rng.permutation(np.flatnonzero(~mrf.observed)).tolist():
                    around = kp.ball(mrf, target, 2)
                    n_evidence = int(mrf.observed[around.members].sum())
                    if n_evidence < 12 or not state.converged:
                        continue
                    case = Case(mrf, state, target)
                    odds = case.log_odds(case.log_belief)
                    if abs(odds) < SMALLEST:
                        continue
                    for name, (ranking, facts) in rankings(case, messages, around, rng, with_paper).items():
                        keep, delete = case.areas(ranking)
                        row = {
                            "graph": graph, "coupling": coupling, "homophily": homophily, "t_rho": t_rho,
                            "target": target, "degree": int(np.bincount(around.distances)[1]),
                            "ball_variables": around.n_variables, "ball_edges": around.n_edges,
                            "evidence": n_evidence, "log_odds": float(odds), "method": name,
                            "keep": keep, "delete": delete,
                            "copies": "", "seconds": "", "bound": "", "quadrature": "", "sum": "",
                            "unconverged": case.n_unconverged,
                        } | facts  # fmt: skip
                        if writer is None:
                            writer = csv.DictWriter(file, row)
                            if not file.tell():
                                writer.writeheader()
                        writer.writerow(row)
                    file.flush()
                    n_done += 1
                    if n_done == n_targets:
                        break


def run_neighbours(data, out, n_targets, most=60):
    """Dense targets of bitcoin_otc: values of direct neighbours against leaving each of them out."""
    n, edges, weights, labels = load(data, "bitcoin_otc")
    with Path(out).open("a", newline="") as file:
        writer = None
        for coupling in COUPLINGS:

            def build(h):
                return make_field(n, edges, weights, labels, h, np.random.default_rng(0))

            mrf = build(weak_homophily(build) if coupling == "weak" else float(coupling))
            state = propagate(mrf)
            messages = BoundaryMessages.of(state)
            degrees = np.diff(mrf.slots.offsets)
            rng = np.random.default_rng(2)
            dense = np.flatnonzero((degrees >= 30) & (degrees <= 300) & ~mrf.observed)
            for target in rng.permutation(dense)[:n_targets].tolist():
                case = Case(mrf, state, target)
                around = kp.ball(mrf, target, 2)
                own = mrf.slots.neighbours[mrf.slots.offsets[target] : mrf.slots.offsets[target + 1]]
                asked = rng.permutation(own)[:most].astype(np.int64)
                whole = case.log_odds(case.log_belief)
                drops = np.array([whole - case.log_odds(case.without(v)) for v in asked.tolist()])
                for name, game in GAMES.items():
                    played = play(case, messages, *game)
                    if played is None:
                        continue
                    row = {
                        "coupling": coupling, "target": target, "degree": int(degrees[target]),
                        "ball_edges": around.n_edges, "method": name,
                        "correlation": float(np.corrcoef(played[0][asked], drops)[0, 1]),
                        "ratio": float(played[0][asked].sum() / drops.sum()),
                        "unconverged": case.n_unconverged,
                    } | played[2] | {"log_odds": float(whole)}  # fmt: skip
                    if writer is None:
                        writer = csv.DictWriter(file, row)
                        if not file.tell():
                            writer.writeheader()
                    writer.writerow(row)
                file.flush()


def tables(path):
    """Markdown: medians of each method, and differences from the reference with bootstrap intervals."""
    with Path(path).open() as file:
        rows = list(csv.DictReader(file))
    if "correlation" in rows[0]:
        return neighbour_tables(rows)
    for graph, coupling in dict.fromkeys((row["graph"], row["coupling"]) for row in rows):
        own = [row for row in rows if (row["graph"], row["coupling"]) == (graph, coupling)]
        targets = list(dict.fromkeys(row["target"] for row in own))
        first = own[0]
        edges = int(np.median([int(row["ball_edges"]) for row in own]))
        print(
            f"\n**{graph}**, homophily {float(first['homophily']):.3f} (t·ρ = {float(first['t_rho']):.2f}), "
            f"{len(targets)} targets, balls of {edges:,} edges (median)\n"
        )
        print("| ranking | keep | difference | delete | difference | covered | seconds |")
        print("|---|---|---|---|---|---|---|")
        by = {(row["method"], row["target"]): row for row in own}
        for method in dict.fromkeys(row["method"] for row in own):
            print(line(method, targets, by))
    return None


def line(method, targets, by):
    cells = [method]
    for measure in ("keep", "delete"):
        mine = [float(by[method, t][measure]) for t in targets if (method, t) in by]
        apart = [
            float(by[method, t][measure]) - float(by[REFERENCE, t][measure]) for t in targets if (method, t) in by
        ]
        low, high = interval(apart)
        cells += [
            f"{np.median(mine):.3f}",
            "" if method == REFERENCE else f"{np.median(apart):+.3f} ({low:+.3f} to {high:+.3f})",
        ]
    played = [by[method, t] for t in targets if (method, t) in by and by[method, t]["sum"]]
    shares = [float(row["sum"]) / float(row["log_odds"]) for row in played]
    cells.append(f"{np.median(shares):.2f}" if shares else "")
    cells.append(f"{np.median([float(row['seconds']) for row in played]):.2f}" if played else "")
    return "| " + " | ".join(cells) + " |"


def interval(apart, n=2000):
    """95 % of the medians of resampled targets."""
    rng = np.random.default_rng(0)
    medians = np.median(rng.choice(np.array(apart), (n, len(apart))), axis=1)
    return np.quantile(medians, [0.025, 0.975])


def neighbour_tables(rows):
    for coupling in dict.fromkeys(row["coupling"] for row in rows):
        own = [row for row in rows if row["coupling"] == coupling]
        print(f"\n**homophily {coupling}**\n")
        print("| game | targets | correlation (quartiles) | seconds | covered |\n|---|---|---|---|---|")
        for method in dict.fromkeys(row["method"] for row in own):
            mine = [row for row in own if row["method"] == method]
            found = np.nanquantile([float(row["correlation"]) for row in mine], [0.5, 0.25, 0.75])
            seconds = np.median([float(row["seconds"]) for row in mine])
            covered = np.median([float(row["sum"]) / float(row["log_odds"]) for row in mine])
            print(
                f"| {method} | {len(mine)} | {found[0]:.2f} ({found[1]:.2f} to {found[2]:.2f}) "
                f"| {seconds:.2f} | {covered:.2f} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--out", default="walk_game.csv")
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--couplings", nargs="+", default=COUPLINGS)
    parser.add_argument("--targets", type=int, default=10)
    parser.add_argument("--neighbours", action="store_true")
    parser.add_argument("--no-paper", action="store_true", help="leave the paper's game out")
    parser.add_argument("--tables", metavar="CSV")
    given = parser.parse_args()
    if given.tables:
        tables(given.tables)
    elif given.neighbours:
        run_neighbours(given.data, given.out, given.targets)
    else:
        run(given.data, given.out, given.graphs, given.couplings, given.targets, not given.no_paper)


if __name__ == "__main__":
    main()
