"""The walk game the slow way, in plain Python: build the tree of walks, list all its subtrees, propagate on each.

A field is a list of priors, a list of edges (a, b) and a list of matrices (rows = states of a). Variables are
numbers, messages a dict (sender, receiver) -> weights of the receiver's states. Nothing here is shared with the
package.
"""

from dataclasses import dataclass, field
from itertools import product
from math import factorial

from tests.oracles.subtrees import worth_of


@dataclass
class Copy:
    """A self-avoiding walk, standing for its last variable."""

    walk: tuple  # the target first
    prior: list
    boundary: list  # what neighbours say to whom the walk does not go on
    matrix: list  # rows = own states, columns = those of the copy it hangs on; empty for the target
    children: list = field(default_factory=list)

    @property
    def depth(self):
        return len(self.walk) - 1


def fixed_point(priors, edges, potentials, n_sweeps=5000, damping=0.0):
    """Messages at which synchronous belief propagation from uniform ones stands still; None where it does not."""
    tables = _tables(edges, potentials)
    messages = {(a, b): _normalised([1.0] * len(priors[b])) for a, b in tables}
    for _ in range(n_sweeps):
        new, change = {}, 0.0
        for a, b in tables:
            cavity = list(priors[a])
            for k, v in tables:
                if v == a and k != b:
                    cavity = [c * m for c, m in zip(cavity, messages[k, a], strict=True)]
            sent = _normalised(_sent(cavity, tables[a, b]))
            sent = [damping * o + (1 - damping) * s for o, s in zip(messages[a, b], sent, strict=True)]
            change = max(change, *(abs(o - s) for o, s in zip(messages[a, b], sent, strict=True)))
            new[a, b] = sent
        messages = new
        if change < 1e-15:
            return messages
    return None


def bethe_belief(priors, messages, v):
    """b_v from the messages of its neighbours."""
    weights = list(priors[v])
    for (_, receiver), message in messages.items():
        if receiver == v:
            weights = [w * m for w, m in zip(weights, message, strict=True)]
    return _normalised(weights)


def walk_tree(priors, edges, potentials, target, radius, messages=None):
    """T_r of the target; `messages=None` cuts it off at its boundary."""
    tables = _tables(edges, potentials)

    def grow(walk):
        v, depth = walk[-1], len(walk) - 1
        neighbours = [b for a, b in tables if a == v]
        onwards = [b for b in neighbours if b not in walk] if depth < radius else []
        silent = [k for k in neighbours if k not in onwards and (depth == 0 or k != walk[-2])]
        boundary = [1.0] * len(priors[v])
        if messages is not None:
            for k in silent:
                boundary = [f * m for f, m in zip(boundary, messages[k, v], strict=True)]
        matrix = tables[v, walk[-2]] if depth else []
        return Copy(walk, list(priors[v]), boundary, matrix, [grow((*walk, b)) for b in onwards])

    return grow((target,))


def subtrees_at(copy):
    """All subtrees that hang at a copy and hold it, as frozen sets of walks."""
    choices = [[frozenset(), *subtrees_at(child)] for child in copy.children]
    return [frozenset([copy.walk]).union(*chosen) for chosen in product(*choices)]


def n_subtrees(copy):
    """How many they are."""
    n = 1
    for child in copy.children:
        n *= 1 + n_subtrees(child)
    return n


def belief_on(copy, present, uniform=None):
    """Belief of the first copy on a subtree, the prior of one walk made uniform."""

    def collect(here):
        own = [1.0] * len(here.prior) if here.walk == uniform else here.prior
        gathered = [p * f for p, f in zip(own, here.boundary, strict=True)]
        for child in here.children:
            if child.walk in present:
                sent = _sent(collect(child), child.matrix)
                gathered = [g * s for g, s in zip(gathered, sent, strict=True)]
        total = sum(gathered)
        return [g / total for g in gathered]

    return collect(copy)


def law_of(law, copy, depth, present):
    """Weight of a subtree among those that hold a walk of `depth` steps; 1 where all count the same.

    Under "shapley" a child is there with chance q, given what it hangs on, and the mean over q uniform of the mean
    given that the walk is there is weighted by the chance q^(depth - 1) that what the walk hangs on is there.
    """
    if law == "uniform":
        return 1.0
    inside, outside = len(present) - 2, n_absent(copy, present)
    return factorial(inside) * factorial(outside) / factorial(inside + outside + 1)


def n_absent(copy, present):
    """Children that a subtree leaves out."""
    if copy.walk not in present:
        return 1
    return sum(n_absent(child, present) for child in copy.children)


def copies_of(copy):
    """A copy and all behind it."""
    return [copy, *(c for child in copy.children for c in copies_of(child))]


def explain(tree, belief, *worths, law="uniform"):
    """The game on a tree of walks, once for each of `worths`, which are arguments (kind, state, contrast).

    Returns a list of (values, worth alone, worth of the whole tree),
    values[v] = (value, probabilistic, topological, direction).
    """
    direction = ("log_odds" if len(belief) == 2 else "probability", None, None)
    copies = copies_of(tree)
    listed = subtrees_at(tree)
    known = {}

    def propagate(present, uniform=None):
        if (present, uniform) not in known:
            known[present, uniform] = belief_on(tree, present, uniform)
        return known[present, uniform]

    answers = []
    for worth in worths:
        values = {}
        for a in copies[1:]:
            sums, total = [0.0] * 4, 0.0
            for present in listed:
                if a.walk not in present:
                    continue
                rest = frozenset(w for w in present if w[: a.depth + 1] != a.walk)
                weight = law_of(law, tree, a.depth, present)
                whole, without, split = (
                    worth_of(worth[0], belief, propagate(*given), *worth[1:])
                    for given in ((present,), (rest,), (present, a.walk))
                )
                turned = worth_of(direction[0], belief, propagate(present))
                turned -= worth_of(direction[0], belief, propagate(rest))
                parts = (whole - without, whole - split, split - without, turned)
                sums = [s + weight * part for s, part in zip(sums, parts, strict=True)]
                total += weight
            mean = [s / total for s in sums] if law == "uniform" else sums
            before = values.get(a.walk[-1], [0.0] * 4)
            values[a.walk[-1]] = [b + m for b, m in zip(before, mean, strict=True)]
        everything = frozenset(c.walk for c in copies)
        alone, ball = (
            worth_of(worth[0], belief, propagate(present), *worth[1:])
            for present in (frozenset([tree.walk]), everything)
        )
        answers.append((values, alone, ball))
    return answers


def _tables(edges, potentials):
    """(sender, receiver) -> matrix, rows = states of the sender; in the order of the edges."""
    tables = {}
    for (a, b), matrix in zip(edges, potentials, strict=True):
        tables[a, b] = matrix
        tables[b, a] = [list(column) for column in zip(*matrix, strict=True)]
    return tables


def _sent(weights, matrix):
    return [sum(w * row[y] for w, row in zip(weights, matrix, strict=True)) for y in range(len(matrix[0]))]


def _normalised(weights):
    total = sum(weights)
    return [w / total for w in weights]
