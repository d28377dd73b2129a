"""The worth of one target: a kind of worth (see `worths`) held against what is believed of the target."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._base.arrays import Floats
from ...errors import InputError
from . import worths
from .beliefs import Beliefs
from .worths import Kind, Question


@dataclass(frozen=True, eq=False)
class Worth:
    """A characteristic function of the target's belief."""

    kind: Kind
    question: Question

    @property
    def name(self) -> str:
        """As in the signature of GraphShapley; "contrast" for a contrast."""
        return self.kind.name

    @property
    def unit(self) -> str:
        """Of the worth and of values."""
        return self.kind.unit

    @property
    def log_belief(self) -> Floats:
        """[K] log-belief of the target in the whole field, normalised, -inf is an exact zero."""
        return self.question.log_belief

    @cached_property
    def believes_zero(self) -> bool:
        """Whether the whole field excludes a state."""
        return bool(np.isneginf(self.log_belief).any())

    @property
    def states(self) -> tuple[int, ...]:
        """The states it speaks of: none, one, or the two of a contrast."""
        return tuple(state for state in (self.question.state, self.question.rival) if state >= 0)

    @property
    def signed(self) -> bool:
        """Whether values for and against have a meaning."""
        return self.kind.n_states_named > 0


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
        No worth is called so, or the two states of a contrast are one.
    """
    if name not in worths.names():
        raise InputError(f"worth must be one of {', '.join(worths.names())}, got {name!r}")
    if contrast is not None:
        first, second = contrast
        if first == second:
            raise InputError(f"a contrast needs two different states, got {states[first]!r} twice")
        return Worth(worths.KINDS["contrast"], Question(log_belief, first, second))
    kind = worths.KINDS[name]
    if not kind.n_states_named:
        return Worth(kind, Question(log_belief, -1, -1))
    return Worth(kind, Question(log_belief, most_believed(log_belief) if state is None else state, -1))


def direction_worth(log_belief: Floats, states: Sequence[Hashable]) -> Worth:
    """The worth whose values say which way a player pulls: towards the most believed state or away from it."""
    return make_worth("log_odds" if len(states) == 2 else "probability", log_belief, states)


def most_believed(log_belief: Floats) -> int:
    """Position of the most believed state, ties to the lowest index."""
    return int(np.argmax(log_belief))


def price(worth: Worth, beliefs: Beliefs) -> Floats:
    """[B] the worth of each belief; NaN where all states are excluded."""
    if not beliefs.has_zeros:
        return worth.kind.price(worth.question, beliefs)
    with np.errstate(invalid="ignore", divide="ignore"):
        priced = worth.kind.price(worth.question, beliefs)
    return np.where(beliefs.impossible, np.nan, priced)


def worth_of(worth: Worth, log_beliefs: Floats) -> Floats:
    """[B] the worth of each coalition, from the target's log-beliefs [B, K] on it (nats)."""
    return price(worth, Beliefs.from_logs(log_beliefs))


def replaces_zero(worth: Worth, log_beliefs: Floats) -> bool:
    """Whether `LOG_ZERO` has to stand for the logarithm of an exact zero in the worths of log-beliefs [B, K]."""
    return meets_zero(worth, Beliefs.from_logs(log_beliefs))


def meets_zero(worth: Worth, beliefs: Beliefs) -> bool:
    """Whether the logarithm of an exact zero entered the worth of some belief."""
    if not beliefs.has_zeros and not worth.believes_zero:
        return False
    return worth.kind.replaces_zero(worth.question, beliefs)
