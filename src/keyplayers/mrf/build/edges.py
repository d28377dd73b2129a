"""Edges as a table: positions for ends, names, types, weights."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.names import Names, check_name, has_own_identity, plain_name
from ...errors import InputError
from .intake import EdgeRows
from .priors import PriorTable
from .request import FieldRequest

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


def read_edges(request: FieldRequest, rows: EdgeRows, priors: PriorTable | None) -> EdgeTable:
    """The table of edges; variables that have priors come first, in their order.

    Raises
    ------
    InputError
        A name is missing, a position is out of range, or types or weights do not fit.
    """
    names, ends = _find_ends(request, rows, priors)
    types = _listed(rows.types)
    if types is not None and len(types) != len(ends):
        raise InputError(f"edge_types must have one entry per edge ({len(ends)}), got {len(types)}")
    if request.typed and types is None:
        raise InputError(
            "a potential per type needs a type for every edge: a column 'type', a third entry, or edge_types"
        )
    return EdgeTable(names, ends, None, types, _read_weights(rows.weights, len(ends)))


def _find_ends(request: FieldRequest, rows: EdgeRows, priors: PriorTable | None) -> tuple[Names, Ints]:
    """What the variables are called, and the positions of both ends of every edge."""
    n_variables = rows.n_variables if request.n_variables is None else request.n_variables
    if request.names is not None:
        return _number_named(rows, Names(request.names), priors)
    unnamed = priors is not None and priors.names is None
    if unnamed or (rows.positional and priors is None) or (n_variables is not None and priors is not None):
        n = n_variables if priors is None or priors.names is not None else len(priors)
        if n_variables is not None and n != n_variables:
            raise InputError(f"there are {n} priors, but n_variables={n_variables}")
        return _number_named(rows, None if n is None else Names(range(n)), priors)
    if n_variables is not None:
        raise InputError("n_variables goes with edges given as positions; named variables need a prior each")
    known = () if priors is None or priors.names is None else priors.names
    return _name(rows.source, rows.target, [*known, *(name for name in rows.variables or () if name not in known)])


def _listed(types: Any) -> Sequence[Hashable] | None:
    if types is None or isinstance(types, Sequence):
        return types
    listed: Sequence[Hashable] = types.to_list() if hasattr(types, "to_list") else np.asarray(types).tolist()
    return listed


def _number_named(rows: EdgeRows, names: Names | None, priors: PriorTable | None) -> tuple[Names, Ints]:
    """Positions in `names` as positions in names of which those that have a prior come first."""
    numbered, ends = _number(rows, None if names is None else len(names))
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


def _number(rows: EdgeRows, n: int | None) -> tuple[Names, Ints]:
    """Ends that are positions 0 .. n-1 already."""
    columns = [
        _positions(column, which, n) for column, which in ((rows.source, "source"), (rows.target, "target"))
    ]
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
        first, second = columns
        e = int(np.argmax((first < 0) | (first >= n) | (second < 0) | (second >= n)))
        raise InputError(
            f"edge {e} ({int(first[e])} - {int(second[e])}) is out of range: the variables are 0 to {n - 1}"
        )
    ends[:, 0], ends[:, 1] = columns
    return Names(range(n)), ends


def _positions(column: Any, which: str, n: int | None) -> Ints:
    values: Ints = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if len(values) and values.dtype.kind not in "iu":
        raise InputError(
            f"priors without names belong to variables 0 to {(n or 0) - 1}, so the edges must be positions, "
            f"but {which} holds {plain_name(values[0])!r}; give priors as {{name: row}}"
        )
    return values


def _name(source: Any, target: Any, known: Sequence[Hashable]) -> tuple[Names, Ints]:
    """Ends by name: known names first, then in order of appearance."""
    values, codes = _encode(source, target)
    table = {name: i for i, name in enumerate(known)}
    names = list(known)
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
    arrays = _arrow_arrays(source, target)
    if arrays is not None:
        return _encode_arrow(*arrays)
    values: dict[Any, int] = {}
    columns = [[plain_name(name) for name in column] for column in (source, target)]
    codes = np.empty((len(columns[0]), 2), dtype=np.int64)
    for side, (column, which) in enumerate(zip(columns, ("source", "target"), strict=True)):
        for e, name in enumerate(column):
            if name is None or name != name or has_own_identity(name):
                check_name(name, f"the {which} of edge {e}")
            try:
                codes[e, side] = values.setdefault(name, len(values))
            except TypeError:
                check_name(name, f"the {which} of edge {e}")
    return list(values), codes


def _arrow_arrays(source: Any, target: Any) -> tuple[Any, Any] | None:
    """Both columns as Arrow arrays of one type; None where a column holds mixed Python objects."""
    import pyarrow as pa

    try:
        first, second = (_arrow_array(column) for column in (source, target))
        if pa.types.is_nested(first.type) or pa.types.is_nested(second.type):
            return None
        if first.type != second.type:
            if not all(pa.types.is_string(c.type) or pa.types.is_large_string(c.type) for c in (first, second)):
                return None
            second = second.cast(first.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return first, second


def _arrow_array(column: Any) -> Any:
    import pyarrow as pa

    array = column.to_arrow() if hasattr(column, "to_arrow") else pa.array(column)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _encode_arrow(first: Any, second: Any) -> tuple[list[Any], Ints]:
    """The same through Arrow, which is fast."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for array, which in ((first, "source"), (second, "target")):
        missing = pc.is_null(array, nan_is_null=pa.types.is_floating(array.type))
        if pc.any(missing).as_py():
            e = pc.index(missing, True).as_py()
            raise InputError(f"the name of the {which} of edge {e} is missing; every edge needs both ends")
    both = pa.concat_arrays([first, second]).dictionary_encode()
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
