# mypy: ignore-errors
"""Kernels that draw subtrees of the tree of walks. Arrays only; see walk_sampling.py for the callers.

One draw decides for every copy whether it is there, given its parent. Given that the way to a copy is there, the
other decisions stay as they are: so one sweep up and one down give every copy a contribution in every draw.
"""

from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel

UNIFORM, SHAPLEY = range(2)


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


class Asked(NamedTuple):
    """Beliefs to be priced, of D draws and each copy but the target's."""

    whole: np.ndarray  # [D, T-1, K_0] the way to the copy being there
    flattened: np.ndarray  # [D, T-1, K_0] ... its prior uniform
    without: np.ndarray  # [D, T-1, K_0] ... without the copy
    q: np.ndarray  # [D] the chance that was drawn; 1 where it weighs nothing


class Work(NamedTuple):
    """What a draw needs room for."""

    present: np.ndarray  # [T]
    gathered: np.ndarray  # [T, K] product of what the children that are there say
    sent: np.ndarray  # [T, K] to the parent
    ways: np.ndarray  # [inner, K, K] the target's weights, given those of a copy and the way to it
    before: np.ndarray  # [largest number of children, K]


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
def draw(n_draws, law, rng, forest, asked, work):
    """Draw subtrees and line up the beliefs by which every copy is judged. Writes: asked, work."""
    n_copies = forest.inner.shape[0]
    for d in range(n_draws):
        q = rng.random() if law != UNIFORM else 0.0
        for t in range(1, n_copies):
            work.present[t] = rng.random() < (q if law != UNIFORM else forest.chances[t])
        up_sweep(forest, work)
        asked.q[d] = q if law == SHAPLEY else 1.0
        down_sweep(d, forest, asked, work)


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
def down_sweep(d, forest, asked, work):
    """Beliefs with and without all copies, the way to each being there. Writes: asked, work."""
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
            ask(d, a, way, rest, forest, asked, work)
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
def ask(d, a, way, rest, forest, asked, work):
    """What is believed with copy a, with its prior uniform and without it. Writes: asked."""
    v = forest.parents[a]
    way_in = work.ways[forest.inner[v]]
    whole, flattened, without = asked.whole[d, a - 1], asked.flattened[d, a - 1], asked.without[d, a - 1]
    for x0 in range(way.shape[0]):
        whole[x0], flattened[x0], without[x0] = 0.0, 0.0, 0.0
        for x in range(forest.n_states[a]):
            whole[x0] += way[x0, x] * forest.own[a, x] * work.gathered[a, x]
            flattened[x0] += way[x0, x] * forest.flat[a, x] * work.gathered[a, x]
        for y in range(forest.n_states[v]):
            without[x0] += way_in[x0, y] * rest[y]
    normalise(whole)
    normalise(flattened)
    normalise(without)


@kernel
def normalise(weights):
    """Divide by the sum. Writes: weights."""
    total = 0.0
    for x in range(weights.shape[0]):
        total += weights[x]
    for x in range(weights.shape[0]):
        weights[x] /= total
