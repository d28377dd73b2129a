"""Players made of columns."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._base.arrays import Ints
from ...errors import InputError

Groups = Mapping[Hashable, Sequence[Any]] | Sequence[Sequence[Any]]


def players_of(names: list[Any], groups: Groups | None) -> tuple[list[Hashable], Ints]:
    """Names of the players [n] and the player of each column [D]; columns outside groups are players of their own.

    Raises
    ------
    InputError
        A column stands in two groups, or two players are called the same.
    """
    if groups is None:
        return list(names), np.arange(len(names))
    if not isinstance(groups, Mapping):
        groups = {" + ".join(map(str, columns)): columns for columns in groups}
    owner = np.full(len(names), -1)
    players: list[Hashable] = []
    for player, columns in groups.items():
        for column in columns:
            at = position(names, column, "groups")
            if owner[at] >= 0:
                raise InputError(f"column {column!r} stands in two groups")
            owner[at] = len(players)
        players.append(player)
    for at in np.flatnonzero(owner < 0).tolist():
        owner[at] = len(players)
        players.append(names[at])
    if len(set(players)) != len(players):
        raise InputError("names of groups and of columns outside groups must be unique")
    return players, owner


def fixed_columns(names: list[Any], fixed: Sequence[Any], players: list[Hashable], owner: Ints) -> frozenset[int]:
    """Places of columns that are never masked, each given by its name, its position or the name of its group."""
    places: set[int] = set()
    for name in fixed:
        group = players.index(name) if name in players and name not in names else None
        of_group = [] if group is None else np.flatnonzero(owner == group).tolist()
        places.update(of_group or [position(names, name, "fixed")])
    return frozenset(places)


def position(names: list[Any], column: Any, where: str) -> int:
    """A column by name or, where no name fits, by position.

    Raises
    ------
    InputError
        There is no such column; the message says `where` it was asked for.
    """
    if column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
        return int(column)
    raise InputError(f"{where}: no column {column!r}; the columns are {', '.join(map(repr, names[:20]))}")
