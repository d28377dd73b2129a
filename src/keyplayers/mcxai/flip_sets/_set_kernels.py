# mypy: ignore-errors
"""Kernels of the search for small sets. Arrays only; see lazy_greedy.py and proposals.py."""

import math
from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel


class Candidates(NamedTuple):
    """States that can be extended."""

    masked: np.ndarray  # [S, n]
    sizes: np.ndarray  # [S]
    tried: np.ndarray  # [S, n] players that were evaluated on top
    drops: np.ndarray  # [S, V] in each objective


class Expectations(NamedTuple):
    """What players are expected to do in each objective."""

    gains: np.ndarray  # [V, n] what players dropped when they were last evaluated
    best_first: np.ndarray  # [V, n] players by falling gain
    gap: np.ndarray  # [V] drop at which the game is over
    slack: np.ndarray  # [V] how far a gain may be wrong
    active: np.ndarray  # [V] whether the objective decides what is hopeless


class TaughtStates(NamedTuple):
    """States to which pairs are fitted."""

    members: np.ndarray  # [M, k] players
    sizes: np.ndarray  # [M] how many of them count
    drops: np.ndarray  # [M] in one objective


# a player more in a set weighs as much as so many players that were tried on top of it
COST_OF_A_PLAYER = 16


@kernel
def choose_state(candidates, expectations, limit, open_end):
    """Which state is extended next, -1 where none has hope to end the game with at most `limit` players.

    A state is hopeless where no active objective expects the end, or where no objective does. open_end: nothing
    has ended the game yet; then the state that has come nearest goes first, else the one that promises most.
    Among equals a small state that was tried little goes first. Returns: index of the state.
    """
    masked, sizes, tried, drops = candidates
    gains, best_first, gap, slack, active = expectations
    n_objectives, n = gains.shape
    any_active = False
    for v in range(n_objectives):
        any_active |= active[v]
    chosen = -1
    highest, cheapest = -np.inf, 0
    for s in range(len(sizes)):
        left = min(limit, n) - sizes[s]
        n_tried = 0
        for a in range(n):
            n_tried += tried[s, a]
        if left <= 0 or n_tried + sizes[s] >= n:
            continue
        merit = -np.inf
        hopeful = not any_active
        for v in range(n_objectives):
            total = drops[s, v]
            if not open_end:
                count = 0
                for i in range(n):
                    a = best_first[v, i]
                    if count == left or gains[v, a] <= 0:
                        break
                    if not masked[s, a]:
                        total += gains[v, a]
                        count += 1
                total += slack[v] * math.sqrt(left) - gap[v]
                hopeful |= active[v] and total >= 0
            merit = max(merit, total / gap[v])
        if not open_end and (merit < 0 or not hopeful):
            continue
        cost = n_tried + COST_OF_A_PLAYER * sizes[s]
        if chosen < 0 or merit > highest or (merit == highest and cost < cheapest):
            chosen = s
            highest, cheapest = merit, cost
    return chosen


@kernel
def fit_pairs(taught, gains, pairs, seen, n_sweeps):
    """Fit drop(S) ~ sum of gains + sum of pairs by Kaczmarz steps: each state's residual is shared out evenly
    over its pairs, which tends to the interpolating solution of least norm.

    gains [n]. Writes: pairs [n, n], seen [n, n].
    """
    members, sizes, drops = taught
    for _sweep in range(n_sweeps):
        for s in range(len(sizes)):
            k = sizes[s]
            if k < 2:
                continue
            predicted = 0.0
            for i in range(k):
                predicted += gains[members[s, i]]
                for j in range(i):
                    predicted += pairs[members[s, i], members[s, j]]
            step = (drops[s] - predicted) / (k * (k - 1) / 2)
            for i in range(k):
                a = members[s, i]
                for j in range(i):
                    b = members[s, j]
                    pairs[a, b] += step
                    pairs[b, a] += step
                    seen[a, b] = True
                    seen[b, a] = True


@kernel
def draw_pairs(pairs, seen, gains, noise):
    """The pairs [n, n], and where one was never seen a symmetric draw on top, as wide as the seen ones vary.

    As long as hardly any was seen, a tenth of the largest gain [n] is the width. noise [n, n] standard normal.
    """
    n = len(pairs)
    total, squares, count = 0.0, 0.0, 0
    largest = 0.0
    for a in range(n):
        largest = max(largest, abs(gains[a]))
        for b in range(n):
            if a != b and seen[a, b]:
                total += pairs[a, b]
                squares += pairs[a, b] ** 2
                count += 1
    width = 0.1 * largest
    if count > 8:
        width = math.sqrt(max(0.0, squares / count - (total / count) ** 2))
    drawn = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            drawn[a, b] = pairs[a, b]
            if not seen[a, b]:
                drawn[a, b] += width * (noise[a, b] + noise[b, a]) / 2**0.5
    return drawn


@kernel
def beam_sets(gains, pairs, size, width, codes, known):
    """The sets of `size` players that the surrogate expects to drop the margin most, best first.

    codes [n] random 64-bit numbers: a set's code is the sum of its players'. known [S] sorted codes of sets
    that are not wanted. Returns: sets [R, size], expected drops [R], R <= width.
    """
    n = len(gains)
    beam = np.zeros((width, size), dtype=np.int64)
    scores, new_scores = np.zeros(width), np.empty(width)
    beam_codes, new_codes = np.zeros(width, dtype=np.int64), np.empty(width, dtype=np.int64)
    slopes, new_slopes = np.empty((width, n)), np.empty((width, n))
    new_beam = np.zeros((width, size), dtype=np.int64)
    parents, added = np.empty(width, dtype=np.int64), np.empty(width, dtype=np.int64)
    for a in range(n):
        slopes[0, a] = gains[a]
    filled = 1
    for level in range(size):
        held = filled
        filled = 0
        for b in range(held):
            for a in range(n):
                score = scores[b] + slopes[b, a]
                if filled == width and score <= new_scores[width - 1]:
                    continue
                code = beam_codes[b] + codes[a]
                if _holds(beam, b, level, a) or _is_among(new_codes, filled, code):
                    continue
                if level == size - 1 and _is_known(known, code):
                    continue
                slot = min(filled, width - 1)
                while slot > 0 and new_scores[slot - 1] < score:
                    new_scores[slot] = new_scores[slot - 1]
                    new_codes[slot] = new_codes[slot - 1]
                    parents[slot] = parents[slot - 1]
                    added[slot] = added[slot - 1]
                    slot -= 1
                new_scores[slot] = score
                new_codes[slot] = code
                parents[slot] = b
                added[slot] = a
                filled = min(filled + 1, width)
        for r in range(filled):
            for i in range(level):
                new_beam[r, i] = beam[parents[r], i]
            new_beam[r, level] = added[r]
            for a in range(n):
                new_slopes[r, a] = slopes[parents[r], a] + pairs[added[r], a]
        beam, new_beam = new_beam, beam
        scores, new_scores = new_scores, scores
        beam_codes, new_codes = new_codes, beam_codes
        slopes, new_slopes = new_slopes, slopes
    return beam[:filled], scores[:filled]


@kernel
def _holds(beam, row, size, player):
    """Whether the first `size` players of a row hold this one."""
    for i in range(size):
        if beam[row, i] == player:
            return True
    return False


@kernel
def _is_among(codes, count, code):
    """Whether the code stands among the first `count`."""
    for i in range(count):
        if codes[i] == code:
            return True
    return False


@kernel
def _is_known(known, code):
    """Whether the code stands in a sorted list [S]."""
    low, high = 0, len(known)
    while low < high:
        middle = (low + high) // 2
        if known[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < len(known) and known[low] == code
