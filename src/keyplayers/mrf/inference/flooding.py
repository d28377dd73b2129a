"""Flooding of fields without zeros in their potentials: messages edge by edge, parts of the edges in threads."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..._base.segments import stable_order
from ..field import MarkovRandomField, Slots
from . import _flooding_kernels as kernels
from ._propagation_kernels import Packed, Rule
from .messages import INFINITE_SHIFT, split_ratios

# Edges come by ranges of so many first ends, whose products (1 MiB) stay in the cache while the second ends pass
# by.
RANGE = 2**17
# Edges of a part. How many parts there are must not depend on the number of threads, for the order of
# multiplications decides about the last digit.
_EDGES_PER_PART = 2**20
_MAX_PARTS = 8
# Each part has products of its own, a mantissa and a shift: at most so many per edge, or one part.
_PRODUCTS_PER_EDGE = 2
# A product of ratios within exp(+-690) is safely a double.
_LOG_ROOM = 690.0


@dataclass(frozen=True, eq=False)
class EdgeLayout:
    """The messages between some variables, side by side at their edge, and their products at every variable.

    Binary fields have one ratio m(1)/m(0) per message; of K states, all shapes below have one more axis of K.
    """

    messages: kernels.EdgeMessages
    slots: Ints  # [E] uint32, slot of the message from the first end
    tables: Floats  # [3P] entries (0,1), (1,0), (1,1) of each potential relative to (0,0), or [P, K, K]
    own_mantissas: Floats  # [N] priors and messages that stay = mantissa * SCALE ** shift
    own_shifts: Ints  # [N]
    mantissas: Floats  # [parts, N] the next products, under way
    shifts: Ints  # [parts, N]
    totals: Floats  # [N] products of all that arrives
    parts: tuple[tuple[int, int], ...]  # where each part of the edges begins and ends
    bounded: bool  # no product can leave the range of a double

    @property
    def in_ratios(self) -> bool:
        """Whether a message is one number."""
        return self.messages.forth.ndim == 1


class OrderedEdges(NamedTuple):
    """Edges by range of the first end and then by second end."""

    firsts: Ints  # [E] uint32, the end with the lower number
    seconds: Ints  # [E] uint32
    slots: Ints  # [E] uint32, slot of the first end's message
    codes: Ints  # [E] uint32, 2 * potential + transposed


def lay_out(mrf: MarkovRandomField, packed: Packed, values: Floats, variables: Ints) -> EdgeLayout:
    """The messages between `variables`, from those of all slots; other messages stay as they are.

    Parameters
    ----------
    mrf
        A field whose potentials are `messages.are_narrow`.
    packed
        The same, as `messages.pack` makes it.
    values
        The message of each slot: a ratio [2E], or logarithms [2E * K].
    """
    takes_part = np.zeros(mrf.n_variables, dtype=bool)
    takes_part[variables] = True
    edges = order_edges(mrf.slots, takes_part)
    if packed.in_ratios:
        quads = packed.ratios.quads
        tables: Floats = (quads[:, 1:] / quads[:, :1]).ravel()
        forth, back = values[edges.slots], values[mrf.slots.reverse[edges.slots]]
        log_own = mrf.log_priors[1::2] - mrf.log_priors[::2]
        _take_in(mrf.slots, takes_part, lambda slots: np.log(values[slots]), log_own)
        own_mantissas, own_shifts = split_ratios(log_own)
    else:
        k = int(mrf.n_states[0])
        # by potential, so that most blocks share one
        by_potential = np.argsort(edges.codes, kind="stable")
        edges = OrderedEdges(*(column[by_potential] for column in edges))
        tables = packed.logs.potentials.reshape(-1, k, k)
        logs = values.reshape(-1, k)
        forth = np.exp(logs[edges.slots].T, order="C")
        back = np.exp(logs[mrf.slots.reverse[edges.slots]].T, order="C")
        log_own = mrf.log_priors.reshape(-1, k).copy()
        _take_in(mrf.slots, takes_part, lambda slots: logs[slots], log_own)
        own_mantissas, own_shifts = _split_weights(log_own)
    parts = _cut(len(edges.firsts), mrf.n_variables)
    shape = (len(parts), *own_mantissas.shape)
    layout = EdgeLayout(
        messages=kernels.EdgeMessages(edges.firsts, edges.seconds, edges.codes, forth, back),
        slots=edges.slots,
        tables=tables,
        own_mantissas=own_mantissas,
        own_shifts=own_shifts,
        mantissas=np.ones(shape),
        shifts=np.zeros(shape, dtype=np.int64),
        totals=np.empty_like(own_mantissas),
        parts=parts,
        bounded=packed.in_ratios and _is_bounded(packed, values, own_mantissas, own_shifts),
    )
    layout.mantissas[0], layout.shifts[0] = own_mantissas, own_shifts
    _multiply(layout)
    _gather(layout)
    return layout


def order_edges(slots: Slots, takes_part: Bools) -> OrderedEdges:
    """The edges between variables that take part [N]."""
    n = len(takes_part)
    owners = np.repeat(np.arange(n, dtype=np.int32), np.diff(slots.offsets))
    at = np.flatnonzero(slots.neighbours < owners)
    if not takes_part.all():
        at = at[takes_part[owners[at]] & takes_part[slots.neighbours[at]]]
    if n > RANGE:
        at = at[stable_order(slots.neighbours[at] // RANGE, n // RANGE + 1)]
    # unsigned, because a signed index is tested for being negative at every access
    columns = slots.neighbours[at], owners[at], slots.reverse[at], slots.tables[at] ^ 1
    return OrderedEdges(*(column.astype(np.uint32) for column in columns))


def _cut(n_edges: int, n_variables: int) -> tuple[tuple[int, int], ...]:
    n_parts = min(_MAX_PARTS, n_edges // _EDGES_PER_PART, _PRODUCTS_PER_EDGE * n_edges // max(n_variables, 1))
    cuts = np.linspace(0, n_edges, max(n_parts, 1) + 1).astype(np.int64)
    return tuple(pairwise(cuts.tolist()))


def send_all(layout: EdgeLayout, rule: Rule, spread: Callable[..., list[Any]]) -> tuple[float, float]:
    """One sweep. Writes: the messages and products of `layout`.

    Returns
    -------
    The largest change of a probability and of a log ratio (nats) of a message, before damping.
    """
    flood = _flood_ratios if layout.in_ratios else _flood_states

    def send(part: int) -> tuple[float, float]:
        return flood(layout, part, rule)

    changes, factors = np.transpose(spread(send, range(len(layout.parts))))
    _gather(layout)
    return float(changes.max()), float(np.log(factors.max()))


def write_back(layout: EdgeLayout, slots: Slots, values: Floats) -> None:
    """Put the messages into their slots. Writes: values."""
    back, messages = slots.reverse[layout.slots], layout.messages
    if layout.in_ratios:
        values[layout.slots], values[back] = messages.forth, messages.back
    else:
        logs = values.reshape(-1, len(messages.forth))
        logs[layout.slots], logs[back] = np.log(messages.forth).T, np.log(messages.back).T


def _flood_ratios(layout: EdgeLayout, part: int, rule: Rule) -> tuple[float, float]:
    products = kernels.Products(layout.totals, layout.mantissas[part], layout.shifts[part])
    change, least, greatest = kernels.flood_ratios(
        layout.messages, products, layout.tables, *layout.parts[part], rule, layout.bounded
    )
    return change, max(greatest, 1 / least)


def _flood_states(layout: EdgeLayout, part: int, rule: Rule) -> tuple[float, float]:
    products = kernels.Products(layout.totals, layout.mantissas[part], layout.shifts[part])
    changes: tuple[float, float] = kernels.flood_states(
        layout.messages, products, layout.tables, *layout.parts[part], rule
    )
    return changes


def _multiply(layout: EdgeLayout) -> None:
    """Multiply all messages into the first part's products. Writes: layout.mantissas, layout.shifts."""
    messages = layout.messages
    if layout.in_ratios:
        if (messages.forth == 1.0).all() and (messages.back == 1.0).all():
            return  # nothing was said yet
        messages = messages._replace(forth=messages.forth[None], back=messages.back[None])
    n_variables = len(layout.own_mantissas)
    kernels.multiply(
        messages, layout.mantissas[0].reshape(n_variables, -1), layout.shifts[0].reshape(n_variables, -1)
    )


def _gather(layout: EdgeLayout) -> None:
    gather = kernels.gather_ratios if layout.in_ratios else kernels.gather_states
    gather(layout.mantissas, layout.shifts, layout.own_mantissas, layout.own_shifts, layout.totals)


def _take_in(slots: Slots, takes_part: Bools, log_messages: Callable[[Bools], Floats], log_own: Floats) -> None:
    """Add to `log_own`, [N] or [N, K], what comes from variables that do not take part. Writes: log_own."""
    if not takes_part.all():
        staying = ~np.repeat(takes_part, np.diff(slots.offsets))  # [2E] by sender
        np.add.at(log_own, slots.neighbours[staying], log_messages(staying))


def _split_weights(log_weights: Floats) -> tuple[Floats, Ints]:
    """Weights [N, K] as mantissa * SCALE ** shift, largest of each variable 1 and no mantissa above 1."""
    log_weights = log_weights - log_weights.max(axis=1, keepdims=True)
    scale = np.log(kernels.SCALE)
    shifts = np.ceil(np.where(np.isfinite(log_weights), log_weights, 0.0) / scale).astype(np.int64)
    return np.exp(log_weights - shifts * scale), shifts


def _is_bounded(packed: Packed, values: Floats, own_mantissas: Floats, own_shifts: Ints) -> bool:
    """Whether no hub and no prior can take a product out of the range of a double."""
    # a new message lies between two ratios of a potential's entries; a damped one between the old and the new
    quads = packed.ratios.quads
    log_ratio = float(np.log(quads.max(axis=1) / quads.min(axis=1)).max(initial=0.0))
    if len(values):
        log_ratio = max(log_ratio, abs(float(np.log(values.max()))), abs(float(np.log(values.min()))))
    largest_own = float(np.abs(np.log([own_mantissas.min(initial=1.0), own_mantissas.max(initial=1.0)])).max())
    # products of priors beyond a power of the scale could come back into range, evidence without bound never does
    extreme = (own_shifts != 0) & (np.abs(own_shifts) < INFINITE_SHIFT)
    return (
        not extreme.any()
        and largest_own + log_ratio * int(np.diff(packed.slots.offsets).max(initial=0)) < _LOG_ROOM
    )
