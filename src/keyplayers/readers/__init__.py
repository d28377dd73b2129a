"""Files and other libraries' objects in, fields out: `read_mrf`, `write_mrf`."""

import importlib
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any

from ..errors import FileFormatError
from ..mrf.field import MarkovRandomField

# suffix (without .gz) -> module and function that reads such a file
_READERS = {
    ".csv": ".edge_files:read_field",
    ".tsv": ".edge_files:read_field",
    ".parquet": ".edge_files:read_field",
    ".txt": ".edge_files:read_field",
    ".edgelist": ".edge_files:read_field",
    ".edges": ".edge_files:read_field",
    ".npz": ".npz:read_field",
}
# suffix -> module and function that writes such a file
_WRITERS = {
    ".npz": ".npz:write_field",
}


def read_mrf(source: Any, /, **options: Any) -> MarkovRandomField:
    """A field from a file or from another library's object.

    Parameters
    ----------
    source
        Path of an edge table (.csv, .tsv, .parquet; columns source, target[, type]; header names may differ,
        then the first two count), of a list of edges (.txt, .edgelist, .edges: comments begin with # or %, columns
        stand between blanks), or of an .npz with an array `edges` [E, 2] or written by `write_mrf`. Text files may
        be compressed (.gz). Or whatever `MarkovRandomField.from_edges` takes for edges.
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
        return MarkovRandomField.from_edges(source, **options)
    return _find(_READERS, fspath(source), "read")(fspath(source), **options)  # type: ignore[no-any-return]


def write_mrf(mrf: MarkovRandomField, path: "str | PathLike[str]") -> None:
    """Write a field to a file that `read_mrf` reads back (.npz).

    Raises
    ------
    FileFormatError
        Nothing is known that writes such a file.
    """
    _find(_WRITERS, fspath(path), "write")(mrf, fspath(path))


def suffix(path: str) -> str:
    """The suffix that says the format, without .gz, in lower case."""
    name = PurePath(path.lower())
    return PurePath(name.stem).suffix if name.suffix == ".gz" else name.suffix


def _find(table: dict[str, str], path: str, verb: str) -> Callable[..., Any]:
    found = table.get(suffix(path))
    if found is None:
        raise FileFormatError(f"{path}: cannot {verb} a field in this format; known are {', '.join(table)}")
    module, _, function = found.partition(":")
    reader: Callable[..., Any] = getattr(importlib.import_module(module, __name__), function)
    return reader
