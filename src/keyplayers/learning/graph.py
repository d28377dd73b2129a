"""A partly labelled graph as arrays, and fields on it."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from .._base.names import Names
from ..errors import InputError
from ..mrf.build.edges import read_edges
from ..mrf.build.intake import edge_rows
from ..mrf.build.priors import PriorTable
from ..mrf.build.request import FieldRequest
from ..mrf.field import MarkovRandomField
from ..mrf.inference.beliefs import common_states
from .labels import Labels, label_codes, read_labels, states_of

# Weights of one sign fall into so many intervals of about equal size at most, ...
_MAX_INTERVALS = 3
# ... each of which holds so many edges with a labelled end at least.
_LABELLED_PER_INTERVAL = 50


class Interval(NamedTuple):
    """Edge weights from `low` to `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """Edges of one or several kinds between variables of which some are labelled."""

    names: Names  # [N]
    states: tuple[Hashable, ...]  # [K]
    labels: Ints  # [N] position of the label, -1: unknown
    ends: Ints  # [R, 2] rows as they were given
    kinds: Ints  # [R] which potential an edge has
    kind_names: tuple[Any, ...]  # [T] types, or an `Interval` of weights each; one: ("",)
    directed: bool  # whether a potential may tell the source from the target
    log_priors: Floats | None = None  # [N, K] nats, where priors were given

    @property
    def n_states(self) -> int:
        """K"""
        return len(self.states)

    @property
    def n_kinds(self) -> int:
        """T"""
        return len(self.kind_names)

    @cached_property
    def joints(self) -> "Joints":
        """Pairs of variables that edges join, each pair once."""
        return _join(self)

    def labelled(self, labels: Ints) -> "LabelledGraph":
        """The same graph with other labels [N]."""
        graph = replace(self, labels=labels)
        graph.__dict__["joints"] = self.joints
        return graph

    @cached_property
    def degrees(self) -> Ints:
        """[N] neighbours of each variable."""
        degrees: Ints = np.bincount(self.joints.edges.ravel(), minlength=len(self.names))
        return degrees

    @property
    def note_on_lonely(self) -> str | None:
        """Of labels about variables without an edge, such as misspelled ones; None where there are none."""
        lonely = np.flatnonzero((self.degrees == 0) & (self.labels >= 0))
        if not len(lonely):
            return None
        labels = (
            "1 label is about a variable" if len(lonely) == 1 else f"{len(lonely):,} labels are about variables"
        )
        return f"{labels} without an edge (first {self.names[int(lonely[0])]!r})"

    def field(self, log_potentials: Floats, levels: Ints, log_priors: Floats) -> MarkovRandomField:
        """The field with potentials [L, T, K, K] by level and kind, and priors [N, K] (both nats).

        Parameters
        ----------
        levels
            [U] which level each of `joints.edges` has.
        """
        k, joints = self.n_states, self.joints
        both = np.concatenate([log_potentials, log_potentials.swapaxes(-1, -2)], axis=1).reshape(
            -1, 2 * self.n_kinds, k * k
        )
        tables = (joints.times @ both).reshape(-1, k * k)
        return MarkovRandomField(
            self.names,
            np.full(len(self.names), k, dtype=np.int32),
            np.ascontiguousarray(log_priors).ravel(),
            joints.edges.copy(),
            (levels * len(joints.times) + joints.multiplicity).astype(np.int32),
            np.full((len(tables), 2), k, dtype=np.int32),
            tables.ravel(),
            self.states,
        )


class Joints(NamedTuple):
    """Pairs of variables; what joins a pair is a number of edges of each kind and direction."""

    edges: Ints  # [U, 2] int32, the first end has the lower position
    multiplicity: Ints  # [U] int32 row of `times`
    times: Floats  # [P, 2T] edges of each kind that go forth, and of each kind that go back


def read_graph(
    edges: Any,
    labels: Any,
    *,
    states: Sequence[Hashable] | None,
    per_type: bool,
    edge_types: Any,
    edge_weights: Any,
    directed: bool,
) -> LabelledGraph:
    """The graph that was given, with its labels.

    Raises
    ------
    InputError
        Edges or labels cannot be used.
    """
    if (per_type or edge_types is not None) and edge_weights is not None:
        raise InputError("a potential depends on the type of an edge or on its weight: give one of them")
    given = read_labels(labels)
    if isinstance(edges, MarkovRandomField):
        if edge_types is not None or edge_weights is not None:
            raise InputError("a field has potentials, no types or weights of edges: give the edges instead")
        return _of_field(edges, given, per_type=per_type, directed=directed)
    known = states_of(given, states)
    n = len(given.given)
    nothing = PriorTable(given.names, np.full(n, len(known), np.int32), np.zeros(n * len(known)), None)
    request = _request(edges, nothing, edge_weights, edge_types, typed=per_type or edge_types is not None)
    table = read_edges(request, edge_rows(request), nothing)
    codes = label_codes(given, table.names, known)
    kinds: Ints = np.zeros(len(table.ends), np.int64)
    kind_names: tuple[Any, ...] = ("",)
    if request.typed:
        kinds, kind_names = _number_types(table.types or ())
    elif table.weights is not None:
        kinds, kind_names = _number_weights(table.weights, (codes[table.ends] >= 0).any(axis=1))
    return LabelledGraph(table.names, known, codes, table.ends, kinds, kind_names, directed)


def _request(edges: Any, priors: PriorTable, weights: Any, types: Any, *, typed: bool) -> FieldRequest:
    return FieldRequest(
        edges=edges,
        priors=priors,
        log_priors=None,
        potential={} if typed else None,
        log_potential=None,
        homophily=0.5 if weights is not None else None,
        edge_weights=weights,
        edge_types=types,
        states=None,
        duplicates="merge",
        self_loops="drop",
        missing_priors="uniform",
        n_variables=None,
        names=None,
        source=None,
        target=None,
    )


def _of_field(mrf: MarkovRandomField, given: Labels, *, per_type: bool, directed: bool) -> LabelledGraph:
    states = common_states(mrf)
    if states is None or mrf.auxiliary is not None:
        raise InputError("a potential is learned where all variables have the same states and factors are of two")
    codes = label_codes(given, mrf.names, states)
    kinds: Ints = mrf.potential_index.astype(np.int64) * per_type
    kind_names: tuple[Any, ...] = tuple(range(len(mrf.potential_shapes))) if per_type else ("",)
    rows = mrf.log_priors.reshape(-1, len(states)).copy()
    rows[(codes >= 0) & mrf.observed] = 0.0  # the label itself is no prior
    told = bool((np.ptp(rows, axis=1) > 0).any())
    return LabelledGraph(mrf.names, states, codes, mrf.edges, kinds, kind_names, directed, rows if told else None)


def _number_types(types: Sequence[Hashable]) -> tuple[Ints, tuple[Any, ...]]:
    numbers: dict[Hashable, int] = {}
    kinds = np.array([numbers.setdefault(kind, len(numbers)) for kind in types], dtype=np.int64)
    return kinds, tuple(numbers)


def _number_weights(weights: Floats, labelled: Any) -> tuple[Ints, tuple[Any, ...]]:
    """Intervals of weights of one sign, cut where about as many edges lie on either side."""
    kinds = np.zeros(len(weights), dtype=np.int64)
    intervals: list[Interval] = []
    for sign in (-1.0, 0.0, 1.0):
        mine = np.flatnonzero(np.sign(weights) == sign)
        if not len(mine):
            continue
        n = int(np.clip(labelled[mine].sum() // _LABELLED_PER_INTERVAL, 1, _MAX_INTERVALS))
        cuts = np.unique(np.quantile(weights[mine], np.arange(1, n) / n))
        cuts = cuts[cuts < weights[mine].max()]
        place = np.searchsorted(cuts, weights[mine])
        for number in np.unique(place):
            own = mine[place == number]
            kinds[own] = len(intervals)
            intervals.append(Interval(float(weights[own].min()), float(weights[own].max())))
    return kinds, tuple(intervals) or ("",)


def _join(graph: LabelledGraph) -> Joints:
    n, n_kinds = len(graph.names), graph.n_kinds
    apart = graph.ends[:, 0] != graph.ends[:, 1]
    ends, kinds = graph.ends[apart].astype(np.int64), graph.kinds[apart]
    back = ends[:, 0] > ends[:, 1]
    pairs, which = np.unique(ends.min(axis=1) * n + ends.max(axis=1), return_inverse=True)
    if n_kinds == 1 and not graph.directed:  # rows that say the same twice: reciprocal ones of a directed table
        counts, index = np.array([[1.0, 0.0]]), np.zeros(len(pairs), np.int64)
    else:
        columns = kinds + n_kinds * (back & graph.directed)
        cells, times = np.unique(which.ravel() * 2 * n_kinds + columns, return_counts=True)
        rows = np.zeros((len(pairs), 2 * n_kinds))
        rows[cells // (2 * n_kinds), cells % (2 * n_kinds)] = times
        counts, index = np.unique(rows, axis=0, return_inverse=True)
    edges = np.column_stack([pairs // n, pairs % n]).astype(np.int32)
    return Joints(edges, index.ravel().astype(np.int32), counts)
