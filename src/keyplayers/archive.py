"""Save and load explanations: versioned JSON, or the same with its tables as arrays in an .npz. Never pickle.

A method registers how its JSON becomes an explanation again (`register`). Of a kind that nobody registered the
players and the fields of its structure come back, as a plain record.
"""

import gzip
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ._base.atomic import replacing
from ._base.names import check_name, name_from_json
from ._base.records import Record, record_from_json, value_from_json
from .errors import FileFormatError, InputError
from .explanation import Explanation

Reader: TypeAlias = Callable[[Mapping[str, Any]], Explanation[Any]]

# kind of an explanation -> the function that makes one of its JSON, or where it stands ("module:function"): it is
# imported when such a file is met
_READERS: dict[str, Reader | str] = {
    "graphshapley": "keyplayers.graphshapley.checks:checked_from_dict",
    "mcxai": "keyplayers.mcxai.checks:checked_from_dict",
}
_FORMAT = "keyplayers explanation"
_NEWEST = 1  # schema version that this package writes
_SUFFIXES = (".json", ".json.gz", ".npz")
# member of an .npz that holds everything but the arrays
_REST = "json"


def register(kind: str, reader: Reader | str) -> None:
    """Say how the JSON of a kind of explanations becomes one again.

    Parameters
    ----------
    kind
        ``Explanation.kind``, under which the JSON says what it is.
    reader
        Given what `structure_to_dict`, registered for the structure, wrote; a function, or ``"module:function"``,
        which is imported when such a file is met.

    Raises
    ------
    InputError
        It is neither.
    """
    if not callable(reader) and not (isinstance(reader, str) and ":" in reader):
        raise InputError(f'a reader is a function or "module:function", got {reader!r}')
    _READERS[kind] = reader


def save(explanation: Explanation[Any], path: "str | PathLike[str]") -> None:
    """Write an explanation: .json, .json.gz or .npz.

    Raises
    ------
    InputError
        The suffix is none of these.
    """
    data = {"format": _FORMAT, **explanation.to_dict()}
    target = Path(path)
    match _suffix(target):
        case ".npz":
            arrays: dict[str, Any] = {}
            rest = _take_arrays(data, "", arrays)
            arrays[_REST] = np.frombuffer(_dump(rest), dtype=np.uint8)
            with replacing(target) as part, part.open("wb") as file:
                np.savez_compressed(file, **arrays)
        case ".json.gz":
            _write(gzip.compress(_dump(data), mtime=0), target)
        case _:
            _write(_dump(data), target)


def load(path: "str | PathLike[str]") -> Explanation[Any]:
    """The explanation that ``ex.save(path)`` or ``--json`` wrote.

    Raises
    ------
    FileFormatError
        The file is no explanation, or one of a newer version.
    """
    source = Path(path)
    suffix = _suffix(source)
    if source.exists() and not source.is_file():
        raise FileFormatError(f"{fspath(path)} is no file (a folder, a pipe or a device)")
    try:
        return explanation_from_dict(_read(source, suffix))
    except FileFormatError as error:
        raise FileFormatError(f"{fspath(path)}: {error}") from None


def _read(source: Path, suffix: str) -> Any:
    """The JSON of a file. Whatever damaged compression, archives and texts make of their readers is one error."""
    try:
        match suffix:
            case ".npz":
                with source.open("rb") as file, np.load(file, allow_pickle=False) as members:
                    arrays = {name: members[name] for name in members.files}
                return _put_arrays(json.loads(arrays.pop(_REST).tobytes()), "", arrays)
            case ".json.gz":
                return json.loads(gzip.decompress(source.read_bytes()))
            case _:
                return json.loads(source.read_bytes())
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:  # the file system's own
            raise
        raise FileFormatError(f"it is no explanation: {str(error) or type(error).__name__}") from None


def explanation_from_dict(data: Any) -> Explanation[Any]:
    """The explanation whose ``to_dict()`` is given.

    Raises
    ------
    FileFormatError
        It is none, or one of a newer version; the message says what is wrong.
    """
    if not isinstance(data, Mapping):
        raise FileFormatError(f"an explanation is a JSON object, got {type(data).__name__}")
    kind, schema = data.get("kind"), data.get("schema")
    reader = _find_reader(kind, data)
    if not isinstance(schema, int) or schema < 1:
        raise FileFormatError(f"schema must be a version number, got {schema!r}")
    if schema > _NEWEST:
        raise FileFormatError(
            f"schema {schema} is newer than this package, which reads up to {_NEWEST}; upgrade it"
        )
    try:
        found = reader(data)
        _check(found)
        return found
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FileFormatError(f"this is no {kind} explanation: {what}") from None


def _check(found: Explanation[Any]) -> None:
    """What holds for the explanations of every method."""
    for player in (found.target, *found.players):
        if player is not None:  # a column of a table may be called so
            check_name(player, "a player or the target")
    if len(set(found.players)) < len(found.players):
        raise InputError("players must be distinct")
    if (found.std_errors < 0).any():
        raise InputError("std_error must not be negative")
    if type(found.n_evaluations) is not int or found.n_evaluations < 0:
        raise InputError(f"n_evaluations must be a count, got {found.n_evaluations!r}")
    for name in ("sentence", "quantity", "unit"):
        if not isinstance(getattr(found, name), str):
            raise InputError(f"{name} must be a text, got {getattr(found, name)!r}")
    if not isinstance(found.settings, Mapping):
        raise InputError(f"settings must be a mapping, got {found.settings!r}")


def _find_reader(kind: Any, data: Mapping[str, Any]) -> Reader:
    """What reads this JSON: fields kept one by one tell so themselves, whatever their kind."""
    structure = data.get("structure", data)
    if isinstance(kind, str) and (
        structure is None or (isinstance(structure, Mapping) and structure.get("type") == "record")
    ):
        return _from_record
    if not isinstance(kind, str) or kind not in _READERS:
        raise FileFormatError(f"kind must be one of {', '.join(_READERS)}, got {kind!r}")
    reader = _READERS[kind]
    if isinstance(reader, str):
        module, _, function = reader.partition(":")
        reader = _READERS[kind] = getattr(importlib.import_module(module), function)
    return reader


def _from_record(data: Mapping[str, Any]) -> Explanation[Record | None]:
    """An explanation whose structure was written field by field."""
    rows = data["players"]
    columns = {name: [value_from_json(row[name]) for row in rows] for name in (rows[0] if rows else ())}
    values, std_errors = (np.array(columns.pop(name, []), dtype=np.float64) for name in ("value", "std_error"))
    structure = None if data["structure"] is None else record_from_json(data["structure"])
    return Explanation(
        kind=data["kind"],
        target=name_from_json(data["target"]),
        players=tuple(map(name_from_json, (row["name"] for row in rows))),
        values=values,
        std_errors=std_errors,
        quantity=data["quantity"],
        unit=data["unit"],
        n_evaluations=data["n_evaluations"],
        sentence=data["sentence"],
        structure=None if structure is None else replace(structure, columns=_further(columns)),
        settings=value_from_json(data["settings"]),
    )


def _further(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The columns that the method added, as arrays where they hold numbers."""
    found: dict[str, Any] = {}
    for name, column in columns.items():
        if name != "name":
            kinds = {type(value) for value in column}
            found[name] = np.array(column) if kinds and kinds <= {int, float, bool} else column
    return found


def _suffix(path: Path) -> str:
    for suffix in _SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise InputError(f"an explanation is kept in {', '.join(_SUFFIXES)}, got {fspath(path)!r}")


def _write(data: bytes, target: Path) -> None:
    with replacing(target) as part:
        part.write_bytes(data)


def _dump(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, allow_nan=False).encode()


# In an .npz a table (a list of rows with the same keys) becomes columns, and a list or column of numbers an array
# under its path; {"": kind} marks the place.
def _take_arrays(data: Any, path: str, arrays: dict[str, Any]) -> Any:
    if isinstance(data, Mapping):
        return {key: _take_arrays(value, _below(path, key), arrays) for key, value in data.items()}
    if not isinstance(data, list) or not data:
        return data
    if all(isinstance(row, Mapping) and row.keys() == data[0].keys() for row in data) and data[0]:
        columns = {key: [row[key] for row in data] for key in data[0]}
        return {"": "table", "columns": _take_arrays(columns, path, arrays)}
    if all(entry is None or type(entry) is float for entry in data):
        arrays[path] = np.array([np.nan if entry is None else entry for entry in data])
        return {"": "floats"}
    if all(type(entry) is int and abs(entry) < 2**63 for entry in data):
        arrays[path] = np.array(data, dtype=np.int64)
        return {"": "ints"}
    return data


def _put_arrays(data: Any, path: str, arrays: Mapping[str, Any]) -> Any:
    if not isinstance(data, Mapping):
        return data
    match data.get(""):
        case "table":
            columns = _put_arrays(data["columns"], path, arrays)
            return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        case "floats":
            return [None if np.isnan(entry) else entry for entry in arrays[path].tolist()]
        case "ints":
            return arrays[path].tolist()
        case _:
            return {key: _put_arrays(value, _below(path, key), arrays) for key, value in data.items()}


def _below(path: str, key: str) -> str:
    """The path of an entry; a slash in its key is no step."""
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
