"""The probability of one state: q(s)."""

from ...._base.arrays import Floats
from ..beliefs import Beliefs
from .logistic import DERIVATIVES
from .registry import Kind, Question, register


def price(question: Question, beliefs: Beliefs) -> Floats:
    """[B] probability of the state."""
    return beliefs.probability(question.state)


def replaces_zero(question: Question, beliefs: Beliefs) -> bool:
    """It takes no logarithm."""
    return False


def derivatives(question: Question) -> Floats:
    """[6] of the logistic function."""
    return DERIVATIVES.copy()


def slope(question: Question, reach: float) -> float:
    """q(s) (1 − q(s)) at most."""
    return 0.25


register(
    Kind(
        "probability",
        unit="probability",
        quantity="probability of {}",
        price=price,
        n_states_named=1,
        replaces_zero=replaces_zero,
        derivatives=derivatives,
        slope=slope,
    )
)
