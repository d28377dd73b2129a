"""Files and other libraries' objects in, fields out: `read_mrf`, `write_mrf`."""

import contextlib
import importlib
import re
import zlib
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any

from ..errors import FileFormatError
from ..mrf.field import MarkovRandomField
from .paths import check_plain_file, suffix

# suffix (without .gz) -> module and function that reads such a file
_READERS = {
    ".csv": ".edge_files:read_field",
    ".tsv": ".edge_files:read_field",
    ".parquet": ".edge_files:read_field",
    ".txt": ".edge_files:read_field",
    ".edgelist": ".edge_files:read_field",
    ".edges": ".edge_files:read_field",
    ".npz": ".npz:read_field",
    ".uai": ".uai:read_field",
    ".bif": ".bif:read_field",
    ".fg": ".libdai:read_field",
    ".xmlbif": ".xmlbif:read_field",
    ".bifxml": ".xmlbif:read_field",
    ".graphml": ".graphs:read_graphml",
    ".gexf": ".graphs:read_gexf",
    ".gml": ".graphs:read_gml",
    ".mtx": ".graphs:read_matrix",
}
# what the beginning of a file shows, where its suffix says nothing
_CONTENT = (
    (r"\s*(MARKOV|BAYES)\b", ".uai"),
    (r"PAR1", ".parquet"),
    (r"PK\x03\x04", ".npz"),
    (r"%%MatrixMarket", ".mtx"),
    (r"\s*<(.|\n)*?<BIF\b", ".xmlbif"),
    (r"\s*<BIF\b", ".xmlbif"),
    (r"\s*<(.|\n)*?<graphml\b", ".graphml"),
    (r"\s*<(.|\n)*?<gexf\b", ".gexf"),
    (r"(.|\n)*?\bgraph\s*\[", ".gml"),
    (r"\s*(//[^\n]*\n|/\*(.|\n)*?\*/|\s)*network\b", ".bif"),
)
_BEGIN = 4096
# suffix -> module and function that writes such a file
_WRITERS = {
    ".npz": ".npz:write_field",
    ".uai": ".uai:write_field",
    ".bif": ".bif:write_field",
    ".fg": ".libdai:write_field",
    ".xmlbif": ".xmlbif:write_field",
    ".bifxml": ".xmlbif:write_field",
}


def read_mrf(source: Any, /, **options: Any) -> MarkovRandomField:
    """A field from a file or from another library's object.

    Parameters
    ----------
    source
        Path of an edge table (.csv, .tsv, .parquet; columns source, target[, type]; header names may differ,
        then the first two count), of a list of edges (.txt, .edgelist, .edges: comments begin with # or %, columns
        stand between blanks), or of an .npz with an array `edges` [E, 2] or written by `write_mrf`; of a graph
        (.graphml, .gexf, .gml, .mtx); or of a whole model: .uai (Markov or Bayesian network), .bif, .xmlbif (also
        .bifxml), .fg (libDAI). Files with another suffix are known by their content. Text files may be compressed
        (.gz). Or a model of pgmpy (MarkovNetwork, FactorGraph, BayesianNetwork) or pyAgrum (BayesNet,
        MarkovRandomField), a `Data` of PyTorch Geometric, or whatever `MarkovRandomField.from_edges` takes for
        edges.
    options
        As of `MarkovRandomField.from_edges`: priors, potential, homophily, duplicates, ... A file that holds
        them itself takes none. `source` and `target` name the columns of a table; ``header=False`` says that a
        text file has none. What was taken by guess stands in `notes` of the field.

    Raises
    ------
    FileFormatError
        The file cannot be read; the message says where.
    InputError
        What it says makes no field.
    """
    if not isinstance(source, str | PathLike):
        from .objects import reader_of

        return (reader_of(source) or MarkovRandomField.from_edges)(source, **options)
    path = fspath(source)
    kind = suffix(path)
    read = _find(_READERS, path, kind if kind in _READERS else _kind_by_content(path), "read")
    return read(path, **options)  # type: ignore[no-any-return]


def write_mrf(mrf: MarkovRandomField, path: "str | PathLike[str]") -> None:
    """Write a field to a file that `read_mrf` reads back.

    An .npz keeps everything; .uai and .fg keep numbers and no names; .bif and .xmlbif hold Bayesian networks.

    Raises
    ------
    FileFormatError
        Nothing is known that writes such a file.
    InputError
        The format cannot hold such a field.
    """
    _find(_WRITERS, fspath(path), PurePath(fspath(path).lower()).suffix, "write")(mrf, fspath(path))


def _kind_by_content(path: str) -> str:
    """The suffix that a file should have; empty where its beginning does not tell."""
    check_plain_file(path)
    with open(path, "rb") as file:
        begin = file.read(_BEGIN)
    if begin.startswith(b"\x1f\x8b"):
        with contextlib.suppress(zlib.error):
            begin = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(begin, _BEGIN)
    shown = begin.decode("utf-8-sig", errors="replace")
    return next((kind for pattern, kind in _CONTENT if re.match(pattern, shown)), "")


def _find(table: dict[str, str], path: str, kind: str, verb: str) -> Callable[..., Any]:
    found = table.get(kind)
    if found is None:
        raise FileFormatError(f"{path}: cannot {verb} a field in this format; known are {', '.join(table)}")
    module, _, function = found.partition(":")
    reader: Callable[..., Any] = getattr(importlib.import_module(module, __name__), function)
    return reader
