# mypy: ignore-errors
"""Kernels for flooding binary fields whose messages are ratios. Arrays only; see flooding.py for the caller.

The two messages of an edge lie side by side at the edge's own place, edges in the order of their first end. A
sweep reads them once, in order, and writes them where it read them: what it needs of other messages is one number
per end, the product of all ratios that arrive there, and the products of the next sweep are gathered on the way.
Blocks of edges go through three short loops: look up (scalar), compute (which compilers turn into vector
instructions: no index arithmetic, no branch), multiply into the products (scalar).
"""

import math

import numpy as np
from numba import njit

# numpy's division: Python's would test every divisor, and a loop with a test is not vectorised
kernel = njit(cache=True, nogil=True, error_model="numpy")

# Products leave the range of a double at hubs. They are kept as mantissa * SCALE ** shift, and enter a message
# clipped to 1/SCALE .. SCALE, beyond which no potential within messages.MAX_LOG_RANGE lets them change a double.
SCALE = 2.0**500
UNSCALE = 2.0**-500
# Edges of a block: its nine rows of scratch, 18 KiB, fit a first-level cache.
BLOCK = 256


@kernel
def lay_out_edges(offsets, neighbours, reverse, tables, takes_part, mantissas, shifts, values):
    """Edges between variables that take part, in the order of their first ends.

    Messages from variables that do not take part stay as they are. Writes: mantissas, shifts [N], which take
    them in. Returns firsts, seconds, slots (of the first end's message), codes (2 * potential + transposed) [E].
    """
    n_edges = 0
    for v in range(offsets.size - 1):
        if not takes_part[v]:
            continue
        for slot in range(offsets[v], offsets[v + 1]):
            u = neighbours[slot]
            if takes_part[u]:
                n_edges += slot < reverse[slot]
            else:
                mantissas[v] *= values[reverse[slot]]
                if mantissas[v] > SCALE:
                    mantissas[v] *= UNSCALE
                    shifts[v] += 1
                elif mantissas[v] < UNSCALE:
                    mantissas[v] *= SCALE
                    shifts[v] -= 1
    # unsigned, because a signed index is tested for being negative at every access
    firsts = np.empty(n_edges, np.uint32)
    seconds = np.empty(n_edges, np.uint32)
    slots = np.empty(n_edges, np.uint32)
    codes = np.empty(n_edges, np.uint32)
    e = 0
    for v in range(offsets.size - 1):
        if not takes_part[v]:
            continue
        for slot in range(offsets[v], offsets[v + 1]):
            u = neighbours[slot]
            if takes_part[u] and slot < reverse[slot]:
                firsts[e] = v
                seconds[e] = u
                slots[e] = slot
                codes[e] = tables[slot]
                e += 1
    return firsts, seconds, slots, codes


@kernel
def flood(firsts, seconds, codes, ratios, forth, back, totals, mantissas, shifts, damping, max_product, bounded):
    """All messages of a range of edges anew, from the products of the last sweep.

    Parameters: ratios [3P] of each potential's entries (0,1), (1,0), (1,1) to its entry (0,0); totals [N] products
    of the last sweep, clipped; bounded: no product can leave the range of a double.
    Writes: forth, back [E]; mantissas, shifts [N], multiplied by the new messages.
    Returns, before damping, the largest change of a probability, and the least and the largest factor by which a
    message changed.
    """
    n_edges = firsts.size
    work = np.empty(9 * BLOCK)
    # Positive doubles are ordered as their bit patterns, and integers have a vectorised maximum (NaN is largest).
    bits = work.view(np.int64)
    most, least, greatest = np.int64(0), np.int64(2**62), np.int64(0)
    for start in range(0, n_edges, BLOCK):
        n = min(BLOCK, n_edges - start)
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
def multiply(firsts, seconds, forth, back, mantissas, shifts):
    """Products of the messages of a range of edges. Writes: mantissas, shifts [N]."""
    for ends, messages in ((seconds, forth), (firsts, back)):
        for e in range(ends.size):
            v = ends[e]
            product = mantissas[v] * messages[e]
            if product > SCALE:
                product *= UNSCALE
                shifts[v] += 1
            elif product < UNSCALE:
                product *= SCALE
                shifts[v] -= 1
            mantissas[v] = product


@kernel
def gather_products(mantissas, shifts, own_mantissas, own_shifts, totals):
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
