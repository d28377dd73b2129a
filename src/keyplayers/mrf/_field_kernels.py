# mypy: ignore-errors
"""Kernels on graphs. Arrays only; see field.py and pendant.py for the callers."""

from .._base.compiled import kernel


@kernel
def fill_slots(edges, potential_index, heads, slots):
    """Give every directed edge the next slot of its sender; see `Slots`.

    Writes: slots, heads [N] (first the sender's first slot, then the one after its last).
    """
    neighbours, reverse, tables = slots.neighbours, slots.reverse, slots.tables
    for e in range(edges.shape[0]):
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


@kernel
def strip_leaves(offsets, neighbours, kept, degrees, trees):
    """Take leaves off again and again, but never the variable `kept`; see pendant.py.

    Writes: degrees [N], trees. Returns how many variables fell.
    """
    order, up_slots, in_core = trees.order, trees.up_slots, trees.in_core
    n_fallen = 0
    for v in range(degrees.size):
        if degrees[v] <= 1 and v != kept:
            order[n_fallen] = v
            n_fallen += 1
    i = 0
    while i < n_fallen:
        v = order[i]
        i += 1
        in_core[v] = False
        for slot in range(offsets[v], offsets[v + 1]):
            u = neighbours[slot]
            if in_core[u]:
                up_slots[v] = slot
                degrees[u] -= 1
                if degrees[u] == 1 and u != kept:
                    order[n_fallen] = u
                    n_fallen += 1
    return n_fallen
