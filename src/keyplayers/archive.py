"""Save and load explanations: versioned JSON, or the same with its tables as arrays in an .npz. Never pickle."""

import gzip
import importlib
import json
import zipfile
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ._base.atomic import replacing
from .errors import FileFormatError, InputError
from .explanation import Explanation

# kind of an explanation -> the function that makes one of its JSON, imported when such a file is met
CODECS = {
    "graphshapley": "keyplayers.graphshapley.codec:from_dict",
    "mcxai": "keyplayers.mcxai.result:explanation_from_dict",
}
_FORMAT = "keyplayers explanation"
_NEWEST = 1  # schema version that this package writes
_SUFFIXES = (".json", ".json.gz", ".npz")
# member of an .npz that holds everything but the arrays
_REST = "json"


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
    try:
        match _suffix(source):
            case ".npz":
                with source.open("rb") as file, np.load(file, allow_pickle=False) as members:
                    arrays = {name: members[name] for name in members.files}
                data = _put_arrays(json.loads(arrays.pop(_REST).tobytes()), "", arrays)
            case ".json.gz":
                data = json.loads(gzip.decompress(source.read_bytes()))
            case _:
                data = json.loads(source.read_bytes())
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"{fspath(path)} is no explanation: {error}") from None
    try:
        return explanation_from_dict(data)
    except FileFormatError as error:
        raise FileFormatError(f"{fspath(path)}: {error}") from None


def explanation_from_dict(data: Any) -> Explanation[Any]:
    """The explanation whose ``to_dict()`` is given.

    Raises
    ------
    FileFormatError
        It is none, or one of a newer version; the message says what is wrong.
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if kind not in CODECS:
        raise FileFormatError(f"kind must be one of {', '.join(CODECS)}, got {kind!r}")
    schema = data.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise FileFormatError(f"schema must be a version number, got {schema!r}")
    if schema > _NEWEST:
        raise FileFormatError(
            f"schema {schema} is newer than this package, which reads up to {_NEWEST}; upgrade it"
        )
    module, _, function = CODECS[kind].partition(":")
    try:
        found: Explanation[Any] = getattr(importlib.import_module(module), function)(data)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FileFormatError(f"this is no {kind} explanation: {what}") from None
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
        return {key: _take_arrays(value, f"{path}/{key}", arrays) for key, value in data.items()}
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
            return {key: _put_arrays(value, f"{path}/{key}", arrays) for key, value in data.items()}
