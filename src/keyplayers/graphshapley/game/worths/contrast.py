"""The contrast of two states: log q(s) − log q(r)."""

from ...._base.arrays import Floats
from ..beliefs import Beliefs
from .log_odds import derivatives, slope
from .registry import CONTRAST, Kind, Question, register


def price(question: Question, beliefs: Beliefs) -> Floats:
    """[B] log ratio of the two states."""
    return beliefs.log_ratio(question.state, question.rival)


def replaces_zero(question: Question, beliefs: Beliefs) -> bool:
    """Whether either state is excluded somewhere."""
    return bool(beliefs.is_zero[:, [question.state, question.rival]].any())


register(
    Kind(
        CONTRAST,
        unit="nats",
        quantity="log ratio of {} to {}",
        price=price,
        n_states_named=2,
        saturates=False,
        replaces_zero=replaces_zero,
        derivatives=derivatives,
        slope=slope,
    )
)
