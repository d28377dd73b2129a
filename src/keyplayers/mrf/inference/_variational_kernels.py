# mypy: ignore-errors
"""Kernels of tree-reweighted propagation, mean field and Gibbs sampling. Arrays only.

See trw.py, mean_field.py and gibbs.py for the callers, messages.py for the layout of fields and messages.
"""

import math

import numpy as np

from ..._base._log_kernels import log_sum_exp
from ..._base.compiled import kernel


@kernel
def trw_sweep(slots, field, weights, messages, damping):
    """Every variable sends once, with edges weighted by their appearance probabilities [2E].

    Writes: messages (logarithms, normalised). Returns the largest change of a probability of a message.
    """
    offsets, reverse, tables = slots.offsets, slots.reverse, slots.tables
    starts, n_states = field.message_offsets, field.n_states
    total, cavity = np.empty(field.width), np.empty(field.width)
    terms, fresh = np.empty(field.width), np.empty(field.width)
    largest = 0.0
    for v in range(len(n_states)):
        k = n_states[v]
        for x in range(k):
            total[x] = field.log_priors[field.offsets[v] + x]
        for slot in range(offsets[v], offsets[v + 1]):
            back = starts[reverse[slot]]
            for x in range(k):
                total[x] += weights[slot] * messages[back + x]
        for slot in range(offsets[v], offsets[v + 1]):
            back, out = starts[reverse[slot]], starts[slot]
            p, transposed = tables[slot] >> 1, tables[slot] & 1
            begin, columns = field.potential_offsets[p], field.n_columns[p]
            for x in range(k):
                # what the receiver excludes need not be excluded here: it is possible for none of its states
                cavity[x] = -np.inf if total[x] == -np.inf else total[x] - messages[back + x]
            m = starts[slot + 1] - out
            for y in range(m):
                for x in range(k):
                    cell = begin + (y * columns + x if transposed else x * columns + y)
                    terms[x] = cavity[x] + field.log_potentials[cell] / weights[slot]
                fresh[y] = log_sum_exp(terms, k)
            norm = log_sum_exp(fresh, m)
            if norm == -np.inf:
                return np.inf
            for y in range(m):
                new, old = fresh[y] - norm, messages[out + y]
                largest = max(largest, abs(math.exp(new) - math.exp(old)))
                if damping > 0.0 and new > -np.inf and old > -np.inf:
                    new = (1.0 - damping) * new + damping * old
                messages[out + y] = new
    return largest


@kernel
def mean_field_sweep(slots, field, marginals):
    """Every variable takes the distribution that fits those of its neighbours best, one after the other.

    Writes: marginals [sum K]. Returns the largest change, infinity where a variable has no possible state.
    """
    logs = np.empty(field.width)
    largest = 0.0
    for v in range(len(field.n_states)):
        k, own = field.n_states[v], field.offsets[v]
        for x in range(k):
            logs[x] = field.log_priors[own + x]
        for slot in range(slots.offsets[v], slots.offsets[v + 1]):
            u = slots.neighbours[slot]
            p, transposed = slots.tables[slot] >> 1, slots.tables[slot] & 1
            begin, columns, other = field.potential_offsets[p], field.n_columns[p], field.offsets[u]
            for y in range(field.n_states[u]):
                q = marginals[other + y]
                if q > 0.0:
                    for x in range(k):
                        cell = begin + (y * columns + x if transposed else x * columns + y)
                        logs[x] += q * field.log_potentials[cell]
        norm = log_sum_exp(logs, k)
        if norm == -np.inf:
            return np.inf
        for x in range(k):
            new = math.exp(logs[x] - norm)
            largest = max(largest, abs(new - marginals[own + x]))
            marginals[own + x] = new
    return largest


@kernel
def gibbs_sweeps(n_sweeps, rng, slots, field, states, sums, squares):
    """Draw every variable anew, given its neighbours, so many times.

    Writes: states [N]; sums and squares [sum K], to which conditional probabilities and their squares are added.
    Returns -1, or a variable without a possible state.
    """
    logs = np.empty(field.width)
    for _ in range(n_sweeps):
        for v in range(len(field.n_states)):
            k, own = field.n_states[v], field.offsets[v]
            for x in range(k):
                logs[x] = field.log_priors[own + x]
            for slot in range(slots.offsets[v], slots.offsets[v + 1]):
                y = states[slots.neighbours[slot]]
                p, transposed = slots.tables[slot] >> 1, slots.tables[slot] & 1
                begin, columns = field.potential_offsets[p], field.n_columns[p]
                for x in range(k):
                    logs[x] += field.log_potentials[begin + (y * columns + x if transposed else x * columns + y)]
            norm = log_sum_exp(logs, k)
            if norm == -np.inf:
                return v
            left, drawn = rng.random(), -1
            for x in range(k):
                probability = math.exp(logs[x] - norm)
                sums[own + x] += probability
                squares[own + x] += probability * probability
                left -= probability
                if drawn < 0 and probability > 0.0 and left < 0.0:
                    drawn = x
            # rounding may leave a little: then the last that is possible
            x = k - 1
            while drawn < 0:
                if logs[x] > -np.inf:
                    drawn = x
                x -= 1
            states[v] = drawn
    return -1
