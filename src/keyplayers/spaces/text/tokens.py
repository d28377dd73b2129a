"""Where the words and sentences of a text stand, in any script."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from ..._base.optional import require
from ...errors import InputError

Spans = list[tuple[int, int]]  # begin and end of each token, in characters
Tokenizer = Callable[[str], Iterable[Any]]

UNITS = ("word", "sentence")


def find_spans(text: str, unit: str | Tokenizer) -> Spans:
    """Begin and end of every token, in the order of the text.

    Raises
    ------
    InputError
        What the caller's tokeniser gave are no tokens of the text.
    """
    if callable(unit):
        return _spans_of(text, list(unit(text)))
    return words(text) if unit == "word" else sentences(text)


def words(text: str) -> Spans:
    """Words as Unicode has them, and symbols such as emoji; no punctuation, no blanks.

    A word keeps its combining marks, apostrophes and joiners. Scripts without blanks have no words that could be
    told without a dictionary: there each written character is one.

    References
    ----------
    Unicode Standard Annex 29, "Unicode Text Segmentation", section 4 (word boundaries).
    """
    boundary, wordlike = _patterns()
    cuts = [0, *(match.start() for match in boundary.finditer(text)), len(text)]
    return [(a, b) for a, b in pairwise(cuts) if a < b and wordlike.search(text, a, b)]


def sentences(text: str) -> Spans:
    """Stretches up to a full stop, a question or exclamation mark, or a line's end; no blanks around them."""
    return [match.span() for match in _sentence().finditer(text)]


@cache
def _patterns() -> tuple[Any, Any]:
    """A word boundary, and what a word has at least one character of."""
    regex = require("regex")
    return (
        regex.compile(r"\b", flags=regex.V1 | regex.WORD),
        regex.compile(r"[\p{L}\p{N}\p{So}\p{Sc}\p{Emoji_Presentation}\p{Regional_Indicator}_]"),
    )


@cache
def _sentence() -> Any:
    """A sentence: up to its closing mark, the quotes and brackets that close with it, or the end of the line."""
    regex = require("regex")
    return regex.compile(
        r"[^\s](?:[^\n。！？.!?]|[.!?](?![\p{Pe}\p{Pf}\"'.!?]*(?:\s|$)))*(?:[。！？.!?]+[\p{Pe}\p{Pf}\"']*)?(?<=\S)",
        flags=regex.V1,
    )


def _spans_of(text: str, tokens: Sequence[Any]) -> Spans:
    """Spans of what a tokeniser gave: its tokens as texts in their order, or (begin, end) of each."""
    spans: Spans = []
    at = 0
    for token in tokens:
        begin, end = _next(text, token, at)
        if not at <= begin <= end <= len(text):
            raise InputError(
                f"a tokeniser gives spans in the order of the text, each within its {len(text)} characters; "
                f"got {(begin, end)} after {at}"
            )
        if begin < end:  # tokens of no characters, such as those that models put around a text, are none of it
            spans.append((begin, end))
            at = end
    return spans


def _next(text: str, token: Any, at: int) -> tuple[int, int]:
    """The span of a token, which stands at `at` or later."""
    if not isinstance(token, str):
        try:
            begin, end = token
            return int(begin), int(end)
        except (TypeError, ValueError):
            raise InputError(
                f"a tokeniser gives texts or (begin, end) of each token, got {type(token).__name__}"
            ) from None
    begin = text.find(token, at)
    if begin < 0:
        raise InputError(
            f"the tokeniser's token {token[:40]!r} does not stand in the text after character {at}; give a "
            "tokeniser whose tokens are parts of the text, or one that gives (begin, end) of each"
        )
    return begin, begin + len(token)
