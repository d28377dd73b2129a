# mypy: ignore-errors
"""Kernels for elimination. Arrays only; see exact.py for the caller.

A clique is a variable and those that it is joined with when its turn comes to be eliminated. Its table has
one axis per member, the latest eliminated first and the variable itself last, and is stored flat.
"""

from typing import NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.compiled import kernel


class Cliques(NamedTuple):
    """What is joined with what, in the order of elimination."""

    order: Ints  # [N] variables, first eliminated first
    offsets: Ints  # [N+1] where the members of each clique begin
    members: Ints  # in every clique the latest eliminated first and the variable itself last
    n_states: Ints  # [N] of each variable
    ranks: Ints  # [N] place of each variable in `order`


class Tables(NamedTuple):
    """Numbers of every clique, as logarithms, and of what it sends to the next."""

    offsets: Ints  # [N+1] where each clique's table begins
    cells: Floats
    message_offsets: Ints  # [N+1] where what each clique sends begins
    messages: Floats


class CliqueEdges(NamedTuple):
    """Edges between unobserved variables, each with the end that is eliminated first."""

    offsets: Ints  # [N+1] edges of the i-th clique
    others: Ints  # the end eliminated later
    starts: Ints  # where the potential begins among the log-potentials
    strides: Ints  # [.., 2] of the potential along the states of the end eliminated first, and of the other
    pair_starts: Ints  # where the joint belief of both ends begins


class Beliefs(NamedTuple):
    """What is read off calibrated cliques."""

    offsets: Ints  # [N+1] where each variable's states begin
    logs: Floats  # [sum K] log beliefs
    log_pairs: Floats  # of both ends of every edge
    states: Ints  # [N] best states given those eliminated later


@kernel
def collect(cliques, edges, prior_offsets, log_priors, log_potentials, maximise, tables):
    """Eliminate variable after variable; each sends what is left of its clique to the next clique.

    Writes tables (log of the variable's conditional given the others of its clique, log messages).
    Returns the logarithm of all that was divided out, and the rank of the clique in which nothing was
    possible (-1: none).
    """
    order, clique_offsets, members, n_states, ranks = cliques
    table_offsets, cells, message_offsets, messages = tables
    n = order.shape[0]
    first_child = np.full(n, -1, np.int64)
    next_sibling = np.full(n, -1, np.int64)
    sizes, strides = _scratch(clique_offsets)
    log_scale = 0.0
    for i in range(n):
        v = order[i]
        own = members[clique_offsets[i] : clique_offsets[i + 1]]
        c = own.shape[0]
        k = n_states[v]
        for m in range(c):
            sizes[m] = n_states[own[m]]
        table = cells[table_offsets[i] : table_offsets[i + 1]]
        prior = log_priors[prior_offsets[v] : prior_offsets[v + 1]]
        for j in range(table.shape[0]):
            table[j] = prior[j % k]
        for e in range(edges.offsets[i], edges.offsets[i + 1]):
            _edge_strides(own, edges.others[e], edges.strides[e], strides)
            _add(table, sizes, strides, c, log_potentials, edges.starts[e])
        child = first_child[i]
        while child >= 0:
            separator = members[clique_offsets[child] : clique_offsets[child + 1] - 1]
            _subset_strides(own, separator, n_states, strides)
            _add(table, sizes, strides, c, messages, message_offsets[child])
            child = next_sibling[child]

        message = messages[message_offsets[i] : message_offsets[i + 1]]
        largest = _sum_out(table, k, message, maximise)
        if largest == -np.inf:
            return log_scale, i
        log_scale += largest
        for s in range(message.shape[0]):
            for j in range(s * k, (s + 1) * k):
                # a combination that nothing allows has no conditional either
                table[j] = table[j] - message[s] if message[s] != -np.inf else -np.inf
            message[s] -= largest
        if c > 1:
            parent = ranks[own[c - 2]]
            next_sibling[i] = first_child[parent]
            first_child[parent] = i
    return log_scale, -1


@kernel
def distribute(cliques, edges, maximise, tables, beliefs):
    """Go back from the last variable to the first and turn conditionals into joint beliefs.

    Writes tables (log beliefs of cliques and of what they share with the next), beliefs.
    """
    order, clique_offsets, members, n_states, ranks = cliques
    table_offsets, cells, message_offsets, messages = tables
    belief_offsets, log_beliefs, log_pairs, states = beliefs
    n = order.shape[0]
    sizes, strides = _scratch(clique_offsets)
    for i in range(n - 1, -1, -1):
        v = order[i]
        own = members[clique_offsets[i] : clique_offsets[i + 1]]
        c = own.shape[0]
        k = n_states[v]
        table = cells[table_offsets[i] : table_offsets[i + 1]]
        message = messages[message_offsets[i] : message_offsets[i + 1]]

        row = 0
        for m in range(c - 1):
            row = row * n_states[own[m]] + states[own[m]]
        best = 0
        for x in range(1, k):
            if table[row * k + x] > table[row * k + best]:
                best = x
        states[v] = best

        if c > 1:
            parent = ranks[own[c - 2]]
            others = members[clique_offsets[parent] : clique_offsets[parent + 1]]
            for m in range(others.shape[0]):
                sizes[m] = n_states[others[m]]
            _subset_strides(others, own[: c - 1], n_states, strides)
            joint = cells[table_offsets[parent] : table_offsets[parent + 1]]
            _project(joint, sizes, strides, others.shape[0], message, maximise)
            for j in range(table.shape[0]):
                table[j] += message[j // k]

        for m in range(c):
            sizes[m] = n_states[own[m]]
            strides[m] = 0
        strides[c - 1] = 1
        belief = log_beliefs[belief_offsets[v] : belief_offsets[v + 1]]
        _project(table, sizes, strides, c, belief, maximise)
        for e in range(edges.offsets[i], edges.offsets[i + 1]):
            _edge_strides(own, edges.others[e], edges.strides[e], strides)
            begin = edges.pair_starts[e]
            pair = log_pairs[begin : begin + k * n_states[edges.others[e]]]
            _project(table, sizes, strides, c, pair, maximise)


@kernel
def _scratch(clique_offsets):
    """Room for state counts and strides of the largest clique."""
    largest = 1
    for i in range(clique_offsets.shape[0] - 1):
        largest = max(largest, clique_offsets[i + 1] - clique_offsets[i])
    return np.zeros(largest, np.int64), np.zeros(largest, np.int64)


@kernel
def _edge_strides(own, other, pair, strides):
    """Strides of an edge's matrix along the axes of a clique; `pair` is (stride of the variable, of the other)."""
    c = own.shape[0]
    for m in range(c):
        strides[m] = pair[1] if own[m] == other else 0
    strides[c - 1] = pair[0]


@kernel
def _subset_strides(own, subset, n_states, strides):
    """Strides of a table over some members of a clique, in the same order, along the clique's axes."""
    stride = 1
    s = subset.shape[0] - 1
    for m in range(own.shape[0] - 1, -1, -1):
        if s >= 0 and own[m] == subset[s]:
            strides[m] = stride
            stride *= n_states[subset[s]]
            s -= 1
        else:
            strides[m] = 0


@kernel
def _add(table, sizes, strides, n_axes, factor, start):
    """Add factor[start + digits · strides] to every cell of a table."""
    digits = np.zeros(n_axes, np.int64)
    at = start
    for j in range(table.shape[0]):
        table[j] += factor[at]
        at = _advance(digits, sizes, strides, n_axes, at)


@kernel
def _project(table, sizes, strides, n_axes, out, maximise):
    """Sum (in logarithms) or maximise a table over the axes whose stride is 0. Writes: out."""
    out[:] = -np.inf
    digits = np.zeros(n_axes, np.int64)
    at = np.int64(0)  # a literal would be compiled for
    for j in range(table.shape[0]):
        out[at] = max(out[at], table[j])
        at = _advance(digits, sizes, strides, n_axes, at)
    if maximise:
        return
    sums = np.zeros(out.shape[0])
    digits[:] = 0
    at = np.int64(0)
    for j in range(table.shape[0]):
        if table[j] != -np.inf:
            sums[at] += np.exp(table[j] - out[at])
        at = _advance(digits, sizes, strides, n_axes, at)
    for s in range(out.shape[0]):
        if sums[s] > 0:
            out[s] += np.log(sums[s])


@kernel
def _advance(digits, sizes, strides, n_axes, at):
    """The next cell in row-major order, and where the factor is read there."""
    m = n_axes - 1
    while m >= 0:
        digits[m] += 1
        at += strides[m]
        if digits[m] < sizes[m]:
            return at
        at -= strides[m] * sizes[m]
        digits[m] = 0
        m -= 1
    return at


@kernel
def _sum_out(table, k, message, maximise):
    """Sum (in logarithms) or maximise over the last axis, of length k. Writes: message. Returns its maximum."""
    largest = -np.inf
    for s in range(message.shape[0]):
        top = -np.inf
        for j in range(s * k, (s + 1) * k):
            top = max(top, table[j])
        if top != -np.inf and not maximise:
            total = 0.0
            for j in range(s * k, (s + 1) * k):
                total += np.exp(table[j] - top)
            message[s] = top + np.log(total)
        else:
            message[s] = top
        largest = max(largest, message[s])
    return largest
