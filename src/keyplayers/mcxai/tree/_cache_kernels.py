# mypy: ignore-errors
"""Kernel of playouts along remembered states. Arrays only; see from_cache.py."""

from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel


class KnownStates(NamedTuple):
    """States that a game has looked at."""

    codes: np.ndarray  # [M] rising
    p_target: np.ndarray  # [M]
    ended: np.ndarray  # [M]
    p_start: float  # P(y) at the start
    sign: int  # direction of the game


class Walk(NamedTuple):
    """Where random orders of the players go on."""

    codes: np.ndarray  # [n] the players' codes
    pool: np.ndarray  # [n] an order of the players
    places: np.ndarray  # [n] place of each in it
    first_moves: np.ndarray  # [n] players that are masked first, in turn


class Sums(NamedTuple):
    """What was seen of each player [n]."""

    changes: np.ndarray  # sum of the changes of P, in the direction of the game, as the player was masked
    counts: np.ndarray  # how many these are


@kernel
def follow_known_states(known, walk, begin, draws, sums):
    """Play out along remembered states: the first moves in turn first, then others at random, while known.

    draws [R, L] uniform, a row per playout, the first of which is number `begin`. Writes: walk, sums.
    """
    codes, pool, places, first_moves = walk
    n = len(codes)
    for r in range(draws.shape[0]):
        code = np.int64(0)
        p = known.p_start
        for step in range(draws.shape[1]):
            # the next player of a random order: swapped in from those that are left
            swap = step + int(draws[r, step] * (n - step))
            if step == 0:
                swap = places[first_moves[(begin + r) % n]]
            player = pool[swap]
            pool[swap] = pool[step]
            pool[step] = player
            places[pool[swap]] = swap
            places[player] = step
            code += codes[player]
            at = _find(known.codes, code)
            if at < 0:
                break
            sums.changes[player] += known.sign * (p - known.p_target[at])
            sums.counts[player] += 1
            p = known.p_target[at]
            if known.ended[at]:
                break


@kernel
def _find(codes, code):
    """Place of a code in a sorted list, -1 where it does not stand there."""
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low if low < len(codes) and codes[low] == code else -1
