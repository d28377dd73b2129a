"""Messages of a field in the form that its kernel uses, and what can be read off them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.segments import offsets_of, subtract_segment_max
from ...errors import ContradictionError
from ..field import MarkovRandomField
from . import _propagation_kernels as kernels
from .bethe import bethe_log_partition

# potentials whose logarithms differ by more than this are kept in logarithms: ratios of messages stay below
# exp(100), so that the kernel's products of two of them stay inside a double with room to spare
MAX_LOG_RANGE = 100.0
# how many neighbours a message names
_SHOWN = 6
# stands for an infinite power of the scale; no sum of ratios over any number of neighbours comes near it
INFINITE_SHIFT = 2**40


@dataclass(frozen=True, eq=False)
class Messages:
    """All messages of a field at one moment."""

    mrf: MarkovRandomField
    ratio: bool  # one ratio m(1)/m(0) per slot, else log m per slot and state
    values: Floats  # [2E], or flat [sum of the receivers' K] in nats
    max_product: bool

    @cached_property
    def in_logs(self) -> "Messages":
        """The same messages as logarithms."""
        if not self.ratio:
            return self
        with np.errstate(divide="ignore"):
            log_ratio = np.log(self.values)
        zero = -np.logaddexp(0.0, log_ratio)
        return Messages(self.mrf, False, np.column_stack([zero, zero + log_ratio]).ravel(), self.max_product)

    @cached_property
    def log_partition(self) -> float:
        """Bethe approximation of log Z, in nats; exact on forests."""
        return bethe_log_partition(self.mrf, self.in_logs.values, max_product=self.max_product)

    def edge_belief(self, slot: int) -> Floats:
        """[K_sender, K_receiver] belief of both ends of an edge together."""
        slots = self.mrf.slots
        back = int(slots.reverse[slot])
        joint = self._cavity(slot)[:, None] + self.mrf.log_potential_at(slot) + self._cavity(back)[None, :]
        weights: Floats = np.exp(joint - joint.max())
        weights /= weights.sum()
        return weights

    def _cavity(self, slot: int) -> Floats:
        """[K] log prior and incoming messages of the sender, without the receiver's."""
        slots, logs = self.mrf.slots, self.in_logs.values
        sender = int(slots.neighbours[slots.reverse[slot]])
        starts = message_offsets(self.mrf)
        cavity = self.mrf.log_priors[self.mrf.offsets[sender] : self.mrf.offsets[sender + 1]].copy()
        for other in range(slots.offsets[sender], slots.offsets[sender + 1]):
            if other != slot:
                back = slots.reverse[other]
                cavity += logs[starts[back] : starts[back + 1]]
        return cavity


def fits_ratios(mrf: MarkovRandomField) -> bool:
    """Whether all variables are binary and the potentials narrow."""
    return mrf.uniform_n_states == 2 and are_narrow(mrf)


def are_narrow(mrf: MarkovRandomField) -> bool:
    """Whether all variables have as many states, and all potentials are positive and within `MAX_LOG_RANGE`."""
    k = mrf.uniform_n_states
    if k is None or not np.isfinite(mrf.log_potentials).all():
        return False
    tables = mrf.log_potentials.reshape(-1, k * k)
    return bool((np.ptp(tables, axis=1) <= MAX_LOG_RANGE).all())


def message_offsets(mrf: MarkovRandomField) -> Ints:
    """[2E+1] where each slot's log message begins."""
    return offsets_of(mrf.n_states[mrf.slots.neighbours])


def uniform(mrf: MarkovRandomField, ratio: bool) -> Floats:
    """Messages that say nothing."""
    if ratio:
        return np.ones(2 * mrf.n_edges)
    counts = mrf.n_states[mrf.slots.neighbours]
    return np.repeat(-np.log(counts), counts)


def pack(mrf: MarkovRandomField, ratio: bool) -> kernels.Packed:
    """The field as the kernels read it."""
    return kernels.Packed(
        mrf.slots, ratio, _pack_ratios(mrf) if ratio else _NO_RATIOS, _NO_LOGS if ratio else _pack_logs(mrf)
    )


def _pack_ratios(mrf: MarkovRandomField) -> kernels.RatioField:
    logs = mrf.log_potentials.reshape(-1, 4)
    quads = np.exp(logs - logs.max(axis=1, keepdims=True))
    return kernels.RatioField(*split_ratios(mrf.log_priors[1::2] - mrf.log_priors[::2]), quads)


def _pack_logs(mrf: MarkovRandomField) -> kernels.LogField:
    relative, _ = subtract_segment_max(mrf.log_potentials, mrf.potential_offsets)
    return kernels.LogField(
        width=int(mrf.n_states.max(initial=1)),
        n_states=mrf.n_states,
        offsets=mrf.offsets,
        log_priors=mrf.log_priors,
        message_offsets=message_offsets(mrf),
        potential_offsets=mrf.potential_offsets,
        n_columns=mrf.potential_shapes[:, 1].copy(),
        log_potentials=relative,
        potentials=np.exp(relative),
    )


def log_beliefs(mrf: MarkovRandomField, packed: kernels.Packed, values: Floats) -> Floats:
    """[sum of K] log b in nats.

    Raises
    ------
    ContradictionError
        A variable has no possible state.
    """
    beliefs: Floats
    if packed.in_ratios:
        log_odds = mrf.log_priors[1::2] - mrf.log_priors[::2]
        log_odds += np.bincount(mrf.slots.neighbours, np.log(values), mrf.n_variables)
        # of the likelier state; the other's is less by as much as the log-odds say
        top = -np.log1p(np.exp(-np.abs(log_odds)))
        beliefs = np.column_stack([top + np.minimum(-log_odds, 0.0), top + np.minimum(log_odds, 0.0)]).ravel()
        return beliefs
    beliefs, impossible = kernels.log_beliefs(packed.slots, packed.logs, values)
    refuse_impossible(mrf, impossible)
    return beliefs


def refuse_impossible(mrf: MarkovRandomField, variable: int) -> None:
    """Refuse a field that leaves a variable (-1: none) no state.

    Raises
    ------
    ContradictionError
        Naming the variable.
    """
    if variable < 0:
        return
    begin, end = mrf.slots.offsets[variable : variable + 2]
    neighbours = [repr(mrf.names[int(u)]) for u in mrf.slots.neighbours[begin : min(end, begin + _SHOWN)]]
    among = ", ".join(neighbours) + (", ..." if end > begin + _SHOWN else "")
    raise ContradictionError(
        f"variable {mrf.names[int(variable)]!r} has no possible state: its prior and what its neighbours "
        f"({among}) say exclude each other (exact zeros in evidence, priors or potentials); no distribution exists"
    )


def split_ratios(log_ratios: Floats) -> tuple[Floats, Ints]:
    """Ratios [N], given in nats, as mantissa · SCALE ** shift."""
    finite = np.isfinite(log_ratios)
    shifts = np.rint(np.where(finite, log_ratios, 0.0) / kernels.LOG_SCALE).astype(np.int64)
    mantissas = np.exp(np.where(finite, log_ratios, 0.0) - shifts * kernels.LOG_SCALE)
    shifts[~finite] = np.where(log_ratios[~finite] > 0, INFINITE_SHIFT, -INFINITE_SHIFT)
    return mantissas, shifts


def _read_only(array: Any) -> Any:
    """The array as those of a field are, or kernels would be compiled for both kinds."""
    array.flags.writeable = False
    return array


_NO_RATIOS = kernels.RatioField(np.empty(0), np.empty(0, dtype=np.int64), np.empty((0, 4)))
_NO_LOGS = kernels.LogField(
    width=1,
    n_states=_read_only(np.empty(0, dtype=np.int32)),
    offsets=np.zeros(1, dtype=np.int64),
    log_priors=_read_only(np.empty(0)),
    message_offsets=np.zeros(1, dtype=np.int64),
    potential_offsets=np.zeros(1, dtype=np.int64),
    n_columns=np.empty(0, dtype=np.int32),
    log_potentials=np.empty(0),
    potentials=np.empty(0),
)
