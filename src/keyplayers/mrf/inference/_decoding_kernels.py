# mypy: ignore-errors
"""Kernels that look for a most likely assignment. Arrays only; see decoding.py for the caller."""

import numpy as np

from ..._base.compiled import kernel


@kernel
def decode(slots, field, messages):
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
                row[k] = field.log_priors[field.offsets[v] + k]
            for slot in range(slots.offsets[v], slots.offsets[v + 1]):
                u = slots.neighbours[slot]
                at = field.message_offsets[slots.reverse[slot]]
                p = slots.tables[slot] >> 1
                step_own, step_other = field.n_columns[p], 1
                if slots.tables[slot] & 1:
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


@kernel
def grow_forest(slots, order, in_forest, roots, stamps):
    """Variables, taken in this order, whose edges among themselves close no cycle.

    Writes: in_forest [N]; roots, stamps [N], scratch.
    """
    offsets, neighbours = slots.offsets, slots.neighbours
    for v in range(roots.size):
        roots[v], stamps[v], in_forest[v] = v, -1, False
    for v in order:
        joins = True
        for slot in range(offsets[v], offsets[v + 1]):
            root = neighbours[slot]
            if in_forest[root]:
                while roots[root] != root:
                    roots[root] = roots[roots[root]]
                    root = roots[root]
                if stamps[root] == v:  # a second way into the same tree
                    joins = False
                    break
                stamps[root] = v
        if joins:
            in_forest[v] = True
            for slot in range(offsets[v], offsets[v + 1]):
                root = neighbours[slot]
                if in_forest[root]:
                    while roots[root] != root:
                        root = roots[root]
                    roots[root] = v


@kernel
def tighten(slots, field, shares, totals):
    """One sweep of coordinate descent on the bound: every edge shares its potential out between its ends anew.

    Writes: shares [sum over slots of the receivers' K], what the edge of a slot gives its receiver;
    totals [sum K], log priors and all shares.
    """
    first, second = np.empty(field.width), np.empty(field.width)
    for v in range(field.n_states.size):
        for slot in range(slots.offsets[v], slots.offsets[v + 1]):
            u, back = slots.neighbours[slot], slots.reverse[slot]
            if u < v:
                continue
            k_own, k_other = field.n_states[v], field.n_states[u]
            to_own, to_other = field.message_offsets[back], field.message_offsets[slot]
            own, other = field.offsets[v], field.offsets[u]
            p = slots.tables[slot] >> 1
            step_own, step_other = field.n_columns[p], 1
            if slots.tables[slot] & 1:
                step_own, step_other = 1, field.n_columns[p]
            for i in range(k_own):
                totals[own + i] -= shares[to_own + i]
                first[i] = -np.inf
            for j in range(k_other):
                totals[other + j] -= shares[to_other + j]
                second[j] = -np.inf
            for i in range(k_own):
                for j in range(k_other):
                    entry = field.log_potentials[field.potential_offsets[p] + i * step_own + j * step_other]
                    first[i] = max(first[i], entry + totals[other + j])
                    second[j] = max(second[j], entry + totals[own + i])
            for i in range(k_own):
                shares[to_own + i] = (first[i] - totals[own + i]) / 2
                totals[own + i] += shares[to_own + i]
            for j in range(k_other):
                shares[to_other + j] = (second[j] - totals[other + j]) / 2
                totals[other + j] += shares[to_other + j]
