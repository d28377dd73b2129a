"""A ball that is too large to play with, cut down to what matters most."""

import heapq
from dataclasses import dataclass, replace

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...errors import InputError
from ...mrf.balls import Ball, ball, induce
from ...mrf.field import MarkovRandomField


@dataclass(frozen=True)
class Cut:
    """What was left out of a ball."""

    n_dropped: int  # variables
    share_kept: float  # of the score by which variables were chosen


def trim(around: Ball, max_variables: int, *, n_steps: int | None = None) -> tuple[Ball, Cut | None]:
    """The ball with at most `max_variables` of its variables, the target included; None where all fit.

    Kept are the variables with the largest score, with the way to the target: the product along the way of how
    much of a change each potential lets through at most, times how much the variable's own prior says.

    Parameters
    ----------
    n_steps
        Where walks are played, the steps of the longest: the product is then summed over all such ways.

    Raises
    ------
    InputError
        Not even the target may stay.

    Notes
    -----
    A message's log-odds move by at most tanh(d/4) of what its sender's move, d being the largest log cross ratio
    of the potential; the same measure between 0 and 1 is taken of a prior, d being its range.

    References
    ----------
    Ihler, Fisher and Willsky, "Loopy belief propagation: convergence and effects of message errors", JMLR 2005,
    section 4 (the contraction of messages).
    """
    if max_variables < 1:
        raise InputError(f"max_ball must be at least 1, got {max_variables}")
    if around.n_variables <= max_variables:
        return around, None
    field = around.field
    reach, onto = strongest_ways(field)
    if n_steps is not None:
        reach = _reach_of_walks(field, n_steps)
    score = reach * (_prior_strength(field) + 1e-9)  # a variable without a prior may still pass on
    kept = _best_with_ways(score, onto, max_variables)
    inner = ball(induce(field, np.flatnonzero(kept)), around.target, None)
    within = np.flatnonzero(kept)[inner.members]
    trimmed = replace(inner, members=around.members[within], radius=around.radius)
    told = score[1:]
    return trimmed, Cut(int((~kept & field.real).sum()), float(told[kept[1:]].sum() / told.sum()))


def strongest_ways(field: MarkovRandomField) -> tuple[Floats, Ints]:
    """[n] how much of a change gets from a variable to variable 0 at most; [n] the next variable on that way."""
    slots = field.slots
    passes = np.tanh(cross_ratios(field) / 4.0)[slots.tables >> 1]
    reach = np.zeros(field.n_variables)
    onto = np.full(field.n_variables, -1)
    reach[0] = 1.0
    queue = [(-1.0, 0)]
    done = np.zeros(field.n_variables, dtype=bool)
    while queue:
        strength, v = heapq.heappop(queue)
        if done[v]:
            continue
        done[v] = True
        for slot in range(int(slots.offsets[v]), int(slots.offsets[v + 1])):
            u, through = int(slots.neighbours[slot]), -strength * float(passes[slot])
            if not done[u] and (through > reach[u] or onto[u] < 0):
                reach[u], onto[u] = through, v
                heapq.heappush(queue, (-through, u))
    return reach, onto


def _reach_of_walks(field: MarkovRandomField, n_steps: int) -> Floats:
    """[n] the same added up over all walks from variable 0 that do not come back to it."""
    slots = field.slots
    passes = np.tanh(cross_ratios(field) / 4.0)[slots.tables >> 1]
    senders = np.repeat(np.arange(field.n_variables), np.diff(slots.offsets))
    at = np.zeros(field.n_variables)
    at[0] = 1.0
    reach = np.zeros(field.n_variables)
    for _ in range(min(n_steps, field.n_variables)):
        at = np.asarray(np.bincount(slots.neighbours, passes * at[senders], field.n_variables), dtype=np.float64)
        at[0] = 0.0
        reach += at
    reach[0] = 1.0
    return reach


def cross_ratios(field: MarkovRandomField) -> Floats:
    """[P] largest log cross ratio ψ(x,y) ψ(x',y') / (ψ(x,y') ψ(x',y)) of each potential, at most 100."""
    found = np.zeros(len(field.potential_shapes))
    for p, (rows, columns) in enumerate(field.potential_shapes):
        begin = field.potential_offsets[p]
        table = np.maximum(field.log_potentials[begin : begin + rows * columns].reshape(rows, columns), -50.0)
        between_rows = table[:, None, :] - table[None, :, :]
        found[p] = (between_rows.max(axis=2) - between_rows.min(axis=2)).max()
    return np.minimum(found, 100.0)


def _prior_strength(field: MarkovRandomField) -> Floats:
    """[n] in 0 .. 1: how far each prior is from uniform."""
    logs = np.maximum(field.log_priors, -50.0)
    ranges = np.maximum.reduceat(logs, field.offsets[:-1]) - np.minimum.reduceat(logs, field.offsets[:-1])
    told: Floats = np.tanh(ranges / 4.0)
    return told


def _best_with_ways(score: Floats, onto: Ints, most: int) -> Bools:
    """[n] the variables with the largest scores and all on their ways to variable 0, at most `most`."""
    kept = np.zeros(len(score), dtype=bool)
    kept[0] = True
    n_kept = 1
    for v in np.argsort(-score, kind="stable").tolist():
        way = []
        while not kept[v]:
            way.append(v)
            v = int(onto[v])
        if n_kept + len(way) <= most:
            kept[way] = True
            n_kept += len(way)
            if n_kept == most:
                break
    return kept
