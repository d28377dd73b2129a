"""Minus the cross entropy from the belief in the whole field: Σ_x b(x) log q(x), 0 at best where b is certain."""

import numpy as np

from ...._base.arrays import Floats
from ..beliefs import Beliefs
from .logistic import DERIVATIVES
from .registry import Kind, Question, register


def price(question: Question, beliefs: Beliefs) -> Floats:
    """[B] Σ_x b(x) log q(x)."""
    worths = np.zeros(len(beliefs))
    for state, share in enumerate(np.exp(question.log_belief).tolist()):
        if share > 0.0:
            worths += share * beliefs.log(state)
    return worths


def replaces_zero(question: Question, beliefs: Beliefs) -> bool:
    """Whether a state that the whole field allows is excluded somewhere."""
    return bool(beliefs.is_zero[:, ~np.isneginf(question.log_belief)].any())


def derivatives(question: Question) -> Floats:
    """[6] the first is a difference of probabilities, the others are the logistic function's, one lower."""
    return np.concatenate([[1.0], DERIVATIVES[:5]])


def slope(question: Question, reach: float) -> float:
    """A difference of two means, one by b and one by q, of what the logarithms move by."""
    return 1.0


register(
    Kind(
        "neg_cross_entropy",
        unit="nats",
        quantity="agreement with the belief in the whole field",
        price=price,
        replaces_zero=replaces_zero,
        derivatives=derivatives,
        slope=slope,
    )
)
