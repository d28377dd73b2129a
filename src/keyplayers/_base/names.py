"""Names of variables and states: kept as given, found in constant time."""

import datetime
import decimal
import difflib
import json
import math
import uuid
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast, overload

import numpy as np

from ..errors import InputError, UnknownNameError

# how many names an error message shows
_SHOWN = 6


class Names(Sequence[Hashable]):
    """An immutable sequence of distinct hashable names with a constant-time `find`.

    Names 0 .. n-1 cost no memory. The table of other names is built at the first look-up.
    """

    def __init__(self, names: Iterable[Hashable] | range, *, kind: str = "variable") -> None:
        self._kind = kind
        self._names: range | tuple[Hashable, ...]
        if isinstance(names, range):
            self._names = names
        else:
            self._names = tuple(plain_name(name) for name in names)
            for i, name in enumerate(self._names):
                check_name(name, f"{kind} {i}")
            if len(self._table) != len(self._names):
                repeated = next(n for i, n in enumerate(self._names) if self._table[n] != i)
                raise InputError(f"{kind} names must be distinct, but {repeated!r} stands more than once")

    @cached_property
    def _table(self) -> dict[Hashable, int]:
        return {name: i for i, name in enumerate(self._names)}

    @property
    def numbered(self) -> bool:
        """Whether the names are just 0 .. n-1."""
        return isinstance(self._names, range)

    def find(self, name: Hashable) -> int:
        """The position of `name`.

        Raises
        ------
        UnknownNameError
            There is no such name; the message shows the closest ones.
        """
        if isinstance(self._names, range):
            try:
                position = int(name)  # type: ignore[call-overload]
                if position == name and 0 <= position < len(self._names):
                    return int(position)
            except (TypeError, ValueError, OverflowError):
                pass
        else:
            try:
                return self._table[name]
            except (KeyError, TypeError):
                pass
        raise UnknownNameError(f"there is no {self._kind} {name!r}: {self._hint(name)}")

    def parse(self, text: str) -> Hashable:
        """The name that a text from a command line or a file means: itself, else the one that is spelled so.

        "007" is not 7, as in tables.

        Raises
        ------
        UnknownNameError
            No name is spelled like that, or several are.
        """
        if text in self and not self.numbered:
            return text
        for read in (int, float):
            try:
                found = self[self.find(read(text))]
            except (ValueError, UnknownNameError):
                continue
            if str(found) == text or isinstance(found, float):
                return found
        if text in self._spelled:
            return self._spelled[text]
        raise UnknownNameError(f"there is no {self._kind} {text!r}: {self._hint(text)}")

    @cached_property
    def _spelled(self) -> dict[str, Hashable]:
        """Names by what `str` makes of them, without those that look alike; only for names of rare kinds."""
        if self.numbered:
            return {}
        texts = Counter(map(str, self))
        return {str(name): name for name in self if texts[str(name)] == 1}

    def _hint(self, name: Hashable) -> str:
        if isinstance(self._names, range):
            return f"they are called 0 to {len(self) - 1}" if len(self) else "there are none"
        close = self._close(str(name))
        if close:
            return "did you mean " + " or ".join(map(repr, close)) + "?"
        if not len(self):
            return "there are none"
        more = ", ..." if len(self) > _SHOWN else ""
        return f"there are {len(self)}: {', '.join(repr(n) for n in self._names[:_SHOWN])}{more}"

    def _close(self, text: str) -> list[Hashable]:
        """The names that are spelled like `text`, or else nearly so."""
        texts = {str(other): other for other in self._names}
        if text in texts:  # "17" where 17 is meant
            return [texts[text]]
        close = difflib.get_close_matches(text, texts, n=3) if len(texts) <= 100_000 else []
        return [texts[other] for other in close]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._names)

    @overload
    def __getitem__(self, index: int) -> Hashable: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hashable]: ...
    def __getitem__(self, index: int | slice) -> Hashable | Sequence[Hashable]:
        return self._names[index]

    def __contains__(self, name: object) -> bool:
        try:
            self.find(name)
        except UnknownNameError:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return self._names == other._names
        return isinstance(other, Sequence) and tuple(self._names) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self._names))

    def __repr__(self) -> str:
        more = ", ..." if len(self) > _SHOWN else ""
        return f"Names({', '.join(repr(name) for name in self._names[:_SHOWN])}{more})"


def plain_name(name: Any) -> Hashable:
    """A NumPy scalar as the Python value it equals; anything else as it is."""
    plain: Hashable = name.item() if isinstance(name, np.generic) else name
    return plain


def check_name(name: Any, where: str) -> None:
    """Refuse what cannot be a name: missing values, unhashable things, and those that equal only themselves.

    Raises
    ------
    InputError
        Naming `where` it stands.
    """
    if name is None or (isinstance(name, float) and math.isnan(name)):
        raise InputError(f"the name of {where} is missing ({name!r}); give every variable a name")
    try:
        hash(name)
    except TypeError:
        raise InputError(f"the name of {where} must be hashable, got {type(name).__name__}") from None
    if has_own_identity(name):
        raise InputError(
            f"the name of {where} is a {type(name).__name__}, of which two never are the same name; "
            "give texts, numbers, tuples, or objects that define __eq__ and __hash__"
        )


def has_own_identity(name: Any) -> bool:
    """Whether a thing equals only itself, so that nobody could ever say its name again.

    Tensors have an ``==`` of their own and are hashed by identity all the same.
    """
    hashed: Any = type(name).__hash__
    return hashed is object.__hash__ or (hasattr(name, "__array__") and not isinstance(name, np.generic))


def name_to_json(name: Hashable) -> Any:
    """A name as JSON can hold it: as it is, or ``{"type": .., "text": ..}`` for what JSON does not know.

    Raises
    ------
    InputError
        The name is of a type that could not be read back.
    """
    name = plain_name(name)
    if isinstance(name, str | bool | int) or (isinstance(name, float) and math.isfinite(name)):
        return name
    for known, (write, _) in _TAGGED.items():
        if type(name).__name__ == known:
            return {"type": known, "text": write(name)}
    raise InputError(
        f"the name {name!r} cannot be written; a file holds texts, numbers, {', '.join(_TAGGED)} as names"
    )


def name_from_json(written: Any) -> Hashable:
    """The name that `name_to_json` wrote.

    Raises
    ------
    InputError
        It wrote no such thing.
    """
    if not isinstance(written, dict):
        check_name(written, "something in the file")
        return cast(Hashable, written)
    try:
        return _TAGGED[written["type"]][1](written["text"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"cannot read the name {written!r}") from None


def _write_items(items: Iterable[Any]) -> str:
    return json.dumps([name_to_json(item) for item in items], ensure_ascii=False)


def _read_items(text: str) -> list[Hashable]:
    return [name_from_json(item) for item in json.loads(text)]


# types of names beyond JSON's: how their text is written and read back
_TAGGED: dict[str, tuple[Callable[[Any], str], Callable[[str], Hashable]]] = {
    "tuple": (_write_items, lambda text: tuple(_read_items(text))),
    "frozenset": (lambda items: _write_items(sorted(items, key=repr)), lambda text: frozenset(_read_items(text))),
    "bytes": (bytes.hex, bytes.fromhex),
    "float": (repr, float),
    "date": (datetime.date.isoformat, datetime.date.fromisoformat),
    "datetime": (datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "time": (datetime.time.isoformat, datetime.time.fromisoformat),
    "Decimal": (str, decimal.Decimal),
    "UUID": (str, uuid.UUID),
}
