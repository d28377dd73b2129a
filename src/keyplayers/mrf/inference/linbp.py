"""`linearised_propagation`: propagation to first order, a sparse linear system."""

from typing import Any, NamedTuple

import numpy as np

from ..._base.arrays import Floats
from ...errors import InputError
from ..field import MarkovRandomField
from .beliefs import BeliefState

# Scaling to rows and columns of sum 1 gains about a digit a round.
_MAX_ROUNDS = 1000
_TOLERANCE = 1e-12
# Power iteration of |M|'s bound; two digits more than a message shows.
_MAX_STEPS = 1000
_SETTLED = 1e-8
# Beliefs that first order puts at or below 0 are shown as this.
_LEAST = 1e-6


class _System(NamedTuple):
    """b = e + M b for residual beliefs."""

    matrix: Any  # sparse [N·K, N·K]
    start: Floats  # [N·K] residual priors


def linearised_propagation(mrf: MarkovRandomField, *, scale: float = 1.0) -> BeliefState:
    """Beliefs to first order in how much potentials and priors differ from uniform ones (LinBP, FaBP).

    Solves B = E + A B H - D B H² (with a potential H per edge, in general), where B, E and H are beliefs, priors
    and potentials less 1 / K. One sparse linear system, exact where all are nearly uniform, and one solution. Rows
    and columns of potentials are first scaled to sum 1; what they say of single variables goes into the priors.

    Parameters
    ----------
    scale
        H is multiplied by this (0 to 1): weaker potentials converge.

    Raises
    ------
    InputError
        State counts differ, a potential has zeros, or the iteration behind the system would not converge: the
        spectral radius of M is not below 1. The message says which scale would do.

    References
    ----------
    Gatterbauer, Günnemann, Koutra and Faloutsos, "Linearized and single-pass belief propagation", PVLDB 8 (2015),
    doi:10.14778/2735479.2735490, theorem 4 and lemma 8; Koutra et al., ECML PKDD 2011 (FaBP).

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges([("a", "b")], {"a": [0.51, 0.49]}, homophily=0.6)
    >>> kp.infer(mrf, "linbp").belief("b").round(4).tolist()
    [0.5019, 0.4981]
    """
    if not 0 <= scale <= 1:
        raise InputError(f"scale must be from 0 to 1, got {scale}")
    k = mrf.uniform_n_states
    if k is None or not np.isfinite(mrf.log_potentials).all():
        raise InputError("linbp needs as many states for all variables, and potentials without zeros")
    system = _assemble(mrf, k, scale)
    radius = _spectral_radius(system.matrix)
    if radius >= 1:
        raise InputError(
            f"linbp does not converge here: the spectral radius is {radius:.3g} and must be below 1; "
            f"scale={_scale_below(mrf, k, scale):.2g} would do"
        )
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spsolve

    solved = spsolve((eye_array(len(system.start)) - system.matrix).tocsc(), system.start)
    rows = np.maximum(np.asarray(solved).reshape(-1, k) + 1 / k, _LEAST)
    known = np.flatnonzero(mrf.observed)
    rows[known] = np.exp(mrf.log_priors.reshape(-1, k)[known])
    return BeliefState.from_marginals(mrf, rows, schedule="linbp")


def _assemble(mrf: MarkovRandomField, k: int, scale: float) -> _System:
    tables = mrf.log_potentials.reshape(-1, k, k)
    scaled = np.array([_doubly_stochastic(table) for table in tables]).reshape(-1, k, k)
    return _System(_matrix(mrf, scale * (scaled - 1 / k)), _residual_priors(mrf, tables - np.log(scaled)).ravel())


def _residual_priors(mrf: MarkovRandomField, shifts: Floats) -> Floats:
    """[N, K] priors less 1 / K, with what scaling took from the potentials: r_i + c_j in `shifts` [P, K, K]."""
    k = shifts.shape[-1]
    logs = mrf.log_priors.reshape(-1, k).copy()
    np.add.at(logs, mrf.edges[:, 0], (shifts[:, :, 0] - shifts[:, :1, 0])[mrf.potential_index])
    np.add.at(logs, mrf.edges[:, 1], (shifts[:, 0] - shifts[:, 0, :1])[mrf.potential_index])
    weights: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    priors: Floats = weights / weights.sum(axis=1, keepdims=True) - 1 / k
    return priors


def _matrix(mrf: MarkovRandomField, residual: Floats) -> Any:
    """M: A and H from neighbours, less D and H² for the echo of what was sent to them; residual is [P, K, K]."""
    from scipy.sparse import coo_array

    n, k = mrf.n_variables, residual.shape[-1]
    first, second = mrf.edges.astype(np.int64).T
    turned = residual.transpose(0, 2, 1)
    parts = (
        (residual, first, second),
        (turned, second, first),
        (-residual @ turned, first, first),
        (-turned @ residual, second, second),
    )
    matrix = coo_array((n * k, n * k)).tocsr()
    for blocks, to, source in parts:
        rows = np.broadcast_to((to[:, None] * k + np.arange(k))[:, :, None], (len(to), k, k))
        columns = np.broadcast_to((source[:, None] * k + np.arange(k))[:, None], (len(to), k, k))
        entries = blocks[mrf.potential_index].ravel()
        matrix = matrix + coo_array((entries, (rows.ravel(), columns.ravel())), shape=matrix.shape).tocsr()
    return matrix


def _doubly_stochastic(log_table: Floats) -> Floats:
    """[K, K] the table with rows and columns of sum 1 and the same odds ratios."""
    table: Floats = np.exp(log_table - log_table.max())
    for _ in range(_MAX_ROUNDS):
        table = table / table.sum(axis=1, keepdims=True)
        sums = table.sum(axis=0)
        table = table / sums
        if np.abs(sums - 1).max() < _TOLERANCE:
            break
    return table


def _spectral_radius(matrix: Any) -> float:
    """The largest absolute eigenvalue. M is symmetric, so M² has its square as the largest eigenvalue."""
    point = np.random.default_rng(0).random(matrix.shape[0])
    radius = 0.0
    for _ in range(_MAX_STEPS):
        moved = matrix @ (matrix @ point)
        size = float(np.linalg.norm(moved))
        if size == 0.0:
            return 0.0
        before, radius = radius, float(np.sqrt(size / np.linalg.norm(point)))
        point = moved / size
        if abs(radius - before) < _SETTLED * radius:
            break
    return radius


def _scale_below(mrf: MarkovRandomField, k: int, scale: float) -> float:
    """A scale whose spectral radius is below 1: the first half, quarter, ... that does."""
    while scale > np.finfo(float).tiny:
        scale /= 2
        if _spectral_radius(_assemble(mrf, k, scale).matrix) < 1:
            break
    return scale
