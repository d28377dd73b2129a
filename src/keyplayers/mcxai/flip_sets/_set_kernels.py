# mypy: ignore-errors
"""Kernels of the search for small sets. Arrays only; see descent.py and proposals.py."""

import math

import numpy as np

from ..._base.compiled import kernel


@kernel
def learn_pairs(members, sizes, drops, gains, pairs, seen, n_sweeps):
    """Fit drop(S) ~ sum of gains + sum of pairs by Kaczmarz steps: each state's residual is shared out evenly
    over its pairs, which tends to the interpolating solution of least norm.

    members [M, k] players of a state, sizes [M], drops [M]. Writes: pairs [n, n], seen [n, n].
    """
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
    drawn = pairs.copy()
    for a in range(n):
        for b in range(n):
            if not seen[a, b]:
                drawn[a, b] += width * (noise[a, b] + noise[b, a]) / 2**0.5
    return drawn


@kernel
def choose(masked, sizes, tried, drops, gains, needed, spare, deciding, limit, open_end):
    """Which state a descent extends next, -1 where none has hope to end the game with at most `limit` players.

    States [S, n]: players masked, players that were tried on top of them, and what they dropped [S, V] in each
    measure. gains [V, n]: what players dropped when they were last looked at. needed [V]: drop at which the game
    is over. spare [V]: how far a gain may be wrong. deciding [V]: a state is hopeless where none of these
    measures expects the end, or where no measure does. open_end: nothing has ended the game yet; then the state
    that has come nearest goes first, else the one that promises most. Returns: index of the state.
    """
    n_measures, n = gains.shape
    orders = np.empty((n_measures, n), dtype=np.int64)
    for v in range(n_measures):
        orders[v] = np.argsort(-gains[v], kind="mergesort")
    chosen = -1
    highest, fewest = -np.inf, 0
    for s in range(len(sizes)):
        left = min(limit, n) - sizes[s]
        n_tried = tried[s].sum()
        if left <= 0 or n_tried + sizes[s] >= n:
            continue
        merit = -np.inf
        hopeful = not deciding.any()
        for v in range(n_measures):
            total = drops[s, v]
            if not open_end:
                count = 0
                for a in orders[v]:
                    if count == left or gains[v, a] <= 0:
                        break
                    if not masked[s, a]:
                        total += gains[v, a]
                        count += 1
                total += spare[v] * math.sqrt(left) - needed[v]
                hopeful |= deciding[v] and total >= 0
            merit = max(merit, total / needed[v])
        if not open_end and (merit < 0 or not hopeful):
            continue
        # among equals a small state that was tried little: a player more weighs as much as some batches of them
        burden = n_tried + 16 * sizes[s]
        if chosen < 0 or merit > highest or (merit == highest and burden < fewest):
            chosen = s
            highest, fewest = merit, burden
    return chosen


@kernel
def beam_sets(gains, pairs, size, width, codes, known):
    """The sets of `size` players that the surrogate expects to drop the margin most, best first.

    codes [n] random 64-bit numbers: a set's code is the sum of its players'. known [S] sorted codes of sets
    that are not wanted. Returns: sets [R, size], expected drops [R], R <= width.
    """
    n = len(gains)
    beam = np.zeros((1, size), dtype=np.int64)
    scores = np.zeros(1)
    beam_codes = np.zeros(1, dtype=np.int64)
    slopes = np.empty((1, n))
    slopes[0] = gains
    for level in range(size):
        new_scores = np.full(width, -np.inf)
        new_codes = np.zeros(width, dtype=np.int64)
        parents = np.full(width, -1, dtype=np.int64)
        added = np.full(width, -1, dtype=np.int64)
        filled = 0
        last = level == size - 1
        for b in range(len(scores)):
            for a in range(n):
                score = scores[b] + slopes[b, a]
                if score <= new_scores[width - 1]:
                    continue
                held = False
                for i in range(level):
                    if beam[b, i] == a:
                        held = True
                        break
                if held:
                    continue
                code = beam_codes[b] + codes[a]
                for i in range(filled):
                    if new_codes[i] == code:
                        held = True
                        break
                if held:
                    continue
                if last and len(known) > 0:
                    at = np.searchsorted(known, code)
                    if at < len(known) and known[at] == code:
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
        new_beam = np.zeros((filled, size), dtype=np.int64)
        new_slopes = np.empty((filled, n))
        for r in range(filled):
            p = parents[r]
            for i in range(level):
                new_beam[r, i] = beam[p, i]
            new_beam[r, level] = added[r]
            if not last:
                for a in range(n):
                    new_slopes[r, a] = slopes[p, a] + pairs[added[r], a]
        beam = new_beam
        slopes = new_slopes
        scores = new_scores[:filled]
        beam_codes = new_codes[:filled]
        if filled == 0:
            break
    return beam, scores
