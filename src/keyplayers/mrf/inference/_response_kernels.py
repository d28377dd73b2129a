# mypy: ignore-errors
"""Kernels that follow a change of evidence through the messages of a binary field. See response.py for the caller.

All messages and totals are log-ratios, log m(1)/m(0), in nats. A message stands in the slot of its sender.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel

# what a variable says whatever it hears: nothing special, state 0, state 1, or nothing at all (it is gone)
FREE, ZERO, ONE, GONE = 0, 1, 2, 3
# answers above this have no fixed point
DIVERGED = 1e12


class Network(NamedTuple):
    """The graph and the potentials of a binary field."""

    offsets: np.ndarray  # [N+1] where the slots of each sender begin
    neighbours: np.ndarray  # [2E] receiver of each slot
    reverse: np.ndarray  # [2E] slot of the opposite direction
    tables: np.ndarray  # [2E] 2 * potential + transposed
    weights: np.ndarray  # [P, 2, 2] entries of each potential, the largest 1


class Flow(NamedTuple):
    """Messages at one moment, and how the target's log-odds answer to each, to first order."""

    messages: np.ndarray  # [2E]
    totals: np.ndarray  # [N] log-odds of the prior (0 where it is infinite) and of all that arrives
    pins: np.ndarray  # [N] FREE, ZERO, ONE or GONE
    answers: np.ndarray  # [2E] change of the target's log-odds per change of the message
    passed: np.ndarray  # [2E] slope of the message times its answer
    heard: np.ndarray  # [N] sum of `passed` over the slots of the variable


class Changes(NamedTuple):
    """What differs from the start; empty between two questions."""

    unsent: np.ndarray  # [2E] change of a message since its receiver last sent
    arrived: np.ndarray  # [N] sum of the sizes of those changes
    weight: np.ndarray  # [N] the same, each times the size of its answer
    is_waiting: np.ndarray  # [N]
    waiting: np.ndarray  # [N] variables that may have something to pass on
    is_touched: np.ndarray  # [N]
    touched: np.ndarray  # [N] variables whose totals, pins or sums changed
    has_sent: np.ndarray  # [N]
    is_changed: np.ndarray  # [2E]
    changed: np.ndarray  # [2E] slots whose messages, slopes or answers changed
    counts: np.ndarray  # [2] how many variables were touched, how many slots changed


@kernel
def _message(network, slot, cavity, pin):
    """The log-ratio that a sender of log-odds `cavity` sends, and its slope."""
    if pin == GONE:
        return 0.0, 0.0
    w = network.weights[network.tables[slot] >> 1]
    turned = network.tables[slot] & 1
    zero, one = 1.0, 1.0
    if pin == ZERO or (pin == FREE and cavity < 0):
        one = 0.0 if pin == ZERO else math.exp(cavity)
    else:
        zero = 0.0 if pin == ONE else math.exp(-cavity)
    across_one = w[1, 0] if turned else w[0, 1]
    across_zero = w[0, 1] if turned else w[1, 0]
    to_one = across_one * zero + w[1, 1] * one
    to_zero = w[0, 0] * zero + across_zero * one
    slope = 0.0 if pin != FREE else w[1, 1] * one / to_one - across_zero * one / to_zero
    return math.log(to_one / to_zero), slope


@kernel
def find_answers(network, flow, target, tolerance, max_sweeps):
    """The fixed point of the transposed sweep. Writes: answers, passed, heard. Returns: whether it converged."""
    slopes = np.empty(len(flow.messages))
    for v in range(len(flow.totals)):
        for slot in range(network.offsets[v], network.offsets[v + 1]):
            cavity = flow.totals[v] - flow.messages[network.reverse[slot]]
            slopes[slot] = _message(network, slot, cavity, flow.pins[v])[1]
    for _ in range(max_sweeps):
        _weigh(network, flow, slopes)
        largest = 0.0
        for slot in range(len(slopes)):
            u = network.neighbours[slot]
            answer = flow.heard[u] - flow.passed[network.reverse[slot]]
            if u == target:
                answer += 1.0
            largest = max(largest, abs(answer - flow.answers[slot]))
            flow.answers[slot] = answer
        if largest <= tolerance:
            _weigh(network, flow, slopes)
            return True
        if not largest < DIVERGED:
            return False
    return False


@kernel
def _weigh(network, flow, slopes):
    """Write `passed` and `heard` that go with `answers`."""
    for v in range(len(flow.heard)):
        heard = 0.0
        for slot in range(network.offsets[v], network.offsets[v + 1]):
            flow.passed[slot] = slopes[slot] * flow.answers[slot]
            heard += flow.passed[slot]
        flow.heard[v] = heard


@kernel
def follow(network, flow, changes, senders, tolerance, max_sent):
    """Let `senders`, whose priors or pins changed, send anew, then whoever heard of it, while it matters.

    What a variable heard and has not passed on is worth its first-order effect on the target; passing it on
    corrects that by at most about the size of the change times the effect. Who together are worth less than half
    the tolerance by that measure do not send. Returns: how many messages were sent (above `max_sent`: given up).
    """
    n_waiting, n_sent = 0, 0
    for v in senders:
        n_waiting = _send(network, flow, changes, v, n_waiting)
        n_sent += network.offsets[v + 1] - network.offsets[v]
    while n_sent <= max_sent:
        left, n_waiting = _still_waiting(changes, n_waiting)
        if left <= tolerance:
            break
        least = 0.5 * tolerance / n_waiting
        for i in range(n_waiting):
            v = changes.waiting[i]
            if changes.weight[v] * changes.arrived[v] > least:
                n_waiting = _send(network, flow, changes, v, n_waiting)
                n_sent += network.offsets[v + 1] - network.offsets[v]
    for i in range(n_waiting):
        changes.is_waiting[changes.waiting[i]] = False
    return n_sent


@kernel
def _still_waiting(changes, n_waiting):
    """Drop those with nothing to pass on. Returns: what the others are worth, and how many they are."""
    left, kept = 0.0, 0
    for i in range(n_waiting):
        v = changes.waiting[i]
        if changes.weight[v] > 0.0:
            changes.waiting[kept] = v
            kept += 1
            left += changes.weight[v] * changes.arrived[v]
        else:
            changes.is_waiting[v] = False
    return left, kept


@kernel
def _send(network, flow, changes, v, n_waiting):
    """Variable v sends anew to all its neighbours. Returns: how many variables wait."""
    _touch(changes, v)
    changes.has_sent[v] = True
    changes.weight[v], changes.arrived[v] = 0.0, 0.0
    pin, total, heard = flow.pins[v], flow.totals[v], 0.0
    for slot in range(network.offsets[v], network.offsets[v + 1]):
        back = network.reverse[slot]
        _change(changes, slot)
        changes.unsent[back] = 0.0
        sent, slope = _message(network, slot, total - flow.messages[back], pin)
        flow.passed[slot] = slope * flow.answers[slot]
        heard += flow.passed[slot]
        change = sent - flow.messages[slot]
        if change == 0.0:
            continue
        u = network.neighbours[slot]
        _touch(changes, u)
        flow.messages[slot] = sent
        flow.totals[u] += change
        changes.unsent[slot] += change
        if flow.pins[u] != FREE:
            continue
        changes.arrived[u] += abs(change)
        changes.weight[u] += abs((flow.heard[u] - flow.passed[back]) * change)
        if not changes.is_waiting[u]:
            changes.is_waiting[u] = True
            changes.waiting[n_waiting] = u
            n_waiting += 1
    flow.heard[v] = heard
    return n_waiting


@kernel
def correct_answers(network, flow, changes, target, sources, tolerance, max_corrected):
    """Bring the answers up to date where variables of `sources` respond otherwise than before.

    Changes of less than the tolerance are not passed on. Returns: how many answers were looked at.
    """
    n_waiting, n_corrected = 0, 0
    for v in sources:
        _touch(changes, v)
        flow.heard[v] = 0.0
        for slot in range(network.offsets[v], network.offsets[v + 1]):
            _change(changes, slot)
            cavity = flow.totals[v] - flow.messages[network.reverse[slot]]
            flow.passed[slot] = _message(network, slot, cavity, flow.pins[v])[1] * flow.answers[slot]
            flow.heard[v] += flow.passed[slot]
        changes.is_waiting[v] = True
        changes.waiting[n_waiting] = v
        n_waiting += 1
    next_one = 0
    while next_one < n_waiting and n_corrected <= max_corrected:
        # a ring: nobody stands in it twice
        v = changes.waiting[next_one % len(changes.waiting)]
        next_one += 1
        changes.is_waiting[v] = False
        _touch(changes, v)
        for slot in range(network.offsets[v], network.offsets[v + 1]):
            back = network.reverse[slot]
            answer = flow.heard[v] - flow.passed[slot]
            if v == target:
                answer += 1.0
            if abs(answer - flow.answers[back]) <= tolerance:
                continue
            _change(changes, back)
            flow.answers[back] = answer
            u = network.neighbours[slot]
            _touch(changes, u)
            slope = _message(network, back, flow.totals[u] - flow.messages[slot], flow.pins[u])[1]
            flow.heard[u] += slope * answer - flow.passed[back]
            flow.passed[back] = slope * answer
            if not changes.is_waiting[u]:
                changes.is_waiting[u] = True
                changes.waiting[n_waiting % len(changes.waiting)] = u
                n_waiting += 1
        n_corrected += network.offsets[v + 1] - network.offsets[v]
    while next_one < n_waiting:
        changes.is_waiting[changes.waiting[next_one % len(changes.waiting)]] = False
        next_one += 1
    return n_corrected


@kernel
def effect_of_unsent(network, flow, changes):
    """What the changes that were not passed on do to the target's log-odds, to first order."""
    effect = 0.0
    for i in range(changes.counts[1]):
        slot = changes.changed[i]
        u = network.neighbours[slot]
        if flow.pins[u] == FREE:
            effect += (flow.heard[u] - flow.passed[network.reverse[slot]]) * changes.unsent[slot]
    return effect


@kernel
def _touch(changes, v):
    if not changes.is_touched[v]:
        changes.is_touched[v] = True
        changes.touched[changes.counts[0]] = v
        changes.counts[0] += 1


@kernel
def _change(changes, slot):
    if not changes.is_changed[slot]:
        changes.is_changed[slot] = True
        changes.changed[changes.counts[1]] = slot
        changes.counts[1] += 1


@kernel
def undo(flow, start, changes):
    """Bring the flow back to where it started. Writes: flow, changes."""
    for i in range(changes.counts[0]):
        v = changes.touched[i]
        flow.totals[v], flow.heard[v], flow.pins[v] = start.totals[v], start.heard[v], start.pins[v]
        changes.weight[v], changes.arrived[v] = 0.0, 0.0
        changes.is_touched[v] = changes.has_sent[v] = False
    for i in range(changes.counts[1]):
        slot = changes.changed[i]
        flow.messages[slot], flow.passed[slot] = start.messages[slot], start.passed[slot]
        flow.answers[slot] = start.answers[slot]
        changes.unsent[slot] = 0.0
        changes.is_changed[slot] = False
    changes.counts[:] = 0
