"""Edges from arrays, sequences of pairs and data frames: ends as positions, names, types, weights."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.frames import is_frame, read_frame
from ..._base.names import Names, check_name, plain_name
from ...errors import InputError
from .priors import PriorTable

# positions beyond this many times the number of rows are more likely identifiers than positions
_SPARSEST_NUMBERING = 1000


@dataclass(frozen=True)
class EdgeTable:
    """Edges with positions for ends."""

    names: Names  # [N]
    ends: Ints  # [E, 2] positions in `names`, int32
    rows: Ints | None  # [E] number of the row that an edge came from, None while all are there
    types: Sequence[Hashable] | None  # [E]
    weights: Floats | None  # [E]

    def describe(self, e: int) -> str:
        """An edge in words, for messages."""
        row = e if self.rows is None else int(self.rows[e])
        a, b = (self.names[int(end)] for end in self.ends[e])
        return f"edge {row} ({a!r} - {b!r})"

    def select(self, keep: Any) -> "EdgeTable":
        """The table with the edges where `keep` [E] is True; potentials per edge follow through `rows`."""
        kept = np.flatnonzero(keep)
        types = None if self.types is None else [self.types[int(e)] for e in kept]
        weights = None if self.weights is None else self.weights[kept]
        rows = kept if self.rows is None else self.rows[kept]
        return replace(self, ends=self.ends[kept], rows=rows, types=types, weights=weights)


def read_edges(
    edges: Any,
    priors: PriorTable | None,
    *,
    typed: bool,
    types: Sequence[Hashable] | None,
    weights: Any,
    n_variables: int | None = None,
    names: Names | None = None,
) -> EdgeTable:
    """The table of edges; variables that have priors come first, in their order.

    Parameters
    ----------
    n_variables, names
        N, or what the variables are called, where the edges are positions.
    typed
        Whether edges need a type: a third entry of each row, a column or `types`.
    weights
        [E] numbers, or the name of a column.

    Raises
    ------
    InputError
        A name is missing, a row is no pair, a position is out of range.
    """
    positional = priors is not None and priors.names is None
    if is_frame(edges):
        source, target, types, weights = _frame_columns(edges, typed, types, weights)
    elif isinstance(edges, np.ndarray) and edges.dtype != object:
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise InputError(f"an array of edges must have shape [E, 2], got {edges.shape}")
        source, target = edges[:, 0], edges[:, 1]
        positional |= priors is None and edges.dtype.kind in "iu"
    else:
        source, target, types = _pairs(edges, typed, types)
        positional |= priors is None and all(type(name) is int for name in [*source, *target])
    if names is not None:
        names, ends = _number_named(source, target, names, priors)
    elif positional or (n_variables is not None and priors is not None):
        n = n_variables if priors is None or priors.names is not None else len(priors)
        if n_variables is not None and n != n_variables:
            raise InputError(f"there are {n} priors, but n_variables={n_variables}")
        names, ends = _number_named(source, target, None if n is None else Names(range(n)), priors)
    elif n_variables is not None:
        raise InputError("n_variables goes with edges given as positions; named variables need a prior each")
    else:
        names, ends = _name(source, target, None if priors is None else priors.names)
    if types is not None and not isinstance(types, Sequence):
        types = types.to_list() if hasattr(types, "to_list") else np.asarray(types).tolist()
    if types is not None and len(types) != len(ends):
        raise InputError(f"edge_types must have one entry per edge ({len(ends)}), got {len(types)}")
    if typed and types is None:
        raise InputError(
            "a potential per type needs a type for every edge: a column 'type', a third entry, or edge_types"
        )
    return EdgeTable(names, ends, None, types, _read_weights(weights, len(ends)))


def _frame_columns(edges: Any, typed: bool, types: Any, weights: Any) -> tuple[Any, Any, Any, Any]:
    frame = read_frame(edges)
    columns = frame.columns
    if {"source", "target"} <= set(columns):
        first, second = "source", "target"
        third = "type" if "type" in columns else None
    else:
        if len(columns) < 2:
            raise InputError(f"a frame of edges needs columns source and target, got {columns}")
        first, second = columns[:2]
        third = "type" if "type" in columns else (columns[2] if len(columns) > 2 else None)
    if typed and types is None and third is not None:
        types = frame[third].to_list()
    if isinstance(weights, str):
        if weights not in columns:
            raise InputError(f"there is no column {weights!r} of edge weights; the columns are {columns}")
        weights = frame[weights].to_numpy()
    return frame[first], frame[second], types, weights


def _pairs(edges: Iterable[Any], typed: bool, types: Any) -> tuple[list[Any], list[Any], Any]:
    """Ends (and types) from rows of two (three) entries."""
    source, target, third = [], [], []
    try:
        rows = list(edges)
    except TypeError:
        raise InputError(
            "edges must be an array [E, 2], pairs of names or a data frame, got " + type(edges).__name__
        ) from None
    typed_rows = typed and types is None
    wanted = 3 if typed_rows else 2
    for i, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != wanted:
            shape = "(source, target, type)" if typed_rows else "(source, target)"
            raise InputError(f"edge {i} must be {shape}, got {row!r}")
        source.append(plain_name(row[0]))
        target.append(plain_name(row[1]))
        if typed_rows:
            third.append(plain_name(row[2]))
    return source, target, third if typed_rows else types


def _number_named(source: Any, target: Any, names: Names | None, priors: PriorTable | None) -> tuple[Names, Ints]:
    """Positions in `names` as positions in names of which those that have a prior come first."""
    numbered, ends = _number(source, target, None if names is None else len(names))
    names = numbered if names is None else names
    if priors is None:
        return names, ends
    if priors.names is None:
        if len(priors) != len(names):
            raise InputError(f"there are {len(priors)} priors, but {len(names)} names")
        return names, ends
    first = np.array([names.find(name) for name in priors.names], dtype=np.int64)
    order = np.concatenate([first, np.setdiff1d(np.arange(len(names)), first)])
    if (order == np.arange(len(names))).all():
        return names, ends
    places = np.empty(len(names), dtype=np.int32)
    places[order] = np.arange(len(names), dtype=np.int32)
    return Names(names[int(i)] for i in order), places[ends]


def _number(source: Any, target: Any, n: int | None) -> tuple[Names, Ints]:
    """Ends that are positions 0 .. n-1 already."""
    columns = []
    for column, which in ((source, "source"), (target, "target")):
        values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        if len(values) and values.dtype.kind not in "iu":
            raise InputError(
                f"priors without names belong to variables 0 to {(n or 0) - 1}, so the edges must be positions, "
                f"but {which} holds {plain_name(values[0])!r}; give priors as {{name: row}}"
            )
        columns.append(values)
    ends = np.empty((len(columns[0]), 2), dtype=np.int32)
    lowest = min((int(values.min()) for values in columns if len(values)), default=0)
    highest = max((int(values.max()) for values in columns if len(values)), default=-1)
    if n is None:
        n = highest + 1
        if n > _SPARSEST_NUMBERING * (len(ends) + 1):
            raise InputError(
                f"{len(ends)} edges with positions up to {highest} would make {n:,} variables; if these are "
                "identifiers, give a data frame (or priors with names)"
            )
    if lowest < 0 or highest >= n:
        e = int(np.argmax((columns[0] < 0) | (columns[0] >= n) | (columns[1] < 0) | (columns[1] >= n)))
        raise InputError(
            f"edge {e} ({int(columns[0][e])} - {int(columns[1][e])}) is out of range: "
            f"the variables are 0 to {n - 1}"
        )
    ends[:, 0], ends[:, 1] = columns
    return Names(range(n)), ends


def _name(source: Any, target: Any, known: Names | None) -> tuple[Names, Ints]:
    """Ends by name: known names first, then in order of appearance."""
    values, codes = _encode(source, target)
    table = {} if known is None else {name: i for i, name in enumerate(known)}
    names = [] if known is None else list(known)
    # positions of the distinct values, in the order in which the rows show them
    shown = np.empty(len(values), dtype=np.int64)
    shown[codes.ravel()[::-1]] = np.arange(codes.size)[::-1]
    positions = np.empty(len(values), dtype=np.int32)
    for code in np.argsort(shown):
        name = values[code]
        if name not in table:
            table[name] = len(names)
            names.append(name)
        positions[code] = table[name]
    return Names(names), positions[codes]


def _encode(source: Any, target: Any) -> tuple[list[Any], Ints]:
    """Distinct values and [E, 2] codes; missing values are refused with their row."""
    encoded = _encode_arrow(source, target)
    if encoded is not None:
        return encoded
    values: dict[Any, int] = {}
    columns = [[plain_name(name) for name in column] for column in (source, target)]
    codes = np.empty((len(columns[0]), 2), dtype=np.int64)
    for side, (column, which) in enumerate(zip(columns, ("source", "target"), strict=True)):
        for e, name in enumerate(column):
            try:
                codes[e, side] = values.setdefault(name, len(values))
            except TypeError:
                check_name(name, f"the {which} of edge {e}")
            if name is None or name != name:
                check_name(name, f"the {which} of edge {e}")
    return list(values), codes


def _encode_arrow(source: Any, target: Any) -> tuple[list[Any], Ints] | None:
    """The same through Arrow, which is fast; None where a column holds mixed Python objects."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    try:
        for column in (source, target):
            array = column.to_arrow() if hasattr(column, "to_arrow") else pa.array(column)
            if isinstance(array, pa.ChunkedArray):
                array = array.combine_chunks()
            if pa.types.is_dictionary(array.type):
                array = array.dictionary_decode()
            columns.append(array)
        if pa.types.is_nested(columns[0].type) or pa.types.is_nested(columns[1].type):
            return None
        if columns[0].type != columns[1].type:
            if not all(pa.types.is_string(c.type) or pa.types.is_large_string(c.type) for c in columns):
                return None
            columns[1] = columns[1].cast(columns[0].type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    for array, which in zip(columns, ("source", "target"), strict=True):
        missing = pc.is_null(array, nan_is_null=pa.types.is_floating(array.type))
        if pc.any(missing).as_py():
            e = pc.index(missing, True).as_py()
            raise InputError(f"the name of the {which} of edge {e} is missing; every edge needs both ends")
    both = pa.concat_arrays(columns).dictionary_encode()
    # not to_numpy, which loads pandas
    codes = np.from_dlpack(both.indices).astype(np.int64)
    return both.dictionary.to_pylist(), np.ascontiguousarray(codes.reshape(2, -1).T)


def _read_weights(weights: Any, n_edges: int) -> Floats | None:
    if weights is None:
        return None
    if isinstance(weights, str):
        raise InputError(f"edge_weights={weights!r} names a column, but the edges are no data frame")
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n_edges,):
        raise InputError(f"edge_weights must have one number per edge ({n_edges}), got shape {array.shape}")
    if not np.isfinite(array).all():
        e = int(np.argmin(np.isfinite(array)))
        raise InputError(f"the weight of edge {e} must be finite, got {array[e]}")
    return array
