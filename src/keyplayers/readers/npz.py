"""Fields in NumPy's .npz: edge tables, and whole fields."""

from typing import Any

from ..errors import FileFormatError
from ..mrf.field import MarkovRandomField
from ..mrf.names import Names
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
    for name in ("edge_types", "priors", "potential"):
        if name in arrays and not any(options.get(other) is not None for other in _RIVALS[name]):
            options[name] = arrays[name]
    priors = options.get("priors") if options.get("priors") is not None else options.get("log_priors")
    if "names" in arrays:
        names = Names(arrays["names"].tolist())
        named = [(names[int(a)], names[int(b)]) for a, b in edges]
        options.setdefault("priors", None)
        if priors is arrays.get("priors") and priors is not None:
            options["priors"] = dict(zip(names, priors, strict=True))
        return MarkovRandomField.from_edges(named, **options)
    counts = [int(arrays[name]) for name in _COUNTS if name in arrays]
    if counts and priors is None:
        options["n_variables"] = counts[0]
    return MarkovRandomField.from_edges(edges, **options)


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
