"""The paper's worth: minus the symmetric Kullback-Leibler divergence from the belief in the whole field.

−Σ_x (b(x) − q(x)) (log b(x) − log q(x)), 0 at best. Near certainty the small probabilities carry the sum, and they
are known to full precision; what cancels in the large one is multiplied by a small difference of logarithms.
"""

import numpy as np

from ...._base.arrays import Floats
from ..beliefs import LOG_ZERO, Beliefs
from .logistic import DERIVATIVES, REACH
from .registry import Kind, Question, register


def price(question: Question, beliefs: Beliefs) -> Floats:
    """[B] −KL(b ‖ q) − KL(q ‖ b)."""
    log_b = _floored(question.log_belief)
    b = np.exp(question.log_belief)
    if beliefs.n_states == 2:
        apart = beliefs.log_ratio(1, 0) - float(log_b[1] - log_b[0])
        if question.log_belief[1] < question.log_belief[0]:
            return (float(b[1]) - beliefs.probability(1)) * apart
        return (beliefs.probability(0) - float(b[0])) * apart
    worths = np.zeros(len(beliefs))
    for state in range(beliefs.n_states):
        worths -= (b[state] - beliefs.probability(state)) * (log_b[state] - beliefs.log(state))
    return worths


def derivatives(question: Question) -> Floats:
    """[6] of −(p − q)(l − l0) by l: −(p^(k) (l − l0) + k p^(k−1)), for k = 1 with p − q in place of p^(0)."""
    log_b = _floored(question.log_belief)
    apart = abs(float(log_b[1] - log_b[0])) + REACH
    k = np.arange(2, 7)
    return np.concatenate([[DERIVATIVES[0] * apart + 1.0], DERIVATIVES[1:] * apart + k * DERIVATIVES[:5]])


def _floored(log_belief: Floats) -> Floats:
    floored: Floats = np.where(np.isneginf(log_belief), LOG_ZERO, log_belief)
    return floored


def slope(question: Question, reach: float) -> float:
    """As of the cross entropy, and a covariance by q with log b − log q: at most a quarter of both ranges."""
    return 1.0 + reach / 4.0


register(
    Kind(
        "symmetric_kl",
        unit="nats",
        quantity="agreement with the belief in the whole field",
        price=price,
        derivatives=derivatives,
        slope=slope,
    )
)
