"""`exact_marginals`: beliefs without approximation, by eliminating variables and going back."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..._base.segments import concatenated_ranges, offsets_of, segment_log_sums, subtract_segment_max
from ...errors import ContradictionError, InputError, TooLargeError
from ..field import MarkovRandomField
from . import _exact_kernels as kernels
from .beliefs import BeliefState, Decoding
from .elimination import MAX_ENTRIES, Elimination, TreewidthBound, find_elimination, fixed_variables

# how many variables a message names
_SHOWN = 6


def exact_marginals(
    mrf: MarkovRandomField, *, max_entries: int = MAX_ENTRIES, max_product: bool = False
) -> BeliefState:
    """The exact marginals of all variables and edges, and the exact log-partition.

    Eliminates variable after variable in a good order and goes back along the tree of cliques. The cost is
    that of the tables on the way: linear on forests, exponential in the treewidth on graphs with cycles, where
    observed variables do not count. `treewidth_bound` tells beforehand.

    Parameters
    ----------
    mrf
        The field.
    max_entries
        How many numbers the tables may hold together (8 bytes each; the default is half a gigabyte).
    max_product
        Max-marginals (normalised) instead of marginals; the log-partition is then the log weight of the best
        assignment.

    Returns
    -------
    BeliefState
        As `belief_propagation` returns it, with schedule "exact" and without sweeps. Its `map` is a most
        likely assignment, also without `max_product`.

    Raises
    ------
    TooLargeError
        The tables would hold more than `max_entries` numbers; the message says how wide they become.
    ContradictionError
        No assignment is possible. Unlike belief propagation, this also notices contradictions on cycles.

    References
    ----------
    Lauritzen and Spiegelhalter, J. R. Stat. Soc. B 50 (1988), doi:10.1111/j.2517-6161.1988.tb01721.x; Koller
    and Friedman, *Probabilistic Graphical Models*, 2009, sections 9.3 and 10.2.

    Examples
    --------
    >>> import keyplayers as kp
    >>> ring = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (2, 0)], [[3, 1], [1, 1], [1, 1]], homophily=0.8)
    >>> kp.exact_marginals(ring).belief(1).round(4).tolist()
    [0.6974, 0.3026]
    """
    if max_entries < 1:
        raise InputError(f"max_entries must be at least 1, got {max_entries}")
    elimination = find_elimination(mrf, max_entries=max_entries)
    if isinstance(elimination, TreewidthBound):
        raise TooLargeError(_too_large(elimination, max_entries))
    calibrated = _calibrate(mrf, elimination, max_product)
    return BeliefState(
        mrf=mrf,
        log_beliefs=calibrated.log_beliefs,
        origin=CliqueOrigin(mrf, elimination, calibrated, max_product),
        schedule="exact",
        converged=True,
        exact=True,
        max_product=max_product,
    )


def solve_exactly(mrf: MarkovRandomField, elimination: Elimination) -> Ints:
    """[N] a most likely assignment."""
    return _calibrate(mrf, elimination, max_product=True).states


class _Calibrated(NamedTuple):
    """What one pass out and one back leave."""

    log_beliefs: Floats  # [sum of K] nats
    log_pairs: Floats  # [sum over edges of K_first · K_second] nats, edge after edge, rows = first end
    pair_offsets: Ints  # [E+1] where each edge's table begins
    log_partition: float  # nats
    states: Ints  # [N] best states given those eliminated later; with max-product, a mode


@dataclass(frozen=True, eq=False)
class CliqueOrigin:
    """Beliefs that come from a calibrated tree of cliques."""

    mrf: MarkovRandomField
    elimination: Elimination
    calibrated: _Calibrated
    max_product: bool

    @property
    def log_partition(self) -> float:
        """Exact log Z in nats; after max-product the log weight of the best assignment."""
        return self.calibrated.log_partition

    def edge_belief(self, slot: int) -> Floats:
        """[K_sender, K_receiver] exact belief of both ends of a directed edge."""
        edge, backwards = divmod(int(self._half_edges[slot]), 2)
        begin, end = self.calibrated.pair_offsets[edge : edge + 2]
        pair: Floats = np.exp(self.calibrated.log_pairs[begin:end])
        pair = pair.reshape(self.mrf.n_states[self.mrf.edges[edge]])
        return pair.T if backwards else pair

    def mode(self) -> Decoding:
        """A most likely assignment; ties go to the first state, variable after variable."""
        states = self.calibrated.states if self.max_product else solve_exactly(self.mrf, self.elimination)
        log_weight = self.mrf.log_weight_at(states)
        return Decoding(states, log_weight, log_weight)

    @cached_property
    def _half_edges(self) -> Ints:
        """[2E] of each slot, twice its edge, plus 1 where the second end sends."""
        half_edges: Ints = np.argsort(self.mrf.edges.ravel(), kind="stable")
        return half_edges


def _calibrate(mrf: MarkovRandomField, elimination: Elimination, max_product: bool) -> _Calibrated:
    n_states, fixed = mrf.n_states, fixed_variables(mrf)
    # a common factor of a table would cost digits of everything that is added to it
    log_potentials, potential_tops = subtract_segment_max(mrf.log_potentials, mrf.potential_offsets)
    told = _with_observed_neighbours(mrf, fixed, log_potentials)
    log_priors, prior_tops = subtract_segment_max(told, mrf.offsets)
    divided_out = float(prior_tops.sum() + potential_tops[mrf.potential_index].sum())
    pair_offsets = offsets_of(n_states[mrf.edges].prod(axis=1))
    edges = _edges_by_clique(mrf, elimination, fixed, pair_offsets)
    cliques = kernels.Cliques(
        elimination.order, elimination.clique_offsets, elimination.members, n_states, elimination.ranks
    )
    message_offsets = offsets_of(np.diff(elimination.table_offsets) // n_states[elimination.order])
    tables = kernels.Tables(
        elimination.table_offsets, np.empty(elimination.n_entries), message_offsets, np.empty(message_offsets[-1])
    )
    log_scale, failed = kernels.collect(
        cliques, edges, mrf.offsets, log_priors, log_potentials, max_product, tables
    )
    if failed >= 0:
        raise ContradictionError(_contradiction(mrf, elimination.clique(failed)))

    beliefs = kernels.Beliefs(
        mrf.offsets,
        np.empty(len(log_priors)),
        np.empty(pair_offsets[-1]),
        np.zeros(mrf.n_variables, dtype=np.int64),
    )
    kernels.distribute(cliques, edges, max_product, tables, beliefs)
    log_beliefs, log_pairs = beliefs.logs, beliefs.log_pairs
    log_beliefs -= np.repeat(segment_log_sums(log_beliefs, mrf.offsets), n_states)
    _pair_with_observed(mrf, fixed, log_beliefs, pair_offsets, log_pairs)
    log_pairs -= np.repeat(segment_log_sums(log_pairs, pair_offsets), np.diff(pair_offsets))
    return _Calibrated(log_beliefs, log_pairs, pair_offsets, log_scale + divided_out, beliefs.states)


def _edges_by_clique(
    mrf: MarkovRandomField, elimination: Elimination, fixed: Bools, pair_offsets: Ints
) -> kernels.CliqueEdges:
    free = np.flatnonzero(~fixed[mrf.edges].any(axis=1))
    ranks = elimination.ranks[mrf.edges[free]]
    owner = ranks.min(axis=1)
    by_owner = np.argsort(owner, kind="stable")
    numbers = free[by_owner]
    ends = mrf.edges[numbers]
    first_owns = ranks[by_owner, 0] < ranks[by_owner, 1]
    n_columns = mrf.n_states[ends[:, 1]].astype(np.int64)
    return kernels.CliqueEdges(
        offsets_of(np.bincount(owner, minlength=mrf.n_variables)),
        np.where(first_owns, ends[:, 1], ends[:, 0]),
        mrf.potential_offsets[mrf.potential_index[numbers]],
        np.column_stack([np.where(first_owns, n_columns, 1), np.where(first_owns, 1, n_columns)]),
        pair_offsets[numbers],
    )


def _with_observed_neighbours(mrf: MarkovRandomField, fixed: Bools, log_potentials: Floats) -> Floats:
    """Log-priors plus what observed neighbours say; between two observed variables the first end counts it.

    Raises
    ------
    ContradictionError
        A variable has no possible state left.
    """
    log_priors = mrf.log_priors.copy()
    chosen = _fixed_states(mrf, fixed)
    for own, other in ((0, 1), (1, 0)):
        told = fixed[mrf.edges[:, other]]
        if own == 1:
            told &= ~fixed[mrf.edges[:, own]]
        edges = np.flatnonzero(told)
        receiver, sender = mrf.edges[edges, own], mrf.edges[edges, other]
        counts = mrf.n_states[receiver]
        x, rows = concatenated_ranges(np.zeros_like(counts), counts)
        pair = (x, chosen[sender][rows]) if own == 0 else (chosen[sender][rows], x)
        cells = _cells(mrf, edges[rows], *pair)
        np.add.at(log_priors, mrf.offsets[receiver][rows] + x, log_potentials[cells])
    if mrf.n_variables:
        possible = np.maximum.reduceat(log_priors, mrf.offsets[:-1]) > -np.inf
        if not possible.all():
            position = int(possible.argmin())
            raise ContradictionError(
                f"variable {mrf.names[position]!r} has no possible state: its prior and its observed neighbours "
                "exclude each other; no distribution exists"
            )
    return log_priors


def _pair_with_observed(
    mrf: MarkovRandomField, fixed: Bools, log_beliefs: Floats, pair_offsets: Ints, log_pairs: Floats
) -> None:
    """Joint beliefs of edges with an observed end: the other's belief. Writes: log_pairs."""
    edges = np.flatnonzero(fixed[mrf.edges].any(axis=1))
    sizes = np.diff(pair_offsets)[edges]
    cell, owner = concatenated_ranges(np.zeros_like(sizes), sizes)
    rows = edges[owner]
    a, b = mrf.edges[rows, 0], mrf.edges[rows, 1]
    x, y = np.divmod(cell, mrf.n_states[b])
    log_pairs[pair_offsets[rows] + cell] = log_beliefs[mrf.offsets[a] + x] + log_beliefs[mrf.offsets[b] + y]


def _fixed_states(mrf: MarkovRandomField, fixed: Bools) -> Ints:
    """[N] the only possible state of each observed variable, 0 elsewhere."""
    states = np.zeros(mrf.n_variables, dtype=np.int64)
    possible = np.flatnonzero(np.isfinite(mrf.log_priors))
    owner = np.searchsorted(mrf.offsets, possible, side="right") - 1
    only = fixed[owner]
    states[owner[only]] = possible[only] - mrf.offsets[owner[only]]
    return states


def _cells(mrf: MarkovRandomField, edges: Ints, x_first: Ints, x_second: Ints) -> Ints:
    """Where in `log_potentials` edges have their entries for a state of each end."""
    table = mrf.potential_index[edges]
    cells: Ints = mrf.potential_offsets[table] + x_first * mrf.potential_shapes[table, 1] + x_second
    return cells


def _too_large(bound: TreewidthBound, max_entries: int) -> str:
    joined, least = f"over {bound.width + 1} variables", ""
    if bound.proven:
        comes_to = f"any order of elimination comes to a table {joined} or more (treewidth at least {bound.width})"
        least = "at least "
    else:
        comes_to = (
            f"eliminating one variable after the other comes to tables {joined} (treewidth {bound.width} so far)"
        )
    return (
        f"exact inference is too large: {comes_to} with {least}10^{bound.log10_table:.1f} numbers, "
        f"10^{bound.log10_entries:.1f} or more in all, where max_entries allows {max_entries:,} (8 bytes each); "
        "use belief_propagation, observe variables that cut the cycles, or raise max_entries"
    )


def _contradiction(mrf: MarkovRandomField, clique: Ints) -> str:
    names = [repr(mrf.names[int(v)]) for v in clique[::-1]]
    among = ", ".join(names[1:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    rest = f" given any states of {among}" if among else ""
    return (
        f"no assignment is possible: variable {names[0]} has no possible state{rest} (exact zeros in evidence, "
        "priors or potentials); no distribution exists"
    )
