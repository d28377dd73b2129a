# mypy: ignore-errors
"""Sums of numbers that are kept as logarithms. Arrays only; kernels call these."""

import math

import numpy as np

from .compiled import kernel


@kernel
def log_sum_exp(logs, n):
    """log Σ exp of the first n of `logs`; -inf where all are."""
    top = -np.inf
    for i in range(n):
        top = max(top, logs[i])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(n):
        total += math.exp(logs[i] - top)
    return top + math.log(total)
