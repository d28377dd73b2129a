"""Values of any record as plain data that JSON can hold, and back: for what nobody has written a codec."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from .names import name_from_json, name_to_json

# kinds of arrays that are kept: truth values, numbers, texts, moments and durations
_NUMBERS, _TEXTS = "biuf", "UMm"
# so deep may lists lie in lists; anything deeper holds itself
_DEEPEST = 50


class CannotBeKept(ValueError):
    """A value is of a type that no file can hold."""


@dataclass(frozen=True, eq=False)
class Record:
    """The fields of an object whose type is not known here; they are its attributes."""

    name: str  # of the type
    fields: Mapping[str, Any]
    left_out: tuple[str, ...] = ()  # fields that no file can hold
    columns: Mapping[str, Any] = field(default_factory=dict)  # [n] further columns of the table of players

    def __getattr__(self, name: str) -> Any:
        # only called when the record itself has no such attribute
        if not name.startswith("__"):
            fields = self.__dict__.get("fields", {})
            if name in fields:
                return fields[name]
            if name in self.__dict__.get("left_out", ()):
                raise AttributeError(f"{name!r} of this {self.name} could not be kept in a file")
        raise AttributeError(f"this {self.__dict__.get('name', 'record')} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.fields})


def fields_of(thing: Any) -> dict[str, Any]:
    """The public fields of any object: of a record, a dataclass, a named tuple, a mapping, or its attributes."""
    if isinstance(thing, Record):
        return dict(thing.fields)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return {one.name: getattr(thing, one.name) for one in dataclasses.fields(thing)}
    if isinstance(thing, tuple) and hasattr(thing, "_asdict"):
        return dict(thing._asdict())
    if isinstance(thing, Mapping):
        return {str(name): value for name, value in thing.items()}
    found = getattr(thing, "__dict__", {})
    return {name: value for name, value in found.items() if not name.startswith("_")}


def record_to_json(thing: Any, depth: int = 0) -> dict[str, Any]:
    """The fields of any object as JSON can hold them; what it cannot is named in ``left_out``."""
    written: dict[str, Any] = {}
    left_out = list(thing.left_out) if isinstance(thing, Record) else []
    for name, value in fields_of(thing).items():
        try:
            written[name] = value_to_json(value, depth + 1)
        except (CannotBeKept, InputError):
            left_out.append(name)
    name = thing.name if isinstance(thing, Record) else type(thing).__name__
    return {"type": "record", "name": name, "fields": written, "left_out": left_out}


def record_from_json(written: Mapping[str, Any]) -> Record:
    """The record that `record_to_json` wrote."""
    fields = {str(name): value_from_json(value) for name, value in dict(written["fields"]).items()}
    return Record(str(written["name"]), fields, tuple(map(str, written["left_out"])))


def value_to_json(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it, tagged where JSON has no such type.

    Raises
    ------
    CannotBeKept
        It is, or holds, what no file can hold: a function, a model, itself.
    """
    if depth > _DEEPEST:
        raise CannotBeKept("the value is too deep, or holds itself")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"type": "float", "text": repr(value)}
    if isinstance(value, np.ndarray):
        return _array_to_json(value, depth)
    if isinstance(value, list):
        return _items(value, depth)
    if type(value) in _COLLECTIONS:
        items = value if type(value) is tuple else sorted(value, key=repr)
        return {"type": type(value).__name__, "items": _items(items, depth)}
    if type(value) is dict:
        return _mapping_to_json(value, depth)
    if dataclasses.is_dataclass(value) or isinstance(value, Record | tuple):
        return record_to_json(value, depth)
    try:
        return name_to_json(value)
    except InputError:
        raise CannotBeKept(f"a {type(value).__name__} cannot be kept in a file") from None


def value_from_json(written: Any) -> Any:
    """The value that `value_to_json` wrote.

    Raises
    ------
    ValueError, KeyError, TypeError
        It wrote no such thing.
    """
    if isinstance(written, list):
        return [value_from_json(item) for item in written]
    if not isinstance(written, dict):
        return written
    kind = written.get("type")
    if kind is None:
        return {name: value_from_json(value) for name, value in written.items()}
    if kind in _READERS:
        return _READERS[kind](written)
    return name_from_json(written)


def _items(items: Iterable[Any], depth: int) -> list[Any]:
    return [value_to_json(item, depth + 1) for item in items]


def _mapping_to_json(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    if all(isinstance(name, str) for name in value) and "type" not in value and "" not in value:
        return {name: value_to_json(entry, depth + 1) for name, entry in value.items()}
    return {"type": "dict", "items": [_items(pair, depth) for pair in value.items()]}


def _array_to_json(array: np.ndarray[Any, Any], depth: int) -> dict[str, Any]:
    """Its type, its shape, and its entries in one list; NaN is null."""
    kind = array.dtype.kind
    if kind == "f":
        flat = array.astype(np.float64).ravel().tolist()
        entries: list[Any] = [
            entry if math.isfinite(entry) else None if math.isnan(entry) else repr(entry) for entry in flat
        ]
    elif kind in _NUMBERS:
        entries = array.ravel().tolist()
    elif kind in _TEXTS:
        entries = array.astype(str).ravel().tolist()
    elif kind == "O":
        entries = _items(array.ravel().tolist(), depth)
    else:
        raise CannotBeKept(f"an array of {array.dtype} cannot be kept in a file")
    return {"type": "array", "dtype": array.dtype.str, "shape": list(array.shape), "entries": entries}


def _array_from_json(written: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    dtype, shape, entries = np.dtype(str(written["dtype"])), tuple(written["shape"]), written["entries"]
    if dtype.kind == "O":
        array = np.empty(len(entries), dtype=object)
        array[:] = [value_from_json(entry) for entry in entries]
        return array.reshape(shape)
    if dtype.kind not in _NUMBERS + _TEXTS:
        raise ValueError(f"no array has entries of {dtype}")
    # texts are as long as they are, whatever the file says
    return np.array(entries, dtype=str if dtype.kind == "U" else dtype).reshape(shape)


_COLLECTIONS = (tuple, set, frozenset)
_READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "array": _array_from_json,
    "record": record_from_json,
    "dict": lambda written: {value_from_json(name): value_from_json(value) for name, value in written["items"]},
    "tuple": lambda written: (
        tuple(map(value_from_json, written["items"])) if "items" in written else name_from_json(written)
    ),
    "set": lambda written: set(map(value_from_json, written["items"])),
    "frozenset": lambda written: (
        frozenset(map(value_from_json, written["items"])) if "items" in written else name_from_json(written)
    ),
}
