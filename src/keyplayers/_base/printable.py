"""Names and other texts from data, as they may be shown."""

import unicodedata

# what commands a terminal, breaks lines, turns text around, or is not seen at all: controls of every kind but the
# joiners that scripts need, and halves of characters
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"


def printable(text: str) -> str:
    """A text on one line that cannot command the terminal: what is not seen becomes its escape."""
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in _HIDDEN and c not in _JOINERS else c
        for c in text
    )


def shortened(text: str, limit: int) -> str:
    """A printable text of at most `limit` characters; of a longer one the start, and how long it is."""
    shown = printable(text[: limit + 1])
    if len(shown) <= limit and len(text) <= limit:
        return shown
    more = f"… ({len(text):,} characters)"
    return shown[: max(1, limit - len(more))] + more
