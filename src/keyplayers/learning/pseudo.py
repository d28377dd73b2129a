"""Potentials by maximum pseudo-likelihood: how well labelled neighbours tell each label."""

import numpy as np

from .._base.arrays import Bools, Floats, Ints
from .counting import association, centred, count
from .graph import LabelledGraph

# L-BFGS: the penalised pseudo-likelihood is concave, and settles within a few dozen iterations.
_MAX_ITERATIONS = 200


def pseudo_likelihood_associations(graph: LabelledGraph, labels: Ints, shrinkage: float) -> Floats:
    """[T, K, K] log ψ in nats, scaled as those of `counting.estimate` are.

    Maximises Σ_v log P(x_v | labels of its neighbours) over potentials and one prior, less a penalty of
    `shrinkage` / 2 per squared distance from a homophily that all classes share. Neighbours without a label are
    left out.

    References
    ----------
    Besag, "Statistical analysis of non-lattice data", The Statistician 24 (1975), doi:10.2307/2987782.
    """
    from scipy.optimize import minimize

    counts = count(graph, labels)
    k = graph.n_states
    shares = (counts.classes + 1) / (counts.classes.sum() + k)
    middle = np.array([association(pairs, shares, np.inf) for pairs in counts.pairs])
    if np.isinf(shrinkage):
        return middle
    seen = _neighbour_counts(graph, labels)
    known = np.flatnonzero((labels >= 0) & (seen.sum(axis=(1, 2, 3)) > 0))
    seen, truth = seen[known], labels[known]
    shape = middle.shape

    def loss(point: Floats) -> tuple[float, Floats]:
        prior, tables = point[:k], point[k:].reshape(shape)
        both = np.stack([tables, tables.swapaxes(1, 2)], axis=1)  # own state first
        logits = prior + np.einsum("ntdj,tdkj->nk", seen, both)
        logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
        slopes = np.exp(logits)
        slopes[np.arange(len(truth)), truth] -= 1
        by_table = np.einsum("nk,ntdj->tdkj", slopes, seen)
        off = tables - middle
        gradient = by_table[:, 0] + by_table[:, 1].swapaxes(1, 2) + shrinkage * off
        if not graph.directed:
            gradient = (gradient + gradient.swapaxes(1, 2)) / 2
        value = -logits[np.arange(len(truth)), truth].sum() + shrinkage * (off**2).sum() / 2
        return float(value), np.concatenate([slopes.sum(axis=0), gradient.ravel()])

    start = np.concatenate([np.log(shares), middle.ravel()])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _MAX_ITERATIONS}).x
    return np.array([centred(table, shares) for table in found[k:].reshape(shape)])


def _neighbour_counts(graph: LabelledGraph, labels: Ints) -> Floats:
    """[N, T, 2, K] labelled neighbours of each variable by kind, direction (0: it is the source) and label."""
    joints, n_kinds, k = graph.joints, graph.n_kinds, graph.n_states
    seen = np.zeros((len(labels), n_kinds, 2, k))
    per_edge = joints.times[joints.multiplicity].reshape(-1, 2, n_kinds)
    for own, other in ((0, 1), (1, 0)):
        known: Bools = labels[joints.edges[:, other]] >= 0
        owners = joints.edges[known, own]
        states = labels[joints.edges[known, other]]
        for way in (0, 1):  # edges that go from the first end, and back
            side = own ^ way
            for kind in range(n_kinds):
                np.add.at(seen, (owners, kind, side, states), per_edge[known, way, kind])
    return seen
