"""`gibbs`: beliefs by sampling, with standard errors and a check whether chains agree."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.seeding import RandomState, child, generator, seed_sequence
from ..._base.segments import offsets_of, segment_max
from ...errors import ContradictionError, ConvergenceWarning, InputError
from ..field import MarkovRandomField
from . import _variational_kernels as kernels
from .beliefs import BeliefState, MarginalsOnly
from .mean_field import possible_assignment
from .messages import pack

N_SWEEPS = 4000
N_CHAINS = 4
# Batches of a chain: enough for a variance, and each long enough to forget the one before.
_BATCHES = 10
# Chains that agree have a ratio near 1 (Vehtari et al., 2021, advise 1.01).
_AGREED = 1.01


@dataclass(frozen=True)
class SampledOrigin(MarginalsOnly):
    """Probabilities of variables from chains."""

    std_errors: Floats  # [sum K]
    r_hat: Floats  # [N] by how much chains differ: 1 where they agree


class _Sums(NamedTuple):
    """Conditional probabilities summed by chain and batch."""

    sums: Floats  # [chains, batches, sum K]
    squares: Floats  # [chains, batches, sum K]
    length: int  # sweeps of a batch


def gibbs(
    mrf: MarkovRandomField,
    *,
    n_sweeps: int = N_SWEEPS,
    n_chains: int = N_CHAINS,
    burn_in: int | None = None,
    random_state: RandomState = None,
) -> BeliefState:
    """Beliefs as means over chains that draw every variable given its neighbours, again and again.

    Means are of conditional probabilities rather than of draws (Rao-Blackwell). `std_errors` come from means of
    batches and are never below what the chains differ by; `origin.r_hat` says for each variable whether they
    agree. The state has `converged` where all do.

    Parameters
    ----------
    n_sweeps
        Sweeps of each chain that count, at least 20.
    n_chains
        Chains, at least 2, from starts that are drawn by the priors; of the most likely assignment that was found
        where potentials have zeros. Such zeros may keep a chain from reaching all that is possible.
    burn_in
        Sweeps before, which do not count; default: a quarter of `n_sweeps`.
    random_state
        Seed.

    Raises
    ------
    ContradictionError
        No possible assignment was found.

    Warns
    -----
    ConvergenceWarning
        Chains disagree: more sweeps are needed, or the field has several modes.

    References
    ----------
    Gelfand and Smith, J. Am. Stat. Assoc. 85 (1990), doi:10.1080/01621459.1990.10476213; Vehtari, Gelman, Simpson,
    Carpenter and Bürkner, Bayesian Analysis 16 (2021), doi:10.1214/20-BA1221 (split R-hat).

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges([("a", "b")], {"a": [0.7, 0.3]}, homophily=0.9)
    >>> state = kp.infer(mrf, "gibbs", random_state=0)
    >>> state.belief("b").round(2).tolist(), bool(state.std_errors.max() < 0.02)
    ([0.66, 0.34], True)
    """
    if n_sweeps < 2 * _BATCHES or n_chains < 2 or (burn_in is not None and burn_in < 0):
        raise InputError(
            f"n_sweeps must be at least {2 * _BATCHES}, n_chains at least 2 and burn_in not negative, got "
            f"{n_sweeps}, {n_chains} and {burn_in}"
        )
    root = seed_sequence(random_state)
    length = n_sweeps // _BATCHES
    burn_in = n_sweeps // 4 if burn_in is None else burn_in
    chains = [_run(mrf, generator(child(root, c)), length, burn_in) for c in range(n_chains)]
    found = _Sums(np.array([sums for sums, _ in chains]), np.array([squares for _, squares in chains]), length)
    means = found.sums.mean(axis=(0, 1)) / length
    r_hat = _r_hat(mrf, found)
    converged = bool((r_hat < _AGREED).all())
    if not converged:
        warnings.warn(
            f"chains disagree about {int((r_hat >= _AGREED).sum())} variables (largest R-hat {r_hat.max():.3g}); "
            "try more sweeps, or another algorithm",
            ConvergenceWarning,
            stacklevel=2,
        )
    with np.errstate(divide="ignore"):
        logs = np.log(means)
    origin = SampledOrigin("gibbs", _standard_errors(found), r_hat)
    return BeliefState(mrf, logs, origin, "gibbs", converged, False)


def _run(mrf: MarkovRandomField, rng: np.random.Generator, length: int, burn_in: int) -> tuple[Floats, Floats]:
    """Sums [batches, sum K] of one chain, and sums of squares."""
    packed, states = pack(mrf, False), _start(mrf, rng)
    sums, squares = (np.zeros((_BATCHES, len(mrf.log_priors))) for _ in range(2))
    nowhere = np.zeros(len(mrf.log_priors))
    for batch, n_sweeps in enumerate([burn_in] + [length] * _BATCHES, -1):
        own = (nowhere, nowhere.copy()) if batch < 0 else (sums[batch], squares[batch])
        stuck = kernels.gibbs_sweeps(n_sweeps, rng, packed.slots, packed.logs, states, *own)
        if stuck >= 0:
            raise ContradictionError(f"variable {mrf.names[stuck]!r} has no possible state, given its neighbours")
    return sums, squares


def _start(mrf: MarkovRandomField, rng: np.random.Generator) -> Ints:
    if not np.isfinite(mrf.log_potentials).all():
        return possible_assignment(mrf).astype(np.int64)
    # the largest of log weight + Gumbel noise is drawn by the weights
    noisy = mrf.log_priors + rng.gumbel(size=len(mrf.log_priors))
    order = np.lexsort((noisy, np.repeat(np.arange(mrf.n_variables), mrf.n_states)))
    drawn: Ints = order[mrf.offsets[1:] - 1] - offsets_of(mrf.n_states)[:-1]
    return drawn.astype(np.int64)


def _standard_errors(found: _Sums) -> Floats:
    """[sum K] by means of batches, at least by means of chains."""
    means = found.sums / found.length
    n_chains, n_batches = means.shape[:2]
    chains = means.mean(axis=1)
    by_batch = ((means - chains[:, None]) ** 2).sum(axis=(0, 1)) / (n_chains * (n_batches - 1))
    by_chain = chains.var(axis=0, ddof=1) * n_batches
    errors: Floats = np.sqrt(np.maximum(by_batch, by_chain) / (n_chains * n_batches))
    return errors


def _r_hat(mrf: MarkovRandomField, found: _Sums) -> Floats:
    """[N] the largest of a variable's states: halves of chains compared with what varies within them."""
    n_halves, half = 2 * len(found.sums), _BATCHES // 2
    n = half * found.length
    sums, squares = (a.reshape(n_halves, half, -1).sum(axis=1) for a in (found.sums, found.squares))
    within = ((squares - sums**2 / n) / (n - 1)).mean(axis=0)
    between = (sums / n).var(axis=0, ddof=1)
    steady = within <= np.finfo(float).eps  # a variable that depends on nothing that moves
    ratios = np.sqrt(np.where(steady, 1.0, (n - 1) / n + between / np.where(steady, 1.0, within)))
    ratios[steady & (between > np.finfo(float).eps)] = np.inf
    return segment_max(ratios, mrf.offsets)
