"""Fields and belief states as plain arrays in an .npz, which is mapped into memory where it can be."""

import hashlib
import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np

from .._base.arrays import Ints
from .._base.atomic import replacing
from .._base.foreign import reading
from .._base.names import Names, name_from_json, name_to_json
from ..errors import FileFormatError, InputError
from .field import MarkovRandomField
from .inference.beliefs import BeliefState
from .inference.messages import Messages, uniform
from .inference.propagation import Done, MessageOrigin

# version of the layout of fields and states
_VERSION = 1
_FIELD_ARRAYS = ("n_states", "log_priors", "edges", "potential_index", "potential_shapes", "log_potentials")
_STATE_ARRAYS = ("log_beliefs", "residuals", "log_residuals")
_STATE_SETTINGS = ("schedule", "converged", "exact", "damping", "max_product", "tolerance", "start")
# a member of a zip file begins with this many bytes, its name and its extra field
_ZIP_HEADER = struct.Struct("<26xHH")
# what zipfile puts before our own extra field where a member may be large
_ZIP64_EXTRA = 20
# an extra field of padding: an identifier that nobody uses, and its length
_PADDING_HEADER = struct.Struct("<HH")
_PADDING_ID = 0x7061
# the header of an .npy is a multiple of this, so what follows it is aligned where the header is
_ALIGNMENT = 64


def save_state(state: BeliefState, path: "str | PathLike[str]") -> None:
    """Write a state of `belief_propagation`, with its field, to an .npz that `load_state` reads.

    Raises
    ------
    InputError
        The state has no messages (exact marginals), or a name cannot be written.
    """
    if not isinstance(state.origin, MessageOrigin):
        raise InputError("only states of belief_propagation can be saved as .npz; exact ones have no messages")
    settings = {name: getattr(state, name) for name in _STATE_SETTINGS}
    arrays = {
        "keyplayers_state": np.array(_VERSION),
        "settings": _pack_json(settings),
        "ratio": np.array(state.origin.messages.ratio),
        "messages": state.origin.messages.values,
        **{name: getattr(state, name) for name in _STATE_ARRAYS},
    }
    write_arrays(field_arrays(state.mrf) | arrays, path)


def load_state(path: "str | PathLike[str]") -> BeliefState:
    """A state that `save_state` wrote, with its field.

    Raises
    ------
    FileFormatError
        The file is none, or of another version.
    """
    arrays = map_arrays(path)
    if "keyplayers_state" not in arrays:
        raise FileFormatError(f"{fspath(path)}: not a saved state of belief propagation")
    mrf = field_from_arrays(arrays, path)
    try:
        settings = _unpack_json(arrays["settings"])
        messages = Messages(mrf, bool(arrays["ratio"]), arrays["messages"], settings["max_product"])
        done = Done(settings["schedule"], settings["damping"], settings["converged"])
        known = {name: arrays[name] for name in _STATE_ARRAYS}
        if (
            np.isnan(messages.values).any()
            or messages.values.shape != uniform(mrf, messages.ratio).shape
            or known["log_beliefs"].shape != (mrf.offsets[-1],)
        ):
            raise InputError("the messages are not those of its edges")
        return BeliefState(mrf=mrf, origin=MessageOrigin(messages, done), **known, **settings)
    except (KeyError, TypeError, ValueError, InputError) as error:
        raise FileFormatError(f"{fspath(path)}: the state is damaged: {error}") from None


def same_field(one: MarkovRandomField, other: MarkovRandomField) -> bool:
    """Whether two fields have the same variables, edges, priors and potentials."""
    return one.names == other.names and all(
        getattr(one, name) is getattr(other, name) or np.array_equal(getattr(one, name), getattr(other, name))
        for name in _FIELD_ARRAYS
    )


def field_arrays(mrf: MarkovRandomField) -> dict[str, Any]:
    """A field as arrays.

    Raises
    ------
    InputError
        A name cannot be written.
    """
    names = None if mrf.names.numbered else [name_to_json(name) for name in mrf.names]
    return {
        "keyplayers_field": np.array(_VERSION),
        "names": _pack_json(names),
        "state_names": _pack_json(_plain_state_names(mrf)),
        **{name: getattr(mrf, name) for name in _FIELD_ARRAYS},
        **({} if mrf.auxiliary is None else {"auxiliary": mrf.auxiliary}),
    }


def field_fingerprint(mrf: MarkovRandomField) -> str:
    """A short text that differs between fields that are not the `same_field`, or call their states differently."""
    digest = hashlib.blake2b(digest_size=16)
    for name, array in field_arrays(mrf).items():
        plain = np.ascontiguousarray(array)
        digest.update(f"{name} {plain.dtype.str} {plain.shape} ".encode())
        digest.update(plain.data)
    return digest.hexdigest()


def is_field(arrays: Mapping[str, Any]) -> bool:
    """Whether the arrays are those of `field_arrays`."""
    return "keyplayers_field" in arrays


def field_from_arrays(arrays: Mapping[str, Any], path: "str | PathLike[str]") -> MarkovRandomField:
    """The field that `field_arrays` took apart.

    Raises
    ------
    FileFormatError
        The arrays in `path` are incomplete or of another version.
    """
    missing = [name for name in ("keyplayers_field", "names", "state_names", *_FIELD_ARRAYS) if name not in arrays]
    if missing:
        raise FileFormatError(f"{fspath(path)}: the field lacks {', '.join(missing)}")
    version = arrays["keyplayers_field"]
    if version.shape or version != _VERSION:
        raise FileFormatError(f"{fspath(path)}: written in layout {version}; this version reads layout {_VERSION}")
    try:
        field = _put_together(arrays)
    except (KeyError, TypeError, ValueError, InputError) as error:
        raise FileFormatError(f"{fspath(path)}: the field is damaged: {error}") from None
    return field


def _put_together(arrays: Mapping[str, Any]) -> MarkovRandomField:
    names = _unpack_json(arrays["names"])
    states = _unpack_json(arrays["state_names"])
    if isinstance(states, dict):
        states = {int(position): tuple(map(name_from_json, own)) for position, own in states.items()}
    elif states is not None:
        states = tuple(map(name_from_json, states))
    field = MarkovRandomField(
        names=Names(range(len(arrays["n_states"])) if names is None else map(name_from_json, names)),
        state_names=states,
        auxiliary=arrays.get("auxiliary"),
        **{name: arrays[name] for name in _FIELD_ARRAYS},
    )
    _check(field)
    return field


def _check(field: MarkovRandomField) -> None:
    """Refuse arrays that do not make a field, before a kernel trusts them."""
    _check_types(field)
    for wrong, message in _WRONG:
        if wrong(field):
            raise InputError(message)


def _check_types(field: MarkovRandomField) -> None:
    for name, wanted in (("n_states", 1), ("edges", 2), ("potential_shapes", 2), ("potential_index", 1)):
        array = getattr(field, name)
        if array.dtype != np.int32 or array.ndim != wanted or array.shape[1:] not in ((), (2,)):
            raise InputError(f"{name} has type {array.dtype} and shape {array.shape}")
    for name in ("log_priors", "log_potentials"):
        array = getattr(field, name)
        if array.dtype != np.float64 or array.ndim != 1 or np.isnan(array).any() or (array == np.inf).any():
            raise InputError(f"{name} must be numbers [..] below infinity")


def _wrong_auxiliary(field: MarkovRandomField) -> bool:
    marks = field.auxiliary
    return marks is not None and (marks.dtype != np.bool_ or marks.shape != (len(field.names),))


def _wrong_counts(field: MarkovRandomField) -> bool:
    counts, shapes = field.n_states, field.potential_shapes
    return len(counts) != len(field.names) or bool((counts < 1).any() or (shapes < 1).any())


def _wrong_lengths(field: MarkovRandomField) -> bool:
    priors, potentials = len(field.log_priors), len(field.log_potentials)
    return bool(priors != field.offsets[-1] or potentials != field.potential_offsets[-1])


def _wrong_positions(field: MarkovRandomField) -> bool:
    ends, index = field.edges, field.potential_index
    return (
        len(ends) != len(index) or _beyond(ends, len(field.names)) or _beyond(index, len(field.potential_shapes))
    )


def _wrong_fit(field: MarkovRandomField) -> bool:
    ends, shapes = field.edges, field.potential_shapes[field.potential_index]
    return bool((field.n_states[ends] != shapes).any() or (ends[:, 0] == ends[:, 1]).any())


def _wrong_state_names(field: MarkovRandomField) -> bool:
    own, counts = field.state_names, field.n_states
    if isinstance(own, Mapping):
        return any(not 0 <= i < len(counts) or len(given) != counts[i] for i, given in own.items())
    return isinstance(own, tuple) and bool((counts != len(own)).any())


# what may be wrong with a field whose arrays have the right types; each may rely on those before it
_WRONG: tuple[tuple[Callable[[MarkovRandomField], bool], str], ...] = (
    (_wrong_auxiliary, "auxiliary must say of each variable whether it stands for a factor"),
    (_wrong_counts, "there must be one state count of at least 1 per variable"),
    (_wrong_lengths, "there are more or fewer numbers than states"),
    (_wrong_positions, "an edge joins a variable, or has a potential, that does not exist"),
    (_wrong_fit, "the potential of an edge does not fit the variables it joins"),
    (_wrong_state_names, "there are more or fewer names of states than states"),
)


def _beyond(positions: Ints, n: int) -> bool:
    return bool(positions.size) and not (int(positions.min()) >= 0 and int(positions.max()) < n)


def map_arrays(path: "str | PathLike[str]") -> dict[str, Any]:
    """All arrays of an .npz; those that are stored uncompressed are mapped, not read.

    Raises
    ------
    FileFormatError
        The file is no .npz of plain arrays.
    """
    with (
        reading(fspath(path), lambda _, error: f"not an .npz of plain arrays: {error}"),
        zipfile.ZipFile(path) as members,
        np.load(path, allow_pickle=False) as loaded,
    ):
        arrays = {}
        for member in members.infolist():
            name = member.filename.removesuffix(".npy")
            mapped = _map(path, member) if member.compress_type == zipfile.ZIP_STORED else None
            arrays[name] = loaded[name] if mapped is None else mapped
        return arrays


def write_arrays(arrays: Mapping[str, Any], path: "str | PathLike[str]") -> None:
    """An uncompressed .npz whose numbers begin at addresses that processors like, so that it can be mapped."""
    with replacing(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as members:
        for name, array in arrays.items():
            _write_aligned(members, f"{name}.npy", array)


def _write_aligned(members: zipfile.ZipFile, name: str, array: Any) -> None:
    member = zipfile.ZipInfo(name)
    file: Any = members.fp
    begin = file.tell() + _ZIP_HEADER.size + len(name) + _ZIP64_EXTRA + _PADDING_HEADER.size
    padding = -begin % _ALIGNMENT
    member.extra = _PADDING_HEADER.pack(_PADDING_ID, padding) + bytes(padding)
    with members.open(member, "w", force_zip64=True) as stream:
        np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)


def _map(path: "str | PathLike[str]", member: zipfile.ZipInfo) -> Any:
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
        if dtype.hasobject or not shape or 0 in shape or file.tell() % dtype.alignment:
            return None
        whole: Any = np.memmap(path, dtype, "r", file.tell(), shape, "F" if fortran_order else "C")
        return whole.view(np.ndarray)


def _plain_state_names(mrf: MarkovRandomField) -> Any:
    if isinstance(mrf.state_names, Mapping):
        return {str(position): list(map(name_to_json, own)) for position, own in mrf.state_names.items()}
    return None if mrf.state_names is None else list(map(name_to_json, mrf.state_names))


def _pack_json(data: Any) -> Any:
    """JSON in an array of bytes."""
    return np.frombuffer(json.dumps(data).encode(), dtype=np.uint8)


def _unpack_json(packed: Any) -> Any:
    return json.loads(packed.tobytes())
