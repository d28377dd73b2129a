"""In which order to eliminate the variables of a field, and how large the tables become."""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..._base.segments import offsets_of
from ..field import MarkovRandomField, index_slots
from ..pendant import strip_leaves

# numbers that tables may hold together where the caller does not say: half a gigabyte
MAX_ENTRIES = 2**26
# numbers in all tables of a min-fill order up to which no other order is tried: adding them up takes less time
# than another search
_SMALL = 2**14
_LOG_2, _LOG_10 = math.log(2), math.log(10)


class TreewidthBound(NamedTuple):
    """How hard exact inference is on a field, as far as the best order found shows."""

    width: int  # variables in the largest table, less one: at least the treewidth unless `exceeded`
    log10_table: float  # of how many numbers the largest table holds
    log10_entries: float  # of how many numbers all tables hold together
    exceeded: bool  # more than allowed: the search stopped here, and the rest may well be larger
    proven: bool = False  # no order has a smaller width or a smaller largest table than these


@dataclass(frozen=True, eq=False)
class Elimination:
    """An order of elimination with the cliques that it makes.

    Variables that are observed stand alone: what they say of their neighbours is part of the neighbours'
    priors.
    """

    order: Ints  # [N] positions, first eliminated first
    ranks: Ints  # [N] place of each variable in `order`
    clique_offsets: Ints  # [N+1] members of the i-th clique: clique_offsets[i] .. clique_offsets[i+1]
    members: Ints  # positions, in every clique the latest eliminated first and the variable itself last
    table_offsets: Ints  # [N+1] where the cliques' tables begin
    bound: TreewidthBound

    @property
    def n_entries(self) -> int:
        """How many numbers the tables hold together."""
        return int(self.table_offsets[-1])

    def clique(self, i: int) -> Ints:
        """Members of the i-th clique: the latest eliminated first, the variable itself last."""
        return self.members[self.clique_offsets[i] : self.clique_offsets[i + 1]]


def treewidth_bound(mrf: MarkovRandomField, *, max_entries: int = MAX_ENTRIES) -> TreewidthBound:
    """How wide a good elimination order of the field is, without computing anything on it.

    Observed variables cut the graph and do not count.

    Parameters
    ----------
    mrf
        The field.
    max_entries
        How many numbers the tables may hold together. The search stops beyond, so a smaller limit is quicker.

    Returns
    -------
    TreewidthBound
        The order's width (1 on a tree), log10 of how many numbers its largest table and all its tables hold,
        and whether that exceeds `max_entries`. Where part of the graph is so dense that no order can do, none
        is sought: `proven` is set, and the numbers are lower bounds.

    References
    ----------
    Koller and Friedman, *Probabilistic Graphical Models*, 2009, section 9.4 (min-fill, weighted min-fill,
    min-weight); Bodlaender and Koster,
    "Treewidth computations II. Lower bounds", Information and Computation 209 (2011), section 4.1 (degeneracy),
    doi:10.1016/j.ic.2011.04.003.
    """
    found = find_elimination(mrf, max_entries=max_entries)
    return found if isinstance(found, TreewidthBound) else found.bound


def fixed_variables(mrf: MarkovRandomField) -> Bools:
    """[N] whether a variable has one possible state only."""
    if not mrf.n_variables:
        return np.zeros(0, dtype=bool)
    possible = np.add.reduceat(np.isfinite(mrf.log_priors), mrf.offsets[:-1], dtype=np.int64)
    fixed: Bools = possible == 1
    return fixed


def find_elimination(mrf: MarkovRandomField, *, max_entries: int) -> Elimination | TreewidthBound:
    """A good order; the bound alone where its tables are larger than allowed.

    Trees fall leaf by leaf without a search, so only what lies on or between cycles costs time.
    """
    fixed = fixed_variables(mrf)
    edges = mrf.edges[~fixed[mrf.edges].any(axis=1)]
    slots = index_slots(edges, np.zeros(len(edges), dtype=np.int32), mrf.n_variables)
    fallen, _, in_core = strip_leaves(slots.offsets, slots.neighbours)
    core = edges[in_core[edges].all(axis=1)]
    hopeless = _lower_bound(core, mrf.n_states, max_entries)
    if hopeless is not None:
        return hopeless
    found = _search(core, mrf.n_states, max_entries)
    if found.bound is not None:
        return found.bound

    order = np.concatenate([fallen, np.array(found.order, dtype=fallen.dtype)])
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    clique_offsets, members = _cliques(order, ranks, edges, len(fallen), found.separators)
    sizes = (
        np.multiply.reduceat(mrf.n_states[members].astype(np.int64), clique_offsets[:-1]) if len(order) else ranks
    )
    table_offsets = offsets_of(sizes)
    bound = TreewidthBound(
        width=int(np.diff(clique_offsets).max(initial=1)) - 1,
        log10_table=math.log10(sizes.max(initial=1)),
        log10_entries=math.log10(max(table_offsets[-1], 1)),
        exceeded=bool(table_offsets[-1] > max_entries),
    )
    return bound if bound.exceeded else Elimination(order, ranks, clique_offsets, members, table_offsets, bound)


def _lower_bound(core: Ints, n_states: Ints, max_entries: int) -> TreewidthBound | None:
    """What every order of elimination comes to, if that is more than allowed.

    Take out variables whose table with all neighbours is small enough, again and again. Of those that are left
    one must be the first to go in any order, and its table then joins all its neighbours that are left.
    """
    log_states = np.log(n_states)
    bound = None
    log_bar = math.log(max_entries) + 1e-9
    while True:
        log_sizes = _log_tables(core, log_states)
        while len(core) and not (dense := (log_sizes > log_bar)[core].all(axis=1)).all():
            core = core[dense]
            log_sizes = _log_tables(core, log_states)
        if not len(core):
            return bound
        left = np.unique(core)
        log_table = float(log_sizes[left].min())
        width = int(np.bincount(core.ravel())[left].min())
        bound = TreewidthBound(width, log_table / _LOG_10, log_table / _LOG_10, True, proven=True)
        log_bar = 2 * log_table  # far denser parts say more


def _log_tables(edges: Ints, log_states: Floats) -> Floats:
    """[N] log of how many numbers a table over each variable and all its neighbours holds."""
    first, second = edges.T
    n = len(log_states)
    log_tables: Floats = log_states.copy()
    log_tables += np.bincount(first, log_states[second], n)
    log_tables += np.bincount(second, log_states[first], n)
    return log_tables


class _CoreOrder(NamedTuple):
    """An order of the variables on and between cycles, as far as the search came."""

    order: list[int]
    separators: list[list[int]]  # what each was joined with when its turn came
    n_entries: float  # numbers in all tables
    n_left: int  # variables for which no table was small enough
    bound: TreewidthBound | None  # what stopped the search, if anything


def _search(core: Ints, n_states: Ints, max_entries: int) -> _CoreOrder:
    """The best of several orders: fewest new edges, cheapest new edges, smallest tables, one sweep.

    No rule is best everywhere: where state counts differ a new edge costs what its table costs, and on long strips
    and grids a sweep from one end to the other is best. The others are tried where the first order's tables are so
    large that trying costs little in comparison, each no further than the best so far.
    """
    best = _eliminate(core, n_states, max_entries, _fewest_edges)
    if best.bound is None and best.n_entries <= _SMALL:
        return best
    counts = n_states[np.unique(core)]
    others: list[_Rule] = [_smallest_table, _by_place(_sweep_places(core, len(n_states)))]
    if (counts != counts[0]).any():
        others.insert(0, _cheapest_edges)
    for rule in others:
        allowed = max_entries if best.bound is not None else min(max_entries, math.ceil(best.n_entries))
        found = _eliminate(core, n_states, allowed, rule)
        if (found.n_left, found.bound is not None, found.n_entries) < (
            best.n_left,
            best.bound is not None,
            best.n_entries,
        ):
            best = found
    return best


class _Graph(NamedTuple):
    """What is left of the graph while variables are eliminated."""

    adjacency: dict[int, set[int]]
    n_states: list[int]


# what an order puts first: of a variable and the logarithm of its table's size, the smallest goes first
_Rule: TypeAlias = Callable[[_Graph, int, float], float]


def _fewest_edges(graph: _Graph, v: int, log_size: float) -> float:
    """Min-fill: how many edges are new."""
    joined = graph.adjacency[v]
    d = len(joined)
    return (d * (d - 1) - sum(len(graph.adjacency[u] & joined) for u in joined)) // 2


def _cheapest_edges(graph: _Graph, v: int, log_size: float) -> float:
    """Weighted min-fill: a new edge costs the product of the state counts of its ends."""
    joined, counts = graph.adjacency[v], graph.n_states
    total = sum(counts[u] for u in joined)
    cost = total * total - sum(counts[u] * counts[u] for u in joined)
    cost -= sum(counts[u] * counts[w] for u in joined for w in graph.adjacency[u] & joined)
    return cost // 2


def _smallest_table(graph: _Graph, v: int, log_size: float) -> float:
    """Min-weight: the table itself."""
    return log_size


def _by_place(places: list[int]) -> _Rule:
    return lambda graph, v, log_size: places[v]


def _sweep_places(core: Ints, n_variables: int) -> list[int]:
    """[N] place of each variable in an order of small bandwidth."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    both = np.concatenate([core, core[:, ::-1]])
    ones = np.ones(len(both), dtype=np.int8)
    adjacency = coo_array((ones, (both[:, 0], both[:, 1])), shape=(n_variables, n_variables)).tocsr()
    places = np.empty(n_variables, dtype=np.int64)
    places[reverse_cuthill_mckee(adjacency, symmetric_mode=True)] = np.arange(n_variables)
    listed: list[int] = places.tolist()
    return listed


def _eliminate(core: Ints, n_states: Ints, max_entries: int, rule: _Rule) -> _CoreOrder:
    """Eliminate whatever the rule puts first, ties to the smaller table.

    A variable whose table would be too large waits. When all do, what is left is too much: the smallest of
    these tables is the bound.
    """
    adjacency: dict[int, set[int]] = {v: set() for v in np.unique(core).tolist()}
    for a, b in core.tolist():
        adjacency[a].add(b)
        adjacency[b].add(a)
    graph = _Graph(adjacency, n_states.tolist())
    log_states: list[float] = np.log(n_states).tolist()
    log_allowed = math.log(max_entries) + 1e-9
    keys: dict[int, tuple[float, float]] = {}
    heap: list[tuple[tuple[float, float], int]] = []

    def log_size(v: int) -> float:
        return log_states[v] + sum(log_states[u] for u in adjacency[v])

    def rate(v: int) -> None:
        joined = adjacency[v]
        keys.pop(v, None)
        # all of these have two states or more, so that the table of a hub is refused without a look at its
        # many neighbours
        if (len(joined) + 1) * _LOG_2 > log_allowed:
            return
        size = log_size(v)
        if size > log_allowed:
            return
        keys[v] = rule(graph, v, size), size
        heapq.heappush(heap, (keys[v], v))

    for v in adjacency:
        rate(v)
    order: list[int] = []
    separators: list[list[int]] = []
    n_entries, width, log_largest = 0.0, 0, 0.0
    while heap and n_entries <= max_entries:
        key, v = heapq.heappop(heap)
        if keys.get(v) != key:
            continue  # rated anew since
        joined = adjacency.pop(v)
        n_entries += math.exp(key[1])
        width, log_largest = max(width, len(joined)), max(log_largest, key[1])
        del keys[v]
        order.append(v)
        separators.append(list(joined))
        for u in joined:
            adjacency[u].discard(v)
        touched = set(joined)
        for a in joined:
            for b in joined - adjacency[a]:
                if a < b:
                    adjacency[a].add(b)
                    adjacency[b].add(a)
                    touched |= adjacency[a] & adjacency[b]
        for u in touched:
            rate(u)
    bound = None
    if n_entries > max_entries:
        bound = TreewidthBound(width, log_largest / _LOG_10, math.log10(n_entries), True)
    elif adjacency:
        smallest = min(adjacency, key=log_size)
        log_table = log_size(smallest)
        log_entries = log_table + math.log1p(n_entries * math.exp(-log_table))
        bound = TreewidthBound(len(adjacency[smallest]), log_table / _LOG_10, log_entries / _LOG_10, True)
    return _CoreOrder(order, separators, n_entries, len(adjacency), bound)


def _cliques(
    order: Ints, ranks: Ints, edges: Ints, n_fallen: int, separators: list[list[int]]
) -> tuple[Ints, Ints]:
    """Members of all cliques, the latest eliminated first and the variable itself last."""
    ends = ranks[edges]
    first, last = ends.min(axis=1), ends.max(axis=1)
    hung = first < n_fallen  # a leaf that fell hung on one variable at most
    counts = np.array([len(separator) for separator in separators], dtype=np.int64)
    own = np.concatenate(
        [np.arange(len(order)), first[hung], np.repeat(np.arange(len(counts)) + n_fallen, counts)]
    )
    flat = [u for separator in separators for u in separator]
    other = np.concatenate([np.arange(len(order)), last[hung], ranks[np.array(flat, dtype=np.int64)]])
    by_clique = np.lexsort((-other, own))
    return offsets_of(np.bincount(own, minlength=len(order))), order[other[by_clique]]
