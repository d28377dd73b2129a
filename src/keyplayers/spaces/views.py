"""How an instance shows itself: the words, picture and JSON form that a space gives beside its players.

A bound instance that has a `view` is shown by it; one that has none, such as a row of a table, by its players'
names and values. An explanation keeps the view, so that it can be shown again when it was saved and loaded.
"""

import importlib
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal, Protocol

from ..errors import InputError

Mark = Literal["carries", "opposes"]
Marks = Mapping[Hashable, Mark]


class View(Protocol):
    """What is needed of an instance to show it.

    Where it is no model that speaks, and no instance that it speaks of, a view also has a `speaker` and a
    `subject`.
    """

    @property
    def kind(self) -> str:
        """Its key in `VIEWS`."""

    @property
    def noun(self) -> str:
        """What an instance is called, such as "text"."""

    @property
    def removes(self) -> bool:
        """Whether masking leaves a player out, rather than putting something in its place."""

    @property
    def legend(self) -> tuple[str, str]:
        """What marks players that carry a class, and those that oppose it."""

    def named(self, player: Hashable) -> str:
        """A player as a sentence names it."""

    def picture(self, marks: Marks) -> list[str]:
        """Lines of text that show the instance, with these players marked."""

    def to_dict(self) -> dict[str, Any]:
        """What `VIEWS` makes the view of again; JSON can hold it."""


Reader = Callable[[Mapping[str, Any]], View]

# kind -> what reads the view of it, or "module:name" of that. A view from outside is one more entry.
VIEWS: dict[str, Reader | str] = {
    "text": ".text.view:TextView.from_dict",
    "image": ".image.view:ImageView.from_dict",
    "series": ".series.view:SeriesView.from_dict",
    "evidence": ".evidence.space:EvidenceView.from_dict",
}


def view_to_json(view: View) -> dict[str, Any]:
    """A view as JSON can hold it."""
    return {"kind": view.kind} | view.to_dict()


def view_from_json(data: Mapping[str, Any]) -> View:
    """The view that `view_to_json` wrote.

    Raises
    ------
    InputError
        It is of a kind that nobody has registered, or not what such a view holds.
    """
    reader = VIEWS.get(data.get("kind", ""))
    if reader is None:
        raise InputError(f"no view of kind {data.get('kind')!r}; known are {', '.join(VIEWS)}")
    if isinstance(reader, str):
        module, _, path = reader.partition(":")
        reader = _attribute(importlib.import_module(module, __package__), path)
    try:
        return reader(data)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"this is no view of kind {data['kind']!r}: {error}") from error


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module
