"""The ball around a target: its members, the subfield it induces, and how many coalitions it has."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._base.arrays import Bools, Floats, Ints
from .._base.markup import table_html
from .._base.names import Names
from .._base.segments import concatenated_ranges
from ..errors import InputError
from .field import MarkovRandomField
from .pendant import log_subtree_weights, strip_leaves

# Up to this many variables on or between cycles, bounds on the number of coalitions come from
# determinants (cubic cost); beyond it from degrees alone, which is weaker.
_MAX_DETERMINANT = 600

_LN10 = np.log(10.0)


@dataclass(frozen=True, eq=False)
class Ball:
    """The variables within some hops of a target, and the field that they induce.

    Members come nearest first; the target is at position 0. Every edge between two members stays.
    """

    field: MarkovRandomField  # n variables under their original names
    members: Ints  # [n] positions in the whole field
    distances: Ints  # [n] hops from the target
    parents: Ints  # [n] position in the ball of a neighbour one step nearer, -1 for the target
    radius: int

    @property
    def target(self) -> Hashable:
        """Name of the target."""
        return self.field.names[0]

    @cached_property
    def is_player(self) -> Bools:
        """[n-1] which of the members but the target are players: all but auxiliary variables."""
        players: Bools = self.field.real[1:]
        return players

    @property
    def players(self) -> list[Hashable]:
        """Names of all members but the target and auxiliary variables, in their order."""
        return [name for name, plays in zip(self.field.names[1:], self.is_player, strict=True) if plays]

    @property
    def n_variables(self) -> int:
        """Number of members n, the target and auxiliary variables included."""
        return self.field.n_variables

    @property
    def n_factors(self) -> int:
        """Number of members that are auxiliary variables."""
        return self.n_variables - 1 - int(self.is_player.sum())

    @property
    def n_edges(self) -> int:
        """Number of edges between members."""
        return self.field.n_edges

    @property
    def n_variables_at(self) -> list[int]:
        """How many members are 0, 1, 2, ... hops from the target; auxiliary variables are not counted."""
        counts: list[int] = np.bincount(self.distances[self.field.real]).tolist()
        return counts

    @property
    def n_cycles(self) -> int:
        """Number of independent cycles: edges beyond a spanning tree."""
        return self.n_edges - (self.n_variables - 1)

    @property
    def is_tree(self) -> bool:
        """Whether the ball has no cycle."""
        return self.n_cycles == 0

    def _repr_html_(self) -> str:
        rows = list(enumerate(self.n_variables_at))
        size = f"{self.n_variables:,} variables, {self.n_edges:,} edges"
        return table_html(f"The ball around {self.target}", ["hops", "variables"], rows, [size])

    @cached_property
    def log10_tree_coalitions(self) -> float:
        """log10 of how many coalitions one spanning tree has: all of them where the ball is a tree."""
        return _log_count(_log_subtrees(self.parents)[0])

    @cached_property
    def log10_coalition_bounds(self) -> tuple[float, float]:
        """Lower and upper bound on log10 of the number of coalitions; equal on trees, -inf where there are none.

        A coalition is a subtree that holds the target and at least one edge.

        Notes
        -----
        On a tree the number of subtrees that hang at v is N(v) = Π_children (1 + N(child)).

        With cycles, trees that dangle are taken into their root's weight w(v) = Π (1 + N(child)) exactly.
        Lower bounds: the subtrees of one spanning tree; the spanning trees of the rest. Upper bound: give each
        variable outside a coalition an extra edge to the target; coalitions become distinct spanning trees of
        the enlarged graph, which the matrix-tree theorem counts as det(I + diag(w) L), L being the Laplacian
        of the rest without the target's row and column. Hadamard's inequality makes it Π (1 + w deg).
        """
        spanning = self.log10_tree_coalitions
        if self.is_tree:
            return spanning, spanning
        slots = self.field.slots
        pendant = strip_leaves(slots.offsets, slots.neighbours, kept=0)
        core = np.flatnonzero(pendant.in_core)
        log_weights = log_subtree_weights(pendant, slots.neighbours)[core]
        trees, upper = _determinant_bounds(self.field, core, log_weights)
        return max(spanning, _log_count(trees)), _log_count(upper)

    @property
    def log10_coalitions(self) -> float | None:
        """log10 of the number of coalitions on a tree (-inf where there are none), None with cycles."""
        return self.log10_coalition_bounds[0] if self.is_tree else None

    @cached_property
    def log10_coalitions_per_player(self) -> Floats | None:
        """[n-1] log10 of how many coalitions hold each player on a tree, None with cycles."""
        if not self.is_tree:
            return None
        log_n = _log_subtrees(self.parents)
        log_count = np.empty(self.n_variables)
        log_count[0] = log_n[0]
        gain = log_n - np.logaddexp(0.0, log_n)
        for begin, end in _generations(self.parents):
            own = slice(begin, end)
            log_count[own] = log_count[self.parents[own]] + gain[own]
        counts: Floats = log_count[1:] / _LN10
        return counts


def ball(mrf: MarkovRandomField, target: Hashable, radius: int | None = 2) -> Ball:
    """The ball of `radius` hops around `target`, in time that depends on the ball only.

    Hops that leave an auxiliary variable count 0, so that all variables of one factor are one hop apart.

    Parameters
    ----------
    radius
        Hops; None for the target's whole connected component.

    Raises
    ------
    UnknownNameError
        There is no such variable.
    InputError
        `radius` is no number of hops.
    """
    if radius is None:
        radius = mrf.n_variables
    if isinstance(radius, bool) or not isinstance(radius, int | np.integer) or radius < 0:
        raise InputError(f"radius must be a number of hops (0, 1, 2, ...) or None for no limit, got {radius!r}")
    members, distances, parents = _walk(mrf, mrf.index(target), int(radius), mrf.auxiliary)
    return Ball(induce(mrf, members), members, distances, parents, int(radius))


def _walk(mrf: MarkovRandomField, start: int, radius: int, auxiliary: Bools | None) -> tuple[Ints, Ints, Ints]:
    """Breadth-first search, wave by wave: members, their distances, their parents in the search tree."""
    slots = mrf.slots
    waves: list[Ints] = [np.array([start])]
    parents: list[Ints] = [np.array([-1])]
    distances = [0]
    firsts = [0]  # position in the ball of each wave's first member
    level: list[int] = [0]  # waves of the current distance
    nearer: list[int] = []  # and of the one before

    def grow(wave: int, senders: Ints, distance: int, seen: list[int]) -> bool:
        """Make a wave of the new neighbours of some senders of a wave; only `seen` waves can hold known ones."""
        variables = waves[wave][senders]
        reach, owner = concatenated_ranges(slots.offsets[variables], slots.offsets[variables + 1])
        found, at = np.unique(slots.neighbours[reach], return_index=True)
        at = np.sort(at[~_contains(np.sort(np.concatenate([waves[w] for w in seen])), found)])
        if not at.size:
            return False
        firsts.append(firsts[-1] + len(waves[-1]))
        waves.append(slots.neighbours[reach[at]].astype(np.int64))
        parents.append(firsts[wave] + senders[owner[at]])
        distances.append(distance)
        return True

    for distance in range(radius + 1):
        if auxiliary is not None:
            for wave in level:  # the list grows meanwhile: hops out of helpers count 0
                helpers = np.flatnonzero(auxiliary[waves[wave]])
                if helpers.size and grow(wave, helpers, distance, nearer + level):
                    level.append(len(waves) - 1)
        if distance == radius or not level:
            break
        further: list[int] = []
        for wave in level:
            if grow(wave, np.arange(len(waves[wave])), distance + 1, nearer + level + further):
                further.append(len(waves) - 1)
        level, nearer = further, level
    return (
        np.concatenate(waves),
        np.repeat(distances, [len(wave) for wave in waves]),
        np.concatenate(parents),
    )


def induce(mrf: MarkovRandomField, members: Ints) -> MarkovRandomField:
    """The subfield of `members`, in their order, with every edge between two of them."""
    slots = mrf.slots
    reach, sender = concatenated_ranges(slots.offsets[members], slots.offsets[members + 1])
    order = np.argsort(members)
    at = np.searchsorted(members[order], slots.neighbours[reach])
    receiver = order[np.minimum(at, len(members) - 1)]
    inside = (members[receiver] == slots.neighbours[reach]) & (sender < receiver)
    ends = np.column_stack([sender[inside], receiver[inside]])
    tables = slots.tables[reach[inside]]
    edges = np.where((tables & 1)[:, None] == 1, ends[:, ::-1], ends)  # rows belong to the first end
    used, index = np.unique(tables >> 1, return_inverse=True)
    cells, _ = concatenated_ranges(mrf.potential_offsets[used], mrf.potential_offsets[used + 1])
    states, _ = concatenated_ranges(mrf.offsets[members], mrf.offsets[members + 1])
    state_names = mrf.state_names
    if isinstance(state_names, Mapping):
        own = {i: state_names.get(int(v)) for i, v in enumerate(members)}
        state_names = {i: names for i, names in own.items() if names is not None}
    return MarkovRandomField(
        names=Names(mrf.names[int(v)] for v in members),
        n_states=mrf.n_states[members],
        log_priors=mrf.log_priors[states],
        edges=edges.astype(np.int32),
        potential_index=index.ravel().astype(np.int32),
        potential_shapes=mrf.potential_shapes[used],
        log_potentials=mrf.log_potentials[cells],
        state_names=state_names,
        auxiliary=None if mrf.auxiliary is None else mrf.auxiliary[members],
    )


def _contains(known: Ints, candidates: Ints) -> Bools:
    """Whether each candidate stands in the sorted array `known`."""
    at = np.minimum(np.searchsorted(known, candidates), len(known) - 1)
    found: Bools = known[at] == candidates
    return found


def _generations(parents: Ints) -> list[tuple[int, int]]:
    """Segments of members none of which is the parent of another in the same segment, top down."""
    segments = []
    begin, n = 1, len(parents)
    # a segment ends at the first member whose parent lies within it
    while begin < n:
        end = begin + int(np.searchsorted(np.maximum.accumulate(parents[begin:]), begin))
        segments.append((begin, end))
        begin = end
    return segments


def _log_subtrees(parents: Ints) -> Floats:
    """[n] log N(v) of the search tree, N(v) = Π_children (1 + N(child)): subtrees that hang at v."""
    log_n = np.zeros(len(parents))
    for begin, end in reversed(_generations(parents)):
        own = slice(begin, end)
        np.add.at(log_n, parents[own], np.logaddexp(0.0, log_n[own]))
    return log_n


def _log_count(log_n: float) -> float:
    """log10(N - 1) from log N: the target alone is no coalition."""
    if log_n <= 0:
        return -np.inf
    if log_n < 34.0:  # exact while N is below 2^49
        return float(np.log10(max(np.rint(np.exp(log_n)) - 1.0, 1.0)))
    return float(log_n / _LN10)


def _determinant_bounds(field: MarkovRandomField, core: Ints, log_weights: Floats) -> tuple[float, float]:
    """log of the lower bound (spanning trees) and of the upper bound of `Ball.log10_coalition_bounds`.

    `core` holds the target first; `log_weights` [len(core)] is log w.
    """
    position = np.full(field.n_variables, -1, dtype=np.int64)
    position[core] = np.arange(len(core))
    ends = position[field.edges]
    ends = ends[(ends >= 0).all(axis=1)]
    degrees = np.bincount(ends.ravel(), minlength=len(core)).astype(np.float64)
    own = log_weights[1:]
    hadamard = float(np.logaddexp(0.0, own + np.log(degrees[1:])).sum())
    if len(core) > _MAX_DETERMINANT:
        return 0.0, hadamard + float(log_weights[0])
    inside = ends[(ends > 0).all(axis=1)] - 1  # without the target
    log_trees = _log_determinant(degrees[1:], inside) + float(log_weights.sum())
    # det(I + diag(w) L) = Π w · det(diag(1/w) + L), which no large weight spoils
    log_upper = _log_determinant(degrees[1:] + np.exp(-own), inside) + float(log_weights.sum())
    return log_trees, log_upper


def _log_determinant(diagonal: Floats, edges: Ints) -> float:
    """log det of a positive definite matrix with -1 at the edges; sparse, and on one thread whatever BLAS does."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

    n = len(diagonal)
    rows = np.concatenate([edges[:, 0], edges[:, 1], np.arange(n)])
    columns = np.concatenate([edges[:, 1], edges[:, 0], np.arange(n)])
    entries = np.concatenate([np.full(2 * len(edges), -1.0), diagonal])
    matrix = coo_array((entries, (rows, columns)), shape=(n, n)).tocsc()
    factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return float(np.log(factors.U.diagonal()).sum())
