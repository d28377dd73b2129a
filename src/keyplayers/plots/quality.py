"""How well propagation did, and whether probabilities mean what they say."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.arrays import Floats
from ..errors import InputError
from ..mrf.inference.beliefs import BeliefState
from .canvas import AGAINST, FOR, NEITHER, axes_or_new, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# standard normal quantile of a 95 % interval
_Z = 1.959963984540054


def convergence(state: BeliefState, ax: "Axes | None" = None) -> "Axes":
    """The largest change of a message in every sweep of propagation, on a logarithmic scale.

    Raises
    ------
    InputError
        The beliefs were not found in sweeps.
    """
    if not len(state.log_residuals):
        raise InputError(f"these beliefs were not found in sweeps (schedule {state.schedule!r})")
    ax = axes_or_new(ax)
    colour = FOR if state.converged else AGAINST
    sweeps = np.arange(1, len(state.log_residuals) + 1)
    ax.semilogy(sweeps, state.log_residuals, marker=".", color=colour, label=state.schedule)
    if state.tolerance > 0:
        ax.axhline(state.tolerance, linestyle="--", color=NEITHER, label="tolerance")
    ax.set_title("converged" if state.converged else "did not converge")
    ax.set_xlabel("sweep")
    ax.set_ylabel("largest change of a log ratio (nats)")
    without_frame(ax, "top", "right")
    return ax


def calibration(probabilities: Any, outcomes: Any, ax: "Axes | None" = None, *, n_bins: int = 10) -> "Axes":
    """How often what was given a probability came true; on the diagonal probabilities mean what they say.

    Parameters
    ----------
    probabilities
        [N] given to the outcome, in [0, 1].
    outcomes
        [N] whether it came true.
    n_bins
        Bins of equal width; bars are 95 % intervals (Wilson).

    Raises
    ------
    InputError
        They do not fit each other, or are none.
    """
    p, came_true = np.asarray(probabilities, dtype=np.float64), np.asarray(outcomes, dtype=bool)
    if p.ndim != 1 or p.shape != came_true.shape or not len(p) or not ((p >= 0) & (p <= 1)).all():
        raise InputError(
            f"expected probabilities [N] and outcomes [N], got shapes {p.shape} and {came_true.shape}"
        )
    ax = axes_or_new(ax, 5.2, 5.2)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    some = counts > 0
    means = np.bincount(bins, p, n_bins)[some] / counts[some]
    shares = np.bincount(bins, came_true, n_bins)[some] / counts[some]
    low, high = _wilson(shares, counts[some])
    ax.plot([0, 1], [0, 1], linestyle="--", color=NEITHER, label="calibrated")
    errors = [shares - low, high - shares]
    ax.errorbar(means, shares, yerr=errors, fmt="o-", color=FOR, capsize=2, label="observed")
    ax.set_xlabel("probability")
    ax.set_ylabel("share that came true")
    ax.set_aspect("equal")
    without_frame(ax, "top", "right")
    return ax


def _wilson(shares: Floats, counts: Any) -> tuple[Floats, Floats]:
    """Ends of the 95 % intervals of Wilson (1927), doi:10.1080/01621459.1927.10502953."""
    scale = 1 + _Z**2 / counts
    middle = (shares + _Z**2 / (2 * counts)) / scale
    half = _Z / scale * np.sqrt(shares * (1 - shares) / counts + _Z**2 / (4 * counts**2))
    return np.minimum(middle - half, shares), np.maximum(middle + half, shares)
