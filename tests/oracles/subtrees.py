"""GraphShapley the slow way, in plain Python: list all edge subsets, keep the subtrees, propagate on each.

A field is a list of priors, a list of edges (a, b) and a list of matrices (rows = states of a). Variables are
numbers. Nothing here is shared with the package.
"""

from itertools import combinations, product
from math import log, prod

LOG_ZERO = -700.0


def brute_force_belief(priors, edges, potentials, target):
    """P(target) by summing over all assignments; None where none is possible."""
    weights = [0.0] * len(priors[target])
    for x in product(*(range(len(prior)) for prior in priors)):
        weight = prod(prior[state] for prior, state in zip(priors, x, strict=True))
        for (a, b), matrix in zip(edges, potentials, strict=True):
            weight *= matrix[x[a]][x[b]]
        weights[x[target]] += weight
    total = sum(weights)
    return [weight / total for weight in weights] if total > 0 else None


def tree_belief(priors, edges, potentials, target):
    """P(target) on a tree by the textbook recursion of messages, as numbers between 0 and 1."""

    def collect(v, parent):
        """Prior of v times the messages of its neighbours but `parent`."""
        gathered = list(priors[v])
        for (a, b), matrix in zip(edges, potentials, strict=True):
            if v not in (a, b):
                continue
            child = b if v == a else a
            if child == parent:
                continue
            inner = collect(child, v)
            for x in range(len(gathered)):
                cells = (matrix[x][y] if v == a else matrix[y][x] for y in range(len(inner)))
                gathered[x] *= sum(cell * weight for cell, weight in zip(cells, inner, strict=True))
        total = sum(gathered)
        return [weight / total for weight in gathered]

    return collect(target, None)


def coalitions(edges, target):
    """All sets of edges (positions, sorted) that are trees and hold the target."""
    found = []
    for size in range(1, len(edges) + 1):
        for chosen in combinations(range(len(edges)), size):
            members = {v for e in chosen for v in edges[e]}
            if target in members and len(members) == size + 1 and reached(edges, chosen, target) == members:
                found.append(chosen)
    return found


def reached(edges, chosen, start, without=None):
    """Variables that hang together with `start` through the chosen edges, those of `without` taken out."""
    known, todo = {start}, [start]
    while todo:
        v = todo.pop()
        for e in chosen:
            if v in edges[e] and without not in edges[e]:
                other = edges[e][0] if edges[e][1] == v else edges[e][1]
                if other not in known:
                    known.add(other)
                    todo.append(other)
    return known


def floored(q):
    return log(q) if q > 0 else LOG_ZERO


def worth_of(kind, belief, q, state=None, contrast=None):
    """A worth as methods.md 1.3 has it, from probabilities."""
    if contrast is not None:
        return floored(q[contrast[0]]) - floored(q[contrast[1]])
    if kind == "symmetric_kl":
        return -sum((p - r) * (floored(p) - floored(r)) for p, r in zip(belief, q, strict=True))
    if kind == "neg_cross_entropy":
        return sum(p * floored(r) for p, r in zip(belief, q, strict=True))
    state = belief.index(max(belief)) if state is None else state
    if kind == "log_odds":
        return floored(q[state]) - floored(sum(r for x, r in enumerate(q) if x != state))
    if kind == "probability":
        return q[state]
    raise ValueError(kind)


def explain(priors, edges, potentials, target, belief, *worths):
    """The game on the whole field, once for each of `worths`, which are arguments (kind, state, contrast).

    Returns a list of (values, coalitions): values[v] = (value, probabilistic, topological, direction, number of
    coalitions that hold v), coalitions = [(edges, worth)].
    """
    direction = ("log_odds" if len(belief) == 2 else "probability", None, None)
    known = {}  # beliefs of coalitions, by their edges and by whose prior is uniform

    def propagate(chosen, uniform=None):
        members = reached(edges, chosen, target)
        inside = tuple(e for e in chosen if edges[e][0] in members)
        if (inside, uniform) not in known:
            own = [[1.0] * len(prior) if v == uniform else prior for v, prior in enumerate(priors)]
            known[inside, uniform] = tree_belief(
                own, [edges[e] for e in inside], [potentials[e] for e in inside], target
            )
        return known[inside, uniform]

    listed = coalitions(edges, target)
    answers = []
    for kind, state, contrast in worths:
        sums = {v: [0.0] * 5 for v in range(len(priors)) if v != target}
        found = []
        for chosen in listed:
            whole = propagate(chosen)
            worth = worth_of(kind, belief, whole, state, contrast)
            found.append((chosen, worth))
            for v in {v for e in chosen for v in edges[e]} - {target}:
                rest = propagate(tuple(e for e in chosen if v not in edges[e]))
                omitted = worth_of(kind, belief, rest, state, contrast)
                split = worth_of(kind, belief, propagate(chosen, v), state, contrast)
                turned = worth_of(direction[0], belief, whole) - worth_of(direction[0], belief, rest)
                for i, amount in enumerate((worth - omitted, worth - split, split - omitted, turned, 1)):
                    sums[v][i] += amount
        means = {v: (*(total / n for total in rest), n) for v, (*rest, n) in sums.items() if n}
        answers.append((means, found))
    return answers
