# mypy: ignore-errors
"""Kernels that walk through all coalitions of a ball. Arrays only; see enumeration.py for the caller.

The search writes its moves on a tape; the kernels that price coalitions and that add up replay it. A move is the
slot of an edge that joins a new member, or `BACK`: the latest member goes.

Conventions. A coalition is a stack of members: position 0 is the target, a member stands above its parent.
Slots are directed edges, grouped by sender: slot s joins neighbours[s] to senders[s]. Its matrix has a row per
state of the new member, a column per state of the parent.

A belief on a coalition is a sum over assignments of products of distinct factors. With factors scaled to
maximum 1 every number met on the way is therefore 0 or at least exp(-sum of the factors' ranges), and at most
K^n: the caller checks that once. Where it is too much, messages and maps are rescaled on the way (two states), or
logarithms are kept.

Loops over coalitions hold no calls with array arguments but inlined ones: numba counts references at each, which
costs more than most of them do.
"""

import math

import numpy as np

from ..._base.compiled import inlined, kernel

BACK = -1

# fields of a search's `cursor`
SIZE, N_CANDIDATES, AT, N_SEEN, DONE = range(5)

# codes and LOG_ZERO of worth.py, whose `worth_of` the functions below repeat
SYMMETRIC_KL, NEG_CROSS_ENTROPY, LOG_ODDS, PROBABILITY, CONTRAST = range(5)
LOG_ZERO = -700.0


@kernel
def search(tape, limit, cursor, stack, position, candidates, resume, lengths, offsets, neighbours):
    """Include/forbid search over frontier edges, until the tape is full or more than `limit` coalitions are seen.

    Candidate edges stand in a queue; those before AT are decided. Including one gives a coalition and appends
    the edges that it opens; going back truncates the queue and forbids it. Every subtree has exactly one way
    through its edges in the order of the queue, so each appears once. An empty tape records nothing.

    Writes: cursor [5], stack, position (-1 for outsiders), resume, lengths [n], candidates [E + 1]; tape.
    Returns the number of moves on the tape.
    """
    size, n_candidates, at, n_seen = cursor[SIZE], cursor[N_CANDIDATES], cursor[AT], cursor[N_SEEN]
    if size == 0:
        position[:] = -1
        position[0] = 0
        stack[0] = 0
        size = 1
        for slot in range(offsets[0], offsets[1]):
            candidates[n_candidates] = slot
            n_candidates += 1
    n_moves = 0
    recording = tape.shape[0] > 0
    while n_seen <= limit and (not recording or n_moves < tape.shape[0]):
        while at < n_candidates and position[neighbours[candidates[at]]] >= 0:
            at += 1  # it would close a cycle
        if at == n_candidates:
            if size == 1:
                cursor[DONE] = 1
                break
            size -= 1
            position[stack[size]] = -1
            at = resume[size]
            n_candidates = lengths[size]
            move = BACK
        else:
            move = candidates[at]
            v = neighbours[move]
            stack[size] = v
            position[v] = size
            resume[size] = at + 1
            lengths[size] = n_candidates
            for slot in range(offsets[v], offsets[v + 1]):
                if position[neighbours[slot]] < 0:
                    candidates[n_candidates] = slot
                    n_candidates += 1
            size += 1
            at += 1
            n_seen += 1
        if recording:
            tape[n_moves] = move
            n_moves += 1
    cursor[SIZE] = size
    cursor[N_CANDIDATES] = n_candidates
    cursor[AT] = at
    cursor[N_SEEN] = n_seen
    return n_moves


@kernel
def two_sum(a, b):
    """a + b, and what rounding loses of it (Knuth)."""
    total = a + b
    b_kept = total - a
    return total, (a - (total - b_kept)) + (b - b_kept)


@kernel
def tally(
    tape, worths, size, stack, partial, sums, extremes, neighbours, chain, slot_edges, record, record_worths
):
    """Add up the worths [moves, 2] of the coalitions on the tape; entries of moves back do not count.

    What was summed while a member stood on the stack goes to that member when it leaves, and to the coalition
    below. Sums are kept with what rounding loses: on trees omissions are differences of them.

    Writes: stack [n], partial [n, 5], sums [n, 5] (worth and its rest, direction and its rest, number of
    coalitions); extremes [2]; where record has rows also chain [n], record [M, 2] (the coalition that each
    extends, -1 for the target alone, and by which edge) and record_worths [M, 2]. Returns the new size.
    """
    recording = record.shape[0] > 0
    for i in range(tape.shape[0]):
        move = tape[i]
        if move == BACK:
            size -= 1
            v = stack[size]
            for c in (0, 2):
                total, lost = two_sum(sums[v, c], partial[size, c])
                sums[v, c] = total
                sums[v, c + 1] += lost + partial[size, c + 1]
                total, lost = two_sum(partial[size - 1, c], partial[size, c])
                partial[size - 1, c] = total
                partial[size - 1, c + 1] += lost + partial[size, c + 1]
            sums[v, 4] += partial[size, 4]
            partial[size - 1, 4] += partial[size, 4]
            continue
        stack[size] = neighbours[move]
        worth = worths[i, 0]
        partial[size, 0] = worth
        partial[size, 1] = 0.0
        partial[size, 2] = worths[i, 1]
        partial[size, 3] = 0.0
        partial[size, 4] = 1.0
        extremes[0] = min(extremes[0], worth)
        extremes[1] = max(extremes[1], worth)
        if recording:
            m = chain[0]
            chain[0] += 1
            chain[size] = m
            record[m, 0] = chain[size - 1] if size > 1 else -1
            record[m, 1] = slot_edges[move]
            record_worths[m, 0] = worth
            record_worths[m, 1] = worths[i, 1]
        size += 1
    return size


@kernel
def binary_worth(b0, b1, code, state, minor, p_minor, log_odds):
    """Worth of the unnormalised belief (b0, b1).

    `minor` is the state that the whole field believes less, p_minor its probability and log_odds its
    log-odds there: differences of small probabilities do not cancel.
    """
    total = b0 + b1
    if total == 0.0:
        return math.nan
    if code == PROBABILITY:
        return (b1 if state == 1 else b0) / total
    if b0 == 0.0:
        odds = -LOG_ZERO
    elif b1 == 0.0:
        odds = LOG_ZERO
    else:
        odds = math.log(b1 / b0)
    if code == SYMMETRIC_KL:
        if minor == 0:
            return (b0 / total - p_minor) * (log_odds + odds)
        return (b1 / total - p_minor) * (log_odds - odds)
    if code == NEG_CROSS_ENTROPY:
        log0 = -math.log1p(b1 / b0) if b0 > 0.0 else LOG_ZERO
        log1 = -math.log1p(b0 / b1) if b1 > 0.0 else LOG_ZERO
        if minor == 0:
            return p_minor * log0 + (1.0 - p_minor) * log1
        return (1.0 - p_minor) * log0 + p_minor * log1
    return odds if state == 1 else -odds


@kernel
def zero_matters(q, p, code):
    """Whether the logarithm of an exact zero entered the worth of a belief q of a state, p in the whole field."""
    if code == PROBABILITY:
        return False
    if code == SYMMETRIC_KL:
        return q != p and (q == 0.0 or p == 0.0)
    return q == 0.0 and (code != NEG_CROSS_ENTROPY or p > 0.0)


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


@kernel
def price_binary(
    tape, worths, size, stack, parents, taken, position, is_leaf, neighbours, senders, phi, psi, wants_split,
    silent, cyclic, rescaled, code, state, direction_code, direction_state, minor, p_minor, log_odds, split_sums,
    omission_sums, flags, up, down,
):  # fmt: skip
    """Worths of the coalitions on the tape, and of what their members are asked for; two states.

    Parameters
    ----------
    phi [n, 2], psi [slots, 4]
        Priors and matrices (row-major), linear, maximum 1.
    wants_split [n]
        Whether a member's prior is not uniform.
    silent [slots]
        Whether a leaf with a uniform prior sends a uniform message: then splitting it is omitting it.
    cyclic
        Whether omissions have to be priced; on trees their sums follow from the others.
    rescaled
        Whether messages and maps are brought to sum 1: on deep coalitions they fade.

    Writes: worths [moves, 2] (worth, direction); split_sums [n, 2] (worth with the member's prior uniform, and
    how often it was left out because it equals an omission's); omission_sums [n, 2] (worth, direction); flags
    [1] (whether log 0 was replaced); the stack; up, down [n, 6] are scratch. Returns the new size.
    """
    p0, p1 = (p_minor, 1.0 - p_minor) if minor == 0 else (1.0 - p_minor, p_minor)
    for i in range(tape.shape[0]):
        move = tape[i]
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
        b0 = phi[0, 0] * up[0, 0]
        b1 = phi[0, 1] * up[0, 1]
        worths[i, 0] = binary_worth(b0, b1, code, state, minor, p_minor, log_odds)
        worths[i, 1] = binary_worth(b0, b1, direction_code, direction_state, minor, p_minor, log_odds)
        if (b0 == 0.0 or b1 == 0.0 or p0 == 0.0 or p1 == 0.0) and b0 + b1 > 0.0:
            flags[0] |= zero_matters(b0 / (b0 + b1), p0, code) or zero_matters(b1 / (b0 + b1), p1, code)

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
                o0 = a00 + a01
                o1 = a10 + a11
                omission = binary_worth(o0, o1, code, state, minor, p_minor, log_odds)
                omission_sums[v, 0] += omission
                omission_sums[v, 1] += binary_worth(o0, o1, direction_code, direction_state, minor, p_minor,
                                                    log_odds)  # fmt: skip
                if as_omission:
                    split_sums[v, 0] += omission
            elif as_omission:
                split_sums[v, 1] += 1.0
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
                u0 = m00 * up[k, 0] + m01 * up[k, 1]
                u1 = m10 * up[k, 0] + m11 * up[k, 1]
                split_sums[v, 0] += binary_worth(u0, u1, code, state, minor, p_minor, log_odds)
    return size


@kernel
def times(a, b, in_logs):
    """a · b in either domain."""
    return a + b if in_logs else a * b


@kernel
def send_logs(vector, potentials, cell, n_child, n_parent, out, row):
    """Log-sum-exp over a member's states. Writes: out[row], an entry per state of the parent."""
    for x in range(n_parent):
        highest = -math.inf
        for y in range(n_child):
            highest = max(highest, vector[y] + potentials[cell + y * n_parent + x])
        total = 0.0
        if highest > -math.inf:
            for y in range(n_child):
                total += math.exp(vector[y] + potentials[cell + y * n_parent + x] - highest)
        out[row, x] = highest + math.log(total) if total > 0.0 else -math.inf


@kernel
def log_sum(logs, row, n_states, without):
    """Log-sum-exp over a row but for one state (n_states: over all of them)."""
    highest = -math.inf
    for x in range(n_states):
        if x != without:
            highest = max(highest, logs[row, x])
    if highest == -math.inf:
        return -math.inf
    total = 0.0
    for x in range(n_states):
        if x != without:
            total += math.exp(logs[row, x] - highest)
    return highest + math.log(total)


@kernel
def price_general(
    tape, worths, size, stack, parents, taken, position, is_leaf, neighbours, senders, n_states, phi,
    potentials, places, in_logs, wants_split, silent, cyclic, code, state, rival, direction_code,
    direction_state, log_b, belief, split_sums, omission_sums, flags, below, messages, rest, prefix, vector,
    asked, whose, kinds,
):  # fmt: skip
    """As `price_binary`, for any numbers of states, in nats if `in_logs`, else linear.

    Parameters
    ----------
    phi [n, K]
        Priors.
    potentials (flat), places [slots, 3]
        For each slot where its matrix begins, and its shape.
    log_b, belief [K]
        Of the target in the whole field.

    Scratch: below (product of the children's messages), messages, rest (all that a parent gathers apart from
    this member), prefix [n + 1, K]; vector [K]; the beliefs that are priced at the end: asked [2n, K], whose
    [2n], kinds [2n] (0 the coalition itself, 1 an omission, 2 a split, 3 both).
    """
    one = 0.0 if in_logs else 1.0
    spare = messages.shape[0] - 1  # a row for messages that are not kept
    n_target = np.int64(n_states[0])
    for i in range(tape.shape[0]):
        move = tape[i]
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
            if in_logs:
                send_logs(vector, potentials, cell, n_child, n_parent, messages, k)
            else:
                for x in range(n_parent):
                    messages[k, x] = 0.0
                for y in range(n_child):
                    for x in range(n_parent):
                        messages[k, x] += vector[y] * potentials[cell + y * n_parent + x]
            for x in range(n_parent):
                rest[k, x] = below[p, x]
                below[p, x] = times(below[p, x], messages[k, x], in_logs)
        for x in range(n_target):
            asked[0, x] = times(phi[0, x], below[0, x], in_logs)
            prefix[0, x] = phi[0, x]
        kinds[0] = 0
        n_asked = 1

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
                split_sums[v, 1] += 1.0
            for kind in range(1, 3):
                at = k
                if kind == 1:
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
                    if in_logs:
                        send_logs(vector, potentials, cell, n_child, n_parent, messages, spare)
                    else:
                        for x in range(n_parent):
                            messages[spare, x] = 0.0
                        for y in range(n_child):
                            for x in range(n_parent):
                                messages[spare, x] += vector[y] * potentials[cell + y * n_parent + x]
                    for x in range(n_parent):
                        vector[x] = times(messages[spare, x], rest[at, x], in_logs)
                    at = parents[at]
                for x in range(n_target):
                    asked[n_asked, x] = vector[x]
                whose[n_asked] = v
                kinds[n_asked] = 3 if kind == 1 and as_omission else kind
                n_asked += 1

        # the worths of all beliefs asked for
        for j in range(n_asked):
            total, log_total = 0.0, 0.0
            if in_logs:
                log_total = log_sum(asked, j, n_target, n_target)
                impossible = log_total == -math.inf
            else:
                for x in range(n_target):
                    total += asked[j, x]
                impossible = total == 0.0
            for which in range(1 if kinds[j] == 2 else 2):
                now, chosen = (code, state) if which == 0 else (direction_code, direction_state)
                value = math.nan
                if impossible:
                    pass
                elif now == PROBABILITY:
                    value = math.exp(asked[j, chosen] - log_total) if in_logs else asked[j, chosen] / total
                elif now in (LOG_ODDS, CONTRAST):
                    if in_logs:
                        log_q = asked[j, chosen] - log_total
                        log_r = asked[j, rival] if now == CONTRAST else log_sum(asked, j, n_target, chosen)
                        log_r -= log_total
                    else:
                        q, r = asked[j, chosen], 0.0
                        for x in range(n_target):
                            if x == rival if now == CONTRAST else x != chosen:
                                r += asked[j, x]
                        log_q = math.log(q / total) if q > 0.0 else -math.inf
                        log_r = math.log(r / total) if r > 0.0 else -math.inf
                    if log_q == -math.inf or log_r == -math.inf:
                        flags[0] |= which == 0
                        log_q = LOG_ZERO if log_q == -math.inf else log_q
                        log_r = LOG_ZERO if log_r == -math.inf else log_r
                    value = log_q - log_r
                else:
                    value = 0.0
                    for x in range(n_target):
                        p, log_p = belief[x], log_b[x]
                        q, log_q = 0.0, -math.inf
                        if in_logs:
                            log_q = asked[j, x] - log_total
                            q = math.exp(log_q)
                        elif asked[j, x] > 0.0:
                            q = asked[j, x] / total
                            log_q = math.log(q)
                        if log_q == -math.inf or log_p == -math.inf:
                            flags[0] |= zero_matters(q, p, now)
                            log_q = LOG_ZERO if log_q == -math.inf else log_q
                            log_p = LOG_ZERO if log_p == -math.inf else log_p
                        if now == NEG_CROSS_ENTROPY:
                            value += p * log_q
                        elif p != q:
                            value -= (p - q) * (log_p - log_q)
                v = whose[j]
                if kinds[j] == 0:
                    worths[i, which] = value
                elif kinds[j] == 2:
                    split_sums[v, 0] += value
                else:
                    omission_sums[v, which] += value
                    if which == 0 and kinds[j] == 3:
                        split_sums[v, 0] += value
    return size
