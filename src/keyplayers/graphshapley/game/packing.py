"""A ball's field as the dense arrays that kernels read."""

from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...mrf.field import MarkovRandomField

# Potentials whose entries span less than this many nats are multiplied as they are; sums of wider ones, or of
# ones with zeros, might lose terms to underflow and are formed in logarithms.
_MAX_LOG_RANGE = 250.0
# Column sums of a potential that differ by less than this share count as equal.
_EVEN = 1e-14


class PackedField(NamedTuple):
    """Padded to K = the largest state count; unused cells are never read.

    A directed table has rows = states of the sender; table 2p is potential p read from its first end, 2p + 1 from
    its second.
    """

    n_states: Ints  # [n]
    log_priors: Floats  # [n, K] nats, the largest of each row 0
    uniform: Bools  # [n] whether the prior says nothing
    psi: Floats  # [2P, K, K], the largest entry of each table 1
    log_psi: Floats  # [2P, K, K] nats
    even: Bools  # [2P] whether a uniform sender's message says nothing
    off_diagonal: Floats  # [2P] the entry of psi off the diagonal where all of them are equal, else -1


def pack_field(field: MarkovRandomField) -> PackedField:
    """The field's priors and directed tables."""
    n, k = field.n_variables, int(field.n_states.max())
    own = np.arange(k) < field.n_states[:, None]
    log_priors = np.full((n, k), -np.inf)
    log_priors[own] = field.log_priors
    log_priors -= log_priors.max(axis=1, keepdims=True)
    uniform = (np.where(own, log_priors, 0.0) == 0.0).all(axis=1)

    n_tables = len(field.potential_shapes)
    log_psi = np.full((2 * n_tables, k, k), -np.inf)
    for p, (rows, columns) in enumerate(field.potential_shapes):
        begin = field.potential_offsets[p]
        table = field.log_potentials[begin : begin + rows * columns].reshape(rows, columns)
        log_psi[2 * p, :rows, :columns] = table
        log_psi[2 * p + 1, :columns, :rows] = table.T
    log_psi -= log_psi.max(axis=(1, 2), keepdims=True)
    psi = np.exp(log_psi)
    sums = psi.sum(axis=1)
    lowest = np.where(sums > 0, sums, np.inf).min(axis=1)
    n_received = np.stack([field.potential_shapes[:, 1], field.potential_shapes[:, 0]], axis=1).ravel()
    even = (sums.max(axis=1) - lowest <= _EVEN * sums.max(axis=1)) & ((sums > 0).sum(axis=1) == n_received)
    return PackedField(
        field.n_states.astype(np.int64), log_priors, uniform, psi, log_psi, even, _off_diagonals(field, psi)
    )


def _off_diagonals(field: MarkovRandomField, psi: Floats) -> Floats:
    """Homophily and its like: the entries off the diagonal are one number, the diagonal is no smaller."""
    k = psi.shape[1]
    if k < 2:
        return np.full(len(psi), -1.0)
    apart = psi[:, ~np.eye(k, dtype=bool)]
    lowest = apart.min(axis=1)
    full = np.repeat((field.potential_shapes == k).all(axis=1), 2)
    same = full & (apart.max(axis=1) == lowest) & (np.einsum("pkk->pk", psi).min(axis=1) >= lowest)
    return np.where(same, lowest, -1.0)


def is_smooth(field: MarkovRandomField) -> bool:
    """Whether no potential has a zero or spans so much that products of its entries might underflow."""
    if not len(field.potential_shapes):
        return True
    starts = field.potential_offsets[:-1]
    highest = np.maximum.reduceat(field.log_potentials, starts)
    lowest = np.minimum.reduceat(field.log_potentials, starts)
    return bool((highest - lowest <= _MAX_LOG_RANGE).all())
