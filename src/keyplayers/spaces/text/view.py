"""How a text shows itself: its words in their context."""

import textwrap
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..views import Mark, Marks

# a text of more characters is shown around its marked words only, with so many characters on either side
LONGEST, CONTEXT = 600, 60
# letters of a token that a sentence shows
LONGEST_TOKEN = 60
# columns of a picture
WIDTH = 100

_BRACKETS: dict[Mark, tuple[str, str]] = {"carries": ("[", "]"), "opposes": ("{", "}")}


@dataclass(frozen=True, eq=False)
class TextView:
    """A text and where its players stand in it."""

    text: str
    spans: Mapping[Hashable, tuple[tuple[int, int], ...]]  # player -> begin and end of each of its places
    removes: bool
    kind: ClassVar[str] = "text"
    noun: ClassVar[str] = "text"
    legend: ClassVar[tuple[str, str]] = ("[ ]", "{ }")

    def named(self, player: Hashable) -> str:
        """The player's token in quotes."""
        name = str(player)
        return f'"{name if len(name) <= LONGEST_TOKEN else name[: LONGEST_TOKEN - 3] + "..."}"'

    def picture(self, marks: Marks) -> list[str]:
        """The text with its marked words in brackets; of a long one the surroundings of these words."""
        marked = sorted((*span, mark) for player, mark in marks.items() for span in self.spans.get(player, ()))
        lines: list[str] = []
        for begin, end in self._shown(marked):
            parts, at = [], begin
            for start, stop, mark in marked:
                if begin <= start and stop <= end:
                    opening, closing = _BRACKETS[mark]
                    parts += [self.text[at:start], opening, self.text[start:stop], closing]
                    at = stop
            shown = "".join([*parts, self.text[at:end]])
            whole = "..." * (begin > 0) + shown + "..." * (end < len(self.text))
            for line in whole.splitlines():
                lines += textwrap.wrap(line, WIDTH)
        return lines

    def _shown(self, marked: list[tuple[int, int, Mark]]) -> list[tuple[int, int]]:
        """Stretches of the text that are shown."""
        if len(self.text) <= LONGEST:
            return [(0, len(self.text))]
        stretches: list[tuple[int, int]] = []
        for start, stop, _ in marked:
            begin, end = max(0, start - CONTEXT), min(len(self.text), stop + CONTEXT)
            if stretches and begin <= stretches[-1][1]:
                begin = stretches.pop()[0]
            stretches.append((begin, end))
        return stretches or [(0, LONGEST)]

    def to_dict(self) -> dict[str, Any]:
        """The text, and each player with its places."""
        return {
            "text": self.text,
            "removes": self.removes,
            "spans": [[player, *map(list, places)] for player, places in self.spans.items()],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TextView":
        """The view that `to_dict` wrote."""
        spans = {row[0]: tuple((int(a), int(b)) for a, b in row[1:]) for row in data["spans"]}
        return cls(str(data["text"]), spans, bool(data["removes"]))
