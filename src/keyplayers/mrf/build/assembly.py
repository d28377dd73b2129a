"""From tables of edges, priors and potentials to the frozen arrays of a field."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..._base.names import Names, check_name, plain_name
from ...errors import InputError
from .edges import EdgeTable, read_edges
from .intake import edge_rows
from .potentials import PotentialTable, homophily_table, read_potentials
from .priors import PriorTable, in_state_order, read_priors
from .request import FieldRequest, StatesLike

# state count where neither priors nor states nor potentials say one
_DEFAULT_N_STATES = 2


class FieldParts(NamedTuple):
    """The arrays of a `MarkovRandomField`, under the same names."""

    names: Names
    n_states: Ints
    log_priors: Floats
    edges: Ints
    potential_index: Ints
    potential_shapes: Ints
    log_potentials: Floats
    state_names: Mapping[int, tuple[Hashable, ...]] | tuple[Hashable, ...] | None
    notes: tuple[str, ...] = ()
    auxiliary: Bools | None = None


def build_field(request: FieldRequest) -> FieldParts:
    """See `MarkovRandomField.from_edges`."""
    priors = _priors(request)
    rows = edge_rows(request)
    table = read_edges(request, rows, priors)
    if len(table.ends) and not request.n_potentials:
        raise InputError("an edge needs a potential: give potential, log_potential or homophily")
    table = _drop_self_loops(table, request.self_loops)
    n_states, potentials = _potentials(request, table, priors)
    _check_shapes(table, potentials, n_states)
    ends, potentials = _join_duplicates(table, potentials, request.duplicates)
    return FieldParts(
        names=table.names,
        n_states=n_states,
        log_priors=_fill_priors(table, priors, n_states, request.missing_priors),
        edges=ends,
        potential_index=potentials.index,
        potential_shapes=potentials.shapes,
        log_potentials=potentials.flat,
        state_names=_name_states(table.names, n_states, request.states, priors),
        notes=rows.notes + (() if priors is None else priors.notes),
    )


def _priors(request: FieldRequest) -> PriorTable | None:
    """The priors, their columns in the order of the states."""
    given, log_domain = request.priors, request.log_priors is not None
    table = read_priors(request.log_priors if log_domain else given, log_domain=log_domain)
    return table if table is None or request.states is None else in_state_order(table, request.states)


def _potentials(request: FieldRequest, table: EdgeTable, priors: PriorTable | None) -> tuple[Ints, PotentialTable]:
    """[N] state counts, and the potentials of all edges."""
    if request.homophily is not None:
        n_states = _count_states(table, priors, None, request.states)
        return n_states, homophily_table(request.homophily, table, n_states)
    potentials = read_potentials(request.given_potential, table, log_domain=request.log_potential is not None)
    return _count_states(table, priors, potentials, request.states), potentials


def _drop_self_loops(table: EdgeTable, self_loops: str) -> EdgeTable:
    loops = table.ends[:, 0] == table.ends[:, 1]
    if not loops.any():
        return table
    if self_loops == "error":
        raise InputError(
            f"{table.describe(int(loops.argmax()))} joins a variable to itself "
            f"({int(loops.sum())} such edges); self_loops='drop' leaves them out"
        )
    return table.select(~loops)


def _count_states(
    table: EdgeTable,
    priors: PriorTable | None,
    potentials: PotentialTable | None,
    states: StatesLike | None,
) -> Ints:
    """[N] state counts: what priors say, else the names of the states, else the potentials."""
    n_states = np.zeros(len(table.names), dtype=np.int32)
    if priors is not None:
        n_states[: len(priors)] = priors.n_states
    if isinstance(states, Mapping):
        for name, own in states.items():
            position = table.names.find(name)
            if n_states[position] in (0, len(own)):
                n_states[position] = len(own)
    elif states is not None:
        n_states[n_states == 0] = len(states)
    if potentials is not None and (n_states == 0).any() and len(table.ends):
        shapes = potentials.shapes[potentials.index]
        told = np.zeros_like(n_states)
        np.maximum.at(told, table.ends[:, 0], shapes[:, 0])
        np.maximum.at(told, table.ends[:, 1], shapes[:, 1])
        n_states = np.where(n_states == 0, told, n_states)
    silent = n_states == 0
    if silent.any():
        known = np.unique(n_states[~silent])
        if len(known) > 1:
            name = table.names[int(silent.argmax())]
            raise InputError(f"nothing says how many states variable {name!r} has: give it a prior")
        n_states[silent] = known[0] if len(known) else _DEFAULT_N_STATES
    return n_states


def _check_shapes(table: EdgeTable, potentials: PotentialTable, n_states: Ints) -> None:
    """Refuse potentials whose shape does not fit their edge; nothing is transposed silently."""
    if not len(table.ends):
        return
    if (potentials.shapes == n_states[0]).all() and (n_states == n_states[0]).all():
        return  # the common case, without a look at every edge
    counts = n_states[table.ends]
    wrong = (counts != potentials.shapes[potentials.index]).any(axis=1)
    if not wrong.any():
        return
    e = int(wrong.argmax())
    rows, columns = potentials.shapes[potentials.index[e]]
    a, b = (table.names[int(end)] for end in table.ends[e])
    raise InputError(
        f"{table.describe(e)}: the potential has shape {rows}×{columns}, but {a!r} has {counts[e, 0]} states "
        f"and {b!r} has {counts[e, 1]}; rows belong to the first end"
    )


def _join_duplicates(table: EdgeTable, potentials: PotentialTable, duplicates: str) -> tuple[Ints, PotentialTable]:
    low, high = table.ends.min(axis=1).astype(np.int64), table.ends.max(axis=1)
    pairs = low * len(table.names) + high
    ordered = np.sort(pairs)
    if not (ordered[1:] == ordered[:-1]).any():
        return table.ends, potentials
    _, firsts, group = np.unique(pairs, return_index=True, return_inverse=True)
    if duplicates == "error":
        twin = int((firsts[group] != np.arange(len(pairs))).argmax())
        raise InputError(
            f"{table.describe(int(firsts[group[twin]]))} and {table.describe(twin)} join the same variables; "
            "duplicates='merge' keeps one where their potentials are equal, "
            "'multiply' multiplies the potentials"
        )
    flipped = table.ends[:, 0] != table.ends[firsts[group], 0]
    if duplicates == "merge":
        unequal = potentials.unequal(firsts[group], flipped)
        if unequal.any():
            e = int(unequal.argmax())
            raise InputError(
                f"{table.describe(int(firsts[group[e]]))} and {table.describe(e)} join the same variables "
                "with different potentials; duplicates='merge' keeps equal ones only, 'multiply' multiplies them"
            )
        kept = potentials.select(np.sort(firsts))
    else:
        kept = potentials.multiply(firsts, group, flipped)
    return table.ends[np.sort(firsts)], kept


def _fill_priors(table: EdgeTable, priors: PriorTable | None, n_states: Ints, missing: str) -> Floats:
    n_given = 0 if priors is None else len(priors)
    if missing == "error" and n_given < len(table.names):
        raise InputError(
            f"variable {table.names[n_given]!r} stands in the edges but has no prior "
            f"({len(table.names) - n_given} such variables); missing_priors='uniform' gives them uniform ones"
        )
    uniform = np.zeros(int(n_states[n_given:].sum()))
    return uniform if priors is None else np.concatenate([priors.log_rows, uniform])


def _name_states(
    names: Names, n_states: Ints, states: StatesLike | None, priors: PriorTable | None
) -> Mapping[int, tuple[Hashable, ...]] | tuple[Hashable, ...] | None:
    if states is None and priors is not None and priors.state_names is not None:
        states = priors.state_names
    if states is None:
        return None
    if isinstance(states, Mapping):
        own = {names.find(name): _state_names(given, f"variable {name!r}") for name, given in states.items()}
        for position, given in own.items():
            _check_state_count(given, int(n_states[position]), names[position])
        return own
    common = _state_names(states, "every variable")
    different = n_states != len(common)
    if different.any():
        position = int(different.argmax())
        _check_state_count(common, int(n_states[position]), names[position])
    return common


def _state_names(given: Sequence[Hashable], whose: str) -> tuple[Hashable, ...]:
    if isinstance(given, str):
        raise InputError(f"the states of {whose} must be a list of names, got the text {given!r}")
    names = tuple(plain_name(name) for name in given)
    for i, name in enumerate(names):
        check_name(name, f"state {i} of {whose}")
    if len(set(names)) != len(names):
        raise InputError(f"the states of {whose} must have distinct names, got {names}")
    return names


def _check_state_count(given: tuple[Hashable, ...], n_states: int, name: Hashable) -> None:
    if len(given) != n_states:
        raise InputError(f"variable {name!r} has {n_states} states, but {len(given)} names were given: {given}")
