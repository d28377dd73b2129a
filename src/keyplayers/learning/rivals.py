"""What costs less than propagation, and has to be beaten by it."""

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
    from scipy.sparse import coo_array, diags_array

    n = len(labels)
    first, second = graph.joints.edges.T
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    adjacency = coo_array((np.ones(len(ends[0])), ends), shape=(n, n)).tocsr()
    roots = diags_array(1 / np.sqrt(np.maximum(graph.degrees, 1)))
    walk = roots @ adjacency @ roots
    start = np.zeros((n, graph.n_states))
    known = np.flatnonzero(labels >= 0)
    start[known, labels[known]] = 1.0
    spread = start
    for _ in range(_ROUNDS):
        spread = _KEPT * (walk @ spread) + (1 - _KEPT) * start
    sums = spread.sum(axis=1, keepdims=True)
    return np.where(sums > 0, spread / np.where(sums > 0, sums, 1), class_shares(graph, labels))


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
