# mypy: ignore-errors
"""Kernels for the walk game of binary variables. Arrays only; see walk_convolution.py for the callers.

A copy's log-odds is a sum of independent messages of its children. Its law stands on cells of width h, child by
child: the partial sum of the first i children has a window of equal width around its mean. A message between two
cells is shared out over the six nearest ones with Lagrange's weights.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel

# Cells on either side of a range that sharing out may touch.
MARGIN = 3


class Copies(NamedTuple):
    """The tree of walks for two states."""

    children: np.ndarray  # [T+1]
    log_odds: np.ndarray  # [T] of prior and boundary, may be infinite
    flat: np.ndarray  # [T] of the boundary alone
    psi: np.ndarray  # [T, 4] 00, 01, 10, 11 of the potential towards the parent, first digit the copy's state
    chances: np.ndarray  # [T] that a copy is there, given its parent
    counts: np.ndarray  # [T] equal siblings that a copy stands for


class Laws(NamedTuple):
    """The laws of one level's sums, end to end; a copy without children has one cell."""

    first: int  # copy
    h: float
    halves: np.ndarray  # [n] cells from the mean to the ends of the window
    offsets: np.ndarray  # [n] cell of the first mass
    starts: np.ndarray  # [n+1] where its masses begin
    masses: np.ndarray  # [cells]


class Rows(NamedTuple):
    """What the copies of one level send, as rows on the cells of their parents' laws."""

    offsets: np.ndarray  # [n] first cell
    lengths: np.ndarray  # [n]
    means: np.ndarray  # [n] of the message, 0 where the copy is absent
    variances: np.ndarray  # [n]
    reaches: np.ndarray  # [n] largest distance from the mean to a point of interest


class Found(NamedTuple):
    """Answers, per worth; `functions` are those of the level below."""

    values: np.ndarray  # [W, T]
    probabilistic: np.ndarray  # [T]
    functions: np.ndarray  # [W, cells]


@kernel
def send(p00, p01, p10, p11, a):
    """The message of a copy whose log-odds are a, through the potential p; first digit the copy's state."""
    if a > 0:
        e = math.exp(-a)
        return math.log((p11 + p01 * e) / (p10 + p00 * e))
    e = math.exp(a)
    return math.log((p01 + p11 * e) / (p00 + p10 * e))


@kernel
def lagrange(theta, weights):
    """Weights of the cells -2 .. 3 for a point at theta in 0 .. 1. Writes: weights [6]."""
    a, b, c, d, e, f = theta + 2.0, theta + 1.0, theta, theta - 1.0, theta - 2.0, theta - 3.0
    weights[0] = b * c * d * e * f / -120.0
    weights[1] = a * c * d * e * f / 24.0
    weights[2] = a * b * d * e * f / -12.0
    weights[3] = a * b * c * e * f / 12.0
    weights[4] = a * b * c * d * f / -24.0
    weights[5] = a * b * c * d * e / 120.0


@kernel
def measure_rows(copies, laws, h, rows):
    """Where the messages of a level's copies lie on cells of width h, and their moments. Writes: rows."""
    for i in range(rows.offsets.shape[0]):
        t = laws.first + i
        p, log_odds, flattened = copies.chances[t], copies.log_odds[t], copies.flat[t]
        p00, p01, p10, p11 = copies.psi[t, 0], copies.psi[t, 1], copies.psi[t, 2], copies.psi[t, 3]
        law_begin, law_end = laws.starts[i], laws.starts[i + 1]
        low, high, first, second, total = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(law_begin, law_end):
            a = (laws.offsets[i] + k - law_begin) * laws.h
            own, flat = send(p00, p01, p10, p11, a + log_odds), send(p00, p01, p10, p11, a + flattened)
            low, high = min(low, own, flat), max(high, own, flat)
            first += laws.masses[k] * own
            second += laws.masses[k] * own * own
            total += laws.masses[k]
        rows.means[i] = p * first / total
        rows.variances[i] = max(0.0, p * second / total - rows.means[i] * rows.means[i])
        rows.reaches[i] = max(high - rows.means[i], rows.means[i] - low)
        rows.offsets[i] = math.floor(low / h) - MARGIN
        rows.lengths[i] = math.ceil(high / h) - rows.offsets[i] + MARGIN + 1


@kernel
def share_row(copies, laws, t, h, offset, row, weights):
    """The law of the message of copy t. Writes: row, weights [6]."""
    row[:] = 0.0
    p, log_odds = copies.chances[t], copies.log_odds[t]
    p00, p01, p10, p11 = copies.psi[t, 0], copies.psi[t, 1], copies.psi[t, 2], copies.psi[t, 3]
    law_begin, law_end = laws.starts[t - laws.first], laws.starts[t - laws.first + 1]
    total = 0.0
    for k in range(law_begin, law_end):
        total += laws.masses[k]
    for k in range(law_begin, law_end):
        a = (laws.offsets[t - laws.first] + k - law_begin) * laws.h
        x = send(p00, p01, p10, p11, a + log_odds) / h
        cell = math.floor(x)
        lagrange(x - cell, weights)
        for j in range(6):
            row[cell - offset - 2 + j] += p * laws.masses[k] / total * weights[j]
    row[-offset] += 1.0 - p


@kernel
def add_scaled(function, weight, out):
    """Adds weight times a function. Writes: out."""
    for k in range(out.shape[0]):
        out[k] += weight * function[k]


@kernel
def add_row(law, shift, row, out):
    """Law of a partial sum and one more message; `shift` moves between their windows. Writes: out."""
    n = law.shape[0]
    out[:] = 0.0
    for j in range(row.shape[0]):
        if row[j] == 0.0:
            continue
        d = shift - j
        begin, end = max(0, -d), min(n, n - d)
        if begin < end:
            add_scaled(law[begin + d : end + d], row[j], out[begin:end])


@kernel
def average_row(function, shift, row, out):
    """Mean of a function over one message, at the partial sums before it. Writes: out.

    Beyond the window the function goes on by its last values.
    """
    n = function.shape[0]
    out[:] = 0.0
    for j in range(row.shape[0]):
        if row[j] == 0.0:
            continue
        d = j - shift
        weight = row[j]
        inner, outer = min(n, max(0, -d)), max(0, min(n, n - d))
        for k in range(inner):
            out[k] += weight * function[0]
        if inner < outer:
            add_scaled(function[inner + d : outer + d], weight, out[inner:outer])
        for k in range(max(inner, outer), n):
            out[k] += weight * function[n - 1]


@kernel
def average_rest(law, function, shift, out):
    """Mean of a function over all but one message, at that message's cells. Writes: out."""
    n = law.shape[0]
    out[:] = 0.0
    for k in range(n):
        mass = law[k]
        if mass == 0.0:
            continue
        base = k - shift
        if base >= 0 and base + out.shape[0] <= n:
            add_scaled(function[base : base + out.shape[0]], mass, out)
        else:
            for j in range(out.shape[0]):
                out[j] += mass * function[min(max(base + j, 0), n - 1)]


@kernel
def places(mean, step, n_steps, h, half):
    """First cells of the windows of a partial sum and of those with one to n_steps equal messages more."""
    ats = np.empty(n_steps + 1, np.int64)
    ats[0] = math.floor(mean / h) - half
    for i in range(n_steps):
        mean += step
        ats[i + 1] = math.floor(mean / h) - half
    return ats


@kernel
def convolve_level(copies, below, rows, laws, variations, lost):
    """The laws of the sums of one level's copies.

    Writes: offsets and masses of `laws`, variations [n] (bound on the total variation of partial sums), lost [n]
    (mass outside the windows).
    """
    weights = np.empty(6)
    for i in range(laws.offsets.shape[0]):
        v, h = laws.first + i, laws.h
        out = laws.masses[laws.starts[i] : laws.starts[i + 1]]
        begin, end = copies.children[v], copies.children[v + 1]
        variations[i], lost[i] = 1.0, 0.0
        if begin == end:
            out[0] = 1.0
            laws.offsets[i] = 0
            continue
        n = out.shape[0]
        largest = np.ones(2)
        law, longer = np.zeros(n), np.empty(n)
        for reverse in range(1, -1, -1):
            law[:] = 0.0
            law[laws.halves[i]] = 1.0
            mean, at = 0.0, -laws.halves[i]
            before = 1.0
            for step in range(end - begin):
                c = end - 1 - step if reverse else begin + step
                r = c - below.first
                row = np.empty(rows.lengths[r])
                share_row(copies, below, c, h, rows.offsets[r], row, weights)
                for _ in range(copies.counts[c]):
                    mean += rows.means[r]
                    then = math.floor(mean / h) - laws.halves[i]
                    add_row(law, then - at - rows.offsets[r], row, longer)
                    law, longer, at = longer, law, then
                    variation, total = 0.0, 0.0
                    for k in range(n):
                        variation += abs(law[k])
                        total += law[k]
                    largest[reverse] = max(largest[reverse], variation)
                    lost[i] += abs(before - total)
                    before = total
        variations[i] = largest[0] * largest[1]
        laws.offsets[i] = at
        out[:] = law


@kernel
def spread_level(copies, below, rows, laws, functions, found):
    """Values of the children of one level, and their value functions.

    `functions` [W, cells] are those of the level's copies, for W worths. Writes: found.
    """
    weights = np.empty(6)
    n_worths = functions.shape[0]
    for i in range(laws.offsets.shape[0]):
        v = laws.first + i
        begin, end = copies.children[v], copies.children[v + 1]
        if begin == end:
            continue
        if math.isinf(copies.log_odds[v]) and v:
            found.functions[:, below.starts[begin - below.first] : below.starts[end - below.first]] = 0.0
            continue  # behind an observed copy nothing counts
        start, n = laws.starts[i], laws.starts[i + 1] - laws.starts[i]
        prefixes = np.empty((end - begin, n))
        means = np.empty(end - begin)
        law, longer = np.zeros(n), np.empty(n)
        law[laws.halves[i]] = 1.0
        mean, at = 0.0, -laws.halves[i]
        for c in range(begin, end):
            r = c - below.first
            means[c - begin] = mean
            row = np.empty(rows.lengths[r])
            share_row(copies, below, c, laws.h, rows.offsets[r], row, weights)
            for _ in range(copies.counts[c]):
                prefixes[c - begin] = law  # at last with all equal siblings but one
                mean += rows.means[r]
                then = math.floor(mean / laws.h) - laws.halves[i]
                add_row(law, then - at - rows.offsets[r], row, longer)
                law, longer, at = longer, law, then
        suffix, shorter = functions[:, start : start + n].copy(), np.empty((n_worths, n))
        for c in range(end - 1, begin - 1, -1):
            r = c - below.first
            ats = places(means[c - begin], rows.means[r], copies.counts[c], laws.h, laws.halves[i])
            message = np.empty((n_worths, rows.lengths[r]))
            row = np.empty(rows.lengths[r])
            share_row(copies, below, c, laws.h, rows.offsets[r], row, weights)
            for step in range(copies.counts[c], 0, -1):
                shift = ats[step] - ats[step - 1] - rows.offsets[r]
                for w in range(n_worths):
                    if step == copies.counts[c]:
                        average_rest(prefixes[c - begin], suffix[w], shift, message[w])
                    average_row(suffix[w], shift, row, shorter[w])
                suffix, shorter = shorter, suffix
            tell_child(copies, below, c, laws.h, rows.offsets[r], message, found)


@kernel
def tell_child(copies, below, c, h, offset, message, found):
    """Value of a copy, from the value function [W, cells] of its message. Writes: found."""
    log_odds, flat = copies.log_odds[c], copies.flat[c]
    p00, p01, p10, p11 = copies.psi[c, 0], copies.psi[c, 1], copies.psi[c, 2], copies.psi[c, 3]
    begin, end = below.starts[c - below.first], below.starts[c - below.first + 1]
    total = 0.0
    for k in range(begin, end):
        total += below.masses[k]
    n_worths = message.shape[0]
    own = np.zeros(n_worths)
    flattened = 0.0
    for k in range(begin, end):
        a = (below.offsets[c - below.first] + k - begin) * below.h
        mass = below.masses[k] / total
        x = send(p00, p01, p10, p11, a + log_odds) / h - offset
        for w in range(n_worths):
            found.functions[w, k] = read_off(message[w], x)
            own[w] += mass * found.functions[w, k]
        flattened += mass * read_off(message[0], send(p00, p01, p10, p11, a + flat) / h - offset)
    for w in range(n_worths):
        found.values[w, c] = own[w] - message[w, -offset]
    found.probabilistic[c] = own[0] - flattened


@kernel
def read_off(function, x):
    """A function on cells at a point, by Lagrange's interpolation."""
    cell = math.floor(x)
    t = x - cell
    a, b, d, e, f = t + 2.0, t + 1.0, t - 1.0, t - 2.0, t - 3.0
    return (
        function[cell - 2] * (b * t * d * e * f / -120.0)
        + function[cell - 1] * (a * t * d * e * f / 24.0)
        + function[cell] * (a * b * d * e * f / -12.0)
        + function[cell + 1] * (a * b * t * e * f / 12.0)
        + function[cell + 2] * (a * b * t * d * f / -24.0)
        + function[cell + 3] * (a * b * t * d * e / 120.0)
    )
