# mypy: ignore-errors
"""Kernels of roll-outs. Arrays only; see rollout.py."""

from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel


class Rollouts(NamedTuple):
    """Roll-outs on their way."""

    masked: np.ndarray  # [P, n] players masked at the leaf
    orders: np.ndarray  # [P, n] players that are masked next; `room` of them count
    room: np.ndarray  # [P] most players of an order
    begun: np.ndarray  # [P] cache index of the leaf's state, -1 where the budget ended before the roll-out did
    lengths: np.ndarray  # [P] actions after the leaf
    indices: np.ndarray  # [P] cache index of the last state


@kernel
def next_states(rollouts, running, position, step):
    """The states that roll-outs come to next: up to `step` each, from `position` players of their order on.

    running: roll-outs that are not over. Returns: masks [R, n].
    """
    masked, orders, room = rollouts.masked, rollouts.orders, rollouts.room
    n = masked.shape[1]
    n_rows = 0
    for p in running:
        n_rows += min(step, room[p] + 1 - position)
    states = np.zeros((n_rows, n), dtype=np.bool_)
    row = 0
    for p in running:
        for k in range(position, min(position + step, room[p] + 1)):
            for a in range(n):
                states[row, a] = masked[p, a]
            for i in range(k):
                states[row, orders[p, i]] = True
            row += 1
    return states


@kernel
def advance(rollouts, running, position, step, found, ended):
    """What became of roll-outs in the states of `next_states`, whose cache indices are `found`, -1: not seen.

    Writes: lengths, indices, begun of the roll-outs that are done. Returns: those that go on.
    """
    lengths, begun, indices = rollouts.lengths, rollouts.begun, rollouts.indices
    still = np.empty(len(running), dtype=np.int64)
    n_still = 0
    row = 0
    for p in running:
        count = min(step, rollouts.room[p] + 1 - position)
        if position == 0:
            begun[p] = found[row]
        k = 0
        while k < count and found[row + k] >= 0 and not ended[row + k]:
            k += 1
        if k < count and found[row + k] < 0:
            begun[p] = -1
        elif k < count or position + count > rollouts.room[p]:
            k = min(k, count - 1)
            lengths[p] = position + k
            indices[p] = found[row + k]
        else:
            still[n_still] = p
            n_still += 1
        row += count
    return still[:n_still]
