# mypy: ignore-errors
"""Kernels that draw subtrees of a ball. Arrays only; see chain.py for the callers and the records.

A drawn coalition is a run of rows, parents first: its first row is the target, every other row hangs on an earlier
one. Directed tables: rows = states of the sender; `table ^ 1` is the same potential read the other way.
"""

import math

from ..._base.compiled import kernel


@kernel
def metropolis_steps(n_steps, rng, core, chain):
    """Steps of the chain over subtrees T of the core; T has probability ∝ Π_{v in T} weight(v) in the long run.

    An edge of the core is drawn uniformly, then: grow, prune or swap. A draw that allows none of them is a
    step too: without the held steps, or drawing among possible moves only, the law would be another.

    Writes chain.
    """
    ends, end_slots, log_weights = core.ends, core.end_slots, core.log_weights
    up_slots, inside, n_children = chain.up_slots, chain.inside, chain.n_children
    n_edges = ends.shape[0]
    chain.marks[:] = -1
    for step in range(n_steps):
        e = int(rng.random() * n_edges)
        a, b = ends[e, 0], ends[e, 1]
        if inside[a] != inside[b]:
            # grow: the weight of what joins is at least 1, so there is nothing to refuse
            side = 1 if inside[a] else 0
            joins = ends[e, side]
            inside[joins] = True
            up_slots[joins] = end_slots[e, side]
            n_children[ends[e, 1 - side]] += 1
        elif inside[a]:
            side = 0 if up_slots[a] == end_slots[e, 0] else 1
            lower = ends[e, side]
            if up_slots[lower] == end_slots[e, side]:
                # an edge of the tree; prune if a leaf hangs on it
                if n_children[lower] == 0 and (
                    log_weights[lower] == 0.0 or rng.random() < math.exp(-log_weights[lower])
                ):
                    inside[lower] = False
                    up_slots[lower] = -1
                    n_children[ends[e, 1 - side]] -= 1
            else:
                swap(step, rng, e, core, chain)


@kernel
def swap(stamp, rng, e, core, chain):
    """Close a cycle with edge e and take away a uniform one of its other edges. Writes chain."""
    ends, neighbours = core.ends, core.neighbours
    up_slots, n_children, marks = chain.up_slots, chain.n_children, chain.marks
    a, b = ends[e, 0], ends[e, 1]
    # walk up from both ends in turn until one walk meets the trail of the other
    marks[a] = stamp
    marks[b] = stamp
    x, y, meeting = a, b, -1
    while meeting < 0:
        if up_slots[x] >= 0:
            x = neighbours[up_slots[x]]
            if marks[x] == stamp:
                meeting = x
            marks[x] = stamp
        if meeting < 0 and up_slots[y] >= 0:
            y = neighbours[up_slots[y]]
            if marks[y] == stamp:
                meeting = y
            marks[y] = stamp
    length_a = 0
    x = a
    while x != meeting:
        x = neighbours[up_slots[x]]
        length_a += 1
    length = length_a
    y = b
    while y != meeting:
        y = neighbours[up_slots[y]]
        length += 1
    cut = int(rng.random() * length)
    side = 0
    if cut >= length_a:
        cut -= length_a
        side = 1
    # re-root the part that the missing edge cuts off: turn the pointers from the new edge up to it
    x, slot = ends[e, side], core.end_slots[e, side]
    n_children[ends[e, 1 - side]] += 1
    for turned in range(cut + 1):
        above = up_slots[x]
        up_slots[x] = slot
        parent = neighbours[above]
        n_children[parent] -= 1
        if turned < cut:
            n_children[x] += 1
        slot = core.reverse[above]
        x = parent


@kernel
def resample_spanning_tree(rng, core, chain):
    """A uniform spanning tree of the variables that are inside (Wilson's algorithm). Returns the steps walked.

    All trees over the same variables weigh the same, so this leaves the chain's law as it is. Writes chain.
    """
    neighbours, members, offsets, slots = core.neighbours, core.members, core.offsets, core.slots
    up_slots, inside, n_children, marks = chain.up_slots, chain.inside, chain.n_children, chain.marks
    for v in members:
        marks[v] = 0
        n_children[v] = 0
    marks[0] = 1
    walked = 0
    for v in members:
        if not inside[v]:
            continue
        x = v
        while marks[x] == 0:
            begin = offsets[x]
            slot = slots[begin + int(rng.random() * (offsets[x + 1] - begin))]
            walked += 1
            if inside[neighbours[slot]]:
                up_slots[x] = slot
                x = neighbours[slot]
        x = v
        while marks[x] == 0:
            marks[x] = 1
            x = neighbours[up_slots[x]]
            n_children[x] += 1
    return walked


@kernel
def draw(n_draws, rng, core, chain, pendant, forest):
    """Draw coalitions, `pace.n_steps` steps of the chain apart, until there are `n_draws` or the rows are full.

    Writes chain, forest. Returns how many were drawn.
    """
    pace, starts, capacity = chain.pace, forest.starts, forest.variables.shape[0]
    n_variables = chain.inside.shape[0]
    n_drawn = 0
    starts[0] = 0
    while n_drawn < n_draws and n_drawn + 1 < starts.shape[0] and starts[n_drawn] + n_variables <= capacity:
        if core.members.shape[0] > 1:
            metropolis_steps(pace[0], rng, core, chain)
            pace[1] -= 1
            if pace[1] <= 0:
                resample_spanning_tree(rng, core, chain)
                pace[1] = pace[2]
        starts[n_drawn + 1] = grow_rows(starts[n_drawn], rng, core, chain, pendant, forest)
        n_drawn += 1
    return n_drawn


@kernel
def grow_rows(start, rng, core, chain, pendant, forest):
    """Write the chain's tree as rows, with pendant trees drawn anew. Returns the row after the last."""
    up_slots, inside = chain.up_slots, chain.inside
    variables, parents, tables = forest.variables, forest.parents, forest.tables
    first, following, slot_tables = forest.first, forest.following, forest.slot_tables
    for v in core.members:
        first[v] = -1
    for v in core.members:
        if inside[v] and v:
            parent = core.neighbours[up_slots[v]]
            following[v] = first[parent]
            first[parent] = v
    variables[start] = 0
    parents[start] = -1
    end = start + 1
    row = start
    while row < end:
        v = variables[row]
        child = first[v]
        while child >= 0:
            variables[end] = child
            parents[end] = row
            tables[end] = slot_tables[up_slots[child]]
            end += 1
            child = following[child]
        for i in range(pendant.offsets[v], pendant.offsets[v + 1]):
            if rng.random() < pendant.chances[i]:
                child = pendant.kids[i]
                first[child] = -1
                variables[end] = child
                parents[end] = row
                tables[end] = slot_tables[pendant.slots[i]]
                end += 1
        row += 1
    return end
