# mypy: ignore-errors
"""Kernels for message passing. Arrays only; see propagation.py and messages.py for the callers.

A message stands in the slot of its sender. Binary fields whose potentials are positive and not extreme keep
one number per message, the ratio m(1)/m(0), and need no logarithm; all others keep log m, normalised.

Kernels that send take a list of senders. A call per sender would cost more than its messages: numba counts
references to every array that is handed on, so what is called inside a loop is inlined, and arrays are looked up
in front of it.
"""

import math
from collections import namedtuple

import numpy as np

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

Field = namedtuple(
    "Field",
    [
        "offsets",  # [N+1] slots of each sender
        "neighbours",  # [2E] receiver of each slot
        "reverse",  # [2E] slot of the opposite direction
        "tables",  # [2E] 2 * potential + transposed
        "ratio",  # bool: one ratio per message, else log messages
        "width",  # the largest state count
        "prior_mantissas",  # [N] ratio of the priors = mantissa * SCALE ** shift
        "prior_shifts",  # [N]
        "quads",  # [P, 4] binary potentials, linear, largest entry 1
        "n_states",  # [N]
        "prior_offsets",  # [N+1]
        "log_priors",  # [sum K]
        "message_offsets",  # [2E+1] where each slot's log message begins
        "potential_offsets",  # [P+1]
        "n_columns",  # [P]
        "log_potentials",  # flat, largest entry of each table 0
        "potentials",  # flat, the same linear
    ],
)

Queue = namedtuple(
    "Queue",
    [
        "pending",  # [N] sum of the changes of log ratios that reached a variable since it last sent
        "levels",  # [N] -1: not in the queue
        "after",  # [N + levels] who follows in the same level; the entry of a level itself: its first
        "before",  # [N + levels] the same backwards; of a level: its last
    ],
)


@kernel
def send_ratios(field, order, old, new, damping, max_product, changes):
    """Every variable of `order` sends in ratio form, reading `old` and writing `new` (the same array: in place).

    Writes: new and, where it is not empty, changes [2E], the changes of log ratios.
    Returns -1 (no variable without a possible state), the largest change of a probability and the largest change
    of a log ratio, before damping.
    """
    offsets, reverse, tables, quads = field.offsets, field.reverse, field.tables, field.quads
    prior_mantissas, prior_shifts = field.prior_mantissas, field.prior_shifts
    largest, factor = 0.0, 1.0
    for v in order:
        product, shift = prior_mantissas[v], prior_shifts[v]
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
def _log_totals(field, v, messages, totals, n_zeros):
    """log prior + log of all incoming messages of v; exact zeros are counted. Writes: totals, n_zeros [K]."""
    begin = field.prior_offsets[v]
    k_own = field.n_states[v]
    for k in range(k_own):
        entry = field.log_priors[begin + k]
        n_zeros[k] = entry == -np.inf
        totals[k] = 0.0 if n_zeros[k] else entry
    for slot in range(field.offsets[v], field.offsets[v + 1]):
        at = field.message_offsets[field.reverse[slot]]
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
def _log_sum_exp(row, n):
    top = -np.inf
    for k in range(n):
        top = max(top, row[k])
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(n):
        total += math.exp(row[k] - top)
    return top + math.log(total)


@kernel
def send_logs(field, order, old, new, damping, max_product, changes):
    """Every variable of `order` sends in log form; see `send_ratios`.

    Returns the variable that has no possible state left (-1: none), the largest change of a probability, and the
    largest span of the changes of log m, before damping.
    """
    n_states, offsets, neighbours, reverse = field.n_states, field.offsets, field.neighbours, field.reverse
    tables, n_columns, message_offsets = field.tables, field.n_columns, field.message_offsets
    potentials, log_potentials, potential_offsets = field.potentials, field.log_potentials, field.potential_offsets
    totals, cavity = np.empty(field.width), np.empty(field.width)
    weights, sent = np.empty(field.width), np.empty(field.width)
    n_zeros = np.empty(field.width, np.int64)
    largest, span = 0.0, 0.0
    for v in order:
        if not _log_totals(field, v, old, totals, n_zeros):
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
            norm = math.log(sum_all) if sum_all > SAFE_SUM else _log_sum_exp(sent, k_other)
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
            norm = _log_sum_exp(sent, k_other) if damping > 0.0 else 0.0
            for j in range(k_other):
                new[at + j] = sent[j] - norm
    return -1, largest, span


@inlined
def _move_up(queue, v, degree):
    """Put v behind those with as much news, unless it stands there already. Writes: queue."""
    pending, levels, after, before = queue.pending, queue.levels, queue.after, queue.before
    news = pending[v] / degree
    level = N_LEVELS - 1 if news >= HIGHEST else max(0, math.frexp(news)[1] - LOWEST_EXPONENT)
    if level > levels[v]:
        if levels[v] >= 0:
            after[before[v]], before[after[v]] = after[v], before[v]
        levels[v] = level
        end = levels.size + level
        after[v], before[v] = end, before[end]
        after[before[v]] = v
        before[end] = v


@kernel
def residual_sweep(field, messages, damping, max_product, tolerance, queue):
    """The variables whose incoming messages changed most send first, until 2E messages are sent.

    No message of a variable can change by more than the sum of the changes that reached it since it last sent.
    That sum is pending, and divided by the degree it is the place in the queue, so that a hub waits until many of
    its neighbours have news and the work stays linear; below the tolerance a variable does not send. Places are
    told apart by powers of two, and all of the highest level send in one go.
    Returns as `send_logs`, plus whether nobody has news left.
    """
    offsets, neighbours = field.offsets, field.neighbours
    pending, levels, after, before = queue.pending, queue.levels, queue.after, queue.before
    n = pending.size
    changes = np.zeros(neighbours.size)
    senders = np.empty(n, np.int32)
    turns = np.full(n, -1, np.int32)  # place of each variable among the senders
    largest, span = 0.0, 0.0
    n_sent = 0
    top = N_LEVELS - 1
    while n_sent < neighbours.size:
        while top >= 0 and after[n + top] == n + top:
            top -= 1
        if top < 0:
            return -1, largest, span, True
        size = 0
        v = after[n + top]
        while v < n and n_sent < neighbours.size:
            senders[size] = v
            turns[v] = size
            levels[v] = -1
            n_sent += offsets[v + 1] - offsets[v]
            size += 1
            v = after[v]
        after[n + top], before[v] = v, n + top
        order = senders[:size]
        if field.ratio:
            impossible, change, moved = send_ratios(
                field, order, messages, messages, damping, max_product, changes
            )
        else:
            impossible, change, moved = send_logs(field, order, messages, messages, damping, max_product, changes)
        if impossible >= 0:
            return impossible, largest, span, False
        largest, span = max(largest, change), max(span, moved)
        for v in order:
            pending[v] = 0.0
            # an infinite change (an exact zero came or went) must not become 0 * inf
            if damping > 0.0:
                for slot in range(offsets[v], offsets[v + 1]):
                    pending[v] = max(pending[v], damping * changes[slot])
        for turn in range(size):
            v = order[turn]
            if pending[v] > tolerance:
                _move_up(queue, v, offsets[v + 1] - offsets[v])
                top = max(top, levels[v])
            for slot in range(offsets[v], offsets[v + 1]):
                u = neighbours[slot]
                if turns[u] <= turn:  # else it sent later, and knew
                    pending[u] += (1.0 - damping) * changes[slot]
                    if pending[u] > tolerance:
                        _move_up(queue, u, offsets[u + 1] - offsets[u])
                        top = max(top, levels[u])
        for v in order:
            turns[v] = -1
    return -1, largest, span, False


@kernel
def log_beliefs(field, messages):
    """log b of every variable, flat [sum K], and the variable without a possible state (-1: none)."""
    beliefs = np.empty(field.prior_offsets[-1])
    totals = np.empty(field.width)
    n_zeros = np.empty(field.width, np.int64)
    for v in range(field.n_states.size):
        at = field.prior_offsets[v]
        k_own = field.n_states[v]
        if not _log_totals(field, v, messages, totals, n_zeros):
            return beliefs, v
        for k in range(k_own):
            if n_zeros[k]:
                totals[k] = -np.inf
        norm = _log_sum_exp(totals, k_own)
        for k in range(k_own):
            beliefs[at + k] = totals[k] - norm
    return beliefs, -1


@kernel
def bethe_log_partition(field, messages, max_product):
    """Bethe approximation of log Z from log messages (with max_product: of the largest log weight)."""
    totals = np.empty(field.prior_offsets[-1])
    n_zeros = np.empty(field.prior_offsets[-1], np.int64)
    row = np.empty(field.width)
    result = 0.0
    for v in range(field.n_states.size):
        begin, end = field.prior_offsets[v], field.prior_offsets[v + 1]
        _log_totals(field, v, messages, totals[begin:end], n_zeros[begin:end])
        local = -np.inf
        for k in range(field.n_states[v]):
            row[k] = -np.inf if n_zeros[begin + k] else totals[begin + k]
            local = max(local, row[k])
        if not max_product:
            local = _log_sum_exp(row, field.n_states[v])
        result += local * (1 - (field.offsets[v + 1] - field.offsets[v]))
    cavity = np.empty(field.width)
    for v in range(field.n_states.size):
        for slot in range(field.offsets[v], field.offsets[v + 1]):
            back = field.reverse[slot]
            if back < slot:
                continue
            u = np.int64(field.neighbours[slot])  # of the same type as v: one compilation
            _cavity(field, v, field.message_offsets[back], messages, totals, n_zeros, cavity)
            table = field.tables[slot]
            p = table >> 1
            step_own, step_other = field.n_columns[p], 1
            if table & 1:
                step_own, step_other = 1, field.n_columns[p]
            other = np.empty(field.n_states[u])
            _cavity(field, u, field.message_offsets[slot], messages, totals, n_zeros, other)
            best, total = -np.inf, 0.0
            for k in range(field.n_states[v]):
                for j in range(field.n_states[u]):
                    cell = field.potential_offsets[p] + k * step_own + j * step_other
                    entry = field.log_potentials[cell] + cavity[k] + other[j]
                    if entry > best:
                        total = total * math.exp(best - entry) + 1.0
                        best = entry
                    elif entry > -np.inf:
                        total += math.exp(entry - best)
            result += best if max_product else best + math.log(total)
    return result


@kernel
def _cavity(field, v, incoming, messages, totals, n_zeros, cavity):
    """log of the prior and all incoming messages of v but the one that begins at `incoming`."""
    begin = field.prior_offsets[v]
    for k in range(field.n_states[v]):
        entry = messages[incoming + k]
        zeros = n_zeros[begin + k]
        if entry == -np.inf:
            zeros -= 1
            entry = 0.0
        cavity[k] = -np.inf if zeros else totals[begin + k] - entry


@kernel
def decode(field, messages):
    """A most likely assignment [N] from max-product log messages.

    Breadth first: each variable takes its best state given the neighbours that have chosen already and the
    messages of the others. On a forest that is a mode, also where several assignments tie.
    """
    n = field.n_states.size
    chosen = np.full(n, -1, np.int64)
    seen = np.zeros(n, np.bool_)
    queue = np.empty(n, np.int64)
    row = np.empty(field.width)
    for root in range(n):
        if seen[root]:
            continue
        seen[root] = True
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            for k in range(field.n_states[v]):
                row[k] = field.log_priors[field.prior_offsets[v] + k]
            for slot in range(field.offsets[v], field.offsets[v + 1]):
                u = field.neighbours[slot]
                at = field.message_offsets[field.reverse[slot]]
                p = field.tables[slot] >> 1
                step_own, step_other = field.n_columns[p], 1
                if field.tables[slot] & 1:
                    step_own, step_other = 1, field.n_columns[p]
                for k in range(field.n_states[v]):
                    if chosen[u] >= 0:
                        cell = field.potential_offsets[p] + k * step_own + chosen[u] * step_other
                        row[k] += field.log_potentials[cell]
                    else:
                        row[k] += messages[at + k]
                if not seen[u]:
                    seen[u] = True
                    queue[tail] = u
                    tail += 1
            chosen[v] = np.argmax(row[: field.n_states[v]])
    return chosen
