"""Flooding belief propagation on binary variables in vectorised NumPy: the rival that needs no compiler.

Written to be hard to beat. A message is one log-odds. The two directions of an edge lie side by side at the edge's
own index, so the cavity log-odds at an end is ``total - message`` without a look-up of the reverse edge; sums over
neighbours are ``np.bincount``; a sweep goes over blocks of edges whose temporaries stay in the cache and are
written with ``out=``; the message function costs one ``exp`` and one ``log``.

As safe as a library has to be:

- sums of log-odds neither overflow nor underflow at a variable with any number of neighbours;
- evidence (a prior with a zero) makes a variable's total infinite, which a positive potential maps to a finite
  message: the exponent is clipped, where clipping changes nothing in double precision;
- potentials with zeros, or so extreme that clipping would show, take the general path: infinite messages are
  counted apart from the sum of the finite ones, and the message function is made of ``logaddexp``;
- every edge names its potential through a type;
- every sweep returns the largest undamped change of a message, in log-odds.
"""

from dataclasses import dataclass

import numpy as np

BLOCK = 16_384  # edges a block: its seven temporaries fill a second-level cache of 1 MiB
MAX_EXPONENT = (
    350.0  # cavity log-odds beyond it change no message, while MAX_LOG_RANGE holds: exp(300 - 350) is 2e-22
)
MAX_LOG_RANGE = 300.0  # largest log-ratio of two entries of a potential on the fast path; exp(300 + 350) is finite


@dataclass(frozen=True, eq=False)
class NumpyField:
    """A binary field as the sweeps want it, edges ordered by their first end."""

    tails: np.ndarray  # [E] intp, first end of every edge, ascending
    heads: np.ndarray  # [E] intp, second end
    types: np.ndarray  # [E] intp, row of `log_potentials`
    log_potentials: np.ndarray  # [T, 2, 2] nats, largest entry of each 0
    log_odds: np.ndarray  # [N] of the priors, infinite where observed
    positive: bool  # every potential fits the fast path


def build(edges, priors, potentials, types):
    """Order the edges and take logarithms.

    Parameters
    ----------
    edges : int [E, 2]
    priors : float [N, 2]
    potentials : float [T, 2, 2]
    types : int [E], the potential of every edge
    """
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    with np.errstate(divide="ignore"):
        log_odds = np.log(priors[:, 1]) - np.log(priors[:, 0])
        log_potentials = np.log(potentials / potentials.max(axis=(1, 2), keepdims=True))
    return NumpyField(
        tails=np.ascontiguousarray(edges[order, 0], dtype=np.intp),
        heads=np.ascontiguousarray(edges[order, 1], dtype=np.intp),
        types=np.ascontiguousarray(types[order], dtype=np.intp),
        log_potentials=log_potentials,
        log_odds=log_odds,
        positive=bool(log_potentials.min() > -MAX_LOG_RANGE),
    )


def propagate(field, n_sweeps, *, general=False):
    """Beliefs [N, 2] after flooding sweeps from uniform messages, and the residual of every sweep (log-odds).

    `general` forces the path that allows zeros everywhere.
    """
    messages = np.zeros((2, len(field.tails)))  # row 0: tail to head, row 1: head to tail
    sweep = _general_sweep if general or not field.positive else _positive_sweep
    with np.errstate(all="ignore"):
        residuals = np.array([sweep(field, messages) for _ in range(n_sweeps)])
        log_odds = _infinite_where_counted(*_counted_totals(field, messages))
        return np.stack([1 / (1 + np.exp(log_odds)), 1 / (1 + np.exp(-log_odds))], axis=1), residuals


def _positive_sweep(field, messages):
    """One sweep where every message is finite. Writes: messages [2, E]."""
    n = len(field.log_odds)
    totals = field.log_odds + np.bincount(field.heads, messages[0], n) + np.bincount(field.tails, messages[1], n)
    ratios = np.exp(field.log_potentials - field.log_potentials[:, :1, :1])  # entry (0, 0) becomes 1
    buffers = np.empty((7, BLOCK))
    shared = len(ratios) == 1
    residual = 0.0
    for start in range(0, len(field.tails), BLOCK):
        block = slice(start, start + BLOCK)
        forth, back = messages[0, block], messages[1, block]
        p01, p10, p11, at_tail, at_head, x, y = buffers[:, : len(forth)]
        for a, b, out in ((0, 1, p01), (1, 0, p10), (1, 1, p11)):
            if not shared:
                np.take(ratios[:, a, b], field.types[block], out=out, mode="clip")
            elif start == 0:
                out[:] = ratios[0, a, b]
        np.take(totals, field.tails[block], out=at_tail, mode="clip")
        np.take(totals, field.heads[block], out=at_head, mode="clip")
        at_tail -= back
        at_head -= forth
        for message, cavity, sender_0, sender_1 in ((forth, at_tail, p01, p10), (back, at_head, p10, p01)):
            np.clip(cavity, -MAX_EXPONENT, MAX_EXPONENT, out=cavity)
            np.exp(cavity, out=cavity)
            np.multiply(cavity, p11, out=x)
            x += sender_0  # weight of state 1 at the receiver
            np.multiply(cavity, sender_1, out=y)
            y += 1.0  # weight of state 0
            x /= y
            np.log(x, out=x)
            np.subtract(x, message, out=y)
            residual = max(residual, y.max(), -y.min())
            message[:] = x
    return residual


def _general_sweep(field, messages):
    """One sweep where messages may be infinite. Writes: messages [2, E]."""
    totals, plus, minus = _counted_totals(field, messages)
    log_p = field.log_potentials[field.types]
    residual = 0.0
    updates = []
    for ends, incoming, psi in (
        (field.tails, messages[1], log_p),
        (field.heads, messages[0], log_p.swapaxes(1, 2)),
    ):
        cavity = _infinite_where_counted(
            totals[ends] - np.where(np.isfinite(incoming), incoming, 0.0),
            plus[ends] - (incoming == np.inf),
            minus[ends] - (incoming == -np.inf),
        )
        # Only the difference of the two weights counts, so the state that the sender rules out weighs exp(-inf).
        weight_0, weight_1 = np.where(cavity > 0, -cavity, 0.0), np.where(cavity > 0, 0.0, cavity)
        updates.append(
            np.logaddexp(psi[:, 0, 1] + weight_0, psi[:, 1, 1] + weight_1)
            - np.logaddexp(psi[:, 0, 0] + weight_0, psi[:, 1, 0] + weight_1)
        )
    for message, update in zip(messages, updates, strict=True):
        change = np.where(update == message, 0.0, np.abs(update - message))
        residual = max(residual, change.max(initial=0.0))
        message[:] = update
    return residual


def _counted_totals(field, messages):
    """Sum of the finite log-odds at every variable, and how many +inf and -inf come with it."""
    n = len(field.log_odds)
    ends = (field.heads, field.tails)
    finite = np.where(np.isfinite(messages), messages, 0.0)
    totals = np.where(np.isfinite(field.log_odds), field.log_odds, 0.0)
    totals = totals + sum(np.bincount(end, message, n) for end, message in zip(ends, finite, strict=True))
    plus, minus = (
        (field.log_odds == sign)
        + sum(np.bincount(end[messages[i] == sign], minlength=n) for i, end in enumerate(ends))
        for sign in (np.inf, -np.inf)
    )
    return totals, plus, minus


def _infinite_where_counted(totals, plus, minus):
    """Log-odds with infinities put back: NaN where evidence contradicts itself."""
    totals = np.where(plus > 0, np.inf, totals)
    return np.where(minus > 0, np.where(plus > 0, np.nan, -np.inf), totals)
