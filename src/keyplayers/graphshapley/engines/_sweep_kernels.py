# mypy: ignore-errors
"""Beliefs of the target on the coalitions of a tape. Arrays only; see sweeps.py for the caller.

Conventions. A coalition is a stack of members: position 0 is the target, a member stands above its parent.
Slots are directed edges, grouped by sender: slot s joins neighbours[s] to senders[s]. Its matrix has a row per
state of the new member, a column per state of the parent.

One sweep up and one down a coalition give the target's belief on it, without each member (OMISSION) and with each
member's prior made uniform (SPLIT). Beliefs are weights, or logarithms, up to a factor.

A belief on a coalition is a sum over assignments of products of distinct factors. With factors scaled to
maximum 1 every number met on the way is therefore 0 or at least exp(-sum of the factors' ranges), and at most
K^n: the caller checks that once. Where it is too much, messages and maps are rescaled on the way (two states), or
logarithms are kept.

Loops over coalitions hold no calls with array arguments but inlined ones: numba counts references at each, which
costs more than most of them do.
"""

import math

from ..._base.compiled import inlined, kernel

BACK = -1

# what a belief is asked for
WHOLE, OMISSION, SPLIT, OMISSION_AND_SPLIT = range(4)


@inlined
def replay(move, size, stack, parents, taken, position, neighbours, senders):
    """Let a member join or go. Writes: stack, parents, taken, position. Returns the new size."""
    if move == BACK:
        size -= 1
        position[stack[size]] = -1
    else:
        v = neighbours[move]
        stack[size] = v
        parents[size] = position[senders[move]]
        taken[size] = move
        position[v] = size
        size += 1
    return size


@inlined
def write_binary(w0, w1, beliefs, at):
    """A belief, as weights. Returns whether one is 0."""
    beliefs[0, at] = w0
    beliefs[1, at] = w1
    return w0 == 0.0 or w1 == 0.0


@kernel
def sweep_binary(tape, members, slots, factors, asked):
    """Beliefs of the coalitions on the tape, as many as fit into `asked`; two states.

    See sweeps.py for the records. Writes: asked, the members. Returns the numbers of beliefs, of
    coalitions and of moves, and whether a probability is 0.
    """
    stack, parents, taken, position = members.stack, members.parents, members.taken, members.position
    up, down, is_leaf = members.up, members.down, members.is_leaf
    neighbours, senders, silent = slots.neighbours, slots.senders, slots.silent
    wants_split, cyclic = slots.wants_split, slots.cyclic
    phi, psi, rescaled = factors.phi, factors.psi, factors.rescaled
    beliefs, whose, kinds, own, uniform_leaves = (
        asked.beliefs,
        asked.whose,
        asked.kinds,
        asked.own,
        asked.uniform_leaves,
    )
    size = members.size[0]
    n_asked, n_coalitions, n_moves, has_zeros = 0, 0, 0, False
    while n_moves < tape.shape[0] and n_asked + 2 * size + 1 < whose.shape[0]:
        move = tape[n_moves]
        n_moves += 1
        size = replay(move, size, stack, parents, taken, position, neighbours, senders)
        if move == BACK:
            continue

        # up: messages, and for each member the product of its children's and of its later siblings' messages
        for k in range(size):
            up[k, 0] = 1.0
            up[k, 1] = 1.0
            is_leaf[k] = True
        for k in range(size - 1, 0, -1):
            v, slot, p = stack[k], taken[k], parents[k]
            is_leaf[p] = False
            n0 = phi[v, 0] * up[k, 0]
            n1 = phi[v, 1] * up[k, 1]
            m0 = n0 * psi[slot, 0] + n1 * psi[slot, 2]
            m1 = n0 * psi[slot, 1] + n1 * psi[slot, 3]
            if rescaled:
                scale = 1.0 / (m0 + m1)
                m0 *= scale
                m1 *= scale
            up[k, 2] = m0
            up[k, 3] = m1
            up[k, 4] = up[p, 0]
            up[k, 5] = up[p, 1]
            up[p, 0] *= m0
            up[p, 1] *= m1
        has_zeros |= write_binary(phi[0, 0] * up[0, 0], phi[0, 1] * up[0, 1], beliefs, n_asked)
        kinds[n_asked] = WHOLE
        own[n_coalitions] = n_asked
        n_coalitions += 1
        n_asked += 1

        # down: the target's belief is linear in what each member sends; down[k, 2:] is that map
        down[0, 0] = phi[0, 0]
        down[0, 1] = phi[0, 1]
        down[0, 2] = 1.0
        down[0, 3] = 0.0
        down[0, 4] = 0.0
        down[0, 5] = 1.0
        for k in range(1, size):
            v, slot, p = stack[k], taken[k], parents[k]
            e0 = down[p, 0] * up[k, 4]
            e1 = down[p, 1] * up[k, 5]
            down[p, 0] *= up[k, 2]
            down[p, 1] *= up[k, 3]
            a00 = down[p, 2] * e0
            a01 = down[p, 3] * e1
            a10 = down[p, 4] * e0
            a11 = down[p, 5] * e1
            as_omission = wants_split[v] and is_leaf[k] and silent[slot]
            if cyclic:
                has_zeros |= write_binary(a00 + a01, a10 + a11, beliefs, n_asked)
                whose[n_asked] = v
                kinds[n_asked] = OMISSION_AND_SPLIT if as_omission else OMISSION
                n_asked += 1
            elif as_omission:
                uniform_leaves[v] += 1.0
            if is_leaf[k] and (as_omission or not wants_split[v]):
                continue  # nobody asks for its map
            down[k, 0] = phi[v, 0]
            down[k, 1] = phi[v, 1]
            m00 = a00 * psi[slot, 0] + a01 * psi[slot, 1]
            m01 = a00 * psi[slot, 2] + a01 * psi[slot, 3]
            m10 = a10 * psi[slot, 0] + a11 * psi[slot, 1]
            m11 = a10 * psi[slot, 2] + a11 * psi[slot, 3]
            if rescaled:
                scale = 1.0 / (m00 + m01 + m10 + m11)
                m00 *= scale
                m01 *= scale
                m10 *= scale
                m11 *= scale
            down[k, 2] = m00
            down[k, 3] = m01
            down[k, 4] = m10
            down[k, 5] = m11
            if wants_split[v] and not as_omission:
                w0, w1 = m00 * up[k, 0] + m01 * up[k, 1], m10 * up[k, 0] + m11 * up[k, 1]
                has_zeros |= write_binary(w0, w1, beliefs, n_asked)
                whose[n_asked] = v
                kinds[n_asked] = SPLIT
                n_asked += 1
    members.size[0] = size
    return n_asked, n_coalitions, n_moves, has_zeros


@inlined
def times(a, b, in_logs):
    """a · b in either domain."""
    return a + b if in_logs else a * b


@inlined
def send(vector, potentials, cell, n_child, n_parent, in_logs, out, row):
    """A message through the matrix that begins at `cell`. Writes: out[row], an entry per state of the parent."""
    for x in range(n_parent):
        total = 0.0
        if in_logs:
            highest = -math.inf
            for y in range(n_child):
                highest = max(highest, vector[y] + potentials[cell + y * n_parent + x])
            if highest > -math.inf:
                for y in range(n_child):
                    total += math.exp(vector[y] + potentials[cell + y * n_parent + x] - highest)
            out[row, x] = highest + math.log(total) if total > 0.0 else -math.inf
        else:
            for y in range(n_child):
                total += vector[y] * potentials[cell + y * n_parent + x]
            out[row, x] = total


@inlined
def write_general(vector, n_states, in_logs, beliefs, at):
    """A belief: its probabilities, or in logarithms up to a constant. Returns whether a probability is 0."""
    zero = -math.inf if in_logs else 0.0
    has_zeros = False
    total = 0.0
    for x in range(n_states):
        total += vector[x]
        has_zeros |= vector[x] == zero
    if in_logs:
        total = 1.0
    for x in range(n_states):
        beliefs[x, at] = vector[x] / total
    return has_zeros


@kernel
def sweep_general(tape, members, slots, factors, asked):
    """As `sweep_binary`, for any numbers of states, in nats if `factors.in_logs`, else linear."""
    stack, parents, taken, position = members.stack, members.parents, members.taken, members.position
    below, messages, rest, prefix = members.below, members.messages, members.rest, members.prefix
    is_leaf, vector = members.is_leaf, members.vector
    neighbours, senders, silent = slots.neighbours, slots.senders, slots.silent
    wants_split, cyclic = slots.wants_split, slots.cyclic
    n_states, phi, potentials, places = factors.n_states, factors.phi, factors.potentials, factors.places
    in_logs = factors.in_logs
    beliefs, whose, kinds, own, uniform_leaves = (
        asked.beliefs,
        asked.whose,
        asked.kinds,
        asked.own,
        asked.uniform_leaves,
    )
    one = 0.0 if in_logs else 1.0
    spare = messages.shape[0] - 1  # a row for messages that are not kept
    size = members.size[0]
    n_asked, n_coalitions, n_moves, has_zeros = 0, 0, 0, False
    while n_moves < tape.shape[0] and n_asked + 2 * size + 1 < whose.shape[0]:
        move = tape[n_moves]
        n_moves += 1
        size = replay(move, size, stack, parents, taken, position, neighbours, senders)
        if move == BACK:
            continue

        # up: messages, and what the later siblings send
        for k in range(size):
            is_leaf[k] = True
            for x in range(n_states[stack[k]]):
                below[k, x] = one
        for k in range(size - 1, 0, -1):
            v, slot, p = stack[k], taken[k], parents[k]
            is_leaf[p] = False
            cell, n_child, n_parent = places[slot, 0], places[slot, 1], places[slot, 2]
            for y in range(n_child):
                vector[y] = times(phi[v, y], below[k, y], in_logs)
            send(vector, potentials, cell, n_child, n_parent, in_logs, messages, k)
            for x in range(n_parent):
                rest[k, x] = below[p, x]
                below[p, x] = times(below[p, x], messages[k, x], in_logs)
        for x in range(n_states[0]):
            vector[x] = times(phi[0, x], below[0, x], in_logs)
            prefix[0, x] = phi[0, x]
        has_zeros |= write_general(vector, n_states[0], in_logs, beliefs, n_asked)
        kinds[n_asked] = WHOLE
        own[n_coalitions] = n_asked
        n_coalitions += 1
        n_asked += 1

        # down: what each parent gathers without this member; then the member's two alternatives go up
        for k in range(1, size):
            v, slot, p = stack[k], taken[k], parents[k]
            for x in range(places[slot, 2]):
                rest[k, x] = times(rest[k, x], prefix[p, x], in_logs)
                prefix[p, x] = times(prefix[p, x], messages[k, x], in_logs)
            for y in range(places[slot, 1]):
                prefix[k, y] = phi[v, y]
            as_omission = wants_split[v] and is_leaf[k] and silent[slot]
            if as_omission and not cyclic:
                uniform_leaves[v] += 1.0
            for kind in range(OMISSION, SPLIT + 1):
                at = k
                if kind == OMISSION:
                    if not cyclic:
                        continue
                    for x in range(places[slot, 2]):
                        vector[x] = rest[k, x]
                    at = p
                else:
                    if as_omission or not wants_split[v]:
                        continue
                    for y in range(places[slot, 1]):
                        vector[y] = below[k, y]
                while at > 0:
                    slot_up = taken[at]
                    cell, n_child, n_parent = places[slot_up, 0], places[slot_up, 1], places[slot_up, 2]
                    send(vector, potentials, cell, n_child, n_parent, in_logs, messages, spare)
                    for x in range(n_parent):
                        vector[x] = times(messages[spare, x], rest[at, x], in_logs)
                    at = parents[at]
                has_zeros |= write_general(vector, n_states[0], in_logs, beliefs, n_asked)
                whose[n_asked] = v
                kinds[n_asked] = OMISSION_AND_SPLIT if kind == OMISSION and as_omission else kind
                n_asked += 1
    members.size[0] = size
    return n_asked, n_coalitions, n_moves, has_zeros


@inlined
def two_sum(a, b):
    """a + b, and what rounding loses of it (Knuth)."""
    total = a + b
    b_kept = total - a
    return total, (a - (total - b_kept)) + (b - b_kept)


@kernel
def add_up(asked, n_asked, worths, directions, sums):
    """Add up the worths of the beliefs, per kind and member: no branch to guess wrong. Writes: sums.asked."""
    whose, kinds, added = asked.whose, asked.kinds, sums.asked
    for j in range(n_asked):
        kind, v = kinds[j], whose[j]
        added[kind, v, 0] += worths[j]
        added[kind, v, 1] += directions[j]


@kernel
def tally(tape, worths, directions, neighbours, sums, record):
    """Add up the worths [coalitions] of the coalitions on the tape, per member.

    What was summed while a member stood on the stack goes to that member when it leaves, and to the coalition
    below. Sums are kept with what rounding loses: on trees omissions are differences of them.

    sums, record: see enumeration.py. Writes both.
    """
    stack, partial, holding, size = sums.stack, sums.partial, sums.holding, sums.size[0]
    chain, links, slot_edges = record.chain, record.links, record.slot_edges
    recording = links.shape[0] > 0
    m = 0
    for move in tape:
        if move == BACK:
            size -= 1
            v = stack[size]
            for c in range(0, 4, 2):
                total, lost = two_sum(holding[v, c], partial[size, c])
                holding[v, c] = total
                holding[v, c + 1] += lost + partial[size, c + 1]
                total, lost = two_sum(partial[size - 1, c], partial[size, c])
                partial[size - 1, c] = total
                partial[size - 1, c + 1] += lost + partial[size, c + 1]
            holding[v, 4] += partial[size, 4]
            partial[size - 1, 4] += partial[size, 4]
            continue
        stack[size] = neighbours[move]
        partial[size, 0] = worths[m]
        partial[size, 1] = 0.0
        partial[size, 2] = directions[m]
        partial[size, 3] = 0.0
        partial[size, 4] = 1.0
        if recording:
            at = chain[0]
            chain[0] += 1
            chain[size] = at
            links[at, 0] = chain[size - 1] if size > 1 else -1
            links[at, 1] = slot_edges[move]
            record.worths[at, 0] = worths[m]
            record.worths[at, 1] = directions[m]
        m += 1
        size += 1
    sums.size[0] = size
