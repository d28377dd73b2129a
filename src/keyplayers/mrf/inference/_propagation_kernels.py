# mypy: ignore-errors
"""Kernels for message passing. Arrays only; see propagation.py and messages.py for the callers.

A message stands in the slot of its sender. Binary fields whose potentials are positive and not extreme keep
one number per message, the ratio m(1)/m(0), and need no logarithm; all others keep log m, normalised.

Kernels that send take a list of senders. A call per sender would cost more than its messages: numba counts
references to every array that is handed on, so what is called inside a loop is inlined, and arrays are looked up
in front of it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._base._log_kernels import log_sum_exp
from ..._base.arrays import Floats, Ints
from ..._base.compiled import inlined, kernel

# numpy's error model: a division by zero is an infinity that the code expects, not a branch in the hot loop

# a product of ratios is rescaled by this power of two before it leaves the range of a double; each ratio
# itself is at most exp(100) (see MAX_LOG_RANGE in messages.py), so that the product of two stays in range
SCALE_BITS = 500
SCALE = 2.0**SCALE_BITS
UNSCALE = 2.0**-SCALE_BITS
LOG_SCALE = SCALE_BITS * math.log(2.0)
# a sum of products above this has lost nothing that shows in a double to underflow
SAFE_SUM = 1e-200
# A queue has a level per power of two from the lowest up; what lies above the highest or below the lowest goes to
# these. News of 2**-40 is below any sensible tolerance.
N_LEVELS = 64
LOWEST_EXPONENT = -40
HIGHEST = 2.0 ** (LOWEST_EXPONENT + N_LEVELS - 2)


class RatioField(NamedTuple):
    """Priors and potentials of a binary field whose messages are ratios."""

    mantissas: Floats  # [N] ratio of the priors = mantissa * SCALE ** shift
    shifts: Ints  # [N]
    quads: Floats  # [P, 4] potentials, linear, largest entry 1


class LogField(NamedTuple):
    """Priors and potentials of a field whose messages are logarithms."""

    width: int  # the largest state count
    n_states: Ints  # [N]
    offsets: Ints  # [N+1] where each variable's states begin
    log_priors: Floats  # [sum K]
    message_offsets: Ints  # [2E+1] where each slot's log message begins
    potential_offsets: Ints  # [P+1]
    n_columns: Ints  # [P]
    log_potentials: Floats  # flat, largest entry of each table 0
    potentials: Floats  # flat, the same linear


class Packed(NamedTuple):
    """A field as kernels read it; of the two forms the one that is not used holds empty arrays."""

    slots: Any  # field.Slots
    in_ratios: bool
    ratios: RatioField
    logs: LogField


class Rule(NamedTuple):
    """How a message is made."""

    damping: float  # share of the old message in the new one, in logarithms
    max_product: bool


class Queue(NamedTuple):
    """Variables that have something new to send, by how much reached them: a ring per level."""

    accumulated: Floats  # [N] accumulated residual: changes of log ratios that came since a variable last sent
    levels: Ints  # [N] -1: not in the queue
    after: Ints  # [N + levels] who follows in the same level; the entry of a level itself: its first
    before: Ints  # [N + levels] the same backwards; of a level: its last


@kernel
def send_ratios(slots, field, order, old, new, rule, changes):
    """Every variable of `order` sends in ratio form, reading `old` and writing `new` (the same array: in place).

    Writes: new and, where it is not empty, changes [2E], the changes of log ratios.
    Returns -1 (no variable without a possible state), the largest change of a probability and the largest change
    of a log ratio, before damping.
    """
    offsets, reverse, tables = slots.offsets, slots.reverse, slots.tables
    mantissas, shifts, quads = field.mantissas, field.shifts, field.quads
    damping, max_product = rule.damping, rule.max_product
    largest, factor = 0.0, 1.0
    for v in order:
        product, shift = mantissas[v], shifts[v]
        for slot in range(offsets[v], offsets[v + 1]):
            product *= old[reverse[slot]]
            if product > SCALE:
                product *= UNSCALE
                shift += 1
            elif product < UNSCALE:
                product *= SCALE
                shift -= 1
        for slot in range(offsets[v], offsets[v + 1]):
            table = tables[slot]
            p, transposed = table >> 1, table & 1
            a, b = quads[p, 0], quads[p, 1 + transposed]
            c, d = quads[p, 2 - transposed], quads[p, 3]
            # the cavity ratio is product / incoming; both sides are multiplied by `incoming` instead
            zero = old[reverse[slot]]
            one = product
            if shift != 0:
                cavity = product / zero
                # beyond one power of the scale only the larger side counts
                if shift == 1 and cavity < 1.0:
                    zero, one = 1.0, cavity * SCALE
                elif shift == -1 and cavity > 1.0:
                    zero, one = 1.0, cavity * UNSCALE
                elif shift > 0:
                    zero, one = 0.0, 1.0
                else:
                    zero, one = 1.0, 0.0
            if max_product:
                sent = max(b * zero, d * one) / max(a * zero, c * one)
            else:
                sent = (b * zero + d * one) / (a * zero + c * one)
            before = old[slot]
            if abs(sent - before) > largest * (1.0 + sent) * (1.0 + before):
                largest = abs(sent - before) / ((1.0 + sent) * (1.0 + before))
            if sent > factor * before:
                factor = sent / before
            elif before > factor * sent:
                factor = before / sent
            if changes.size:
                changes[slot] = abs(math.log(sent / before))
            if damping > 0.0:
                sent = math.exp((1.0 - damping) * math.log(sent) + damping * math.log(before))
            new[slot] = sent
    return -1, largest, math.log(factor)


@inlined
def _log_totals(slots, field, v, messages, totals, n_zeros):
    """log prior + log of all incoming messages of v; exact zeros are counted. Writes: totals, n_zeros [K]."""
    begin = field.offsets[v]
    k_own = field.n_states[v]
    for k in range(k_own):
        entry = field.log_priors[begin + k]
        n_zeros[k] = entry == -np.inf
        totals[k] = 0.0 if n_zeros[k] else entry
    for slot in range(slots.offsets[v], slots.offsets[v + 1]):
        at = field.message_offsets[slots.reverse[slot]]
        for k in range(k_own):
            entry = messages[at + k]
            if entry == -np.inf:
                n_zeros[k] += 1
            else:
                totals[k] += entry
    for k in range(k_own):
        if n_zeros[k] == 0:
            return True
    return False


@kernel
def send_logs(slots, field, order, old, new, rule, changes):
    """Every variable of `order` sends in log form; see `send_ratios`.

    Returns the variable that has no possible state left (-1: none), the largest change of a probability, and the
    largest span of the changes of log m, before damping.
    """
    offsets, neighbours, reverse, tables = slots.offsets, slots.neighbours, slots.reverse, slots.tables
    n_states, n_columns, message_offsets = field.n_states, field.n_columns, field.message_offsets
    damping, max_product = rule.damping, rule.max_product
    potentials, log_potentials, potential_offsets = field.potentials, field.log_potentials, field.potential_offsets
    totals, cavity = np.empty(field.width), np.empty(field.width)
    weights, sent = np.empty(field.width), np.empty(field.width)
    n_zeros = np.empty(field.width, np.int64)
    largest, span = 0.0, 0.0
    for v in order:
        if not _log_totals(slots, field, v, old, totals, n_zeros):
            return v, largest, span
        k_own = n_states[v]
        for slot in range(offsets[v], offsets[v + 1]):
            incoming = message_offsets[reverse[slot]]
            top = -np.inf
            for k in range(k_own):
                entry = old[incoming + k]
                zeros = n_zeros[k]
                if entry == -np.inf:
                    zeros -= 1
                    entry = 0.0
                cavity[k] = -np.inf if zeros else totals[k] - entry
                top = max(top, cavity[k])
            for k in range(k_own):
                cavity[k] -= top
                weights[k] = math.exp(cavity[k])
            table = tables[slot]
            p = table >> 1
            base = potential_offsets[p]
            step_own, step_other = n_columns[p], 1
            if table & 1:
                step_own, step_other = 1, n_columns[p]
            k_other = n_states[neighbours[slot]]
            sum_all = 0.0
            for j in range(k_other):
                cell = base + j * step_other
                total = 0.0
                if not max_product:
                    for k in range(k_own):
                        total += potentials[cell + k * step_own] * weights[k]
                if total > SAFE_SUM:
                    sent[j] = math.log(total)
                    sum_all += total
                else:
                    best = -np.inf
                    for k in range(k_own):
                        best = max(best, log_potentials[cell + k * step_own] + cavity[k])
                    if best == -np.inf or max_product:
                        sent[j] = best
                    else:
                        total = 0.0
                        for k in range(k_own):
                            total += math.exp(log_potentials[cell + k * step_own] + cavity[k] - best)
                        sent[j] = best + math.log(total)
            norm = math.log(sum_all) if sum_all > SAFE_SUM else log_sum_exp(sent, k_other)
            if norm == -np.inf:
                return v, largest, span
            at = message_offsets[slot]
            lowest, highest = np.inf, -np.inf
            for j in range(k_other):
                entry = sent[j] - norm
                before = old[at + j]
                if entry != before:
                    change = entry - before  # one of them may be -inf, not both
                    lowest, highest = min(lowest, change), max(highest, change)
                    if abs(change) > largest:
                        largest = max(largest, abs(math.exp(entry) - math.exp(before)))
                    if damping > 0.0 and entry > -np.inf and before > -np.inf:
                        entry = (1.0 - damping) * entry + damping * before
                elif entry > -np.inf:
                    lowest, highest = min(lowest, 0.0), max(highest, 0.0)
                sent[j] = entry
            moved = highest - lowest if highest > lowest else 0.0
            span = max(span, moved)
            if changes.size:
                changes[slot] = moved
            norm = log_sum_exp(sent, k_other) if damping > 0.0 else 0.0
            for j in range(k_other):
                new[at + j] = sent[j] - norm
    return -1, largest, span


@inlined
def _enqueue(queue, v, degree):
    """Put v behind those with as large a residual, unless it stands there already. Writes: queue."""
    levels, after, before = queue.levels, queue.after, queue.before
    residual = queue.accumulated[v] / degree
    level = N_LEVELS - 1 if residual >= HIGHEST else max(0, math.frexp(residual)[1] - LOWEST_EXPONENT)
    if level > levels[v]:
        if levels[v] >= 0:
            after[before[v]], before[after[v]] = after[v], before[v]
        levels[v] = level
        end = levels.size + level
        after[v], before[v] = end, before[end]
        after[before[v]] = v
        before[end] = v


@kernel
def _take_level(queue, top, offsets, n_left, senders, turns):
    """Take variables of a level out of the queue until they send `n_left` messages.

    Writes: queue, senders [N], turns [N] (place of each among the senders).
    Returns how many are taken, and how many messages they send.
    """
    n = queue.levels.size
    size, n_sent = 0, 0
    v = queue.after[n + top]
    while v < n and n_sent < n_left:
        senders[size] = v
        turns[v] = size
        queue.levels[v] = -1
        n_sent += offsets[v + 1] - offsets[v]
        size += 1
        v = queue.after[v]
    queue.after[n + top], queue.before[v] = v, n + top
    return size, n_sent


@kernel
def _pass_on(slots, queue, order, turns, changes, damping, tolerance):
    """Add what senders changed to the residuals of their neighbours. Writes: queue, turns (all -1 again).

    Returns the highest level that somebody was put into.
    """
    offsets, neighbours, accumulated = slots.offsets, slots.neighbours, queue.accumulated
    top = -1
    for v in order:
        accumulated[v] = 0.0
        # an infinite change (an exact zero came or went) must not become 0 * inf
        if damping > 0.0:
            for slot in range(offsets[v], offsets[v + 1]):
                accumulated[v] = max(accumulated[v], damping * changes[slot])
    for turn in range(order.size):
        v = order[turn]
        if accumulated[v] > tolerance:
            _enqueue(queue, v, offsets[v + 1] - offsets[v])
            top = max(top, queue.levels[v])
        for slot in range(offsets[v], offsets[v + 1]):
            u = neighbours[slot]
            if turns[u] <= turn:  # else it sent later, and knew
                accumulated[u] += (1.0 - damping) * changes[slot]
                if accumulated[u] > tolerance:
                    _enqueue(queue, u, offsets[u + 1] - offsets[u])
                    top = max(top, queue.levels[u])
    for v in order:
        turns[v] = -1
    return top


@kernel
def residual_sweep(packed, messages, rule, tolerance, queue):
    """The variables whose incoming messages changed most send first, until 2E messages are sent.

    No message of a variable can change by more than the sum of the changes that reached it since it last sent.
    That sum is its accumulated residual, and divided by the degree it is the place in the queue, so that a hub
    waits until many of its neighbours have changed and the work stays linear; below the tolerance a variable does
    not send.
    Places are told apart by powers of two, and all of the highest level send in one go.
    Returns as `send_logs`, plus whether nobody has anything left to send.
    """
    slots = packed.slots
    n = queue.levels.size
    changes = np.zeros(slots.neighbours.size)
    senders = np.empty(n, np.int32)
    turns = np.full(n, -1, np.int32)
    largest, span = 0.0, 0.0
    n_sent = 0
    top = N_LEVELS - 1
    while n_sent < changes.size:
        while top >= 0 and queue.after[n + top] == n + top:
            top -= 1
        if top < 0:
            return -1, largest, span, True
        size, n_more = _take_level(queue, top, slots.offsets, changes.size - n_sent, senders, turns)
        n_sent += n_more
        order = senders[:size]
        if packed.in_ratios:
            impossible, change, moved = send_ratios(slots, packed.ratios, order, messages, messages, rule, changes)
        else:
            impossible, change, moved = send_logs(slots, packed.logs, order, messages, messages, rule, changes)
        if impossible >= 0:
            return impossible, largest, span, False
        largest, span = max(largest, change), max(span, moved)
        top = max(top, _pass_on(slots, queue, order, turns, changes, rule.damping, tolerance))
    return -1, largest, span, False


@kernel
def log_beliefs(slots, field, messages):
    """log b of every variable, flat [sum K], and the variable without a possible state (-1: none)."""
    beliefs = np.empty(field.offsets[-1])
    totals = np.empty(field.width)
    n_zeros = np.empty(field.width, np.int64)
    for v in range(field.n_states.size):
        at = field.offsets[v]
        k_own = field.n_states[v]
        if not _log_totals(slots, field, v, messages, totals, n_zeros):
            return beliefs, v
        for k in range(k_own):
            if n_zeros[k]:
                totals[k] = -np.inf
        norm = log_sum_exp(totals, k_own)
        for k in range(k_own):
            beliefs[at + k] = totals[k] - norm
    return beliefs, -1
