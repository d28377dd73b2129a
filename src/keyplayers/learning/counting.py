"""What labelled pairs say of a potential, by counting: a closed form that is robust for few labels."""

from typing import NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from .graph import LabelledGraph

# Pairs that agree and differ as chance has it, added to those counted: what pulls homophily towards no effect.
_CHANCE_PAIRS = 4.0
# Scaling to given margins gains about a digit a round; the rest is below what counts can say.
_MAX_ROUNDS = 200
_TOLERANCE = 1e-10


class Counts(NamedTuple):
    """What is seen between labelled variables, and at labelled ends of edges."""

    pairs: Floats  # [T, K, K] edges of each kind by the labels of source and target; symmetric if undirected
    sources: Floats  # [T, K] edges by the label of the source alone
    targets: Floats  # [T, K]
    classes: Floats  # [K] labelled variables


class Estimate(NamedTuple):
    """A field's parameters before they are tempered, in nats."""

    associations: Floats  # [T, K, K] log ψ that says nothing about a variable whose neighbour has only its prior
    source_effects: Floats  # [T, K] what being the source of an edge of that kind says by itself
    target_effects: Floats  # [T, K]
    edge_effects: Floats  # [2, K] what having any edge says: of sources, of targets
    shares: Floats  # [K] share of each class


def count(graph: LabelledGraph, labels: Ints) -> Counts:
    """Counts of the labels [N] that are not -1."""
    k, joints = graph.n_states, graph.joints
    first, second = labels[joints.edges].T
    pairs = np.zeros((graph.n_kinds, k, k))
    ends = np.zeros((2, graph.n_kinds, k))
    per_edge = joints.times[joints.multiplicity]
    for kind in range(graph.n_kinds):
        for source, target, times in (
            (first, second, per_edge[:, kind]),
            (second, first, per_edge[:, graph.n_kinds + kind]),
        ):
            both = (source >= 0) & (target >= 0) & (times > 0)
            np.add.at(pairs[kind], (source[both], target[both]), times[both])
            for side, labelled in enumerate((source, target)):
                known = labelled >= 0
                ends[side, kind] += np.bincount(labelled[known], times[known], k)
    if not graph.directed:
        pairs, ends = pairs + pairs.transpose(0, 2, 1), np.repeat(ends.sum(axis=0)[None], 2, axis=0)
    known = labels >= 0
    classes = np.bincount(labels[known], minlength=k).astype(np.float64)
    return Counts(pairs, ends[0], ends[1], classes)


def estimate(counts: Counts, shrinkage: float) -> Estimate:
    """Class shares, association and effects, each shrunk towards no effect.

    Parameters
    ----------
    shrinkage
        Pairs per cell that are added in the shape of one homophily for all classes; infinite: nothing else counts.

    Notes
    -----
    At a fixed point of propagation whose beliefs are the shares p of classes and P of labelled pairs, the
    potential is ψ = P / p pᵀ (pseudo-moment matching). Pairs are counted beyond a homophily that all classes
    share, which itself is counted beyond chance, and then scaled to the margins p: so the odds ratios stay, and
    what is left out is that some classes have more edges than others.

    References
    ----------
    Wainwright, Jaakkola and Willsky, "Tree-reweighted belief propagation algorithms and approximate ML estimation
    by pseudo-moment matching", AISTATS 2003.
    """
    k = len(counts.classes)
    shares = (counts.classes + 1) / (counts.classes.sum() + k)
    associations = np.array([association(pairs, shares, shrinkage) for pairs in counts.pairs])
    sources, targets = (_shrunk_shares(ends, shares) for ends in (counts.sources, counts.targets))
    edges = np.array([_shrunk_shares(e.sum(axis=0)[None], shares)[0] for e in (counts.sources, counts.targets)])
    return Estimate(
        associations,
        np.log(sources / edges[0]),
        np.log(targets / edges[1]),
        np.log(edges / shares),
        shares,
    )


def association(pairs: Floats, shares: Floats, shrinkage: float) -> Floats:
    """[K, K] log ψ from counts of labelled pairs [K, K], in nats."""
    k = len(shares)
    n = pairs.sum()
    rows, columns = (_shrunk_shares(pairs.sum(axis=axis)[None], shares)[0] for axis in (1, 0))
    chance = float(rows @ columns)
    agree = (float(np.trace(pairs)) + _CHANCE_PAIRS * chance) / (n + _CHANCE_PAIRS)
    expected = np.outer(rows, columns)
    expected[np.diag_indices(k)] *= agree * (1 - chance) / ((1 - agree) * chance)
    shape = expected / expected.sum()
    counted = shape if np.isinf(shrinkage) else pairs + shape * shrinkage * k * k
    return centred(np.log(counted), shares)


def centred(log_table: Floats, shares: Floats) -> Floats:
    """[K, K] rows and columns scaled such that Σ_j p_j ψ(i, j) = 1 for all i, and so for j; odds ratios stay."""
    joint = np.exp(log_table - log_table.max()) * np.outer(shares, shares)
    for _ in range(_MAX_ROUNDS):
        joint *= (shares / joint.sum(axis=1))[:, None]
        columns = joint.sum(axis=0)
        joint *= shares / columns
        if np.abs(columns / shares - 1).max() < _TOLERANCE:
            break
    centred_logs: Floats = np.log(joint) - np.log(np.outer(shares, shares))
    return centred_logs


def _shrunk_shares(ends: Floats, shares: Floats) -> Floats:
    """[n, K] shares of counts [n, K], drawn towards those of all by one count per class."""
    k = len(shares)
    shrunk: Floats = (ends + k * shares) / (ends.sum(axis=1, keepdims=True) + k)
    return shrunk
