# mypy: ignore-errors
"""Kernels that walk through all coalitions of a ball. Arrays only; see enumeration.py for the caller.

Conventions. A coalition is a stack of members: position 0 is the target, and a member stands above its parent.
Slots are directed edges, grouped by sender; slot s attaches neighbours[s] to its sender. The matrix of a slot
has a row per state of the new member, a column per state of its parent.

A belief on a coalition is a sum over assignments of products of distinct factors. With factors scaled to
maximum 1 every number met on the way is therefore 0 or at least exp(-sum of the factors' ranges), and at most
K^n: the caller checks that once, and nothing needs rescaling here.
"""

import math

import numpy as np
from numba import njit

kernel = njit(cache=True, nogil=True)

# fields of `cursor`
SIZE, N_CANDIDATES, AT, N_SEEN, DONE, MET_ZERO = range(6)

# codes and LOG_ZERO of worth.py, whose `worth_of` the functions below repeat
SYMMETRIC_KL, NEG_CROSS_ENTROPY, LOG_ODDS, PROBABILITY, CONTRAST = range(5)
LOG_ZERO = -700.0


@kernel
def begin(cursor, stack, position, candidates, offsets):
    """Put the target alone on the stack; its edges are the first candidates."""
    cursor[:] = 0
    cursor[SIZE] = 1
    position[:] = -1
    position[0] = 0
    stack[0] = 0
    n_candidates = 0
    for slot in range(offsets[0], offsets[1]):
        candidates[n_candidates] = slot
        n_candidates += 1
    cursor[N_CANDIDATES] = n_candidates


@kernel
def step(cursor, stack, parents, taken, position, candidates, resume, lengths, offsets, neighbours, senders):
    """Move to the next coalition of the include/forbid search, or back from one.

    Candidate edges stand in a queue; those before AT are decided. Including one gives a coalition and appends
    the edges that it opens; going back truncates the queue and forbids it. Every subtree has exactly one way
    through its edges in the order of the queue, so each appears once.

    Returns 1 (a new coalition is on the stack), 0 (the top member has to go, see `back`) or -1 (all done).
    """
    at, n_candidates = cursor[AT], cursor[N_CANDIDATES]
    while at < n_candidates and position[neighbours[candidates[at]]] >= 0:
        at += 1  # it would close a cycle
    if at == n_candidates:
        if cursor[SIZE] == 1:
            cursor[DONE] = 1
            return -1
        return 0
    slot = candidates[at]
    v = neighbours[slot]
    k = cursor[SIZE]
    stack[k] = v
    parents[k] = position[senders[slot]]
    taken[k] = slot
    position[v] = k
    resume[k] = at + 1
    lengths[k] = n_candidates
    for other in range(offsets[v], offsets[v + 1]):
        if position[neighbours[other]] < 0:
            candidates[n_candidates] = other
            n_candidates += 1
    cursor[SIZE] = k + 1
    cursor[AT] = at + 1
    cursor[N_CANDIDATES] = n_candidates
    cursor[N_SEEN] += 1
    return 1


@kernel
def back(cursor, stack, position, resume, lengths):
    """Take the top member off."""
    k = cursor[SIZE] - 1
    position[stack[k]] = -1
    cursor[SIZE] = k
    cursor[AT] = resume[k]
    cursor[N_CANDIDATES] = lengths[k]


@kernel
def count_coalitions(limit, cursor, stack, parents, taken, position, candidates, resume, lengths, offsets,
                     neighbours, senders):  # fmt: skip
    """Number of coalitions, or limit + 1 as soon as there are more."""
    begin(cursor, stack, position, candidates, offsets)
    while cursor[N_SEEN] <= limit:
        move = step(cursor, stack, parents, taken, position, candidates, resume, lengths, offsets, neighbours,
                    senders)  # fmt: skip
        if move < 0:
            break
        if move == 0:
            back(cursor, stack, position, resume, lengths)
    return cursor[N_SEEN]


@kernel
def add(row, i, value):
    """row[i] += value, with what rounding loses kept in row[i + 1].

    Omission sums on trees are differences of these sums, of which little may remain.
    """
    total = row[i] + value
    back_again = total - row[i]
    row[i + 1] += (row[i] - (total - back_again)) + (value - back_again)
    row[i] = total


@kernel
def fold(k, v, partial, sums):
    """Add what was summed while member v stood at position k to v's sums and to the coalition below it."""
    for row in (sums[v], partial[k - 1]):
        add(row, 0, partial[k, 0])
        add(row, 2, partial[k, 2])
        row[1] += partial[k, 1]
        row[3] += partial[k, 3]
        row[4] += partial[k, 4]
    partial[k] = 0.0


@kernel
def record(cursor, k, edge, worth, direction, chain, record_parents, record_edges, record_worths):
    """Write the new coalition into the table: the coalition that it extends, by which edge, its worths."""
    m = cursor[N_SEEN] - 1
    chain[k] = m
    record_parents[m] = chain[k - 1] if k > 1 else -1
    record_edges[m] = edge
    record_worths[m, 0] = worth
    record_worths[m, 1] = direction


@kernel
def binary_worth(b0, b1, code, state, minor, p_minor, log_odds, cursor):
    """Worth of the unnormalised belief (b0, b1).

    `minor` is the state that the whole field believes less, p_minor its probability and log_odds its
    log-odds there: differences of small probabilities do not cancel.
    """
    if b0 + b1 == 0.0:
        return math.nan
    if code == PROBABILITY:
        return (b1 if state == 1 else b0) / (b0 + b1)
    if b0 == 0.0:
        odds = -LOG_ZERO
    elif b1 == 0.0:
        odds = LOG_ZERO
    else:
        odds = math.log(b1 / b0)
    if code == SYMMETRIC_KL:
        if minor == 0:
            odds = -odds
            q = b0 / (b0 + b1)
        else:
            q = b1 / (b0 + b1)
        if (b0 == 0.0 or b1 == 0.0 or log_odds == LOG_ZERO) and q != p_minor:
            cursor[MET_ZERO] = 1
        return -(p_minor - q) * (log_odds - odds)
    if code == NEG_CROSS_ENTROPY:
        log0 = -math.log1p(b1 / b0) if b0 > 0.0 else LOG_ZERO
        log1 = -math.log1p(b0 / b1) if b1 > 0.0 else LOG_ZERO
        p0 = p_minor if minor == 0 else 1.0 - p_minor
        p1 = p_minor if minor == 1 else 1.0 - p_minor
        if (b0 == 0.0 and p0 > 0.0) or (b1 == 0.0 and p1 > 0.0):
            cursor[MET_ZERO] = 1
        return p0 * log0 + p1 * log1
    if b0 == 0.0 or b1 == 0.0:
        cursor[MET_ZERO] = 1
    return odds if state == 1 else -odds


@kernel
def walk_binary(
    n_more, cursor, stack, parents, taken, position, candidates, resume, lengths, offsets, neighbours, senders,
    phi, psi, wants_split, cyclic, code, state, direction_code, direction_state, minor, p_minor, log_odds,
    partial, sums, split_sums, omission_sums, extremes, up, down, chain, slot_edges, record_parents,
    record_edges, record_worths,
):  # fmt: skip
    """Visit up to n_more further coalitions of a field of two states.

    Parameters
    ----------
    phi [n, 2], psi [slots, 4]
        Priors and matrices (row-major), linear, maximum 1.
    wants_split [n]
        Whether a member's prior is not uniform.
    cyclic
        Whether omissions have to be evaluated; on trees their sums follow from the others.

    Writes: cursor and the search's arrays; partial [n, 5], sums [n, 5] (per variable: worth and its rest,
    direction and its rest, number of coalitions that hold it); split_sums [n] (worth with the member's prior uniform); omission_sums [n, 2];
    extremes [2]; up [n, 6], down [n, 6] are scratch.
    """
    stop = cursor[N_SEEN] + n_more
    while cursor[N_SEEN] < stop:
        move = step(cursor, stack, parents, taken, position, candidates, resume, lengths, offsets, neighbours,
                    senders)  # fmt: skip
        if move < 0:
            return
        if move == 0:
            k = cursor[SIZE] - 1
            fold(k, stack[k], partial, sums)
            back(cursor, stack, position, resume, lengths)
            continue

        # up: messages, and for each member the product of its children's and of its later siblings' messages
        size = cursor[SIZE]
        for k in range(size):
            up[k, 0] = 1.0
            up[k, 1] = 1.0
        for k in range(size - 1, 0, -1):
            v, slot, p = stack[k], taken[k], parents[k]
            n0 = phi[v, 0] * up[k, 0]
            n1 = phi[v, 1] * up[k, 1]
            m0 = n0 * psi[slot, 0] + n1 * psi[slot, 2]
            m1 = n0 * psi[slot, 1] + n1 * psi[slot, 3]
            up[k, 2] = m0
            up[k, 3] = m1
            up[k, 4] = up[p, 0]
            up[k, 5] = up[p, 1]
            up[p, 0] *= m0
            up[p, 1] *= m1
        b0 = phi[0, 0] * up[0, 0]
        b1 = phi[0, 1] * up[0, 1]
        worth = binary_worth(b0, b1, code, state, minor, p_minor, log_odds, cursor)
        direction = binary_worth(b0, b1, direction_code, direction_state, minor, p_minor, log_odds, cursor)
        top = size - 1
        add(partial[top], 0, worth)
        add(partial[top], 2, direction)
        partial[top, 4] += 1.0
        extremes[0] = min(extremes[0], worth)
        extremes[1] = max(extremes[1], worth)
        if record_worths.shape[0]:
            record(cursor, top, slot_edges[taken[top]], worth, direction, chain, record_parents, record_edges,
                   record_worths)  # fmt: skip

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
            if cyclic:
                o0 = a00 + a01
                o1 = a10 + a11
                omission_sums[v, 0] += binary_worth(o0, o1, code, state, minor, p_minor, log_odds, cursor)
                omission_sums[v, 1] += binary_worth(o0, o1, direction_code, direction_state, minor, p_minor,
                                                    log_odds, cursor)  # fmt: skip
            down[k, 0] = phi[v, 0]
            down[k, 1] = phi[v, 1]
            m00 = a00 * psi[slot, 0] + a01 * psi[slot, 1]
            m01 = a00 * psi[slot, 2] + a01 * psi[slot, 3]
            m10 = a10 * psi[slot, 0] + a11 * psi[slot, 1]
            m11 = a10 * psi[slot, 2] + a11 * psi[slot, 3]
            down[k, 2] = m00
            down[k, 3] = m01
            down[k, 4] = m10
            down[k, 5] = m11
            if wants_split[v]:
                u0 = m00 * up[k, 0] + m01 * up[k, 1]
                u1 = m10 * up[k, 0] + m11 * up[k, 1]
                split_sums[v] += binary_worth(u0, u1, code, state, minor, p_minor, log_odds, cursor)


@kernel
def combine(into, vector, n_states, in_logs):
    """into *= vector, in either domain."""
    for x in range(n_states):
        if in_logs:
            into[x] += vector[x]
        else:
            into[x] *= vector[x]


@kernel
def send(vector, potentials, place, out, in_logs):
    """Sum a member's states out. Writes: out, one entry per state of the parent.

    `place`: where the matrix begins, strides over the member's and the parent's states, both state counts.
    """
    child_stride, n_child = place[1], place[3]
    for x in range(place[4]):
        cell = place[0] + x * place[2]
        if in_logs:
            highest = -math.inf
            for y in range(n_child):
                highest = max(highest, vector[y] + potentials[cell + y * child_stride])
            total = 0.0
            if highest > -math.inf:
                for y in range(n_child):
                    total += math.exp(vector[y] + potentials[cell + y * child_stride] - highest)
                out[x] = highest + math.log(total)
            else:
                out[x] = -math.inf
        else:
            total = 0.0
            for y in range(n_child):
                total += vector[y] * potentials[cell + y * child_stride]
            out[x] = total


@kernel
def floored_log(q):
    return math.log(q) if q > 0.0 else LOG_ZERO


@kernel
def general_worth(vector, n_states, in_logs, code, state, rival, log_b, cursor):
    """Worth of an unnormalised belief; `log_b` is that of the whole field, normalised."""
    if in_logs:
        highest = -math.inf
        for x in range(n_states):
            highest = max(highest, vector[x])
        if highest == -math.inf:
            return math.nan
        total = 0.0
        for x in range(n_states):
            total += math.exp(vector[x] - highest)
        log_total = highest + math.log(total)
    else:
        total = 0.0
        for x in range(n_states):
            total += vector[x]
        if total == 0.0:
            return math.nan
        log_total = math.log(total)

    if code == PROBABILITY:
        return math.exp(vector[state] - log_total) if in_logs else vector[state] / total
    if code == LOG_ODDS:
        here, others = vector[state], -math.inf if in_logs else 0.0
        for x in range(n_states):
            if x != state:
                if not in_logs:
                    others += vector[x]
                elif vector[x] > -math.inf:
                    high, low = max(others, vector[x]), min(others, vector[x])
                    others = high + math.log1p(math.exp(low - high))
        return difference_of_logs(here, others, log_total, total, in_logs, cursor)
    if code == CONTRAST:
        return difference_of_logs(vector[state], vector[rival], log_total, total, in_logs, cursor)

    worth = 0.0
    for x in range(n_states):
        is_zero = vector[x] == -math.inf if in_logs else vector[x] == 0.0
        if is_zero:
            log_q, q = LOG_ZERO, 0.0
        elif in_logs:
            log_q = vector[x] - log_total
            q = math.exp(log_q)
        else:
            q = vector[x] / total
            log_q = math.log(q)
        p = math.exp(log_b[x])
        if code == NEG_CROSS_ENTROPY:
            if is_zero and p > 0.0:
                cursor[MET_ZERO] = 1
            worth += p * log_q
        elif p != q:
            log_p = log_b[x]
            if log_p == -math.inf:
                log_p = LOG_ZERO
                cursor[MET_ZERO] = 1
            if is_zero:
                cursor[MET_ZERO] = 1
            worth -= (p - q) * (log_p - log_q)
    return worth


@kernel
def difference_of_logs(first, second, log_total, total, in_logs, cursor):
    """log q(first) - log q(second) with the floor for exact zeros."""
    if in_logs:
        first_is_zero, second_is_zero = first == -math.inf, second == -math.inf
        if not (first_is_zero or second_is_zero):
            return first - second
        log_first, log_second = first - log_total, second - log_total
    else:
        first_is_zero, second_is_zero = first == 0.0, second == 0.0
        if not (first_is_zero or second_is_zero):
            return math.log(first / second)
        log_first, log_second = floored_log(first / total), floored_log(second / total)
    cursor[MET_ZERO] = 1
    return (LOG_ZERO if first_is_zero else log_first) - (LOG_ZERO if second_is_zero else log_second)


@kernel
def climb(vector, k, parents, taken, potentials, places, rest, message, in_logs):
    """Carry what the member at position k sums up to the target. Writes: vector, the target's belief."""
    while k > 0:
        slot, p = taken[k], parents[k]
        send(vector, potentials, places[slot], message, in_logs)
        n_parent = places[slot, 4]
        for x in range(n_parent):
            vector[x] = message[x]
        combine(vector, rest[k], n_parent, in_logs)
        k = p


@kernel
def walk_general(
    n_more, cursor, stack, parents, taken, position, candidates, resume, lengths, offsets, neighbours, senders,
    n_states, phi, potentials, places, in_logs, wants_split, cyclic, code, state, rival, direction_code,
    direction_state, log_b, partial, sums, split_sums, omission_sums, extremes, below, messages, rest, prefix,
    vector, message, chain, slot_edges, record_parents, record_edges, record_worths,
):  # fmt: skip
    """Visit up to n_more further coalitions of a field with any numbers of states.

    As `walk_binary`, with phi [n, K], potentials (flat) and places [slots, 5] for `send`, all in nats if
    `in_logs`, else linear. Scratch: below (product of the children's messages), messages, rest (all that a
    parent gathers apart from this member), prefix [n, K]; vector, message [K].
    """
    one = 0.0 if in_logs else 1.0
    stop = cursor[N_SEEN] + n_more
    while cursor[N_SEEN] < stop:
        move = step(cursor, stack, parents, taken, position, candidates, resume, lengths, offsets, neighbours,
                    senders)  # fmt: skip
        if move < 0:
            return
        if move == 0:
            k = cursor[SIZE] - 1
            fold(k, stack[k], partial, sums)
            back(cursor, stack, position, resume, lengths)
            continue

        # up: messages, and what the later siblings send
        size = cursor[SIZE]
        for k in range(size):
            for x in range(n_states[stack[k]]):
                below[k, x] = one
        for k in range(size - 1, 0, -1):
            v, slot, p = stack[k], taken[k], parents[k]
            for x in range(n_states[v]):
                vector[x] = phi[v, x]
            combine(vector, below[k], n_states[v], in_logs)
            send(vector, potentials, places[slot], messages[k], in_logs)
            n_parent = n_states[stack[p]]
            for x in range(n_parent):
                rest[k, x] = below[p, x]
            combine(below[p], messages[k], n_parent, in_logs)
        n_target = n_states[0]
        for x in range(n_target):
            vector[x] = phi[0, x]
        combine(vector, below[0], n_target, in_logs)
        worth = general_worth(vector, n_target, in_logs, code, state, rival, log_b, cursor)
        direction = general_worth(vector, n_target, in_logs, direction_code, direction_state, -1, log_b, cursor)
        top = size - 1
        add(partial[top], 0, worth)
        add(partial[top], 2, direction)
        partial[top, 4] += 1.0
        extremes[0] = min(extremes[0], worth)
        extremes[1] = max(extremes[1], worth)
        if record_worths.shape[0]:
            record(cursor, top, slot_edges[taken[top]], worth, direction, chain, record_parents, record_edges,
                   record_worths)  # fmt: skip

        # down: what each parent gathers without this member; then the member's two alternatives go up
        for x in range(n_target):
            prefix[0, x] = phi[0, x]
        for k in range(1, size):
            v, slot, p = stack[k], taken[k], parents[k]
            n_parent = n_states[stack[p]]
            combine(rest[k], prefix[p], n_parent, in_logs)
            combine(prefix[p], messages[k], n_parent, in_logs)
            for x in range(n_states[v]):
                prefix[k, x] = phi[v, x]
            if cyclic:
                for x in range(n_parent):
                    vector[x] = rest[k, x]
                climb(vector, p, parents, taken, potentials, places, rest, message, in_logs)
                omission_sums[v, 0] += general_worth(vector, n_target, in_logs, code, state, rival, log_b, cursor)
                omission_sums[v, 1] += general_worth(vector, n_target, in_logs, direction_code, direction_state,
                                                     -1, log_b, cursor)  # fmt: skip
            if wants_split[v]:
                for x in range(n_states[v]):
                    vector[x] = below[k, x]
                climb(vector, k, parents, taken, potentials, places, rest, message, in_logs)
                split_sums[v] += general_worth(vector, n_target, in_logs, code, state, rival, log_b, cursor)
