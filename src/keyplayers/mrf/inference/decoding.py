"""A jointly most likely assignment: found, checked, improved, and with a bound on what is missed."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..._base.segments import segment_max
from ..field import MarkovRandomField
from . import _decoding_kernels as kernels
from .beliefs import Decoding
from .bethe import edge_blocks
from .elimination import Elimination, find_elimination
from .messages import message_offsets, pack

# Where elimination is tried first: up to so many edges, and so many numbers in its tables.
_EXACT_EDGES = 20_000
_EXACT_ENTRIES = 2**22
# Rounds of improvement by trees, and sweeps that tighten the bound: as many as this work allows, in entries of
# potentials looked at, but within the two limits.
_WORK = 2**22
_FEWEST, _MOST = 5, 200
# Rounds without a better assignment after which the search is stuck, and the share of variables that are then
# drawn anew.
_PATIENCE = 8
_DISTURBED = 0.15
# The same field is decoded the same way each time.
_SEED = 0
# Relative differences below this are rounding.
_ROUNDING = 1e-9

# a most likely assignment of a forest
ForestSolver = Callable[[MarkovRandomField], Ints]


def decode_messages(mrf: MarkovRandomField, log_messages: Floats) -> Ints:
    """[N] a most likely assignment where the messages are those of max-product on a forest; elsewhere a guess."""
    packed = pack(mrf, ratio=False)
    chosen: Ints = kernels.decode(packed.slots, packed.logs, log_messages)
    return chosen


def decode(mrf: MarkovRandomField, guesses: list[Ints], solve_forest: ForestSolver) -> Decoding:
    """The best assignment within reach on a graph with cycles.

    Exact where elimination is cheap. Else the best of the guesses is improved by trees: a random set of variables
    whose edges among themselves close no cycle is set to its optimum given the others, again and again. What is
    impossible costs a penalty meanwhile, larger than all that could be won by it. The bound comes from sharing
    every potential out between its ends (the dual of a linear program).

    Parameters
    ----------
    guesses
        Assignments [N] to start from.

    References
    ----------
    Globerson and Jaakkola, "Fixing max-product: convergent message passing algorithms for MAP LP-relaxations",
    NIPS 2007 (the bound); Hamze and de Freitas, "From fields to trees", UAI 2004, arXiv:1207.4149 (moves by
    trees).
    """
    if mrf.n_edges <= _EXACT_EDGES:
        elimination = find_elimination(mrf, max_entries=_EXACT_ENTRIES)
        if isinstance(elimination, Elimination):
            from .exact import solve_exactly

            states = solve_exactly(mrf, elimination)
            log_weight = mrf.log_weight_at(states)
            return Decoding(states, log_weight, log_weight)
    soft = _soften(mrf)
    log_bound, suggested = _bound(soft)
    best = max([*guesses, suggested], key=soft.log_weight_at)
    best = _improve(soft, best, solve_forest)
    log_weight = mrf.log_weight_at(best)
    if abs(log_bound - log_weight) <= _ROUNDING * max(1.0, abs(log_bound)):
        log_bound = log_weight
    return Decoding(best, log_weight, log_bound)


def _soften(mrf: MarkovRandomField) -> MarkovRandomField:
    """The field with a penalty in place of every exact zero of a potential, larger than all else together."""
    zero = np.isneginf(mrf.log_potentials)
    if not zero.any():
        return mrf
    sizes = np.diff(mrf.potential_offsets)
    highest = segment_max(mrf.log_potentials, mrf.potential_offsets)
    lowest = -segment_max(np.where(zero, -np.repeat(highest, sizes), -mrf.log_potentials), mrf.potential_offsets)
    priors = np.where(np.isneginf(mrf.log_priors), np.inf, mrf.log_priors)
    spread_of_priors = segment_max(mrf.log_priors, mrf.offsets) + segment_max(-priors, mrf.offsets)
    penalty = 1.0 + float((highest - lowest)[mrf.potential_index].sum() + spread_of_priors.sum())
    floor = np.repeat(highest, sizes) - penalty
    return replace(mrf, log_potentials=np.where(zero, floor, mrf.log_potentials))


def _bound(mrf: MarkovRandomField) -> tuple[float, Ints]:
    """What no assignment's log weight exceeds, and the assignment that the shares suggest."""
    packed = pack(mrf, ratio=False)
    shares = np.zeros(message_offsets(mrf)[-1])
    tops = segment_max(mrf.log_potentials, mrf.potential_offsets)
    # the kernel knows potentials less their largest entries
    constant = float(tops[mrf.potential_index].sum())
    totals = np.where(np.isneginf(mrf.log_priors), -_beyond(mrf), mrf.log_priors)
    best = np.inf
    for _ in range(_rounds(mrf)):
        kernels.tighten(packed.slots, packed.logs, shares, totals)
        bound = _shared_bound(mrf, packed.logs.log_potentials, shares, totals)
        if bound > best - _ROUNDING * max(1.0, abs(bound)):
            break
        best = bound
    return best + constant, _first_largest(mrf, totals)


def _beyond(mrf: MarkovRandomField) -> float:
    """More than the log weights of any two possible assignments of the softened field can differ by."""
    finite = mrf.log_priors[np.isfinite(mrf.log_priors)]
    return 1.0 + 2 * float(np.abs(finite).sum() + np.abs(mrf.log_potentials).max(initial=0.0) * mrf.n_edges)


def _rounds(mrf: MarkovRandomField) -> int:
    entries = int(mrf.potential_shapes.prod(axis=1)[mrf.potential_index].sum())
    return int(np.clip(_WORK // max(entries, 1), _FEWEST, _MOST))


def _shared_bound(mrf: MarkovRandomField, log_potentials: Floats, shares: Floats, totals: Floats) -> float:
    bound = float(segment_max(totals, mrf.offsets).sum())
    for block in edge_blocks(mrf):
        rest = log_potentials[block.potential_cells]
        rest = rest - shares[block.back_cells][:, :, None] - shares[block.forth_cells][:, None, :]
        bound += float(rest.max(axis=(1, 2)).sum())
    return bound


def _improve(mrf: MarkovRandomField, states: Ints, solve_forest: ForestSolver) -> Ints:
    """The best assignment of a local search that starts anew, near the best so far, when it is stuck."""
    rng = np.random.default_rng(_SEED)
    best = states
    log_weight = highest = mrf.log_weight_at(states)
    stale = 0
    for _ in range(_rounds(mrf)):
        found = solve_forest(_clamp(mrf, states, _draw_forest(mrf, rng)))
        found_weight = mrf.log_weight_at(found)
        stale = 0 if found_weight > log_weight + _ROUNDING * max(1.0, abs(log_weight)) else stale + 1
        states, log_weight = found, found_weight
        if log_weight > highest:
            best, highest = states, log_weight
        if stale >= _PATIENCE:
            states, stale = _disturb(mrf, best, rng), 0
            log_weight = mrf.log_weight_at(states)
    return best


def _disturb(mrf: MarkovRandomField, states: Ints, rng: np.random.Generator) -> Ints:
    """Some variables in other states that their priors allow."""
    keys = np.where(np.isneginf(mrf.log_priors), -1.0, rng.random(len(mrf.log_priors)))
    drawn = _first_largest(mrf, keys)
    return np.where(rng.random(mrf.n_variables) < _DISTURBED, drawn, states)


def _first_largest(mrf: MarkovRandomField, numbers: Floats) -> Ints:
    """[N] the state of each variable that has the largest number; ties: the first."""
    k = np.arange(len(numbers)) - np.repeat(mrf.offsets[:-1], mrf.n_states)
    is_top = numbers == np.repeat(segment_max(numbers, mrf.offsets), mrf.n_states)
    states: Ints = (-segment_max(np.where(is_top, -k, -np.inf), mrf.offsets)).astype(np.int64)
    return states


def _draw_forest(mrf: MarkovRandomField, rng: np.random.Generator) -> Bools:
    """[N] a random set of variables whose edges among themselves close no cycle."""
    n = mrf.n_variables
    in_forest = np.empty(n, dtype=np.bool_)
    order = rng.permutation(n).astype(np.int32)
    kernels.grow_forest(mrf.slots, order, in_forest, np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32))
    return in_forest


def _clamp(mrf: MarkovRandomField, states: Ints, free: Bools) -> MarkovRandomField:
    """The field of the free variables given the states of the others."""
    log_priors = mrf.log_priors.copy()
    for own in (0, 1):
        at = np.flatnonzero(free[mrf.edges[:, own]] & ~free[mrf.edges[:, 1 - own]])
        _add_told(mrf, log_priors, at, own, states)
    fixed = np.repeat(~free, mrf.n_states)
    fixed[mrf.offsets[:-1] + states] = False
    log_priors[fixed] = -np.inf
    inside = free[mrf.edges].all(axis=1)
    return replace(
        mrf, log_priors=log_priors, edges=mrf.edges[inside], potential_index=mrf.potential_index[inside]
    )


def _add_told(mrf: MarkovRandomField, log_priors: Floats, edges: Ints, own: int, states: Ints) -> None:
    """Add to the priors of end `own` of some edges what the other end's state says. Writes: log_priors."""
    ends, others = mrf.edges[edges, own], mrf.edges[edges, 1 - own]
    tables = mrf.potential_index[edges]
    n_columns = mrf.potential_shapes[tables, 1].astype(np.int64)
    step, begin = (
        (n_columns, states[others]) if own == 0 else (np.ones_like(n_columns), states[others] * n_columns)
    )
    begin = begin + mrf.potential_offsets[tables]
    for k in np.unique(mrf.n_states[ends]).tolist():
        mine = np.flatnonzero(mrf.n_states[ends] == k)
        cells = begin[mine][:, None] + step[mine][:, None] * np.arange(k)
        np.add.at(log_priors, mrf.offsets[ends[mine]][:, None] + np.arange(k), mrf.log_potentials[cells])
