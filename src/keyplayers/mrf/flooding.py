"""Flooding of binary fields in ratio form: messages edge by edge, parts of the edges in threads."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from . import _flooding_kernels as kernels
from .messages import INFINITE_SHIFT

# Edges of a part. How many parts there are must not depend on the number of threads, for the order of
# multiplications decides about the last digit.
_EDGES_PER_PART = 2**18
_MAX_PARTS = 8
# Each part has products of its own, 16 bytes per variable: at most so many bytes per edge, or one part.
_PART_BYTES_PER_EDGE = 32
# A product of ratios within exp(+-690) is safely a double.
_LOG_ROOM = 690.0


@dataclass(frozen=True, eq=False)
class EdgeMessages:
    """The messages between some variables, side by side at their edge, and the products at every variable."""

    firsts: Ints  # [E] uint32, ascending
    seconds: Ints  # [E] uint32
    slots: Ints  # [E] uint32, slot of the message from the first end
    codes: Ints  # [E] uint32, 2 * potential + transposed
    ratios: Floats  # [3P] entries (0,1), (1,0), (1,1) of each potential, relative to (0,0)
    forth: Floats  # [E] ratio m(1)/m(0) of the message from the first end
    back: Floats  # [E] of the message from the second end
    own_mantissas: Floats  # [N] ratio of the prior and of messages that stay = mantissa * SCALE ** shift
    own_shifts: Ints  # [N]
    mantissas: Floats  # [parts, N] under way
    shifts: Ints  # [parts, N]
    totals: Floats  # [N] product of all ratios that arrive, clipped to 1/SCALE .. SCALE
    parts: tuple[slice, ...]
    bounded: bool  # no product can leave the range of a double


def lay_out(packed: Any, values: Floats, variables: Ints) -> EdgeMessages:
    """The messages between `variables`, from those of all slots; other messages stay as they are.

    Parameters
    ----------
    packed
        The field as `messages.pack` makes it, in ratio form.
    values
        [2E] ratio of each slot's message.
    """
    n = len(packed.n_states)
    takes_part = np.zeros(n, dtype=bool)
    takes_part[variables] = True
    own_mantissas, own_shifts = packed.prior_mantissas.copy(), packed.prior_shifts.copy()
    firsts, seconds, slots, codes = kernels.lay_out_edges(
        packed.offsets,
        packed.neighbours,
        packed.reverse,
        packed.tables,
        takes_part,
        own_mantissas,
        own_shifts,
        values,
    )
    n_edges = len(firsts)
    n_parts = min(_MAX_PARTS, n_edges // _EDGES_PER_PART, _PART_BYTES_PER_EDGE * n_edges // (16 * max(n, 1)))
    cuts = np.linspace(0, n_edges, max(n_parts, 1) + 1).astype(np.int64)
    edges = EdgeMessages(
        firsts=firsts,
        seconds=seconds,
        slots=slots,
        codes=codes,
        ratios=(packed.quads[:, 1:] / packed.quads[:, :1]).ravel(),
        forth=values[slots],
        back=values[packed.reverse[slots]],
        own_mantissas=own_mantissas,
        own_shifts=own_shifts,
        mantissas=np.ones((len(cuts) - 1, n)),
        shifts=np.zeros((len(cuts) - 1, n), dtype=np.int64),
        totals=np.empty(n),
        parts=tuple(slice(int(a), int(b)) for a, b in pairwise(cuts)),
        bounded=_is_bounded(packed, values, own_mantissas, own_shifts),
    )
    edges.mantissas[0], edges.shifts[0] = own_mantissas, own_shifts
    kernels.multiply(firsts, seconds, edges.forth, edges.back, edges.mantissas[0], edges.shifts[0])
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

    def send(part: int) -> tuple[float, float, float]:
        mine = edges.parts[part]
        changes: tuple[float, float, float] = kernels.flood(
            edges.firsts[mine],
            edges.seconds[mine],
            edges.codes[mine],
            edges.ratios,
            edges.forth[mine],
            edges.back[mine],
            edges.totals,
            edges.mantissas[part],
            edges.shifts[part],
            damping,
            max_product,
            edges.bounded,
        )
        return changes

    most, least, greatest = np.transpose(spread(send, range(len(edges.parts))))
    _gather(edges)
    return float(most.max()), float(np.log(max(greatest.max(), 1 / least.min())))


def write_back(edges: EdgeMessages, packed: Any, values: Floats) -> None:
    """Put the messages into their slots. Writes: values [2E]."""
    values[edges.slots] = edges.forth
    values[packed.reverse[edges.slots]] = edges.back


def _gather(edges: EdgeMessages) -> None:
    kernels.gather_products(edges.mantissas, edges.shifts, edges.own_mantissas, edges.own_shifts, edges.totals)


def _is_bounded(packed: Any, values: Floats, own_mantissas: Floats, own_shifts: Ints) -> bool:
    """Whether no hub and no prior can take a product out of the range of a double."""
    # a new message lies between two ratios of a potential's entries; a damped one between the old and the new
    quads = packed.quads
    log_ratio = float(np.log(quads.max(axis=1) / quads.min(axis=1)).max(initial=0.0))
    if len(values):
        log_ratio = max(log_ratio, abs(float(np.log(values.max()))), abs(float(np.log(values.min()))))
    largest_own = float(np.abs(np.log([own_mantissas.min(initial=1.0), own_mantissas.max(initial=1.0)])).max())
    # products of priors beyond a power of the scale could come back into range, evidence without bound never does
    extreme = (own_shifts != 0) & (np.abs(own_shifts) < INFINITE_SHIFT // 2)
    return not extreme.any() and largest_own + log_ratio * int(np.diff(packed.offsets).max(initial=0)) < _LOG_ROOM
