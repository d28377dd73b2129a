"""How the belief of one variable answers to changed evidence: only the messages that change are sent anew.

The messages of a converged run are the start. What a change of one variable does to the target is followed
message by message; whoever hears of it passes it on while that matters to the target, judged by the first-order
answer of the target's log-odds to each message (an adjoint, found once per target). What is too small to be passed
on is added to first order. So the work does not grow with the graph, and hardly with the number of its cycles.

References
----------
Becker and Rannacher, "An optimal control approach to a posteriori error estimation", Acta Numerica 10 (2001),
doi:10.1017/S0962492901000010 (corrections that are weighted by adjoints).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ..field import MarkovRandomField
from . import _response_kernels as kernels
from .beliefs import BeliefState
from .messages import fits_ratios
from .propagation import MessageOrigin

# A first-order answer that changes by less than this has converged; it decides what is sent, and weighs what is
# not, which is worth at most the tolerance.
_ANSWER_TOLERANCE = 1e-8
_MAX_ANSWER_SWEEPS = 2000
# A change that has sent so many messages, and each message of the field so often, is no local one: a full run is
# cheaper.
_MAX_ROUNDS = 20
_FEW_MESSAGES = 20_000


class Answer(NamedTuple):
    """What the target would believe."""

    log_odds: float  # of state 1 against state 0, in nats
    n_sent: int  # messages that were sent anew


class LocalResponse:
    """Answers of one target in a binary field without zeros in its potentials.

    Parameters
    ----------
    state
        Converged beliefs of `belief_propagation` for which `can_respond` holds.
    target
        Position of the variable that is asked about.
    """

    def __init__(self, state: BeliefState, target: int) -> None:
        mrf = state.mrf
        self._mrf, self._target = mrf, target
        tables = mrf.log_potentials.reshape(-1, 2, 2)
        self._network = kernels.Network(*mrf.slots, np.exp(tables - tables.max(axis=(1, 2), keepdims=True)))
        self._start = _start(state)
        self.converged = kernels.find_answers(
            self._network, self._start, target, _ANSWER_TOLERANCE, _MAX_ANSWER_SWEEPS
        )
        self._flow = kernels.Flow(*(array.copy() for array in self._start))
        self._changes = _no_changes(mrf)

    def after(self, priors: Mapping[int, Floats | None], tolerance: float) -> Answer | None:
        """The target's log-odds with other priors; None where a full run is cheaper, since the change reaches far.

        Parameters
        ----------
        priors
            Position of a variable to its new log-prior [2] in nats, or to None: the variable is gone.
        tolerance
            On the target's log-odds, to first order, in nats.
        """
        flow = self._flow
        try:
            for v, log_prior in priors.items():
                self._set_prior(v, log_prior)
            senders = np.array(list(priors), dtype=np.int64)
            most = max(_FEW_MESSAGES, _MAX_ROUNDS * len(flow.messages))
            n_sent = self._follow(senders, tolerance, most)
            if n_sent > most:
                return None
            effect = kernels.effect_of_unsent(self._network, flow, self._changes)
            pin = flow.pins[self._target]
            infinite = {kernels.ZERO: -np.inf, kernels.ONE: np.inf}.get(int(pin), 0.0)
            return Answer(float(flow.totals[self._target] + effect + infinite), n_sent)
        finally:
            kernels.undo(flow, self._start, self._changes)

    def _follow(self, senders: Ints, tolerance: float, most: int) -> int:
        network, flow, changes = self._network, self._flow, self._changes
        # whoever was observed and is not any more, or the other way round, responds otherwise
        n_done = kernels.correct_answers(network, flow, changes, self._target, senders, tolerance, most)
        n_done += kernels.follow(network, flow, changes, senders, tolerance, most)
        if n_done <= most:
            # whoever only heard something responds otherwise too, but by less than the tolerance minds
            touched = changes.touched[: changes.counts[0]]
            senders = touched[changes.has_sent[touched]]
            n_done += kernels.correct_answers(network, flow, changes, self._target, senders, tolerance, most)
        return int(n_done)

    def _set_prior(self, v: int, log_prior: Floats | None) -> None:
        flow = self._flow
        flow.totals[v] -= _finite(self._log_odds(v))
        if log_prior is None:
            flow.pins[v] = kernels.GONE
            return
        log_odds = float(log_prior[1] - log_prior[0])
        flow.totals[v] += _finite(log_odds)
        flow.pins[v] = _pins(np.array([log_odds]))[0]

    def _log_odds(self, v: int) -> float:
        begin = self._mrf.offsets[v]
        return float(self._mrf.log_priors[begin + 1] - self._mrf.log_priors[begin])


def can_respond(state: BeliefState) -> bool:
    """Whether `LocalResponse` can start from these beliefs."""
    origin = state.origin
    return (
        isinstance(origin, MessageOrigin)
        and state.converged
        and not state.max_product
        and state.mrf.n_edges > 0
        and fits_ratios(state.mrf)
    )


def _start(state: BeliefState) -> Any:
    mrf = state.mrf
    messages = state.origin.messages  # type: ignore[attr-defined]
    log_ratios = np.log(messages.values) if messages.ratio else np.diff(messages.values.reshape(-1, 2))[:, 0]
    log_odds = mrf.log_priors[1::2] - mrf.log_priors[::2]
    pins = _pins(log_odds)
    totals = np.where(pins == kernels.FREE, log_odds, 0.0)
    totals += np.bincount(mrf.slots.neighbours, log_ratios, mrf.n_variables)
    nothing = np.zeros(len(log_ratios))
    return kernels.Flow(log_ratios, totals, pins, nothing, nothing.copy(), np.zeros(mrf.n_variables))


def _no_changes(mrf: MarkovRandomField) -> Any:
    n = mrf.n_variables
    return kernels.Changes(
        unsent=np.zeros(2 * mrf.n_edges),
        arrived=np.zeros(n),
        weight=np.zeros(n),
        is_waiting=np.zeros(n, dtype=bool),
        waiting=np.empty(n, dtype=np.int64),
        is_touched=np.zeros(n, dtype=bool),
        touched=np.empty(n, dtype=np.int64),
        has_sent=np.zeros(n, dtype=bool),
        is_changed=np.zeros(2 * mrf.n_edges, dtype=bool),
        changed=np.empty(2 * mrf.n_edges, dtype=np.int64),
        counts=np.zeros(2, dtype=np.int64),
    )


def _pins(log_odds: Floats) -> Any:
    pins = np.full(len(log_odds), kernels.FREE, dtype=np.int64)
    pins[np.isneginf(log_odds)] = kernels.ZERO
    pins[np.isposinf(log_odds)] = kernels.ONE
    return pins


def _finite(log_odds: float) -> float:
    return log_odds if np.isfinite(log_odds) else 0.0
