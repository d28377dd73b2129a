# mypy: ignore-errors
"""Kernels of the state cache: which states are known, and what the model said of them. Arrays only."""

from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel


class Rival(NamedTuple):
    """What the target is compared with."""

    target: int
    contrast: int  # the other class, -1: the best other class
    multilabel: bool  # the label is on, or it is not
    odds: float  # of the target, at which the decision changes


class Visits(NamedTuple):
    """Which states a game has looked at."""

    visited: np.ndarray  # [M]
    n_seen: np.ndarray  # [n + 1] different states by size


@kernel
def find_or_insert(packed, held, n_held, slots):
    """Index of each packed state [B, W] among those held [M, W]; new ones get the next numbers.

    slots [H] hash table of indices, H a power of two above M, -1: empty. Writes: held and slots where a state is
    new. Returns: indices [B], rows of `packed` that are new.
    """
    n_states, width = packed.shape
    found = np.empty(n_states, dtype=np.int64)
    fresh = np.empty(n_states, dtype=np.int64)
    n_fresh = 0
    for b in range(n_states):
        slot = _slot(packed, b, held, slots)
        if slots[slot] < 0:
            index = n_held + n_fresh
            slots[slot] = index
            for w in range(width):
                held[index, w] = packed[b, w]
            fresh[n_fresh] = b
            n_fresh += 1
        found[b] = slots[slot]
    return found, fresh[:n_fresh]


@kernel
def _slot(packed, row, held, slots):
    """Where a row of packed states stands in the table, or the empty place where it belongs."""
    # FNV-1a over the bytes, high bits folded in
    width = packed.shape[1]
    code = np.uint64(14695981039346656037)
    for w in range(width):
        code = (code ^ np.uint64(packed[row, w])) * np.uint64(1099511628211)
    code ^= code >> np.uint64(29)
    last = len(slots) - 1
    slot = np.int64(code & np.uint64(last))
    while slots[slot] >= 0:
        other = slots[slot]
        same = True
        for w in range(width):
            if held[other, w] != packed[row, w]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & last
    return slot


@kernel
def remove_latest(held, start, stop, slots):
    """Take the states start .. stop - 1, which were inserted last, out of the table."""
    # linear probing: in reverse, each one leaves the table as it was before it came
    for index in range(stop - 1, start - 1, -1):
        slots[_slot(held, index, held, slots)] = -1


@kernel
def rehash(held, n_held, slots):
    """Fill an empty table with all states held."""
    for index in range(n_held):
        slots[_slot(held, index, held, slots)] = index


@kernel
def read_classes(probabilities, start, stop, rival, p_target, p_other):
    """Read the target's probability and what it is compared with off states start .. stop - 1.

    probabilities [M, K]. Writes: p_target, p_other [M].
    """
    for i in range(start, stop):
        p = probabilities[i, rival.target]
        other = 0.0
        if rival.multilabel:
            other = 1 - p
        elif rival.contrast >= 0:
            other = probabilities[i, rival.contrast]
        else:
            for k in range(probabilities.shape[1]):
                if k != rival.target and probabilities[i, k] > other:
                    other = probabilities[i, k]
        p_target[i] = p
        p_other[i] = other * rival.odds


@kernel
def count_visits(found, masks, over, visits, smallest_end):
    """Count states [B, n] that a game looks at, -1: not seen, once each. over [B]: whether they end the game.

    Writes: visits. Returns: size of the smallest state so far that ends the game.
    """
    for b in range(len(found)):
        index = found[b]
        if index >= 0 and not visits.visited[index]:
            visits.visited[index] = True
            size = 0
            for p in range(masks.shape[1]):
                size += masks[b, p]
            visits.n_seen[size] += 1
            if over[b] and size < smallest_end:
                smallest_end = size
    return smallest_end
