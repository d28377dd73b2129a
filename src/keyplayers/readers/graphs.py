"""Graphs in files of other programs: GraphML, GEXF and GML through networkx, MatrixMarket through scipy."""

import io
from typing import Any
from xml.etree.ElementTree import ParseError

from .._base.foreign import reading
from .._base.optional import require
from ..errors import FileFormatError
from ..mrf.field import MarkovRandomField
from .texts import read_bytes


def read_graphml(path: str, **options: Any) -> MarkovRandomField:
    """Edges of a GraphML file; attributes of edges may be types or weights."""
    return _read(path, "read_graphml", options)


def read_gexf(path: str, **options: Any) -> MarkovRandomField:
    """Edges of a GEXF file; variables are called by the nodes' ids."""
    return _read(path, "read_gexf", options)


def read_gml(path: str, **options: Any) -> MarkovRandomField:
    """Edges of a GML file; variables are called by the nodes' labels, or their ids where there are none."""
    labels = {"label": "label" if b"label" in read_bytes(path) else None}
    return _read(path, "read_gml", options, **labels)


def _read(path: str, function: str, options: dict[str, Any], **settings: Any) -> MarkovRandomField:
    networkx = require("networkx")
    data = read_bytes(path)
    with reading(path):
        try:
            graph = getattr(networkx, function)(io.BytesIO(data), **settings)
        except (networkx.NetworkXException, ParseError) as error:
            raise FileFormatError(f"{path}: {' '.join(str(error).split())}") from error
    return MarkovRandomField.from_edges(graph, **options)


def read_matrix(path: str, **options: Any) -> MarkovRandomField:
    """Edges of an adjacency matrix; one that is symmetric joins each pair once."""
    import scipy.io
    import scipy.sparse

    data = read_bytes(path)
    with reading(path):
        matrix = scipy.sparse.csr_array(scipy.io.mmread(io.BytesIO(data)))
    if matrix.dtype.kind == "c":
        raise FileFormatError(f"{path}: a matrix of complex numbers is no graph")
    return MarkovRandomField.from_edges(matrix, **options)
