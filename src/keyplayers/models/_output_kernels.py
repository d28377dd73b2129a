# mypy: ignore-errors
"""Kernels that look at what a model gave. Arrays only; see outputs.py."""

import numpy as np

from .._base.compiled import kernel


@kernel
def value_range(p):
    """Least and largest of what a model gave [B, K], NaN if one is, and the row whose sum is farthest from 1."""
    low, high = np.inf, -np.inf
    worst = 0
    farthest = -1.0
    for b in range(p.shape[0]):
        total = 0.0
        for k in range(p.shape[1]):
            value = p[b, k]
            if value != value:
                return value, value, b
            low = min(low, value)
            high = max(high, value)
            total += value
        if abs(total - 1) > farthest:
            farthest = abs(total - 1)
            worst = b
    return low, high, worst
