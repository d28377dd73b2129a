"""Bounds on the derivatives of value functions: those of a worth, carried through messages."""

from math import comb

import numpy as np

from ..._base.arrays import Floats
from ...errors import InputError
from ..game.worth import Worth
from ..game.worths.logistic import DERIVATIVES


def worth_derivatives(worth: Worth) -> Floats:
    """[6] bounds on the absolute derivatives of a worth by the target's log-odds, for two states.

    Raises
    ------
    InputError
        The worth states none.
    """
    if worth.kind.derivatives is None:
        raise InputError(f"the worth {worth.name!r} has no bounds on its derivatives, which convolution needs")
    return worth.kind.derivatives(worth.question)


def message_derivatives(log_psi: Floats | None) -> Floats:
    """[6] bounds on the absolute derivatives of a message by its sender's log-odds.

    The message is the difference of two softplus functions, shifted against each other by d.
    """
    assert log_psi is not None
    d = abs(float(log_psi[1, 1] - log_psi[0, 1] - log_psi[1, 0] + log_psi[0, 0]))
    higher = np.minimum(2.0 * DERIVATIVES[:5], d * DERIVATIVES[1:])
    return np.concatenate([[np.tanh(d / 4.0)], higher])


def compose(outer: Floats, inner: Floats) -> Floats:
    """[6] bounds on the derivatives of g∘f from those of g and f (Faà di Bruno)."""
    bell = np.zeros((7, 7))  # partial Bell polynomials
    bell[0, 0] = 1.0
    for n in range(1, 7):
        for k in range(1, n + 1):
            bell[n, k] = sum(comb(n - 1, i - 1) * inner[i - 1] * bell[n - i, k - 1] for i in range(1, n - k + 2))
    composed: Floats = bell[1:, 1:] @ outer
    return composed
