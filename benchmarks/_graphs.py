"""Graphs and fields that benchmarks share: drawn with a seed, as plain arrays."""

import numpy as np


def random_graph(n_edges, mean_degree, rng):
    """Edges drawn uniformly (Erdos and Renyi's G(n, m)): n_variables and int64 [E, 2], first end < second."""
    n = max(3, round(2 * n_edges / mean_degree))
    return n, _distinct(lambda size: rng.integers(0, n, (size, 2)), n, n_edges, rng)


def power_law_graph(n_edges, mean_degree, rng, exponent=2.5):
    """Ends drawn in proportion to weights with a power-law tail (Chung and Lu's model): a few hubs, many leaves.

    The heaviest of 200,000 variables has some thousand neighbours. A variable's number says nothing of its degree.
    """
    n = max(3, round(2 * n_edges / mean_degree))
    weights = rng.permutation((np.arange(n) + 10.0) ** (-1 / (exponent - 1)))
    cumulative = np.cumsum(weights / weights.sum())
    cumulative[-1] = 1.0
    return n, _distinct(lambda size: np.searchsorted(cumulative, rng.random((size, 2))), n, n_edges, rng)


def binary_types(rng, n_edges):
    """Three potentials of two states (liking, disliking, one-sided) and a type per edge."""
    table = np.array([[[0.7, 0.3], [0.3, 0.7]], [[0.4, 0.6], [0.6, 0.4]], [[0.6, 0.4], [0.3, 0.8]]])
    return table, rng.integers(0, len(table), n_edges)


def _distinct(draw, n, n_edges, rng):
    """Distinct undirected edges without self-loops, in random order."""
    codes = np.empty(0, dtype=np.int64)
    while len(codes) < n_edges:
        ends = np.sort(draw(n_edges + n_edges // 4), axis=1)
        ends = ends[ends[:, 0] < ends[:, 1]]
        codes = np.unique(np.concatenate([codes, ends[:, 0] * n + ends[:, 1]]))
    codes = rng.permutation(codes)[:n_edges]
    return np.stack([codes // n, codes % n], axis=1)
