"""`Text`: the words of a text as players."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..._base.arrays import Bools, Ints
from ..._base.settings import YES_OR_NO, Rule, Settings, instance_of, one_of, setting
from ...errors import InputError
from .tokens import UNITS, Spans, Tokenizer, find_spans
from .view import TextView

# what is taken out along with a word that is removed; line breaks stay
BLANKS = " \t\u00a0\u3000"

_UNIT = one_of(*UNITS) | Rule(lambda: "a tokeniser (a function of a text)", callable)


@dataclass(frozen=True, eq=False)
class TextInstance:
    """A text cut where its players stand; see `MaskedInstance`. Joined, its pieces are the text byte for byte."""

    names: tuple[Hashable, ...]
    maskable: Bools
    display_values: tuple[str, ...]
    display_masked: tuple[str, ...]
    view: TextView
    text: "str | list[str] | tuple[str, ...]"
    pieces: tuple[str, ...]  # [S] a token and all up to the next one; the first also holds what is before it
    masked_pieces: tuple[str | None, ...]  # [S] each with its token masked; None: left out of a list of words
    owner: Ints  # [S] player of each piece
    spans: Spans  # [S] begin and end of each token
    space: "Text"
    n_backgrounds: int = 1

    def rows(self, masked: Bools, backgrounds: Ints) -> list[Any]:
        """What the model is given [B]: texts, or lists of words where the instance is one."""
        if not self.pieces:
            return [self.text] * len(masked)
        palette = np.array([self.pieces, self.masked_pieces], dtype=object)
        parts = np.where(masked[:, self.owner], palette[1], palette[0]).tolist()
        if isinstance(self.text, str):
            return ["".join(row) for row in parts]
        kind = type(self.text)
        return [kind(word for word in row if word is not None) for row in parts]

    def split(self, players: tuple[Hashable, ...]) -> "TextInstance | None":
        """The words of these players as players of their own, where the space refines; else None."""
        if not self.space.refine or self.space.unit == "word" or not isinstance(self.text, str):
            return None
        chosen = {self.names.index(player) for player in players}
        inside = [span for span, player in zip(self.spans, self.owner.tolist(), strict=True) if player in chosen]
        spans = [(a, b) for a, b in find_spans(self.text, "word") if any(x <= a and b <= y for x, y in inside)]
        return _bound(self.text, spans, Text(mask=self.space.mask, occurrences=self.space.occurrences))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Text(Settings):
    """Words of a text as players.

    Parameters
    ----------
    unit
        "word": words as Unicode has them, in any script; "sentence"; or a tokeniser of your own, a function of a
        text that gives its tokens in their order, as texts or as (begin, end) of each. What is no token stays.
    mask
        What stands in for a masked token, such as "[MASK]". "": it is removed, with the blanks after it.
    occurrences
        "each": every place where a word stands is a player, called ``word``, ``word (2)``, ...; "all": a word is
        one player wherever it stands.
    refine
        Once a key set is found, split its sentences or tokens into words, and look for the key set among those.

    Examples
    --------
    >>> bound = Text().bind("It doesn't work, it doesn't.")
    >>> bound.names
    ('It', "doesn't", 'work', 'it', "doesn't (2)")
    >>> bound.rows(np.array([[False, True, False, False, False]]), np.zeros(1, dtype=int))
    ["It work, it doesn't."]
    """

    unit: str | Tokenizer = setting("word", _UNIT)
    mask: str = setting("", instance_of(str, "a text that stands in for a token, or '' to remove it"))
    occurrences: Literal["each", "all"] = setting("each", one_of("each", "all"))
    refine: bool = setting(False, YES_OR_NO)

    def bind(self, instance: Any) -> TextInstance:
        """The players of a text, or of a list or tuple of words, each of which is a token.

        Raises
        ------
        InputError
            It is neither.
        """
        if isinstance(instance, str):
            return _bound(str(instance), find_spans(str(instance), self.unit), self)
        if isinstance(instance, list | tuple) and all(isinstance(word, str) for word in instance):
            return _bound_words(instance, self)
        hint = ": decode it first" if isinstance(instance, bytes) else ""
        raise InputError(f"Text takes a text (str) or a list of words, got {_described(instance)}{hint}")


def _described(instance: Any) -> str:
    shape = getattr(instance, "shape", None)
    return type(instance).__name__ + (f" of shape {shape}" if shape is not None else "")


def _bound(text: str, spans: Spans, space: Text) -> TextInstance:
    """A text whose tokens stand at these places."""
    begins = [0, *(begin for begin, _ in spans[1:]), len(text)][: len(spans) + 1] if spans else []
    pieces, masked = [], []
    for at, (begin, end) in enumerate(spans):
        stop = len(text) if at + 1 == len(spans) else begins[at + 1]
        rest = text[end:stop]
        pieces.append(text[begins[at] : stop])
        masked.append(text[begins[at] : begin] + space.mask + (rest if space.mask else rest.lstrip(BLANKS)))
    return _instance(text, text, spans, (pieces, masked), space)


def _bound_words(words: "list[str] | tuple[str, ...]", space: Text) -> TextInstance:
    """A list of words, shown with blanks between them."""
    spans: Spans = []
    at = 0
    for word in words:
        spans.append((at, at + len(word)))
        at += len(word) + 1
    masked = [space.mask or None] * len(words)
    return _instance(words, " ".join(words), spans, (list(words), masked), space)


def _instance(
    instance: Any, shown: str, spans: Spans, pieces: "tuple[list[str], list[Any]]", space: Text
) -> TextInstance:
    """The instance whose tokens stand at `spans` of what is shown."""
    tokens = [shown[begin:end] for begin, end in spans]
    names, owner = _players(tokens, space.occurrences)
    kept, masked = pieces
    maskable = np.zeros(len(names), dtype=bool)
    np.logical_or.at(maskable, owner, [a != b for a, b in zip(kept, masked, strict=True)])
    own = [""] * len(names)
    for player, token in zip(owner.tolist(), tokens, strict=True):
        own[player] = token
    places: list[list[tuple[int, int]]] = [[] for _ in names]
    for player, span in zip(owner.tolist(), spans, strict=True):
        places[player].append(span)
    return TextInstance(
        names=tuple(names),
        maskable=maskable,
        display_values=tuple(own),
        display_masked=(space.mask or "removed",) * len(names),
        view=TextView(shown, dict(zip(names, map(tuple, places), strict=True)), not space.mask),
        text=instance,
        pieces=tuple(kept),
        masked_pieces=tuple(masked),
        owner=owner,
        spans=spans,
        space=space,
    )


def _players(tokens: list[str], occurrences: str) -> tuple[list[str], Ints]:
    """Names of the players, and the player of each token."""
    if occurrences == "all":
        numbers = {token: at for at, token in enumerate(dict.fromkeys(tokens))}
        return list(numbers), np.array([numbers[token] for token in tokens], dtype=np.int64)
    taken, counts = set(tokens), dict.fromkeys(tokens, 0)
    names: list[str] = []
    for token in tokens:
        counts[token] += 1
        name = token
        while counts[token] > 1 and (name := f"{token} ({counts[token]})") in taken:
            counts[token] += 1
        taken.add(name)
        names.append(name)
    return names, np.arange(len(tokens))
