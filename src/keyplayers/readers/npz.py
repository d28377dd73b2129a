"""Fields in NumPy's .npz: edge tables, and whole fields."""

from typing import Any

import numpy as np

from ..errors import FileFormatError
from ..mrf.field import MarkovRandomField
from ..mrf.storage import field_arrays, field_from_arrays, is_field, map_arrays, write_arrays

# names of the array that counts the variables of an edge table
_COUNTS = ("n_variables", "num_nodes")


def read_field(path: str, **options: Any) -> MarkovRandomField:
    """A field from an .npz; see `read_mrf`.

    An edge table has an integer array `edges` [E, 2] and may have `n_variables` (or `num_nodes`), `names` [N],
    `edge_types` [E], `priors` [N, K] and `potential`; other arrays are left alone. Arrays of uncompressed
    files are mapped into memory instead of read.
    """
    arrays = map_arrays(path)
    if is_field(arrays):
        given = [name for name in options if options[name] is not None]
        if given:
            raise FileFormatError(f"{path} is a whole field, so it takes no {', '.join(given)}")
        return field_from_arrays(arrays, path)
    if "edges" not in arrays:
        raise FileFormatError(f"{path}: expected an array 'edges' [E, 2]; the file holds {', '.join(arrays)}")
    edges = arrays["edges"]
    if edges.size and edges.dtype.kind not in "iu":
        raise FileFormatError(f"{path}: 'edges' must be integers, positions of both ends, got {edges.dtype}")
    for name in ("edge_types", "priors", "potential"):
        if name in arrays and not any(options.get(other) is not None for other in _RIVALS[name]):
            options[name] = arrays[name]
    counts = {name: _count(arrays[name], f"{path}: {name!r}") for name in _COUNTS if name in arrays}
    if "names" in arrays:
        options.setdefault("names", arrays["names"].tolist())
        counts["names"] = len(options["names"])
    if len(set(counts.values())) > 1:
        raise FileFormatError(f"{path}: the arrays disagree on the number of variables: {counts}")
    if counts:
        options["n_variables"] = next(iter(counts.values()))
    return MarkovRandomField.from_edges(edges.astype(np.int64) if not edges.size else edges, **options)


def _count(array: Any, what: str) -> int:
    if array.ndim or array.dtype.kind not in "iu":
        raise FileFormatError(f"{what} must be one integer, got {array.dtype} of shape {array.shape}")
    return int(array)


# an array of the file is left alone where the caller gives one of these
_RIVALS = {
    "edge_types": ("edge_types",),
    "priors": ("priors", "log_priors"),
    "potential": ("potential", "log_potential", "homophily"),
}


def write_field(mrf: MarkovRandomField, path: str) -> None:
    """Write a whole field, uncompressed, so that it can be mapped into memory.

    Raises
    ------
    InputError
        A name cannot be written.
    """
    write_arrays(field_arrays(mrf), path)
