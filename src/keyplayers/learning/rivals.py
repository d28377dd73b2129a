"""What costs less than propagation, and has to be beaten by it."""

from typing import Any

import numpy as np

from .._base.arrays import Floats, Ints
from .graph import LabelledGraph

# As PyTorch Geometric's LabelPropagation has it.
_KEPT = 0.9
_ROUNDS = 50
# Classes of degree, each with about as many labels.
_DEGREE_CLASSES = 10


def class_shares(graph: LabelledGraph, labels: Ints) -> Floats:
    """[K] share of each class among the labels, drawn towards equal ones by one label each."""
    sizes = np.bincount(labels[labels >= 0], minlength=graph.n_states) + 1.0
    shares: Floats = sizes / sizes.sum()
    return shares


def label_propagation(graph: LabelledGraph, labels: Ints) -> Floats:
    """[N, K] labels spread along edges, each divided by the roots of both ends' degrees.

    What no label reaches gets the shares of classes.

    References
    ----------
    Zhou, Bousquet, Lal, Weston and Schölkopf, "Learning with local and global consistency", NeurIPS 2003.
    """
    walk = _normalised_adjacency(graph)
    start = np.zeros((len(labels), graph.n_states))
    known = np.flatnonzero(labels >= 0)
    start[known, labels[known]] = 1.0
    spread = start
    for _ in range(_ROUNDS):
        spread = _KEPT * (walk @ spread) + (1 - _KEPT) * start
    sums = spread.sum(axis=1, keepdims=True)
    return np.where(sums > 0, spread / np.where(sums > 0, sums, 1), class_shares(graph, labels))


def _normalised_adjacency(graph: LabelledGraph) -> Any:
    """[N, N] sparse D^-1/2 A D^-1/2."""
    from scipy.sparse import coo_array

    first, second = graph.joints.edges.T
    roots = 1 / np.sqrt(np.maximum(graph.degrees, 1))
    upper = coo_array((roots[first] * roots[second], (first, second)), shape=(len(roots),) * 2).tocsr()
    return upper + upper.T


def degree_rule(graph: LabelledGraph, labels: Ints) -> Floats:
    """[N, K] shares of classes among labels of about the same number of neighbours."""
    known = np.flatnonzero(labels >= 0)
    shares = class_shares(graph, labels)
    cuts = np.unique(np.quantile(graph.degrees[known], np.arange(1, _DEGREE_CLASSES) / _DEGREE_CLASSES))
    place = np.searchsorted(cuts, graph.degrees)
    counts = np.zeros((len(cuts) + 1, graph.n_states))
    np.add.at(counts, (place[known], labels[known]), 1)
    rule = counts + graph.n_states * shares
    rows: Floats = (rule / rule.sum(axis=1, keepdims=True))[place]
    return rows
