"""`tree_reweighted`: propagation that counts edges by how often they are in a spanning tree, and its bound."""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.seeding import RandomState, generator
from ..._base.segments import segment_log_sums
from ...errors import ContradictionError, ConvergenceWarning, InputError
from ..field import MarkovRandomField
from . import _variational_kernels as kernels
from .beliefs import BeliefState, Decoding
from .bethe import edge_blocks
from .mean_field import mean_field
from .messages import message_offsets, pack, uniform
from .propagation import belief_propagation

MAX_SWEEPS = 1000
TOLERANCE = 1e-9
# Damped a little, sweeps that go from variable to variable settle where undamped ones may oscillate.
DAMPING = 0.2
# Spanning trees: more make the probabilities of edges more even, and the bound a little tighter.
N_TREES = 30


@dataclass(frozen=True, eq=False)
class TreeOrigin:
    """Messages of tree-reweighted propagation."""

    mrf: MarkovRandomField
    log_messages: Floats  # [sum over slots of the receivers' K] nats
    edge_probabilities: Floats  # [E] how often a tree has each edge
    probabilities: Floats  # [2E] the same by slot
    trees: tuple[Ints, ...]  # positions of the edges of each spanning forest
    converged: bool

    @cached_property
    def log_partition(self) -> float:
        """An upper bound on log Z in nats, converged or not."""
        if self.converged:
            return _bound_of_messages(self)
        return float(np.mean([belief_propagation(_tree_field(self, tree)).log_partition for tree in self.trees]))

    @cached_property
    def log_partition_bounds(self) -> tuple[float, float]:
        """Mean field from below, the trees from above."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return mean_field(self.mrf).log_partition, self.log_partition

    @cached_property
    def log_totals(self) -> Floats:
        """[sum K] log prior and all that arrives, weighted."""
        starts = message_offsets(self.mrf)
        receivers = self.mrf.slots.neighbours
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], self.mrf.n_states[receivers])
        cells = np.repeat(self.mrf.offsets[receivers], self.mrf.n_states[receivers]) + within
        totals: Floats = self.mrf.log_priors.copy()
        np.add.at(totals, cells, np.repeat(self.probabilities, self.mrf.n_states[receivers]) * self.log_messages)
        return totals

    def edge_belief(self, slot: int) -> Floats:
        """[K_sender, K_receiver] pseudo-marginal of an edge."""
        sender, receiver = self._without(int(self.mrf.slots.reverse[slot])), self._without(slot)
        joint = self.mrf.log_potential_at(slot) / self.probabilities[slot] + sender[:, None] + receiver[None, :]
        weights: Floats = np.exp(joint - joint.max())
        weights /= weights.sum()
        return weights

    def _without(self, slot: int) -> Floats:
        """[K] all that arrives where the message of a slot does, without it."""
        starts, v = message_offsets(self.mrf), int(self.mrf.slots.neighbours[slot])
        messages, states = np.arange(*starts[slot : slot + 2]), np.arange(*self.mrf.offsets[v : v + 2])
        return _cavity(self, messages, states)

    def mode(self) -> Decoding:
        """Refused."""
        raise InputError("trw gives beliefs and a bound on log Z, not a jointly most likely assignment")


def tree_reweighted(
    mrf: MarkovRandomField,
    *,
    n_trees: int = N_TREES,
    max_sweeps: int = MAX_SWEEPS,
    tolerance: float = TOLERANCE,
    damping: float = DAMPING,
    random_state: RandomState = 0,
) -> BeliefState:
    """Beliefs by tree-reweighted propagation, whose `log_partition` is an upper bound on log Z.

    Each edge counts by the probability that a random spanning tree has it. The problem behind it is convex: there
    is one solution, whatever the start. Exact on forests; with cycles beliefs are less sure than those of
    propagation. `log_partition_bounds` of the state brackets log Z, with mean field from below.

    Parameters
    ----------
    n_trees
        Spanning trees at least; as many more are drawn as it takes for each edge to be in one.
    max_sweeps, tolerance
        Sweeps after which the run stops; it has converged when a sweep changes no probability by more.
    damping
        In [0, 1): share of the old message in the new one, in logarithms.
    random_state
        Seed of the trees.

    Raises
    ------
    ContradictionError
        Exact zeros leave a variable no state.

    Warns
    -----
    ConvergenceWarning
        `max_sweeps` were not enough. The bound holds all the same: then it is that of the trees themselves.

    References
    ----------
    Wainwright, Jaakkola and Willsky, "A new class of upper bounds on the log partition function", IEEE Trans. Inf.
    Theory 51 (2005), doi:10.1109/TIT.2005.850091, theorem 1 and section IV.

    Examples
    --------
    >>> import keyplayers as kp
    >>> ring = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (2, 0)], {0: [3, 1]}, homophily=0.8)
    >>> lower, upper = kp.infer(ring, "trw").log_partition_bounds
    >>> lower < kp.exact_marginals(ring).log_partition < upper
    True
    """
    if n_trees < 1 or max_sweeps < 1 or not tolerance >= 0 or not 0 <= damping < 1:
        raise InputError(
            "n_trees and max_sweeps must be at least 1, tolerance >= 0 and damping in [0, 1), got "
            f"{n_trees}, {max_sweeps}, {tolerance} and {damping}"
        )
    trees = spanning_forests(mrf, n_trees, generator(random_state))
    by_edge = np.bincount(np.concatenate(trees), minlength=mrf.n_edges) / len(trees)
    probabilities = by_edge[_edge_of_slot(mrf)]
    packed, messages = pack(mrf, False), uniform(mrf, False)
    residuals: list[float] = []
    while len(residuals) < max_sweeps and (not residuals or residuals[-1] > tolerance):
        residuals.append(kernels.trw_sweep(packed.slots, packed.logs, probabilities, messages, damping))
        if residuals[-1] == np.inf:
            raise ContradictionError("exact zeros leave a variable no possible state; no distribution exists")
    converged = residuals[-1] <= tolerance
    if not converged:
        warnings.warn(
            f"trw did not converge in {max_sweeps} sweeps (last change {residuals[-1]:.1e}); its bound on log Z "
            "holds; try more damping",
            ConvergenceWarning,
            stacklevel=2,
        )
    origin = TreeOrigin(mrf, messages, by_edge, probabilities, trees, converged)
    norms = segment_log_sums(origin.log_totals, mrf.offsets)
    return BeliefState(
        mrf,
        origin.log_totals - np.repeat(norms, mrf.n_states),
        origin,
        "trw",
        converged,
        mrf.is_forest,
        residuals=np.array(residuals),
        damping=damping,
        tolerance=tolerance,
    )


def spanning_forests(mrf: MarkovRandomField, n_trees: int, rng: np.random.Generator) -> tuple[Ints, ...]:
    """Random spanning forests as positions of edges; each prefers edges that earlier ones left out."""
    used = np.zeros(mrf.n_edges)
    forests: list[Ints] = []
    while len(forests) < n_trees or (used == 0).any():
        forests.append(_lightest_forest(mrf, 1 + used + rng.random(mrf.n_edges)))
        used[forests[-1]] += 1
    return tuple(forests)


def _lightest_forest(mrf: MarkovRandomField, weights: Floats) -> Ints:
    """Positions of the edges of the spanning forest of least weight; weights [E] are positive."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    n = mrf.n_variables
    first, second = mrf.edges.astype(np.int64).T
    tree = minimum_spanning_tree(coo_array((weights, (first, second)), shape=(n, n)).tocsr()).tocoo()
    keys = first * n + second
    order = np.argsort(keys)
    found: Ints = order[np.searchsorted(keys, tree.row.astype(np.int64) * n + tree.col, sorter=order)]
    return found


def _edge_of_slot(mrf: MarkovRandomField) -> Ints:
    """[2E]"""
    senders = mrf.slots.neighbours[mrf.slots.reverse].astype(np.int64)
    receivers = mrf.slots.neighbours.astype(np.int64)
    low, high = np.sort(mrf.edges.astype(np.int64), axis=1).T
    keys = low * mrf.n_variables + high
    order = np.argsort(keys)
    wanted = np.minimum(senders, receivers) * mrf.n_variables + np.maximum(senders, receivers)
    edges: Ints = order[np.searchsorted(keys, wanted, sorter=order)]
    return edges


def _bound_of_messages(origin: TreeOrigin) -> float:
    """Σ_v log z_v + Σ_e ρ_e log z_e: the bound at a fixed point, where all trees agree about all beliefs."""
    mrf, totals = origin.mrf, origin.log_totals
    log_norms = segment_log_sums(totals, mrf.offsets)
    bound = float(log_norms.sum())
    for block in edge_blocks(mrf):
        own = origin.probabilities[block.slots]
        first = _cavity(origin, block.back_cells, block.first_cells) - log_norms[block.firsts][:, None]
        second = _cavity(origin, block.forth_cells, block.second_cells) - log_norms[block.seconds][:, None]
        joint = mrf.log_potentials[block.potential_cells] / own[:, None, None]
        sums = np.logaddexp.reduce((joint + first[:, :, None] + second[:, None, :]).reshape(len(own), -1), axis=1)
        bound += float(own @ sums)
    return bound


def _cavity(origin: TreeOrigin, message_cells: Ints, state_cells: Ints) -> Floats:
    totals, messages = origin.log_totals[state_cells], origin.log_messages[message_cells]
    possible = np.isfinite(totals)
    return np.where(possible, totals - np.where(possible, messages, 0.0), -np.inf)


def _tree_field(origin: TreeOrigin, tree: Ints) -> MarkovRandomField:
    """One of the trees whose mean is the field: potentials to the power of one over how often their edge is."""
    mrf = origin.mrf
    probabilities = origin.edge_probabilities
    begins = mrf.potential_offsets[mrf.potential_index[tree]]
    sizes = mrf.potential_shapes[mrf.potential_index[tree]].prod(axis=1)
    tables = [
        mrf.log_potentials[a : a + n] / probabilities[e] for a, n, e in zip(begins, sizes, tree, strict=True)
    ]
    return MarkovRandomField(
        mrf.names,
        mrf.n_states,
        mrf.log_priors,
        mrf.edges[tree],
        np.arange(len(tree), dtype=np.int32),
        mrf.potential_shapes[mrf.potential_index[tree]],
        np.concatenate([np.zeros(0), *tables]),
        mrf.state_names,
    )
