# mypy: ignore-errors
"""Kernels for flooding fields without zeros in their potentials. Arrays only; see flooding.py for the caller.

The two messages of an edge lie side by side at the edge's own place. A sweep reads them once, in order, and writes
them where it read them: what it needs of other messages is one number per end, the product of all ratios that
arrive there, and the products of the next sweep are gathered on the way. The order of edges keeps the products of
one end in the cache and walks along those of the other.
Blocks of edges go through three short loops: look up (scalar), compute (which compilers turn into vector
instructions: no index arithmetic, no branch), multiply into the products (scalar).
"""

import math
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.compiled import kernel

# numpy's division: Python's would test every divisor, and a loop with a test is not vectorised

# Products leave the range of a double at hubs. They are kept as mantissa * SCALE ** shift, and enter a message
# clipped to 1/SCALE .. SCALE, beyond which no potential within messages.MAX_LOG_RANGE lets them change a double.
SCALE = 2.0**500
UNSCALE = 2.0**-500
# Edges of a block: its nine rows of scratch, 18 KiB, fit a first-level cache.
BLOCK = 256
# The same for several states: three rows for each, 15 KiB for five.
STATE_BLOCK = 128


class EdgeMessages(NamedTuple):
    """The two messages of every edge, side by side; of K states, `forth` and `back` are [K, E]."""

    firsts: Ints  # [E] uint32, the end with the lower number
    seconds: Ints  # [E] uint32
    codes: Ints  # [E] uint32, 2 * potential + transposed
    forth: Floats  # [E] of the first end
    back: Floats  # [E] of the second end


class Products(NamedTuple):
    """Products of all that arrives at a variable; of K states, all are [N, K]."""

    totals: Floats  # [N] of the last sweep: clipped, or the largest of each variable 1
    mantissas: Floats  # [N] of the next sweep, under way: mantissa * SCALE ** shift
    shifts: Ints  # [N]


@kernel
def flood_ratios(edges, products, ratios, begin, end, rule, bounded):
    """All messages of the edges begin .. end-1 anew, from the products of the last sweep.

    Parameters: ratios [3P] of each potential's entries (0,1), (1,0), (1,1) to its entry (0,0); bounded: no product
    can leave the range of a double.
    Writes: edges.forth, edges.back; products.mantissas and shifts, multiplied by the new messages.
    Returns, before damping, the largest change of a probability, and the least and the largest factor by which a
    message changed.
    """
    firsts, seconds, codes, forth, back = edges
    totals, mantissas, shifts = products
    damping, max_product = rule.damping, rule.max_product
    work = np.empty(9 * BLOCK)
    # Positive doubles are ordered as their bit patterns, and integers have a vectorised maximum (NaN is largest).
    bits = work.view(np.int64)
    most, least, greatest = np.int64(0), np.int64(2**62), np.int64(0)
    for start in range(begin, end, BLOCK):
        n = min(BLOCK, end - start)
        to_second, to_first = forth[start : start + n], back[start : start + n]
        for i in range(n):
            work[i] = totals[firsts[start + i]]
            work[BLOCK + i] = totals[seconds[start + i]]
            code = codes[start + i]
            at = 3 * (code >> np.uint32(1))
            transposed = code & np.uint32(1)
            work[2 * BLOCK + i] = ratios[at + transposed]
            work[3 * BLOCK + i] = ratios[at + 1 - transposed]
            work[4 * BLOCK + i] = ratios[at + 2]
        # The cavity ratio at an end is total / incoming; both weights are multiplied by `incoming` instead.
        for i in range(n):
            p01, p10, p11 = work[2 * BLOCK + i], work[3 * BLOCK + i], work[4 * BLOCK + i]
            total_first, total_second = work[i], work[BLOCK + i]
            old_forth, old_back = to_second[i], to_first[i]
            forth_0, forth_1 = p10 * total_first, p11 * total_first
            back_0, back_1 = p01 * total_second, p11 * total_second
            if max_product:
                forth_0, forth_1 = max(old_back, forth_0), max(p01 * old_back, forth_1)
                back_0, back_1 = max(old_forth, back_0), max(p10 * old_forth, back_1)
            else:
                forth_0, forth_1 = old_back + forth_0, p01 * old_back + forth_1
                back_0, back_1 = old_forth + back_0, p10 * old_forth + back_1
            new_forth, new_back = forth_1 / forth_0, back_1 / back_0
            work[i] = new_forth
            work[BLOCK + i] = new_back
            work[5 * BLOCK + i] = abs(new_forth - old_forth) / ((1.0 + new_forth) * (1.0 + old_forth))
            work[6 * BLOCK + i] = abs(new_back - old_back) / ((1.0 + new_back) * (1.0 + old_back))
            work[7 * BLOCK + i] = new_forth / old_forth
            work[8 * BLOCK + i] = new_back / old_back
        for i in range(n):
            most = max(most, max(bits[5 * BLOCK + i], bits[6 * BLOCK + i]))
            least = min(least, min(bits[7 * BLOCK + i], bits[8 * BLOCK + i]))
            greatest = max(greatest, max(bits[7 * BLOCK + i], bits[8 * BLOCK + i]))
        if damping > 0.0:
            for i in range(n):
                work[i] *= math.exp(-damping * math.log(work[7 * BLOCK + i]))
                work[BLOCK + i] *= math.exp(-damping * math.log(work[8 * BLOCK + i]))
        for i in range(n):
            to_second[i] = work[i]
            to_first[i] = work[BLOCK + i]
        if bounded:
            for i in range(n):
                mantissas[seconds[start + i]] *= work[i]
                mantissas[firsts[start + i]] *= work[BLOCK + i]
        else:
            # spelled out: a call here, of a function that takes arrays, costs ten times the multiplication
            for ends, row in ((seconds, 0), (firsts, BLOCK)):
                for i in range(n):
                    v = ends[start + i]
                    product = mantissas[v] * work[row + i]
                    if product > SCALE:
                        product *= UNSCALE
                        shifts[v] += 1
                    elif product < UNSCALE:
                        product *= SCALE
                        shifts[v] -= 1
                    mantissas[v] = product
    bits[0], bits[1], bits[2] = most, least, greatest
    return work[0], work[1], work[2]


@kernel
def multiply(edges, mantissas, shifts):
    """Multiply the messages of all edges, [K, E], into products. Writes: mantissas, shifts [N, K]."""
    for ends, messages in ((edges.seconds, edges.forth), (edges.firsts, edges.back)):
        for e in range(ends.size):
            v = ends[e]
            for k in range(messages.shape[0]):
                product = mantissas[v, k] * messages[k, e]
                if product > SCALE:
                    product *= UNSCALE
                    shifts[v, k] += 1
                elif product < UNSCALE:
                    product *= SCALE
                    shifts[v, k] -= 1
                mantissas[v, k] = product


@kernel
def gather_ratios(mantissas, shifts, own_mantissas, own_shifts, totals):
    """Clipped products over the parts of the edges, whose mantissas and shifts [parts, N] start anew.

    Part 0 starts from each variable's own ratio, the others from 1. Writes: totals [N], mantissas, shifts.
    """
    for v in range(totals.size):
        product, shift = mantissas[0, v], shifts[0, v]
        mantissas[0, v], shifts[0, v] = own_mantissas[v], own_shifts[v]
        for part in range(1, mantissas.shape[0]):
            product *= mantissas[part, v]
            shift += shifts[part, v]
            mantissas[part, v], shifts[part, v] = 1.0, 0
            if product > SCALE:
                product *= UNSCALE
                shift += 1
            elif product < UNSCALE:
                product *= SCALE
                shift -= 1
        if shift == 1 and product < 1.0:
            product *= SCALE
        elif shift == -1 and product > 1.0:
            product *= UNSCALE
        elif shift != 0:
            product = SCALE if shift > 0 else UNSCALE
        totals[v] = min(max(product, UNSCALE), SCALE)


@kernel
def flood_states(edges, products, potentials, begin, end, rule):
    """All messages of the edges begin .. end-1 anew, for K states.

    Parameters: edges by ascending code, so that most blocks share one potential; potentials [P, K, K].
    Writes: edges.forth, edges.back, which sum to 1 over K; products.mantissas and shifts, multiplied by the new
    messages.
    Returns, before damping, the largest change of a probability, and the largest factor by which the ratio of two
    entries of a message changed.
    """
    firsts, seconds, codes, forth, back = edges
    totals, mantissas, shifts = products
    damping, max_product = rule.damping, rule.max_product
    n_states = forth.shape[0]
    size = STATE_BLOCK
    cavity, sent = np.empty(n_states * size), np.empty((2, n_states * size))
    norm, low, high, change = np.empty(size), np.empty(size), np.empty(size), np.zeros(size)
    factor = np.ones(size)
    for start in range(begin, end, size):
        n = min(size, end - start)
        shared = codes[start] == codes[start + n - 1]
        for direction in range(2):
            if direction == 0:
                senders, incoming, outgoing = firsts, back, forth
            else:
                senders, incoming, outgoing = seconds, forth, back
            out = sent[direction]
            for i in range(n):
                v = senders[start + i]
                for k in range(n_states):
                    cavity[k * size + i] = totals[v, k]
            for k in range(n_states):
                arrived = incoming[k, start : start + n]
                row = cavity[k * size : k * size + n]
                for i in range(n):
                    row[i] /= arrived[i]
            for i in range(n):
                norm[i] = 0.0
            for j in range(n_states):
                row = out[j * size : j * size + n]
                for i in range(n):
                    row[i] = 0.0
                for k in range(n_states):
                    weights = cavity[k * size : k * size + n]
                    if shared:
                        transposed = (codes[start] & np.uint32(1)) != direction
                        table = codes[start] >> np.uint32(1)
                        entry = potentials[table, j, k] if transposed else potentials[table, k, j]
                        if max_product:
                            for i in range(n):
                                row[i] = max(row[i], entry * weights[i])
                        else:
                            for i in range(n):
                                row[i] += entry * weights[i]
                    else:
                        for i in range(n):
                            code = codes[start + i]
                            transposed = (code & np.uint32(1)) != direction
                            table = code >> np.uint32(1)
                            entry = potentials[table, j, k] if transposed else potentials[table, k, j]
                            entry *= weights[i]
                            row[i] = max(row[i], entry) if max_product else row[i] + entry
                for i in range(n):
                    norm[i] += row[i]
            for i in range(n):
                norm[i] = 1.0 / norm[i]
                low[i], high[i] = np.inf, 0.0
            for j in range(n_states):
                row = out[j * size : j * size + n]
                before = outgoing[j, start : start + n]
                for i in range(n):
                    new = row[i] * norm[i]
                    ratio = new / before[i]
                    low[i] = min(low[i], ratio)
                    high[i] = max(high[i], ratio)
                    change[i] = max(change[i], abs(new - before[i]))
                    row[i] = new
            for i in range(n):
                factor[i] = max(factor[i], high[i] / low[i])
            if damping > 0.0:
                for i in range(n):
                    norm[i] = 0.0
                for j in range(n_states):
                    for i in range(n):
                        at = j * size + i
                        out[at] *= math.exp(-damping * math.log(out[at] / outgoing[j, start + i]))
                        norm[i] += out[at]
                for j in range(n_states):
                    for i in range(n):
                        out[j * size + i] /= norm[i]
        for direction in range(2):
            if direction == 0:
                receivers, outgoing = seconds, forth
            else:
                receivers, outgoing = firsts, back
            out = sent[direction]
            for j in range(n_states):
                for i in range(n):
                    outgoing[j, start + i] = out[j * size + i]
            for i in range(n):
                v = receivers[start + i]
                for j in range(n_states):
                    product = mantissas[v, j] * out[j * size + i]
                    if product < UNSCALE:
                        product *= SCALE
                        shifts[v, j] -= 1
                    mantissas[v, j] = product
    largest, greatest = 0.0, 1.0
    for i in range(size):
        largest = max(largest, change[i])
        greatest = max(greatest, factor[i])
    return largest, greatest


@kernel
def gather_states(mantissas, shifts, own_mantissas, own_shifts, totals):
    """Products over the parts of the edges, whose mantissas and shifts [parts, N, K] start anew.

    Part 0 starts from each variable's own weights, the others from 1. Writes: totals [N, K], largest entry of each
    variable 1; mantissas, shifts.
    """
    n_variables, n_states = totals.shape
    exponents = np.empty(n_states, np.int64)
    for v in range(n_variables):
        highest = np.int64(-(2**62))
        for k in range(n_states):
            product, shift = mantissas[0, v, k], shifts[0, v, k]
            mantissas[0, v, k], shifts[0, v, k] = own_mantissas[v, k], own_shifts[v, k]
            for part in range(1, mantissas.shape[0]):
                product *= mantissas[part, v, k]
                shift += shifts[part, v, k]
                mantissas[part, v, k], shifts[part, v, k] = 1.0, 0
                if product < UNSCALE:
                    product *= SCALE
                    shift -= 1
            if product < 1.0:
                product *= SCALE
                shift -= 1
            totals[v, k] = product
            exponents[k] = shift
            if product > 0.0:
                highest = max(highest, shift)
        top = 0.0
        for k in range(n_states):
            if exponents[k] == highest - 1:
                totals[v, k] *= UNSCALE
            elif exponents[k] < highest:
                # below the largest by SCALE: no potential within messages.MAX_LOG_RANGE makes it count
                totals[v, k] = 0.0
            top = max(top, totals[v, k])
        for k in range(n_states):
            totals[v, k] /= top
