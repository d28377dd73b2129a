"""The random fields of the golden files, and what is asked of each.

Everything is drawn with `random.Random(seed).random()`, whose stream Python promises to keep, and rounded to
fractions of 1024, so that the same fields come out on every machine. Nothing here may use helpers of other tests:
a change of theirs would change the inputs. Only public names of the package are used.
"""

import random
import warnings
from dataclasses import dataclass, field
from itertools import combinations

import keyplayers as kp

N_FIELDS = 200
N_LARGE = 10  # the last of them have more variables than enumeration likes
SAMPLED = 2_000  # coalitions that the sampling engine draws
ENUMERATED = 20_000  # coalitions that enumeration may price

WORTHS = ("symmetric_kl", "neg_cross_entropy", "log_odds", "probability", "contrast")
RADII = (None, 1, 2, 3)
METHODS = ("enumeration", "convolution", "sampling", "auto")
# what is asked of propagation besides "auto", field after field
SCHEDULES = (
    {"schedule": "flooding"},
    {"schedule": "sequential"},
    {"schedule": "residual"},
    {"max_product": True},
    {"schedule": "flooding", "damping": 0.25},
    {"schedule": "sequential", "max_product": True},
    {"schedule": "residual", "damping": 0.5, "max_sweeps": 60},
    {"schedule": "flooding", "max_sweeps": 3},
    {"schedule": "residual", "max_product": True},
    {"tolerance": 1e-4},
)


@dataclass(frozen=True)
class Case:
    """A field and the settings that it is explained with."""

    number: int
    edges: list  # of pairs of numbers
    given: dict  # keyword arguments of from_edges
    observed: dict = field(default_factory=dict)
    target: int = 0

    @property
    def mrf(self):
        """The field as the package sees it."""
        mrf = kp.MarkovRandomField.from_edges(self.edges, n_variables=len(self.given["priors"]), **self.given)
        return mrf.observe(self.observed) if self.observed else mrf

    def explainer(self, mrf, method, worth=None, **more):
        """The explainer of this case; the worth goes round with the number unless it is given."""
        worth = worth or WORTHS[self.number % len(WORTHS)]
        asked = {"coalitions": "subtrees", "radius": RADII[self.number // 5 % len(RADII)]}
        if worth in ("symmetric_kl", "neg_cross_entropy"):
            asked["order"] = "value"
        if worth == "contrast":
            asked["contrast"] = tuple(mrf.states(self.target)[:2])
        else:
            asked["worth"] = worth
        if worth in ("log_odds", "probability") and self.number % 3 == 0:
            asked["state"] = mrf.states(self.target)[-1]
        if self.number % 11 == 10:
            asked["max_ball"] = 6
        asked["max_evals"] = {"enumeration": ENUMERATED, "sampling": SAMPLED}.get(method)
        return kp.GraphShapley(mrf, method=method, **asked | more)


class Draw:
    """Numbers from a stream that stays the same over versions of Python."""

    def __init__(self, seed):
        self.chance = random.Random(seed).random

    def below(self, n):
        return int(self.chance() * n)

    def weight(self):
        """A positive multiple of 1/1024 whose logarithm has a logistic distribution."""
        u = self.chance()
        return min(max(round(1024 * u / (1 - u)), 1), 65536) / 1024

    def shuffled(self, items):
        return [item for _, item in sorted((self.chance(), item) for item in items)]


def make_case(number):
    """Field `number` of the golden files."""
    draw = Draw(20_000 + number)
    large = number >= N_FIELDS - N_LARGE
    cyclic = number % 2 == 1
    n = 20 + draw.below(25) if large else 2 + draw.below(13)
    kind = draw.chance()
    if large or kind < 0.5:
        n_states = [2] * n
    elif kind < 0.7:
        n_states = [3 + draw.below(2)] * n
    else:
        n_states = [2 + draw.below(3) for _ in range(n)]
    edges = _edges(draw, n, cyclic, large)
    zeros = 0.15 if number % 4 >= 2 and not large else 0.0
    possible = [draw.below(k) for k in n_states]  # an assignment that zeros leave alone
    if number % 40 == 3:
        possible = [None] * n
    priors = [_row(draw, k, zeros, kept) for k, kept in zip(n_states, possible, strict=True)]
    given = {"priors": priors}
    same = len(set(n_states)) == 1
    if same and number % 5 == 2:
        given["homophily"] = (0.6, 0.75, 0.9)[draw.below(3)]
        given["priors"] = [row if draw.chance() < 0.4 else [1.0] * len(row) for row in priors]
    elif same and number % 5 == 4:
        given["potential"] = {name: _table(draw, n_states[0], n_states[0], 0, None) for name in "ab"}
        given["edge_types"] = ["ab"[draw.below(2)] for _ in edges]
    else:
        given["potential"] = [
            _table(draw, n_states[a], n_states[b], zeros, (possible[a], possible[b])) for a, b in edges
        ]
    if number % 7 == 1 and same:
        given["states"] = [f"s{i}" for i in range(n_states[0])]
    observed = {}
    if number % 6 == 5:
        others = draw.shuffled(range(1, n))[: max(1, n // 6)]
        mrf = kp.MarkovRandomField.from_edges(edges, n_variables=n, **given)
        observed = {v: mrf.states(v)[possible[v] or 0] for v in others}
    degrees = [sum(v in edge for edge in edges) for v in range(n)]
    target = max(range(n), key=lambda v: (degrees[v], -v)) if number % 3 else draw.below(n)
    if number % 13 == 6:  # so sure that some worths are saturated
        row = given["priors"][target]
        row[row.index(max(row))] *= 2.0**36
    return Case(number, edges, given, observed, target)


def _edges(draw, n, cyclic, large):
    """A forest of one of three shapes, with `cyclic` some more pairs, in any order and direction."""
    shape = draw.below(3)
    gap = 0.1 if draw.chance() < 0.25 else 0.0
    pairs = []
    for v in range(1, n):
        if draw.chance() >= gap:
            reach = (v, min(v, 2), v)[shape]
            parent = draw.below(reach)
            pairs.append((v - 1 - parent if shape == 2 and draw.chance() < 0.5 else parent, v))
    if cyclic:
        spare = [pair for pair in combinations(range(n), 2) if pair not in set(pairs)]
        pairs += draw.shuffled(spare)[: 1 + draw.below(12 if large else 5)]
    labels = draw.shuffled(range(n))
    pairs = [(labels[a], labels[b]) for a, b in pairs]
    return [pair if draw.chance() < 0.5 else pair[::-1] for pair in draw.shuffled(pairs)]


def _row(draw, k, zeros, kept):
    row = [draw.weight() if draw.chance() >= zeros else 0.0 for _ in range(k)]
    place = draw.below(k) if kept is None else kept
    row[place] = row[place] or draw.weight()
    return row


def _table(draw, rows, columns, zeros, kept):
    table = [[draw.weight() if draw.chance() >= zeros else 0.0 for _ in range(columns)] for _ in range(rows)]
    a, b = (draw.below(rows), draw.below(columns)) if kept is None or None in kept else kept
    table[a][b] = table[a][b] or draw.weight()
    return table


def noting_warnings(work):
    """What `work` gives, and the categories of its warnings; a deliberate error is an answer too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = work()
        except kp.KeyPlayersError as error:
            found = {"error": type(error).__name__}
    return found, sorted({warning.category.__name__ for warning in caught})


def infer(case, mrf):
    """Name of a run -> what inference says."""
    asked = SCHEDULES[case.number % len(SCHEDULES)]
    name = " ".join(f"{key}={value}" for key, value in asked.items())
    yield "auto", lambda: propagate(mrf, {})
    yield name, lambda: propagate(mrf, asked)
    yield "exact", lambda: describe_state(mrf, kp.exact_marginals(mrf))


def propagate(mrf, asked):
    """What belief propagation says."""
    return describe_state(mrf, kp.belief_propagation(mrf, **asked))


def describe_state(mrf, state):
    """What a state of beliefs says, as plain data."""
    chosen = state.map()
    return {
        "schedule": state.schedule,
        "converged": bool(state.converged),
        "exact": bool(state.exact),
        "damping": state.damping,
        "residuals": [float(r) for r in state.residuals],
        "beliefs": [float(p) for name in mrf.names for p in state.belief(name)],
        "edge_beliefs": [
            float(p) for a, b in mrf.edges.tolist() for p in state.edge_belief(mrf.names[a], mrf.names[b]).ravel()
        ],
        "log_partition": float(state.log_partition),
        "map": [list(mrf.states(name)).index(chosen[name]) for name in mrf.names],
    }


def explain(case, mrf):
    """Name of a run -> explanation, for all three engines and "auto"."""
    for method in METHODS:
        more = {}
        if method == "auto" and case.number % 2:
            more["max_evals"] = 300  # small enough that another engine takes over
        if method == "sampling" and case.number % 9 == 4:
            more |= {"std_error_goal": 0.05, "max_evals": None}
        if method == "enumeration" and case.number % 9 == 7:
            more["beliefs"] = "exact"
        yield method, lambda method=method, more=more: _explain(case, mrf, method, **more)


def explain_all_worths(case, mrf):
    """Name of a run -> explanation, for every engine with every worth."""
    for method in METHODS[:3]:
        for worth in WORTHS:
            yield f"{method} {worth}", lambda m=method, w=worth: _explain(case, mrf, m, worth=w)


def _explain(case, mrf, method, **more):
    if more.get("beliefs") == "exact":
        more["beliefs"] = kp.exact_marginals(mrf)
    return case.explainer(mrf, method, **more).explain(mrf.names[case.target], random_state=case.number).to_dict()


def generated():
    """Name -> a field of each generator."""
    return {
        "chain": kp.chain_field(9, n_states=3, coupling_spread=0.5, random_state=1),
        "tree": kp.tree_field(12, branching=3, random_state=2),
        "random tree": kp.tree_field(12, random_state=3),
        "star": kp.star_field(6, n_states=2, random_state=4),
        "grid": kp.grid_field(3, 4, periodic=True, random_state=5),
        "random": kp.random_field(12, 15, coupling_spread=1.0, random_state=6),
        "scale-free": kp.scale_free_field(15, random_state=7),
    }
