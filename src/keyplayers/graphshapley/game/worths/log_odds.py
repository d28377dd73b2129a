"""The log-odds of one state: log q(s) − log Σ_{x≠s} q(x). They add up on a star and do not saturate."""

import numpy as np

from ...._base.arrays import Floats
from ..beliefs import Beliefs
from .registry import Kind, Question, register


def price(question: Question, beliefs: Beliefs) -> Floats:
    """[B] log-odds of the state."""
    return beliefs.log_odds(question.state)


def replaces_zero(question: Question, beliefs: Beliefs) -> bool:
    """Whether the state is excluded somewhere, or all the others are."""
    others = np.delete(beliefs.is_zero, question.state, axis=1)
    return bool(beliefs.is_zero[:, question.state].any() or others.all(axis=1).any())


def derivatives(question: Question) -> Floats:
    """[6] the worth is its own log-odds."""
    return np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def slope(question: Question, reach: float) -> float:
    """Log-odds move by no more than the log-ratios that they are a mean of."""
    return 1.0


register(
    Kind(
        "log_odds",
        unit="log-odds",
        quantity="log-odds of {}",
        price=price,
        n_states_named=1,
        saturates=False,
        replaces_zero=replaces_zero,
        derivatives=derivatives,
        slope=slope,
    )
)
