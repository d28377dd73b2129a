"""Fields in NumPy's .npz: edge tables, and whole fields that can be mapped into memory."""

import json
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import FileFormatError
from ..mrf.field import MarkovRandomField
from ..mrf.names import Names

# version of the layout that `write_field` writes
_VERSION = 1
_ARRAYS = ("n_states", "log_priors", "edges", "potential_index", "potential_shapes", "log_potentials")
# names of the array that counts the variables of an edge table
_COUNTS = ("n_variables", "num_nodes")
# a member of a zip file begins with this many bytes, its name and its extra field
_ZIP_HEADER = struct.Struct("<26xHH")
# what zipfile puts before our own extra field where a member may be large
_ZIP64_EXTRA = 20
# an extra field of padding: an identifier that nobody uses, and its length
_PADDING_HEADER = struct.Struct("<HH")
_PADDING_ID = 0x7061
# the header of an .npy is a multiple of this, so what follows it is aligned where the header is
_ALIGNMENT = 64


def read_field(path: str, **options: Any) -> MarkovRandomField:
    """A field from an .npz; see `read_mrf`.

    An edge table has an integer array `edges` [E, 2] and may have `n_variables` (or `num_nodes`), `names` [N],
    `edge_types` [E], `priors` [N, K] and `potential`; other arrays are left alone. Arrays of uncompressed
    files are mapped into memory instead of read.
    """
    arrays = map_arrays(path)
    if "keyplayers_field" in arrays:
        given = [name for name in options if options[name] is not None]
        if given:
            raise FileFormatError(f"{path} is a whole field, so it takes no {', '.join(given)}")
        return _whole_field(path, arrays)
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
    FileFormatError
        A name cannot be written.
    """
    arrays = {
        "keyplayers_field": np.array(_VERSION),
        "names": _pack_names(None if mrf.names.numbered else list(mrf.names), path),
        "state_names": _pack_names(_plain_state_names(mrf), path),
        **{name: getattr(mrf, name) for name in _ARRAYS},
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as members:
        for name, array in arrays.items():
            _write_aligned(members, f"{name}.npy", array)


def map_arrays(path: str) -> dict[str, Any]:
    """All arrays of an .npz; those that are stored uncompressed are mapped, not read.

    Raises
    ------
    FileFormatError
        The file is no .npz of plain arrays.
    """
    try:
        with zipfile.ZipFile(path) as members, np.load(path, allow_pickle=False) as loaded:
            arrays = {}
            for member in members.infolist():
                name = member.filename.removesuffix(".npy")
                mapped = _map(path, member) if member.compress_type == zipfile.ZIP_STORED else None
                arrays[name] = loaded[name] if mapped is None else mapped
            return arrays
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise FileFormatError(f"{path}: not an .npz of plain arrays: {error}") from None


def _map(path: str, member: zipfile.ZipInfo) -> Any:
    """One stored member as a read-only array over the file; None where it cannot be mapped."""
    with open(path, "rb") as file:
        file.seek(member.header_offset)
        name_length, extra_length = _ZIP_HEADER.unpack(file.read(_ZIP_HEADER.size))
        file.seek(member.header_offset + _ZIP_HEADER.size + name_length + extra_length)
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            return None
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = read(file)
        if dtype.hasobject or not shape or 0 in shape:
            return None
        if file.tell() % dtype.alignment:
            return None
        whole: Any = np.memmap(path, dtype, "r", file.tell(), shape, "F" if fortran_order else "C")
        return whole.view(np.ndarray)


def _write_aligned(members: zipfile.ZipFile, name: str, array: Any) -> None:
    """Add an array so that its numbers begin at a multiple of `_ALIGNMENT` bytes, as processors like it."""
    member = zipfile.ZipInfo(name)
    file: Any = members.fp
    begin = file.tell() + _ZIP_HEADER.size + len(name) + _ZIP64_EXTRA + _PADDING_HEADER.size
    padding = -begin % _ALIGNMENT
    member.extra = _PADDING_HEADER.pack(_PADDING_ID, padding) + bytes(padding)
    with members.open(member, "w", force_zip64=True) as stream:
        np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)


def _whole_field(path: str, arrays: Mapping[str, Any]) -> MarkovRandomField:
    version = int(arrays["keyplayers_field"])
    if version != _VERSION:
        raise FileFormatError(f"{path}: written in layout {version}; this version reads layout {_VERSION}")
    missing = [name for name in (*_ARRAYS, "names", "state_names") if name not in arrays]
    if missing:
        raise FileFormatError(f"{path}: the field lacks {', '.join(missing)}")
    names = _unpack_names(arrays["names"])
    states = _unpack_names(arrays["state_names"])
    if isinstance(states, dict):
        states = {int(position): tuple(own) for position, own in states.items()}
    elif states is not None:
        states = tuple(states)
    return MarkovRandomField(
        names=Names(range(len(arrays["n_states"])) if names is None else names),
        state_names=states,
        **{name: arrays[name] for name in _ARRAYS},
    )


def _plain_state_names(mrf: MarkovRandomField) -> Any:
    if isinstance(mrf.state_names, Mapping):
        return {str(position): list(own) for position, own in mrf.state_names.items()}
    return None if mrf.state_names is None else list(mrf.state_names)


def _pack_names(names: Any, path: str) -> Any:
    """Names as JSON in an array of bytes."""
    lists = names.values() if isinstance(names, dict) else [names or []]
    for name in (name for own in lists for name in own):
        if not isinstance(name, str | int | float):
            raise FileFormatError(f"{path}: the name {name!r} cannot be written; a file holds texts and numbers")
    return np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)


def _unpack_names(packed: Any) -> Any:
    return json.loads(packed.tobytes())
