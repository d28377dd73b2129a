"""Flooding of fields without zeros in their potentials: messages edge by edge, parts of the edges in threads."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..._base.arrays import Floats, Ints
from . import _flooding_kernels as kernels
from .messages import INFINITE_SHIFT, split_ratios

# Edges of a part. How many parts there are must not depend on the number of threads, for the order of
# multiplications decides about the last digit.
_EDGES_PER_PART = 2**20
_MAX_PARTS = 8
# Each part has products of its own, a mantissa and a shift: at most so many per edge, or one part.
_PRODUCTS_PER_EDGE = 2
# A product of ratios within exp(+-690) is safely a double.
_LOG_ROOM = 690.0


@dataclass(frozen=True, eq=False)
class EdgeMessages:
    """The messages between some variables, side by side at their edge, and their products at every variable.

    Binary fields have one ratio m(1)/m(0) per message; of K states, all shapes below have one more axis of K.
    """

    firsts: Ints  # [E] uint32, the end with the lower number
    seconds: Ints  # [E] uint32
    slots: Ints  # [E] uint32, slot of the message from the first end
    codes: Ints  # [E] uint32, 2 * potential + transposed
    tables: Floats  # [3P] entries (0,1), (1,0), (1,1) of each potential relative to (0,0), or [P, K, K]
    forth: Floats  # [E], [K, E] of the first end
    back: Floats  # [E], [K, E] of the second end
    own_mantissas: Floats  # [N] priors and messages that stay = mantissa * SCALE ** shift
    own_shifts: Ints  # [N]
    mantissas: Floats  # [parts, N] the next products, under way
    shifts: Ints  # [parts, N]
    totals: Floats  # [N] products of all that arrives
    parts: tuple[slice, ...]
    bounded: bool  # no product can leave the range of a double


def lay_out(packed: Any, values: Floats, variables: Ints) -> EdgeMessages:
    """The messages between `variables`, from those of all slots; other messages stay as they are.

    Parameters
    ----------
    packed
        The field as `messages.pack` makes it, with potentials that are `messages.are_narrow`.
    values
        The message of each slot: a ratio [2E], or logarithms [2E * K].
    """
    n = len(packed.n_states)
    takes_part = np.zeros(n, dtype=bool)
    takes_part[variables] = True
    firsts, seconds, slots, codes = kernels.order_edges(
        packed.offsets, packed.neighbours, packed.reverse, packed.tables, takes_part
    )
    if packed.ratio:
        tables = (packed.quads[:, 1:] / packed.quads[:, :1]).ravel()
        forth, back = values[slots], values[packed.reverse[slots]]
        log_own = packed.log_priors[1::2] - packed.log_priors[::2]
        own_mantissas, own_shifts = split_ratios(_take_in(packed, values, takes_part, log_own))
    else:
        k = int(packed.n_states[0])
        by_potential = np.argsort(codes, kind="stable")
        firsts, seconds, slots, codes = (array[by_potential] for array in (firsts, seconds, slots, codes))
        tables = packed.potentials.reshape(-1, k, k)
        logs = values.reshape(-1, k)
        forth = np.exp(logs[slots].T, order="C")
        back = np.exp(logs[packed.reverse[slots]].T, order="C")
        own_mantissas, own_shifts = _split_weights(
            _take_in(packed, logs, takes_part, packed.log_priors.reshape(-1, k).copy())
        )
    n_parts = min(_MAX_PARTS, len(firsts) // _EDGES_PER_PART, _PRODUCTS_PER_EDGE * len(firsts) // max(n, 1))
    cuts = np.linspace(0, len(firsts), max(n_parts, 1) + 1).astype(np.int64)
    shape = (len(cuts) - 1, *own_mantissas.shape)
    edges = EdgeMessages(
        firsts=firsts,
        seconds=seconds,
        slots=slots,
        codes=codes,
        tables=tables,
        forth=forth,
        back=back,
        own_mantissas=own_mantissas,
        own_shifts=own_shifts,
        mantissas=np.ones(shape),
        shifts=np.zeros(shape, dtype=np.int64),
        totals=np.empty_like(own_mantissas),
        parts=tuple(slice(int(begin), int(end)) for begin, end in pairwise(cuts)),
        bounded=packed.ratio and _is_bounded(packed, values, own_mantissas, own_shifts),
    )
    edges.mantissas[0], edges.shifts[0] = own_mantissas, own_shifts
    multiply = kernels.multiply_ratios if packed.ratio else kernels.multiply_states
    multiply(firsts, seconds, forth, back, edges.mantissas[0], edges.shifts[0])
    _gather(edges)
    return edges


def send_all(
    edges: EdgeMessages, damping: float, max_product: bool, spread: Callable[..., list[Any]]
) -> tuple[float, float]:
    """One sweep. Writes: the messages and products of `edges`.

    Returns
    -------
    The largest change of a probability and of a log ratio (nats) of a message, before damping.
    """
    flood = _flood_ratios if edges.forth.ndim == 1 else _flood_states

    def send(part: int) -> tuple[float, float]:
        return flood(edges, part, damping, max_product)

    changes, factors = np.transpose(spread(send, range(len(edges.parts))))
    _gather(edges)
    return float(changes.max()), float(np.log(factors.max()))


def write_back(edges: EdgeMessages, packed: Any, values: Floats) -> None:
    """Put the messages into their slots. Writes: values."""
    back = packed.reverse[edges.slots]
    if packed.ratio:
        values[edges.slots], values[back] = edges.forth, edges.back
    else:
        logs = values.reshape(-1, len(edges.forth))
        logs[edges.slots], logs[back] = np.log(edges.forth).T, np.log(edges.back).T


def _flood_ratios(edges: EdgeMessages, part: int, damping: float, max_product: bool) -> tuple[float, float]:
    mine = edges.parts[part]
    change, least, greatest = kernels.flood_ratios(
        edges.firsts[mine],
        edges.seconds[mine],
        edges.codes[mine],
        edges.tables,
        edges.forth[mine],
        edges.back[mine],
        edges.totals,
        edges.mantissas[part],
        edges.shifts[part],
        damping,
        max_product,
        edges.bounded,
    )
    return change, max(greatest, 1 / least)


def _flood_states(edges: EdgeMessages, part: int, damping: float, max_product: bool) -> tuple[float, float]:
    mine = edges.parts[part]
    changes: tuple[float, float] = kernels.flood_states(
        edges.firsts[mine],
        edges.seconds[mine],
        edges.codes[mine],
        edges.tables,
        edges.forth[:, mine],
        edges.back[:, mine],
        edges.totals,
        edges.mantissas[part],
        edges.shifts[part],
        damping,
        max_product,
    )
    return changes


def _gather(edges: EdgeMessages) -> None:
    gather = kernels.gather_ratios if edges.forth.ndim == 1 else kernels.gather_states
    gather(edges.mantissas, edges.shifts, edges.own_mantissas, edges.own_shifts, edges.totals)


def _take_in(packed: Any, messages: Floats, takes_part: Any, log_own: Floats) -> Floats:
    """`log_own` [N] or [N, K] plus what comes from variables that do not take part. Writes: log_own."""
    if not takes_part.all():
        staying = ~np.repeat(takes_part, np.diff(packed.offsets))  # [2E] by sender
        logs = np.log(messages[staying]) if packed.ratio else messages[staying]
        np.add.at(log_own, packed.neighbours[staying], logs)
    return log_own


def _split_weights(log_weights: Floats) -> tuple[Floats, Ints]:
    """Weights [N, K] as mantissa * SCALE ** shift, largest of each variable 1 and no mantissa above 1."""
    log_weights = log_weights - log_weights.max(axis=1, keepdims=True)
    scale = np.log(kernels.SCALE)
    shifts = np.ceil(np.where(np.isfinite(log_weights), log_weights, 0.0) / scale).astype(np.int64)
    return np.exp(log_weights - shifts * scale), shifts


def _is_bounded(packed: Any, values: Floats, own_mantissas: Floats, own_shifts: Ints) -> bool:
    """Whether no hub and no prior can take a product out of the range of a double."""
    # a new message lies between two ratios of a potential's entries; a damped one between the old and the new
    quads = packed.quads
    log_ratio = float(np.log(quads.max(axis=1) / quads.min(axis=1)).max(initial=0.0))
    if len(values):
        log_ratio = max(log_ratio, abs(float(np.log(values.max()))), abs(float(np.log(values.min()))))
    largest_own = float(np.abs(np.log([own_mantissas.min(initial=1.0), own_mantissas.max(initial=1.0)])).max())
    # products of priors beyond a power of the scale could come back into range, evidence without bound never does
    extreme = (own_shifts != 0) & (np.abs(own_shifts) < INFINITE_SHIFT)
    return not extreme.any() and largest_own + log_ratio * int(np.diff(packed.offsets).max(initial=0)) < _LOG_ROOM
