"""Edges from whatever people bring, as columns: arrays, pairs, frames, sparse matrices, graphs of libraries."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.frames import is_frame, read_frame
from ..._base.names import plain_name
from ...errors import InputError
from .columns import find_edge_columns
from .request import FieldRequest

_ALLOWED = "an array [E, 2], a list of pairs of names, a data frame, a sparse matrix or a networkx or igraph graph"


@dataclass(frozen=True)
class EdgeRows:
    """Edges as columns, row after row."""

    source: Any  # [E] a sequence, an array or a column of a frame
    target: Any  # [E]
    types: Any = None  # [E]
    weights: Any = None  # [E], or the name of a column that nobody has found
    positional: bool = False  # whether the ends may be positions 0 .. N-1
    variables: Sequence[Hashable] | None = None  # all of them, also those without an edge
    n_variables: int | None = None  # the same where the ends are positions
    notes: tuple[str, ...] = ()  # what was taken by guess


def edge_rows(request: FieldRequest) -> EdgeRows:
    """The edges that were asked for.

    Raises
    ------
    InputError
        They are of no kind that can be read, or a row is no pair; the message names the row.
    """
    edges = request.edges
    for recognises, read in _KINDS:
        if recognises(edges):
            return read(edges, request)
    raise InputError(f"edges must be {_ALLOWED}, got {type(edges).__name__}")


def _of_library(*names: str) -> Callable[[Any], bool]:
    """Whether an object's class comes from one of these packages; nothing is imported."""
    return lambda edges: any(kind.__module__.partition(".")[0] in names for kind in type(edges).__mro__)


# --- graphs and matrices of other libraries


def _from_networkx(graph: Any, request: FieldRequest) -> EdgeRows:
    rows = list(graph.edges(data=True))
    source, target = [row[0] for row in rows], [row[1] for row in rows]
    attributes = [row[2] for row in rows]
    return EdgeRows(
        source,
        target,
        types=_attribute(attributes, "type", request.typed and request.edge_types is None, request.edge_types),
        weights=_weights(request, lambda name: _attribute(attributes, name, True, None)),
        variables=list(graph.nodes),
    )


def _attribute(attributes: list[dict[str, Any]], name: str, wanted: bool, given: Any) -> Any:
    """One attribute of all edges; None where none has it."""
    if not wanted or not any(name in own for own in attributes):
        return given
    missing = next((i for i, own in enumerate(attributes) if name not in own), None)
    if missing is not None:
        raise InputError(f"edge {missing} of the graph has no attribute {name!r}, but others have")
    return [own[name] for own in attributes]


def _from_igraph(graph: Any, request: FieldRequest) -> EdgeRows:
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    own = graph.es.attributes()
    types = graph.es["type"] if request.typed and request.edge_types is None and "type" in own else None
    weights = _weights(request, lambda name: graph.es[name] if name in own else None)
    types = request.edge_types if types is None else types
    if "name" not in graph.vs.attributes():
        return EdgeRows(ends[:, 0], ends[:, 1], types, weights, positional=True, n_variables=graph.vcount())
    names = graph.vs["name"]
    source, target = ([names[i] for i in column] for column in ends.T.tolist())
    return EdgeRows(source, target, types, weights, variables=names)


def _from_sparse(matrix: Any, request: FieldRequest) -> EdgeRows:
    """An adjacency matrix; one that is symmetric joins each pair once."""
    found = matrix.tocoo()
    if len(found.shape) != 2 or found.shape[0] != found.shape[1]:
        raise InputError(f"an adjacency matrix must be square, got shape {found.shape}")
    rows, columns, entries = (np.asarray(part) for part in (found.row, found.col, found.data))
    there = entries != 0
    rows, columns, entries = (part[there] for part in (rows, columns, entries))
    if abs(matrix - matrix.T).nnz == 0:
        once = rows <= columns
        rows, columns, entries = (part[once] for part in (rows, columns, entries))
    return EdgeRows(
        rows.astype(np.int64),
        columns.astype(np.int64),
        request.edge_types,
        _weights(request, lambda name: entries if name == "weight" else None),
        positional=True,
        n_variables=found.shape[0],
    )


# --- tables and arrays


def _from_frame(data: Any, request: FieldRequest) -> EdgeRows:
    frame = read_frame(data)
    columns = find_edge_columns(frame.columns, request.source, request.target)
    types = request.edge_types
    if request.typed and types is None and columns.type is not None:
        types = frame[columns.type].to_list()
    weights = _weights(request, lambda name: frame[name].to_numpy() if name in frame.columns else None)
    if isinstance(weights, str):
        raise InputError(f"there is no column {weights!r} of edge weights; the columns are {frame.columns}")
    notes = () if columns.guess is None else (columns.guess,)
    return EdgeRows(frame[columns.source], frame[columns.target], types, weights, notes=notes)


def _from_array(edges: Any, request: FieldRequest) -> EdgeRows:
    """Whatever NumPy can read: arrays and matrices of its own, tensors of torch or JAX."""
    array = np.asarray(edges)
    if array.dtype == object:
        return _from_pairs(edges if array.ndim != 2 else array.tolist(), request)
    if array.ndim == 2 and array.shape[1] != 2 and array.shape[0] == 2 and array.dtype.kind in "iu":
        array = array.T  # the edge_index of PyTorch Geometric
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"an array of edges must be of integers [2, E], or have shape [E, 2], got {array.shape}")
    if array.dtype.kind == "b":
        raise InputError(f"an array of booleans [{len(array)}, 2] is no list of edges")
    return EdgeRows(
        array[:, 0], array[:, 1], request.edge_types, request.edge_weights, positional=array.dtype.kind in "iu"
    )


def _from_pairs(edges: Any, request: FieldRequest) -> EdgeRows:
    """Ends (and types) from rows of two (three) entries."""
    typed_rows = request.typed and request.edge_types is None
    wanted = 3 if typed_rows else 2
    columns: list[list[Any]] = [[] for _ in range(wanted)]
    for i, row in enumerate(edges):
        if isinstance(row, str | set | frozenset) or not hasattr(row, "__len__") or len(row) != wanted:
            shape = "(source, target, type)" if typed_rows else "(source, target)"
            raise InputError(f"edge {i} must be {shape}, got {row!r}")
        for column, entry in zip(columns, row, strict=True):
            column.append(plain_name(entry))
    source, target = columns[:2]
    types = columns[2] if typed_rows else request.edge_types
    positional = all(type(name) is int for name in [*source, *target])
    return EdgeRows(source, target, types, request.edge_weights, positional)


def _refuse(reason: str) -> Callable[[Any, FieldRequest], EdgeRows]:
    def refuse(edges: Any, request: FieldRequest) -> EdgeRows:
        raise InputError(f"edges must be {_ALLOWED}, got {type(edges).__name__}: {reason}")

    return refuse


def _weights(request: FieldRequest, column: Callable[[str], Any]) -> Any:
    """Weights as numbers; the name itself where there is no such column."""
    if not isinstance(request.edge_weights, str):
        return request.edge_weights
    found = column(request.edge_weights)
    return request.edge_weights if found is None else found


def _is_series(edges: Any) -> bool:
    import narwhals.stable.v2 as nw

    return bool(nw.dependencies.is_into_series(edges))


# the first that recognises an object reads it
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any, FieldRequest], EdgeRows]], ...] = (
    (lambda edges: isinstance(edges, str | bytes), _refuse("a file is read by read_mrf(path)")),
    (lambda edges: isinstance(edges, Mapping), _refuse("list its items as pairs")),
    (lambda edges: isinstance(edges, set | frozenset), _refuse("a set has no order; give sorted(...)")),
    (_of_library("networkx"), _from_networkx),
    (_of_library("igraph"), _from_igraph),
    (lambda edges: hasattr(edges, "tocoo"), _from_sparse),
    (is_frame, _from_frame),
    (_is_series, _refuse("a single column has one end of each edge")),
    (lambda edges: hasattr(edges, "__array__") or hasattr(edges, "__dlpack__"), _from_array),
    (lambda edges: hasattr(edges, "__iter__"), _from_pairs),
)
