"""The table of worths: each is registered by its own file, or from outside, and looked up when asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...._base.arrays import Floats
from ..beliefs import Beliefs


class Question(NamedTuple):
    """What beliefs on coalitions are held against."""

    log_belief: Floats  # [K] log b of the target in the whole field, normalised, -inf is an exact zero
    state: int  # the state that the worth speaks of; -1 where it concerns no single one
    rival: int  # the state it is compared with; -1 where there is none


def any_zero_differs(question: Question, beliefs: Beliefs) -> bool:
    """Whether a state is excluded on some coalition, but not in the whole field, or the other way round."""
    return bool((beliefs.is_zero != np.isneginf(question.log_belief)).any())


@dataclass(frozen=True)
class Kind:
    """A characteristic function."""

    name: str  # as users write it
    unit: str  # of its values
    quantity: str  # what it measures, in words; {} for every state it speaks of
    price: Callable[[Question, Beliefs], Floats]  # [B] worths of B beliefs
    n_states_named: int = 0  # 0: of the whole belief; 1: of one state, and its values have a sign; 2: a contrast
    saturates: bool = True  # whether it hardly moves where the belief is nearly certain
    # whether the logarithm of an exact zero entered a worth, and was replaced
    replaces_zero: Callable[[Question, Beliefs], bool] = any_zero_differs
    # [6] bounds on the absolute derivatives 1 .. 6 of the worth by the target's log-odds, for two states; without
    # them convolution cannot bound its error and leaves the game to other engines
    derivatives: Callable[[Question], Floats] | None = None
    # most that the worth moves per nat by which a belief's log-ratios move, where no log q(x) − log b(x) lies
    # farther than `reach` from another; without it nobody knows what draws have not seen
    slope: Callable[[Question, float], float] | None = None


KINDS: dict[str, Kind] = {}

# the contrast of two states has a setting of its own
CONTRAST = "contrast"


def register(kind: Kind) -> Kind:
    """Make a worth known by its name; a later one of the same name takes its place."""
    KINDS[kind.name] = kind
    return kind


def names() -> list[str]:
    """What the setting `worth` may be."""
    return sorted(set(KINDS) - {CONTRAST})
