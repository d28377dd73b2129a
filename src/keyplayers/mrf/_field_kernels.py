# mypy: ignore-errors
"""Kernels that index a graph. Arrays only; see field.py and building.py for the callers."""

import numpy as np

from .._base.compiled import kernel


@kernel
def index_slots(edges, potential_index, n_variables):
    """Slots of directed edges, grouped by the variable that sends.

    Returns offsets [N+1], neighbours [2E], reverse [2E] (the slot of the opposite direction), tables [2E]
    (2 * potential, plus 1 where the sender is the second end and the potential is read transposed).
    """
    n_edges = edges.shape[0]
    offsets = np.zeros(n_variables + 1, np.int64)
    for e in range(n_edges):
        offsets[edges[e, 0] + 1] += 1
        offsets[edges[e, 1] + 1] += 1
    for v in range(n_variables):
        offsets[v + 1] += offsets[v]
    heads = offsets[:-1].copy()
    neighbours = np.empty(2 * n_edges, np.int32)
    reverse = np.empty(2 * n_edges, np.int32)
    tables = np.empty(2 * n_edges, np.int32)
    for e in range(n_edges):
        a, b = edges[e, 0], edges[e, 1]
        here = heads[a]
        heads[a] += 1
        there = heads[b]
        heads[b] += 1
        neighbours[here] = b
        neighbours[there] = a
        reverse[here] = there
        reverse[there] = here
        tables[here] = 2 * potential_index[e]
        tables[there] = 2 * potential_index[e] + 1
    return offsets, neighbours, reverse, tables


@kernel
def first_duplicate(edges, n_variables):
    """Two edges that join the same variables: the first such edge and its twin, or (-1, -1)."""
    n_edges = edges.shape[0]
    offsets = np.zeros(n_variables + 1, np.int64)
    for e in range(n_edges):
        offsets[min(edges[e, 0], edges[e, 1]) + 1] += 1
    for v in range(n_variables):
        offsets[v + 1] += offsets[v]
    heads = offsets[:-1].copy()
    order = np.empty(n_edges, np.int32)
    for e in range(n_edges):
        low = min(edges[e, 0], edges[e, 1])
        order[heads[low]] = e
        heads[low] += 1
    seen = np.full(n_variables, -1, np.int32)  # the last edge from `low` that ended here
    first, twin = -1, -1
    for low in range(n_variables):
        start = offsets[low]
        for i in range(start, offsets[low + 1]):
            e = order[i]
            high = max(edges[e, 0], edges[e, 1])
            earlier = seen[high]
            if earlier >= 0 and min(edges[earlier, 0], edges[earlier, 1]) == low and (twin < 0 or e < twin):
                first, twin = earlier, e
            seen[high] = e
    return first, twin


@kernel
def peel(offsets, neighbours):
    """Take leaves off again and again.

    Returns the variables in the order in which they fall [F] (each before the one it hung on) and whether
    a variable remains [N]: those on cycles and between cycles, the 2-core.
    """
    n_variables = offsets.shape[0] - 1
    degrees = np.empty(n_variables, np.int64)
    remains = np.ones(n_variables, np.bool_)
    order = np.empty(n_variables, np.int32)
    n_fallen = 0
    for v in range(n_variables):
        degrees[v] = offsets[v + 1] - offsets[v]
        if degrees[v] <= 1:
            order[n_fallen] = v
            n_fallen += 1
            remains[v] = False
    i = 0
    while i < n_fallen:
        v = order[i]
        i += 1
        for slot in range(offsets[v], offsets[v + 1]):
            u = neighbours[slot]
            if remains[u]:
                degrees[u] -= 1
                if degrees[u] <= 1:
                    remains[u] = False
                    order[n_fallen] = u
                    n_fallen += 1
    return order[:n_fallen], remains
