"""How far two lists of values agree, and what differences between methods are more than chance."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from .._base.arrays import Floats
from ..errors import InputError


def kendall(values: Sequence[float] | Floats, exact: Sequence[float] | Floats) -> float:
    """Kendall's tau-b of two lists of values, ties counted: 1 the same order, -1 the reverse.

    NaN where one of them is all ties. Raises `InputError` where their lengths differ or are below 2.
    """
    first, second = _pair(values, exact)
    return float(stats.kendalltau(first, second).statistic)


def top_overlap(values: Sequence[float] | Floats, exact: Sequence[float] | Floats, k: int) -> float:
    """Share of the k largest |exact| that are among the k largest |values|.

    Ties at the border count by their share: of three equal ones for two places each is two thirds in.

    Examples
    --------
    >>> top_overlap([3, 2, 1, 0], [3, 1, 2, 0], 2)
    0.5
    >>> top_overlap([3, 1, 1, 1], [3, 2, 1, 0], 2)
    0.6666666666666666
    """
    first, second = _pair(values, exact)
    if not 1 <= k <= len(first):
        raise InputError(f"k must be from 1 to {len(first)}, got {k}")
    return float(np.minimum(_membership(first, k), _membership(second, k)).sum() / k)


def paired_interval(
    first: Sequence[float] | Floats, second: Sequence[float] | Floats, *, random_state: int = 0
) -> tuple[float, float, float]:
    """Mean difference first - second over the same targets, and its 95 % bootstrap interval (BCa).

    Where the interval holds 0 the methods are not told apart.
    """
    differences = np.subtract(*_pair(first, second))
    mean = float(differences.mean())
    if np.ptp(differences) == 0:
        return mean, mean, mean
    found = stats.bootstrap((differences,), np.mean, random_state=random_state)
    return mean, float(found.confidence_interval.low), float(found.confidence_interval.high)


def _membership(values: Floats, k: int) -> Floats:
    """[n] how far each is among the k largest by size: 1, 0, or its share of what is left for ties."""
    sizes = np.abs(values)
    border = np.sort(sizes)[-k]
    above, at = sizes > border, sizes == border
    return np.asarray(above + at * (k - above.sum()) / at.sum(), dtype=np.float64)


def _pair(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> tuple[Floats, Floats]:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise InputError(f"two lists of the same length, 2 or more, are compared; got shapes {a.shape}, {b.shape}")
    return a, b
