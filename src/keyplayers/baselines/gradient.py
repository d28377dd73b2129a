"""Gradients of a belief with respect to every prior, by implicit differentiation of the fixed point.

Messages are taken relative to their entry for state 0, in logarithms: m_s(x) − m_s(0), x > 0. A sweep of
propagation is m ← F(m, φ); at its fixed point dm = J dm + (∂F/∂φ) dφ, so one linear system with the transposed
I − J, the adjoint, answers for all priors at once.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from ..errors import ConvergenceWarning, InputError
from ..mrf.field import MarkovRandomField
from ..mrf.inference.beliefs import BeliefState
from ..mrf.inference.messages import Messages, message_offsets
from ..mrf.inference.propagation import MessageOrigin
from .fields import Asked, FieldBaseline, Found

# Residual of the adjoint, relative to its right-hand side; gradients are then right to about as many digits.
_TOLERANCE = 1e-10
# Restarts of GMRES; near a criticality of 1 the adjoint converges slowly.
_MAX_RESTARTS = 200
# A state that evidence excludes may be so much likelier without it that its gradient, as large as e to this, would
# overflow.
_LARGEST = 600.0


@dataclass(frozen=True, eq=False)
class Gradient(FieldBaseline):
    """Gradient times prior: to first order, how far the log-odds fall when a prior becomes uniform.

    The value of a player is Σ_x (∂ log-odds / ∂φ(x)) (φ(x) − 1/K), with φ scaled to sum 1 and the gradient that of
    the fixed point of belief propagation.

    Raises
    ------
    InputError
        The beliefs do not come from sum-product messages of `belief_propagation`, or a potential has exact zeros.

    Warns
    -----
    ConvergenceWarning
        The linear system for the gradients did not converge.

    References
    ----------
    Eaton and Ghahramani, "Choosing a variable to clamp", AISTATS 2009 (back-belief-propagation);
    Shrikumar, Greenside and Kundaje, ICML 2017 (gradient times input); Griewank and Walther, *Evaluating
    Derivatives*, 2008, chapter 15 (of fixed points).

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges([("a", "x"), ("b", "x")], {"a": [1, 9], "b": [2, 3]}, homophily=0.8)
    >>> ex = Gradient(mrf).explain("x")
    >>> ex.players, ex.values.round(3).tolist()
    (('a', 'b'), [1.247, 0.244])
    """

    name = "gradient"
    quantity = "gradient times prior"

    def __post_init__(self) -> None:
        if self.beliefs is not None and (
            not isinstance(self.beliefs.origin, MessageOrigin) or self.beliefs.max_product
        ):
            raise InputError(
                f"gradients need the messages of belief_propagation, got beliefs by {self.beliefs.schedule!r}"
            )
        if not np.isfinite(self.mrf.log_potentials).all():
            raise InputError("gradients need positive potentials, and some of this field have exact zeros")

    def prepare(self) -> None:
        """Linearise once, before several workers start."""
        _ = self._linear

    @cached_property
    def _linear(self) -> "Linearised":
        origin = self._state.origin
        assert isinstance(origin, MessageOrigin)
        return linearise(origin.messages.in_logs)

    def _values(self, asked: Asked) -> Found:
        best = int(self._state.belief(asked.target).argmax())
        adjoint = self._linear.adjoint(self.mrf.index(asked.target), best, self._state)
        values = []
        for player in asked.players:
            log_prior = self.mrf.log_prior(player)
            prior = np.exp(log_prior - np.logaddexp.reduce(log_prior))
            gradient = self._linear.gradient(self.mrf.index(player), adjoint)
            values.append(float(gradient @ (prior - 1.0 / len(prior))))
        return Found(np.array(values), np.zeros(len(values)), 1)


class Linearised(NamedTuple):
    """A sweep of propagation near its fixed point, over the entries of all messages (those for state 0 are 0)."""

    mrf: MarkovRandomField
    step: (
        Any  # sparse [M, D]: change of messages per change of the senders' sums, the receivers' messages included
    )
    echo: Any  # sparse [M, M]: what of it goes back to whom it came from, which does not count
    gather: Any  # sparse [D, M]: sums of the messages that each variable receives, [D] entries of all variables
    by_prior: Any  # sparse [M, D]: change of messages per change of φ, scaled to sum 1

    def adjoint(self, target: int, state: int, beliefs: BeliefState) -> Floats:
        """[M] change of the target's log-odds per change of each message's update."""
        from scipy.sparse.linalg import LinearOperator, gmres

        begin, end = self.mrf.offsets[target : target + 2]
        outside = np.zeros(self.gather.shape[0])
        others = np.exp(beliefs.log_beliefs[begin:end])
        others[state] = 0.0
        outside[begin:end] = -others / others.sum()
        outside[begin + state] = 1.0
        right = self.gather.T @ outside

        def matvec(x: Floats) -> Floats:
            moved: Floats = x - self.gather.T @ (self.step.T @ x) + self.echo.T @ x
            return moved

        n = len(right)
        system = LinearOperator((n, n), matvec=matvec, dtype=np.float64)
        found, status = gmres(system, right, rtol=_TOLERANCE, atol=0.0, maxiter=_MAX_RESTARTS)
        if status != 0:
            warnings.warn(
                "the linear system for the gradients did not converge: do not rely on them",
                ConvergenceWarning,
                stacklevel=2,
            )
        adjoint: Floats = found
        return adjoint

    def gradient(self, variable: int, adjoint: Floats) -> Floats:
        """[K] derivative of the target's log-odds with respect to φ of another variable."""
        begin, end = self.mrf.offsets[variable : variable + 2]
        gradient: Floats = self.by_prior[:, begin:end].T @ adjoint
        return gradient


def linearise(messages: Messages) -> Linearised:
    """The derivative of a sweep, from log messages at a fixed point."""
    from scipy.sparse import csc_array, csr_array

    mrf, logs = messages.mrf, messages.values
    starts, slots = message_offsets(mrf), mrf.slots
    totals = _totals(mrf, logs, starts)
    n_entries, n_states = int(starts[-1]), int(mrf.offsets[-1])
    by_sums, echoes, by_priors = [], [], []
    for slot in range(2 * mrf.n_edges):
        sender, back = int(slots.neighbours[slots.reverse[slot]]), int(slots.reverse[slot])
        begin, end = mrf.offsets[sender : sender + 2]
        heard = totals[begin:end] - logs[starts[back] : starts[back + 1]]
        by_sum, by_prior = _derivatives(mrf.log_potential_at(slot), heard, mrf.log_priors[begin:end])
        by_sums.append((int(starts[slot]), int(begin), by_sum))
        echoes.append((int(starts[slot]), int(starts[back]), by_sum))
        by_priors.append((int(starts[slot]), int(begin), by_prior))
    receivers = np.repeat(slots.neighbours, np.diff(starts))
    within = np.arange(n_entries) - np.repeat(starts[:-1], np.diff(starts))
    gather = csr_array(
        (np.ones(n_entries), (mrf.offsets[receivers] + within, np.arange(n_entries))), shape=(n_states, n_entries)
    )
    return Linearised(
        mrf,
        csr_array(_triplets(by_sums), shape=(n_entries, n_states)),
        csr_array(_triplets(echoes), shape=(n_entries, n_entries)),
        gather,
        csc_array(_triplets(by_priors), shape=(n_entries, n_states)),
    )


def _totals(mrf: MarkovRandomField, logs: Floats, starts: Ints) -> Floats:
    """[sum of K] sums of the log messages that each variable receives."""
    receivers = np.repeat(mrf.slots.neighbours, np.diff(starts))
    within = np.arange(len(logs)) - np.repeat(starts[:-1], np.diff(starts))
    totals = np.bincount(mrf.offsets[receivers] + within, logs, len(mrf.log_priors))
    return np.asarray(totals, dtype=np.float64)


def _derivatives(log_potential: Floats, heard: Floats, log_prior: Floats) -> tuple[Floats, Floats]:
    """[K_receiver, K_sender] derivatives of m(x) − m(0) by the sender's sum of messages, and by its φ."""
    prior = np.exp(log_prior - np.logaddexp.reduce(log_prior))
    relative = log_potential + (heard - np.max(heard + log_prior))[:, None]
    joint = np.exp(np.minimum(relative, _LARGEST)).T  # without φ
    by_prior: Floats = joint / (joint @ prior)[:, None]
    by_prior -= by_prior[0].copy()
    return by_prior * prior, by_prior


def _triplets(pieces: list[tuple[int, int, Floats]]) -> tuple[Floats, tuple[Ints, Ints]]:
    """Entries of blocks that begin at (row, column), for a sparse matrix."""
    blocks = pieces or [(0, 0, np.zeros((0, 0)))]
    rows = [np.repeat(np.arange(row, row + len(block)), block.shape[1]) for row, _, block in blocks]
    columns = [np.tile(np.arange(column, column + block.shape[1]), len(block)) for _, column, block in blocks]
    entries = [block.ravel() for _, _, block in blocks]
    return np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
