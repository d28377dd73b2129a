"""What a coalition is worth: a belief of the target against its belief in the whole field.

Every kernel file carries its own compiled twin of `worth_of` (a cached kernel must not call into another
file); the tests hold the twins to this one.

With b the belief in the whole field, q the belief on the coalition, both as logarithms without a floor:

=================== ====================================== ==========================
SYMMETRIC_KL        −Σ_x (b(x) − q(x)) (log b(x) − log q(x))  0 is best
NEG_CROSS_ENTROPY   Σ_x b(x) log q(x)
LOG_ODDS            log q(s) − log Σ_{x≠s} q(x)
PROBABILITY         q(s)
CONTRAST            log q(s) − log q(r)
=================== ====================================== ==========================

The logarithm of an exact zero, and only that, is replaced by `LOG_ZERO`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ..._base.arrays import Floats
from ...errors import InputError

SYMMETRIC_KL, NEG_CROSS_ENTROPY, LOG_ODDS, PROBABILITY, CONTRAST = range(5)

# stands for log 0; below the logarithm of the smallest double (-745) nothing would be left to tell apart
LOG_ZERO = -700.0

# name -> code, unit
_WORTHS = {
    "symmetric_kl": (SYMMETRIC_KL, "nats"),
    "neg_cross_entropy": (NEG_CROSS_ENTROPY, "nats"),
    "log_odds": (LOG_ODDS, "log-odds"),
    "probability": (PROBABILITY, "probability"),
}


@dataclass(frozen=True, eq=False)
class Worth:
    """A characteristic function of the target's belief."""

    name: str  # as in the signature of GraphShapley; "contrast" for a contrast
    code: int  # SYMMETRIC_KL, ...
    log_belief: Floats  # [K] log b of the target in the whole field, normalised, -inf is an exact zero
    state: int  # s; -1 where the worth concerns no single state
    rival: int  # r of a contrast, else -1
    unit: str

    @property
    def signed(self) -> bool:
        """Whether values for and against have a meaning: rank by absolute value."""
        return self.code >= LOG_ODDS


def make_worth(
    name: str,
    log_belief: Floats,
    states: Sequence[Hashable],
    *,
    state: int | None = None,
    contrast: tuple[int, int] | None = None,
) -> Worth:
    """The worth called `name`, or a contrast of two states, against the belief `log_belief`.

    Parameters
    ----------
    log_belief
        [K] nats, normalised.
    states
        [K] the names of the target's states, for messages.
    state
        Position of the state that "log_odds" and "probability" speak of; default the most believed one, ties
        to the lowest index.
    contrast
        Positions (s, r): log q(s) − log q(r) in place of `name`.

    Raises
    ------
    InputError
        No worth is called so, or there is only one state to choose from.
    """
    if name not in _WORTHS:
        raise InputError(f"worth must be one of {', '.join(_WORTHS)}, got {name!r}")
    if contrast is not None:
        first, second = contrast
        if first == second:
            raise InputError(f"a contrast needs two different states, got {states[first]!r} twice")
        return Worth("contrast", CONTRAST, log_belief, first, second, "nats")
    code, unit = _WORTHS[name]
    if code < LOG_ODDS:
        return Worth(name, code, log_belief, -1, -1, unit)
    if code == LOG_ODDS and len(states) < 2:
        raise InputError(f"the target has a single state ({states[0]!r}): there are no odds to speak of")
    return Worth(name, code, log_belief, most_believed(log_belief) if state is None else state, -1, unit)


def direction_worth(log_belief: Floats, states: Sequence[Hashable]) -> Worth:
    """The worth whose values say which way a player pulls: towards the most believed state or away from it."""
    return make_worth("log_odds" if len(states) == 2 else "probability", log_belief, states)


def most_believed(log_belief: Floats) -> int:
    """Position of the most believed state, ties to the lowest index."""
    return int(np.argmax(log_belief))


def worth_of(worth: Worth, log_beliefs: Floats) -> Floats:
    """[B] the worth of each coalition, from the target's log-beliefs [B, K] on it (nats, normalised)."""
    floored = _floor(log_beliefs)
    if worth.code == SYMMETRIC_KL:
        return _symmetric_kl(worth.log_belief, log_beliefs)
    if worth.code == NEG_CROSS_ENTROPY:
        cross: Floats = floored @ np.exp(worth.log_belief)
        return cross
    if worth.code == PROBABILITY:
        probability: Floats = np.exp(log_beliefs[:, worth.state])
        return probability
    if worth.code == CONTRAST:
        contrast: Floats = floored[:, worth.state] - floored[:, worth.rival]
        return contrast
    others = np.delete(log_beliefs, worth.state, axis=1)
    log_odds: Floats = floored[:, worth.state] - _floor(np.logaddexp.reduce(others, axis=1))
    return log_odds


def replaces_zero(worth: Worth, log_beliefs: Floats) -> bool:
    """Whether `LOG_ZERO` has to stand for the logarithm of an exact zero in the worths of log-beliefs [B, K]."""
    zero, b_zero = np.isneginf(log_beliefs), np.isneginf(worth.log_belief)
    if worth.code == SYMMETRIC_KL:
        return bool((zero != b_zero).any())
    if worth.code == NEG_CROSS_ENTROPY:
        return bool((zero & ~b_zero).any())
    if worth.code == PROBABILITY:
        return False
    if worth.code == CONTRAST:
        return bool(zero[:, [worth.state, worth.rival]].any())
    return bool(zero[:, worth.state].any() or np.delete(zero, worth.state, axis=1).all(axis=1).any())


def _symmetric_kl(log_b: Floats, log_q: Floats) -> Floats:
    """−Σ (b − q)(log b − log q): the differences b − q through expm1, so that nothing cancels near certainty."""
    log_b, log_q = np.broadcast_arrays(log_b, log_q)
    high = np.maximum(log_b, log_q)
    apart = np.abs(_floor(log_b) - _floor(log_q))
    one_is_zero = np.isneginf(np.minimum(log_b, log_q))
    with np.errstate(invalid="ignore"):
        shares = np.where(one_is_zero, 1.0, -np.expm1(-apart))
    worth: Floats = -(np.exp(high) * shares * apart).sum(axis=-1)
    return worth


def _floor(logs: Floats) -> Floats:
    floored: Floats = np.where(np.isneginf(logs), LOG_ZERO, logs)
    return floored
