"""Potentials: a table of distinct matrices and an index per edge."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...errors import InputError
from .edges import EdgeTable
from .priors import real_numbers


@dataclass(frozen=True)
class PotentialTable:
    """Distinct log-potentials and which one each edge has."""

    shapes: Ints  # [P, 2] int32
    flat: Floats  # [sum of sizes] nats, matrix after matrix, row-major
    index: Ints  # [E] int32

    def matrix(self, p: int, transposed: bool = False) -> Floats:
        """[K_a, K_b] one of the matrices, in nats."""
        starts = self._starts()
        matrix = self.flat[starts[p] : starts[p + 1]].reshape(self.shapes[p])
        return matrix.T if transposed else matrix

    def select(self, edges: Ints) -> "PotentialTable":
        """The table for some of the edges."""
        return replace(self, index=self.index[edges])

    def unequal(self, firsts: Ints, flipped: Bools) -> Bools:
        """[E] whether an edge's matrix differs from that of edge `firsts` [E], seen from the same end."""
        cases, which = np.unique(
            np.column_stack([self.index[firsts], self.index, flipped]), axis=0, return_inverse=True
        )
        differ = [
            not np.array_equal(self.matrix(first), self.matrix(own, bool(flip))) for first, own, flip in cases
        ]
        return np.array(differ, dtype=bool)[which.ravel()]

    def multiply(self, firsts: Ints, group: Ints, flipped: Bools) -> "PotentialTable":
        """One edge per group, in the order of `firsts`, whose matrix is the product of the group's."""
        index = self.index[firsts].astype(np.int64)
        members = np.flatnonzero(np.bincount(group)[group] > 1)
        members = members[np.argsort(group[members], kind="stable")]
        starts = np.flatnonzero(np.diff(group[members], prepend=-1))
        products: dict[tuple[tuple[int, bool], ...], int] = {}
        matrices: list[Floats] = []
        for edges in np.split(members, starts[1:]):
            key = tuple(sorted((int(self.index[e]), bool(flipped[e])) for e in edges))
            if key not in products:
                product = np.sum([self.matrix(p, flip) for p, flip in key], axis=0)
                if np.isneginf(product).all():
                    raise InputError(
                        f"the potentials of the edges in rows {edges.tolist()} join the same variables and "
                        "their product excludes every pair of states"
                    )
                products[key] = len(self.shapes) + len(matrices)
                matrices.append(product)
            index[group[edges[0]]] = products[key]
        shapes = np.concatenate([self.shapes, [m.shape for m in matrices]]).astype(np.int32)
        flat = np.concatenate([self.flat, *(m.ravel() for m in matrices)])
        return PotentialTable(shapes, flat, index[np.argsort(firsts)].astype(np.int32))

    def _starts(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.shapes.prod(axis=1))])


def read_potentials(given: Any, table: EdgeTable, *, log_domain: bool) -> PotentialTable:
    """One matrix for all edges, one per type or one per edge, checked.

    Raises
    ------
    InputError
        A matrix is none, holds what it must not, or is missing.
    """
    n_edges = len(table.ends)
    if given is None:
        return PotentialTable(np.zeros((0, 2), np.int32), np.zeros(0), np.zeros(0, np.int32))
    if isinstance(given, Mapping):
        return _per_type(given, table, log_domain)
    if _is_stack(given):
        return _per_edge(given, table, log_domain)
    return _table_of([log_matrix(given, "the potential", log_domain)], np.zeros(n_edges, np.int32))


def _per_edge(given: Any, table: EdgeTable, log_domain: bool) -> PotentialTable:
    n_edges = len(table.ends)
    rows: Ints = np.arange(n_edges) if table.rows is None else table.rows
    n_rows = n_edges if table.rows is None else None
    if len(given) < n_edges or (n_rows is not None and len(given) != n_rows):
        raise InputError(f"there must be one potential per edge ({n_edges}), got {len(given)}")
    if isinstance(given, np.ndarray) and given.dtype != object:
        stack = _log_stack(given[rows], table, log_domain)
        return PotentialTable(
            np.tile(np.array(stack.shape[1:], dtype=np.int32), (n_edges, 1)),
            stack.ravel(),
            np.arange(n_edges, dtype=np.int32),
        )
    matrices = [
        log_matrix(given[int(row)], f"the potential of {table.describe(e)}", log_domain)
        for e, row in enumerate(rows)
    ]
    return _table_of(matrices, np.arange(n_edges, dtype=np.int32))


def homophily_table(strength: float, table: EdgeTable, n_states: Ints) -> PotentialTable:
    """Matrices under which neighbours agree with probability `strength`, to the power of an edge's weight.

    Raises
    ------
    InputError
        `strength` is no probability, or an edge joins variables of different state counts.
    """
    if isinstance(strength, str) or not 0 <= strength <= 1:
        raise InputError(f"homophily must be a probability between 0 and 1, got {strength!r}")
    counts = n_states[table.ends]
    different = counts[:, 0] != counts[:, 1]
    if different.any():
        e = int(different.argmax())
        raise InputError(
            f"{table.describe(e)}: homophily needs equal state counts, got {counts[e, 0]} and {counts[e, 1]}"
        )
    weights = np.ones(len(table.ends)) if table.weights is None else table.weights
    if strength in (0, 1) and (weights < 0).any():
        raise InputError("with homophily 0 or 1 edge weights must not be negative")
    which: Ints
    if table.weights is None and len(np.unique(n_states)) == 1:
        cases, which = np.array([[n_states[0], 1.0]]), np.zeros(len(table.ends), np.int32)
    else:
        cases, which = np.unique(np.column_stack([counts[:, 0], weights]), axis=0, return_inverse=True)
    matrices = [_agreement(strength, int(k), weight) for k, weight in cases]
    return _table_of(matrices, which.ravel().astype(np.int32))


def log_matrix(given: Any, whose: str, log_domain: bool) -> Floats:
    """A checked matrix of log-potentials, in nats."""
    try:
        matrix = real_numbers(given)
    except (TypeError, ValueError):
        raise InputError(f"{whose} must be a matrix of numbers, got {given!r}") from None
    if matrix.ndim != 2 or not matrix.size:
        raise InputError(f"{whose} must be a matrix [K, K], got shape {matrix.shape}")
    problem = _problems(matrix[None], log_domain)[0]
    if problem:
        raise InputError(f"{whose} {_PROBLEMS[problem, log_domain]}, got {matrix.tolist()}")
    return _log(matrix, log_domain)


_PROBLEMS = {
    (1, False): "must hold finite numbers ≥ 0",
    (1, True): "must hold logarithms below infinity",
    (2, False): "must not be all zero",
    (2, True): "must not be all -inf",
}


def _problems(matrices: Floats, log_domain: bool) -> Ints:
    """[n] 0 where a matrix is fine, else the key of the sentence that says what is wrong."""
    bad = np.isnan(matrices) | (matrices == np.inf)
    if not log_domain:
        bad |= matrices < 0
    empty = (matrices == (-np.inf if log_domain else 0.0)).all(axis=(1, 2))
    return np.where(bad.any(axis=(1, 2)), 1, np.where(empty, 2, 0))


def _log(matrix: Floats, log_domain: bool) -> Floats:
    if log_domain:
        return matrix.copy()
    with np.errstate(divide="ignore"):
        return np.log(matrix)


def _log_stack(stack: Any, table: EdgeTable, log_domain: bool) -> Floats:
    if stack.ndim != 3 or stack.dtype.kind not in "fiub" or 0 in stack.shape[1:]:
        raise InputError(f"potentials per edge must have shape [E, K, K], got {stack.shape}")
    stack = stack.astype(np.float64)
    problems = _problems(stack, log_domain)
    if problems.any():
        e = int((problems > 0).argmax())
        sentence = _PROBLEMS[int(problems[e]), log_domain]
        raise InputError(f"the potential of {table.describe(e)} {sentence}, got {stack[e].tolist()}")
    return _log(stack, log_domain)


def _per_type(given: Mapping[Any, Any], table: EdgeTable, log_domain: bool) -> PotentialTable:
    numbers = {kind: i for i, kind in enumerate(given)}
    matrices = [
        log_matrix(matrix, f"the potential of type {kind!r}", log_domain) for kind, matrix in given.items()
    ]
    index = np.zeros(len(table.ends), dtype=np.int32)
    for e, kind in enumerate(table.types or ()):
        number = numbers.get(kind)
        if number is None:
            raise InputError(
                f"{table.describe(e)} has type {kind!r}, for which there is no potential; "
                f"there are potentials for {', '.join(repr(k) for k in given)}"
            )
        index[e] = number
    return _table_of(matrices, index)


def _is_stack(given: Any) -> bool:
    """Whether `given` is one matrix per edge rather than one matrix."""
    if isinstance(given, np.ndarray) and given.dtype != object:
        return given.ndim == 3
    try:
        first = given[0]
    except (TypeError, IndexError, KeyError):
        return isinstance(given, list)
    return np.ndim(first) == 2


def _agreement(strength: float, n_states: int, weight: float) -> Floats:
    with np.errstate(divide="ignore"):
        agree = np.log(strength)
        differ = np.log((1 - strength) / max(n_states - 1, 1))
    matrix = np.full((n_states, n_states), differ)
    np.fill_diagonal(matrix, agree)
    # weight 0: the edge says nothing, also where 0 · -inf would be NaN
    return matrix * weight if weight else np.zeros_like(matrix)


def _table_of(matrices: list[Floats], index: Ints) -> PotentialTable:
    shapes = np.array([m.shape for m in matrices], dtype=np.int32).reshape(-1, 2)
    flat = np.concatenate([m.ravel() for m in matrices]) if matrices else np.zeros(0)
    return PotentialTable(shapes, flat, index)
