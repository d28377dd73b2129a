"""The Bethe approximation of log Z, in a form that keeps its digits at hubs."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..._base.segments import offsets_of, segment_log_sums, segment_max, subtract_segment_max
from ..field import MarkovRandomField

# numbers in the joint tables of edges that are made at once
_BLOCK = 2**20


def bethe_log_partition(mrf: MarkovRandomField, log_messages: Floats, *, max_product: bool = False) -> float:
    """log Z in nats, from messages per slot and receiver's state; exact on forests.

    Parameters
    ----------
    log_messages
        [sum over slots of the receivers' K] nats, each normalised or not.
    max_product
        The same with maxima instead of sums: on forests the largest log weight.

    Notes
    -----
    log Z = Σ_v log Z_v + Σ_uv log Σ_ij ψ(i, j) · b_u(i) / m_vu(i) · b_v(j) / m_uv(j), where Z_v normalises the
    belief b_v. The textbook's form, Σ_uv log Z_uv - Σ_v (degree - 1) log Z_v, takes large numbers from one another
    at hubs: here beliefs are divided out edge by edge.

    References
    ----------
    Yedidia, Freeman and Weiss, IEEE Trans. Inf. Theory 51 (2005), doi:10.1109/TIT.2005.850085, eq. 37; Mézard and
    Montanari, *Information, Physics, and Computation*, 2009, section 14.2.4.
    """
    if not mrf.n_variables:
        return 0.0
    totals = _Totals.of(mrf, log_messages)
    sums: Callable[[Floats, Ints], Floats] = segment_max if max_product else segment_log_sums
    own = totals.logs()
    if np.isneginf(segment_max(own, mrf.offsets)).any():
        return -np.inf
    log_norms = sums(own, mrf.offsets)
    relative, tops = subtract_segment_max(mrf.log_potentials, mrf.potential_offsets)
    result = float(log_norms.sum()) + float(tops[mrf.potential_index].sum())
    for block in edge_blocks(mrf):
        first = totals.without(block.back_cells, block.first_cells) - log_norms[block.firsts][:, None]
        second = totals.without(block.forth_cells, block.second_cells) - log_norms[block.seconds][:, None]
        joint = relative[block.potential_cells] + first[:, :, None] + second[:, None, :]
        top = joint.max(axis=(1, 2))
        if np.isneginf(top).any():
            return -np.inf
        if not max_product:
            top += np.log(np.exp(joint - top[:, None, None]).sum(axis=(1, 2)))
        result += float(top.sum())
    return result


class _Totals(NamedTuple):
    """log prior + log messages of every state of every variable, exact zeros counted apart."""

    messages: Floats
    finite: Floats  # [sum K]
    n_zeros: Ints  # [sum K]

    @classmethod
    def of(cls, mrf: MarkovRandomField, messages: Floats) -> "_Totals":
        receivers = mrf.slots.neighbours
        starts = offsets_of(mrf.n_states[receivers])
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], mrf.n_states[receivers])
        cells = np.repeat(mrf.offsets[receivers], mrf.n_states[receivers]) + within
        zero, prior_zero = np.isneginf(messages), np.isneginf(mrf.log_priors)
        n_cells = len(mrf.log_priors)
        finite = np.where(prior_zero, 0.0, mrf.log_priors)
        finite = finite + np.bincount(cells, np.where(zero, 0.0, messages), n_cells)
        return cls(messages, finite, np.bincount(cells[zero], minlength=n_cells) + prior_zero)

    def logs(self) -> Floats:
        """[sum K]"""
        logs: Floats = np.where(self.n_zeros > 0, -np.inf, self.finite)
        return logs

    def without(self, message_cells: Ints, state_cells: Ints) -> Floats:
        """The totals at `state_cells` without the messages at `message_cells`."""
        entries = self.messages[message_cells]
        zero = np.isneginf(entries)
        cavity = self.finite[state_cells] - np.where(zero, 0.0, entries)
        possible: Bools = self.n_zeros[state_cells] - zero == 0
        return np.where(possible, cavity, -np.inf)


class EdgeBlock(NamedTuple):
    """Edges whose potentials have one shape [K, L]."""

    slots: Ints  # [n] slot of the message from the first end
    firsts: Ints  # [n]
    seconds: Ints  # [n]
    forth_cells: Ints  # [n, L] where the message from the first end stands
    back_cells: Ints  # [n, K] and that from the second end
    first_cells: Ints  # [n, K] states of the first end
    second_cells: Ints  # [n, L]
    potential_cells: Ints  # [n, K, L]


def edge_blocks(mrf: MarkovRandomField) -> Iterator[EdgeBlock]:
    """All edges, in blocks whose joint tables fit into memory together."""
    slots = mrf.slots
    starts = offsets_of(mrf.n_states[slots.neighbours])
    forward = np.flatnonzero(slots.tables & 1 == 0)
    shapes, which = np.unique(mrf.potential_shapes, axis=0, return_inverse=True)
    kinds = which.ravel()[slots.tables[forward] >> 1]
    for kind, (k, m) in enumerate(shapes.tolist()):
        mine = forward[kinds == kind]
        for begin in range(0, len(mine), max(_BLOCK // (k * m), 1)):
            forth = mine[begin : begin + max(_BLOCK // (k * m), 1)]
            back = slots.reverse[forth]
            firsts, seconds = slots.neighbours[back], slots.neighbours[forth]
            tables = mrf.potential_offsets[slots.tables[forth] >> 1]
            yield EdgeBlock(
                forth,
                firsts,
                seconds,
                starts[forth][:, None] + np.arange(m),
                starts[back][:, None] + np.arange(k),
                mrf.offsets[firsts][:, None] + np.arange(k),
                mrf.offsets[seconds][:, None] + np.arange(m),
                tables[:, None, None] + np.arange(k * m).reshape(k, m),
            )
