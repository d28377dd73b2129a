"""The rival of incremental enumeration: one propagation for every worth that is asked for.

It replays the same tape of moves, so both see the same coalitions; of each it prices the coalition, its omissions
and its splits by propagating on each anew. Compiled like ours, two states by hand, others in loops.
"""

import math

import numpy as np
from numba import njit

BACK = -1


@njit
def symmetric_kl(belief, log_b, b):
    total = 0.0
    for x in range(len(log_b)):
        total += belief[x]
    worth = 0.0
    for x in range(len(log_b)):
        q = belief[x] / total
        worth -= (b[x] - q) * (log_b[x] - math.log(q))
    return worth


@njit
def propagate_binary(size, stack, parents, taken, phi, psi, gathered, gone, uniform, out):
    """Belief of the target on a coalition: up once. Members marked in `gone` send nothing."""
    for k in range(size):
        v = stack[k]
        gathered[k, 0] = 1.0 if k == uniform else phi[v, 0]
        gathered[k, 1] = 1.0 if k == uniform else phi[v, 1]
    for k in range(size - 1, 0, -1):
        if gone[k]:
            continue
        slot, p = taken[k], parents[k]
        gathered[p, 0] *= gathered[k, 0] * psi[slot, 0, 0] + gathered[k, 1] * psi[slot, 1, 0]
        gathered[p, 1] *= gathered[k, 0] * psi[slot, 0, 1] + gathered[k, 1] * psi[slot, 1, 1]
    out[0] = gathered[0, 0]
    out[1] = gathered[0, 1]


@njit
def propagate_general(size, stack, parents, taken, phi, psi, gathered, gone, uniform, out):
    n_states = phi.shape[1]
    for k in range(size):
        v = stack[k]
        for x in range(n_states):
            gathered[k, x] = 1.0 if k == uniform else phi[v, x]
    for k in range(size - 1, 0, -1):
        if gone[k]:
            continue
        slot, p = taken[k], parents[k]
        for x in range(n_states):
            message = 0.0
            for y in range(n_states):
                message += gathered[k, y] * psi[slot, y, x]
            gathered[p, x] *= message
    for x in range(n_states):
        out[x] = gathered[0, x]


def make_walk(propagate):
    @njit
    def walk(tape, neighbours, senders, phi, psi, uniform_prior, log_b, b):
        """Sums over the coalitions on the tape: of contributions and of splits per variable, and their number."""
        n = phi.shape[0]
        stack, parents, taken = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
        position = np.full(n, -1, np.int32)
        position[0] = 0
        size = 1
        gathered, out = np.zeros((n, phi.shape[1])), np.zeros(phi.shape[1])
        nobody, gone = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        sums, splits, counts = np.zeros(n), np.zeros(n), np.zeros(n)
        for i in range(len(tape)):
            move = tape[i]
            if move == BACK:
                size -= 1
                position[stack[size]] = -1
                continue
            v = neighbours[move]
            stack[size], parents[size], taken[size] = v, position[senders[move]], move
            position[v] = size
            size += 1
            propagate(size, stack, parents, taken, phi, psi, gathered, nobody, -1, out)
            worth = symmetric_kl(out, log_b, b)
            for k in range(1, size):
                for j in range(size):
                    gone[j] = j == k or (j > 0 and gone[parents[j]])
                propagate(size, stack, parents, taken, phi, psi, gathered, gone, -1, out)
                sums[stack[k]] += worth - symmetric_kl(out, log_b, b)
                counts[stack[k]] += 1.0
                if not uniform_prior[stack[k]]:
                    propagate(size, stack, parents, taken, phi, psi, gathered, nobody, k, out)
                    splits[stack[k]] += worth - symmetric_kl(out, log_b, b)
        return sums, splits, counts

    return walk


walk_binary = make_walk(propagate_binary)
walk_general = make_walk(propagate_general)
