# mypy: ignore-errors
"""Kernels that draw subtrees of the tree of walks. Arrays only; see walk_sampling.py for the callers.

One draw decides for every copy whether it is there, given its parent. Given that the way to a copy is there, the
other decisions stay as they are: so one sweep up and one down give every copy a contribution in every draw.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel

SYMMETRIC_KL, NEG_CROSS_ENTROPY, LOG_ODDS, PROBABILITY, CONTRAST = range(5)
LOG_ZERO = -700.0
UNIFORM, SHAPLEY, EFFICIENT = range(3)


class Forest(NamedTuple):
    """The tree of walks, padded to K = the largest state count."""

    children: np.ndarray  # [T+1]
    parents: np.ndarray  # [T]
    inner: np.ndarray  # [T] number among the copies with children, -1 for leaves
    players: np.ndarray  # [T] whose copy it is; -1 for the target
    depths: np.ndarray  # [T]
    n_states: np.ndarray  # [T]
    own: np.ndarray  # [T, K] prior times boundary, the largest 1
    flat: np.ndarray  # [T, K] the boundary alone
    tables: np.ndarray  # [T] table towards the parent
    psi: np.ndarray  # [P, K, K] rows = states of the copy, columns = those of its parent
    chances: np.ndarray  # [T] that a copy is there, given its parent; ignored where q is drawn


class Question(NamedTuple):
    """Two worths of the target's belief, see worth.py."""

    codes: np.ndarray  # [2]
    states: np.ndarray  # [2]
    rivals: np.ndarray  # [2]
    log_belief: np.ndarray  # [K]


class Tally(NamedTuple):
    """Sums over draws, one entry per player."""

    values: np.ndarray
    squares: np.ndarray  # of a draw's value
    probabilistic: np.ndarray
    directions: np.ndarray
    lowest: np.ndarray  # [2] smallest and largest worth seen


class Work(NamedTuple):
    """What a draw needs room for."""

    present: np.ndarray  # [T]
    gathered: np.ndarray  # [T, K] product of what the children that are there say
    sent: np.ndarray  # [T, K] to the parent
    ways: np.ndarray  # [inner, K, K] the target's weights, given those of a copy and the way to it
    before: np.ndarray  # [largest number of children, K]
    drawn: np.ndarray  # [n] a draw's value per player


@kernel
def scale(weights, n):
    """Divide by the largest. Writes: weights."""
    top = 0.0
    for x in range(n):
        top = max(top, weights[x])
    if top > 0.0:
        for x in range(n):
            weights[x] /= top


@kernel
def log_or_floor(x):
    """log x, LOG_ZERO for an exact zero."""
    return math.log(x) if x > 0.0 else LOG_ZERO


@kernel
def worth_at(code, state, rival, log_belief, weights):
    """A worth of the belief with these weights; the twin of worth.worth_of."""
    n = log_belief.shape[0]
    total = 0.0
    for x in range(n):
        total += weights[x]
    if code == PROBABILITY:
        return weights[state] / total
    if code == CONTRAST:
        return log_or_floor(weights[state] / total) - log_or_floor(weights[rival] / total)
    if code == LOG_ODDS:
        rest = 0.0
        for x in range(n):
            if x != state:
                rest += weights[x]
        return log_or_floor(weights[state] / total) - log_or_floor(rest / total)
    worth = 0.0
    for x in range(n):
        q, b = log_or_floor(weights[x] / total), log_belief[x]
        if code == NEG_CROSS_ENTROPY:
            worth += math.exp(b) * q
            continue
        if weights[x] > 0.0 and b > -np.inf:
            worth += math.exp(max(b, q)) * math.expm1(-abs(b - q)) * abs(b - q)
        elif weights[x] > 0.0:
            worth -= weights[x] / total * abs(LOG_ZERO - q)
        else:
            worth -= math.exp(b) * abs(max(b, LOG_ZERO) - LOG_ZERO)
    return worth


@kernel
def draw(n_draws, law, rng, forest, question, tally, work):
    """Draw subtrees and add up every player's contributions. Writes: tally, work."""
    n_copies = forest.inner.shape[0]
    for _ in range(n_draws):
        q = rng.random() if law != UNIFORM else 0.0
        for t in range(1, n_copies):
            work.present[t] = rng.random() < (q if law != UNIFORM else forest.chances[t])
        up_sweep(forest, work)
        work.drawn[:] = 0.0
        down_sweep(q if law == EFFICIENT else 1.0, forest, question, tally, work)
        for i in range(work.drawn.shape[0]):
            tally.values[i] += work.drawn[i]
            tally.squares[i] += work.drawn[i] * work.drawn[i]


@kernel
def up_sweep(forest, work):
    """What every copy would say to its parent. Writes: work.gathered, work.sent."""
    for t in range(forest.inner.shape[0] - 1, -1, -1):
        n = forest.n_states[t]
        gathered = work.gathered[t]
        gathered[:n] = 1.0
        for c in range(forest.children[t], forest.children[t + 1]):
            if work.present[c]:
                for x in range(n):
                    gathered[x] *= work.sent[c, x]
                scale(gathered, n)
        if t == 0:
            break
        table, sent = forest.psi[forest.tables[t]], work.sent[t]
        sent[:] = 0.0
        for x in range(n):
            weight = forest.own[t, x] * gathered[x]
            for y in range(sent.shape[0]):
                sent[y] += weight * table[x, y]
        scale(sent, sent.shape[0])


@kernel
def down_sweep(q, forest, question, tally, work):
    """Contributions of all copies, the way to each being there. Writes: tally, work."""
    n_target = forest.n_states[0]
    rest, after = np.empty(work.sent.shape[1]), np.empty(work.sent.shape[1])
    way = np.empty((n_target, work.sent.shape[1]))
    work.ways[0] = np.eye(work.sent.shape[1])
    for v in range(forest.inner.shape[0]):
        begin, end = forest.children[v], forest.children[v + 1]
        if begin == end:
            continue
        n = forest.n_states[v]
        products_before(v, begin, end, forest, work)
        after[:n] = 1.0
        for a in range(end - 1, begin - 1, -1):
            for x in range(n):
                rest[x] = forest.own[v, x] * work.before[a - begin, x] * after[x]
            scale(rest, n)
            lead_on(work.ways[forest.inner[v]], rest, n, a, forest, way)
            if forest.inner[a] >= 0:
                work.ways[forest.inner[a], :n_target] = way
            contribute(q, a, way, rest, forest, question, tally, work)
            if work.present[a]:
                for x in range(n):
                    after[x] *= work.sent[a, x]
                scale(after, n)


@kernel
def products_before(v, begin, end, forest, work):
    """Products of what the children before each child of v say. Writes: work.before."""
    n = forest.n_states[v]
    work.before[0, :n] = 1.0
    for c in range(begin, end - 1):
        i = c - begin
        for x in range(n):
            work.before[i + 1, x] = work.before[i, x] * (work.sent[c, x] if work.present[c] else 1.0)
        scale(work.before[i + 1], n)


@kernel
def lead_on(way_in, rest, n, a, forest, way):
    """The target's weights given those of copy a, a child of a copy with n states. Writes: way [K_0, K]."""
    table = forest.psi[forest.tables[a]]
    top = 0.0
    for x0 in range(way.shape[0]):
        for x in range(forest.n_states[a]):
            total = 0.0
            for y in range(n):
                total += way_in[x0, y] * rest[y] * table[x, y]
            way[x0, x] = total
            top = max(top, total)
    for x0 in range(way.shape[0]):
        for x in range(forest.n_states[a]):
            way[x0, x] /= top


@kernel
def contribute(q, a, way, rest, forest, question, tally, work):
    """What copy a adds. Writes: tally, work.drawn."""
    n_target, v = way.shape[0], forest.parents[a]
    whole, split, without = np.zeros(n_target), np.zeros(n_target), np.zeros(n_target)
    way_in = work.ways[forest.inner[v]]
    for x0 in range(n_target):
        for x in range(forest.n_states[a]):
            whole[x0] += way[x0, x] * forest.own[a, x] * work.gathered[a, x]
            split[x0] += way[x0, x] * forest.flat[a, x] * work.gathered[a, x]
        for y in range(forest.n_states[v]):
            without[x0] += way_in[x0, y] * rest[y]
    weight = q ** (forest.depths[a] - 1)
    i = forest.players[a]
    belief = question.log_belief
    code, state, rival = question.codes[0], question.states[0], question.rivals[0]
    high = worth_at(code, state, rival, belief, whole)
    work.drawn[i] += weight * (high - worth_at(code, state, rival, belief, without))
    tally.probabilistic[i] += weight * (high - worth_at(code, state, rival, belief, split))
    tally.lowest[0], tally.lowest[1] = min(tally.lowest[0], high), max(tally.lowest[1], high)
    code, state, rival = question.codes[1], question.states[1], question.rivals[1]
    turned = worth_at(code, state, rival, belief, whole) - worth_at(code, state, rival, belief, without)
    tally.directions[i] += weight * turned
