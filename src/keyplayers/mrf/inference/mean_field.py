"""`mean_field`: the best distribution without any dependence, and the bound on log Z that comes with it."""

import warnings
from dataclasses import dataclass

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.segments import offsets_of
from ...errors import ContradictionError, ConvergenceWarning, InputError, PrecisionWarning
from ..field import MarkovRandomField
from . import _variational_kernels as kernels
from .beliefs import BeliefState, Decoding
from .bethe import edge_blocks
from .messages import pack
from .propagation import belief_propagation

# Each sweep raises the bound; most fields need a few dozen.
MAX_SWEEPS = 1000
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class ProductOrigin:
    """Variables that do not depend on each other."""

    mrf: MarkovRandomField
    marginals: Floats  # [sum K]
    log_partition: float  # a lower bound, nats

    @property
    def log_partition_bounds(self) -> tuple[float, float]:
        """No more than the lower one is known."""
        return self.log_partition, np.inf

    def edge_belief(self, slot: int) -> Floats:
        """[K_sender, K_receiver] product of both ends' beliefs."""
        slots = self.mrf.slots
        ends = slots.neighbours[slots.reverse[slot]], slots.neighbours[slot]
        first, second = (self.marginals[self.mrf.offsets[v] : self.mrf.offsets[v + 1]] for v in ends)
        return np.outer(first, second)

    def mode(self) -> Decoding:
        """What propagation finds; the product knows no more."""
        return _propagated(self.mrf).decoding


def mean_field(
    mrf: MarkovRandomField, *, max_sweeps: int = MAX_SWEEPS, tolerance: float = TOLERANCE
) -> BeliefState:
    """Beliefs of the product of independent distributions that is nearest to the field, KL(q‖p).

    Its `log_partition` is a lower bound on log Z. Beliefs are often too sure, and of several near-optimal products
    one is found: the better of those reached from uniform beliefs and from those of propagation. Where potentials
    have zeros, the search starts from a possible assignment.

    Parameters
    ----------
    max_sweeps
        Sweeps after which the search stops.
    tolerance
        It has converged when a sweep changes no probability by more.

    Raises
    ------
    ContradictionError
        No possible assignment was found.

    Warns
    -----
    ConvergenceWarning
        `max_sweeps` were not enough; the bound holds all the same.

    References
    ----------
    Wainwright and Jordan, "Graphical models, exponential families, and variational inference", 2008,
    doi:10.1561/2200000001, section 5.3.

    Examples
    --------
    >>> import keyplayers as kp
    >>> ring = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (2, 0)], {0: [3, 1]}, homophily=0.6)
    >>> kp.infer(ring, "mean_field").log_partition < kp.exact_marginals(ring).log_partition
    True
    """
    if max_sweeps < 1 or not tolerance >= 0:
        raise InputError(f"max_sweeps must be at least 1 and tolerance >= 0, got {max_sweeps} and {tolerance}")
    runs = [_ascend(mrf, start, max_sweeps, tolerance) for start in _starts(mrf)]
    origin, residuals = max(runs, key=lambda run: run[0].log_partition)
    converged = bool(residuals[-1] <= tolerance)
    if not converged:
        warnings.warn(
            f"mean_field did not converge in {max_sweeps} sweeps (last change {residuals[-1]:.1e}); its bound "
            "on log Z holds",
            ConvergenceWarning,
            stacklevel=2,
        )
    with np.errstate(divide="ignore"):
        logs = np.log(origin.marginals)
    return BeliefState(
        mrf, logs, origin, "mean_field", converged, mrf.n_edges == 0, residuals=residuals, tolerance=tolerance
    )


def mean_field_bound(mrf: MarkovRandomField, marginals: Floats) -> float:
    """The lower bound on log Z of any product of distributions [sum K], in nats: expected log weight + entropy."""
    with np.errstate(divide="ignore"):
        logs = np.log(marginals)
    held = marginals > 0
    bound = float((marginals[held] * (mrf.log_priors[held] - logs[held])).sum())
    for block in edge_blocks(mrf):
        both = marginals[block.first_cells][:, :, None] * marginals[block.second_cells][:, None, :]
        tables = mrf.log_potentials[block.potential_cells]
        bound += float((both[both > 0] * tables[both > 0]).sum())
    return bound


def _ascend(
    mrf: MarkovRandomField, start: Floats, max_sweeps: int, tolerance: float
) -> tuple[ProductOrigin, Floats]:
    packed, marginals = pack(mrf, False), start.copy()
    residuals: list[float] = []
    while len(residuals) < max_sweeps and (not residuals or residuals[-1] > tolerance):
        residuals.append(kernels.mean_field_sweep(packed.slots, packed.logs, marginals))
        if residuals[-1] == np.inf:
            return ProductOrigin(mrf, marginals, -np.inf), np.array(residuals)
    return ProductOrigin(mrf, marginals, mean_field_bound(mrf, marginals)), np.array(residuals)


def _starts(mrf: MarkovRandomField) -> list[Floats]:
    uniform = np.repeat(1 / mrf.n_states, mrf.n_states)
    if np.isfinite(mrf.log_potentials).all():
        return [uniform, np.exp(_propagated(mrf).log_beliefs)]
    certain = np.zeros(len(mrf.log_priors))
    certain[offsets_of(mrf.n_states)[:-1] + possible_assignment(mrf)] = 1.0
    return [certain]


def possible_assignment(mrf: MarkovRandomField) -> Ints:
    """[N] an assignment that zeros do not exclude, as likely a one as propagation finds.

    Raises
    ------
    ContradictionError
        None was found.
    """
    decoding = _propagated(mrf).decoding
    if decoding.log_weight == -np.inf:
        raise ContradictionError("no possible assignment was found; exact_marginals tells whether there is one")
    return decoding.states


def _propagated(mrf: MarkovRandomField) -> BeliefState:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", PrecisionWarning)
        return belief_propagation(mrf)
