"""Values of players in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._base.arrays import Ints
from .entries import missing, same

# a player of more columns than this is shown by how many they are
MOST_SHOWN = 4


def column_words(
    names: list[Any], entries: Sequence[Sequence[Any]], category_names: Mapping[Any, Sequence[str]]
) -> list[str]:
    """One word per column [D] for its value, or its values in several rows [D, R]."""
    if not category_names and all(len(values) == 1 for values in entries):
        return [_word(value, ()) for (value,) in entries]
    return [
        _word(values[0], tuple(category_names.get(name) or ()))
        if all(same(value, values[0]) for value in values)
        else f"one of {len(values)}"
        for name, values in zip(names, entries, strict=True)
    ]


def player_words(words: list[str], owner: Ints, n_players: int) -> tuple[str, ...]:
    """One word per player [n] from those of its columns [D]."""
    parts: list[list[str]] = [[] for _ in range(n_players)]
    for player, word in zip(owner.tolist(), words, strict=True):
        parts[player].append(word)
    return tuple(", ".join(part) if len(part) <= MOST_SHOWN else f"{len(part)} values" for part in parts)


def _word(value: Any, listed: Sequence[str]) -> str:
    """A value in words: the name of its code where it has one, else as it is."""
    if type(value) is float and not listed:  # by far the most frequent case
        return f"{value:.4g}" if value == value else "missing"
    if missing(value):
        return "missing"
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        if value in range(len(listed)):  # also a code that is a whole float
            return str(listed[int(value)])
        return str(value) if isinstance(value, (int, np.integer)) else f"{value:.4g}"
    return str(value)
