"""From factors over any number of variables to the frozen arrays of a pairwise field."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.names import Names
from ..._base.segments import offsets_of
from ...errors import ContradictionError, InputError, TooLargeError
from .assembly import FieldParts
from .priors import real_numbers

# Numbers that the edges of auxiliary variables may hold together: half a gigabyte.
MAX_NUMBERS = 2**26
# axes that NumPy can tell apart
_MAX_AXES = 32
_SHOWN = 6


class Factor(NamedTuple):
    """A function of some variables: one number >= 0 for each combination of their states."""

    variables: Sequence[Hashable]  # names, in the order of the table's axes
    table: Any  # [K_1, K_2, ..] one axis per variable; not necessarily normalised
    name: Hashable | None = None  # None: "f(A, B, C)"


class LogFactor(NamedTuple):
    """A factor whose variables are positions."""

    variables: tuple[int, ...]
    logs: Floats  # [K_1, K_2, ..] nats
    name: Hashable | None = None


def build_from_factors(
    factors: Iterable[Any],
    *,
    variables: Sequence[Hashable] | Mapping[Hashable, int] | None = None,
    states: Any = None,
) -> FieldParts:
    """See `MarkovRandomField.from_factors`."""
    given = [_as_factor(i, factor) for i, factor in enumerate(factors)]
    names = _names(given, variables)
    counts = dict(variables) if isinstance(variables, Mapping) else {}
    n_states = np.array([counts.get(name, 0) for name in names], dtype=np.int64)
    found = [_log_factor(i, factor, names, n_states) for i, factor in enumerate(given)]
    state_names = _state_names(states, names, n_states)
    if (n_states == 0).any():
        name = names[int((n_states == 0).argmax())]
        raise InputError(f"nothing says how many states variable {name!r} has: give it a factor, or its states")
    return assemble(names, n_states, found, state_names)


def assemble(
    names: Names,
    n_states: Ints,
    factors: Sequence[LogFactor],
    state_names: Mapping[int, tuple[Hashable, ...]] | tuple[Hashable, ...] | None = None,
) -> FieldParts:
    """The field that is the product of some factors; those of the same variables are multiplied into one.

    Parameters
    ----------
    names, n_states
        [N] of the variables, which come first in the field, in this order.
    state_names
        Names of the states by the variables' positions; or for all.

    Raises
    ------
    ContradictionError
        The tables over one set of variables exclude each other.
    TooLargeError
        A table is too large to become an auxiliary variable; the message says how large it is.
    """
    offsets = offsets_of(n_states)
    priors, joint = _merge(factors, offsets, names)
    pairs = [factor for factor in joint if len(factor.variables) == 2]
    higher = [factor for factor in joint if len(factor.variables) > 2]
    _check_sizes(higher, n_states, names)
    taken, tables = set(names), _Tables()
    helpers = [_possible(factor, _name(factor, names, taken)) for factor in higher]
    ends = [factor.variables for factor in pairs]
    index = [tables.add(factor.logs) for factor in pairs]
    for position, helper in enumerate(helpers, len(names)):
        for v, entries in zip(helper.variables, helper.entries, strict=True):
            ends.append((position, v))
            index.append(tables.add_choice(entries, int(n_states[v])))
    counts = [len(helper.logs) for helper in helpers]
    if isinstance(state_names, tuple) and helpers:
        state_names = dict.fromkeys(range(len(names)), state_names)
    return FieldParts(
        names=Names([*names, *(helper.name for helper in helpers)]) if helpers else names,
        n_states=np.concatenate([n_states, counts]).astype(np.int32),
        log_priors=np.concatenate([priors, *(helper.logs for helper in helpers)]),
        edges=np.array(ends, dtype=np.int32).reshape(-1, 2),
        potential_index=np.array(index, dtype=np.int32),
        potential_shapes=np.array(tables.shapes, dtype=np.int32).reshape(-1, 2),
        log_potentials=np.concatenate([np.zeros(0), *tables.flat]),
        state_names=state_names,
        auxiliary=np.arange(len(names) + len(helpers)) >= len(names) if helpers else None,
    )


# --- what was given


def _as_factor(i: int, given: Any) -> Factor:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) not in (2, 3):
        raise InputError(f"factor {i} must be (variables, table) or (variables, table, name), got {given!r}")
    factor = Factor(*given)
    if isinstance(factor.variables, str) or not isinstance(factor.variables, Sequence):
        raise InputError(f"factor {i}: its variables must be a list of names, got {factor.variables!r}")
    return factor


def _names(factors: Sequence[Factor], variables: Any) -> Names:
    """Those listed, else those of the factors in the order in which they come."""
    if variables is not None:
        return Names(variables)
    return Names(dict.fromkeys(name for factor in factors for name in factor.variables))


def _log_factor(i: int, factor: Factor, names: Names, n_states: Ints) -> LogFactor:
    """A factor checked. Writes: n_states, where a variable had none yet."""
    what = f"factor {i} ({', '.join(map(repr, factor.variables))})"
    if len(factor.variables) > _MAX_AXES:
        raise TooLargeError(f"{what} has {len(factor.variables)} variables; a table has at most {_MAX_AXES} axes")
    try:
        table = real_numbers(factor.table)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: its table is no array of numbers: {error}") from None
    positions = tuple(names.find(name) for name in factor.variables)
    if len(set(positions)) < len(positions):
        raise InputError(f"{what}: each variable stands once in a factor")
    if table.ndim != len(positions) or 0 in table.shape:
        raise InputError(f"{what}: its table must have one axis per variable, got shape {table.shape}")
    own = n_states[list(positions)]
    wrong = (own != 0) & (own != table.shape)
    if wrong.any():
        axis = int(wrong.argmax())
        raise InputError(
            f"{what}: axis {axis} of its table has length {table.shape[axis]}, but {factor.variables[axis]!r} has "
            f"{own[axis]} states"
        )
    n_states[list(positions)] = table.shape
    return LogFactor(positions, log_table(table, what), factor.name)


def log_table(table: Floats, what: str) -> Floats:
    """Logarithms of a table, checked.

    Raises
    ------
    InputError
        An entry is negative, NaN or infinite, or all are 0.
    """
    if not (np.isfinite(table) & (table >= 0)).all():
        wrong = table[~(np.isfinite(table) & (table >= 0))].flat[0]
        raise InputError(f"the table of {what} must hold finite numbers >= 0, got {wrong}")
    if not table.any():
        raise ContradictionError(f"the table of {what} is 0 everywhere: it excludes every assignment")
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(table)
    return logs


def _state_names(states: Any, names: Names, n_states: Ints) -> Any:
    """As a field keeps them. Writes: n_states, where a variable had none yet."""
    if states is None:
        return None
    per_variable = isinstance(states, Mapping)
    listed = states if per_variable else dict.fromkeys(names, states)
    own = {}
    for name, given in listed.items():
        v = names.find(name)
        if isinstance(given, str) or len(set(given)) != len(given):
            raise InputError(f"the states of variable {name!r} must be a list of distinct names, got {given!r}")
        if n_states[v] not in (0, len(given)):
            raise InputError(f"variable {name!r} has {n_states[v]} states, but {len(given)} names: {tuple(given)}")
        n_states[v] = len(given)
        own[v] = tuple(given)
    return own if per_variable else tuple(states)


# --- factors of one, two and more variables


def _merge(factors: Sequence[LogFactor], offsets: Ints, names: Names) -> tuple[Floats, list[LogFactor]]:
    """Log-priors of all variables, flat, and one factor for each set of two or more."""
    priors = np.zeros(int(offsets[-1]))
    constant = 0.0
    joint: dict[frozenset[int], LogFactor] = {}
    for factor in factors:
        scope = frozenset(factor.variables)
        if not scope:
            constant += float(factor.logs)
        elif len(scope) == 1:
            v = factor.variables[0]
            priors[offsets[v] : offsets[v + 1]] += factor.logs
        elif scope in joint:
            joint[scope] = _product(joint[scope], factor)
        else:
            joint[scope] = factor
    if constant and len(names):
        priors[: offsets[1]] += constant  # a scale of all assignments: part of log Z
    _check_possible(priors, offsets, joint.values(), names)
    return priors, list(joint.values())


def _product(one: LogFactor, other: LogFactor) -> LogFactor:
    axes = [other.variables.index(v) for v in one.variables]
    return one._replace(logs=one.logs + other.logs.transpose(axes))


def _check_possible(priors: Floats, offsets: Ints, joint: Iterable[LogFactor], names: Names) -> None:
    if len(names):
        possible = np.maximum.reduceat(priors, offsets[:-1]) > -np.inf
        if not possible.all():
            raise ContradictionError(f"the factors of {names[int(possible.argmin())]!r} exclude all of its states")
    for factor in joint:
        if np.isneginf(factor.logs).all():
            raise ContradictionError(f"the factors of {_listed(factor, names)} exclude every assignment")


def _check_sizes(factors: Sequence[LogFactor], n_states: Ints, names: Names) -> None:
    """Refuse tables that would not fit, before memory is asked for."""
    for factor in factors:
        n_entries = int(np.isfinite(factor.logs).sum())
        numbers = n_entries * int(n_states[list(factor.variables)].sum())
        if numbers > MAX_NUMBERS:
            shape = "×".join(map(str, factor.logs.shape))
            raise TooLargeError(
                f"the factor of {_listed(factor, names)} has a table of {shape} = {factor.logs.size:,} entries "
                f"({n_entries:,} possible); its auxiliary variable would take {numbers:,} numbers, where "
                f"{MAX_NUMBERS:,} are allowed"
            )


class _Helper(NamedTuple):
    """A factor as an auxiliary variable."""

    name: Hashable
    variables: tuple[int, ...]
    entries: Ints  # [n, K] state of each variable in each state of the helper
    logs: Floats  # [K]


def _possible(factor: LogFactor, name: Hashable) -> _Helper:
    flat = np.flatnonzero(np.isfinite(factor.logs))
    entries = np.array(np.unravel_index(flat, factor.logs.shape), dtype=np.int64)
    return _Helper(name, factor.variables, entries, factor.logs.ravel()[flat])


def _name(factor: LogFactor, names: Names, taken: set[Hashable]) -> Hashable:
    """The factor's own name, else one made of its variables; never one that is taken."""
    name = f"f({', '.join(str(names[v]) for v in factor.variables)})" if factor.name is None else factor.name
    while name in taken:
        name = f"{name}'"
    taken.add(name)
    return name


def _listed(factor: LogFactor, names: Names) -> str:
    shown = ", ".join(repr(names[v]) for v in factor.variables[:_SHOWN])
    return shown + (", ..." if len(factor.variables) > _SHOWN else "")


@dataclass
class _Tables:
    """Potentials, each kept once where auxiliary variables share it."""

    shapes: list[tuple[int, int]] = field(default_factory=list)
    flat: list[Floats] = field(default_factory=list)
    known: dict[Any, int] = field(default_factory=dict)

    def add(self, logs: Floats) -> int:
        """The number of a new table."""
        self.shapes.append((logs.shape[0], logs.shape[1]))
        self.flat.append(logs.ravel())
        return len(self.shapes) - 1

    def add_choice(self, entries: Ints, n_states: int) -> int:
        """The number of the table that lets a helper's state pass where its entry [K] is the variable's state."""
        key = entries.tobytes(), n_states
        return (
            self.known[key] if key in self.known else self.known.setdefault(key, self._choice(entries, n_states))
        )

    def _choice(self, entries: Ints, n_states: int) -> int:
        logs = np.full((len(entries), n_states), -np.inf)
        logs[np.arange(len(entries)), entries] = 0.0
        return self.add(logs)
