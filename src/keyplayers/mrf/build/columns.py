"""Which column of a table means what: by the usual names, without regard to case, else by its place."""

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import InputError

#: the usual names of the columns of an edge table, ends in pairs
ENDS = (
    ("source", "target"), ("from", "to"), ("src", "dst"), ("u", "v"), ("head", "tail"), ("node1", "node2"),
    ("node_1", "node_2"), ("id1", "id2"), ("from_id", "to_id"), ("source_id", "target_id"), ("sender", "receiver"),
    ("fromnodeid", "tonodeid"),
)  # fmt: skip
TYPES = ("type", "edge_type", "relation", "kind")
#: ... of a table that says something of each variable
NAMES = ("name", "id", "node", "variable", "account", "user", "node_id", "nodeid")
STATES = ("state", "label", "class", "observed")


class EdgeColumns(NamedTuple):
    """The columns of an edge table."""

    source: str
    target: str
    type: str | None
    guess: str | None  # what was taken by place and not by name, in one sentence


def find_edge_columns(columns: Sequence[str], source: str | None = None, target: str | None = None) -> EdgeColumns:
    """The columns with both ends and the type.

    Parameters
    ----------
    source, target
        What the caller calls them, if he said so.

    Raises
    ------
    InputError
        There is no such column, or there are fewer than two.
    """
    if (source is None) != (target is None):
        raise InputError("name both columns, that of the source and that of the target")
    if source is not None and target is not None:
        for asked in (source, target):
            if asked not in columns:
                raise InputError(f"there is no column {asked!r}; the columns are {', '.join(columns)}")
        return EdgeColumns(source, target, _find(columns, TYPES, (source, target)), None)
    if len(columns) < 2:
        raise InputError(f"edges need two columns, source and target; found {', '.join(columns) or 'none'}")
    for first, second in ENDS:
        ends = _find(columns, (first,)), _find(columns, (second,))
        if ends[0] is not None and ends[1] is not None:
            return EdgeColumns(ends[0], ends[1], _find(columns, TYPES, ends), None)
    first, second, *others = columns
    third = _find(others, TYPES) or (others[0] if others else None)
    guess = f"edges go from column {first!r} to column {second!r}, the first two of {len(columns)}"
    return EdgeColumns(first, second, third, guess if others else None)


def find_name_column(columns: Sequence[str]) -> str:
    """The column with the names of variables: one that is called so, else the first."""
    return _find(columns, NAMES) or columns[0]


def find_state_column(columns: Sequence[str]) -> str | None:
    """The column with an observed state."""
    return _find(columns, STATES)


def looks_like_edges(cells: Sequence[str]) -> bool:
    """Whether a line can only be the header of an edge table."""
    names = {cell.strip().lower() for cell in cells}
    return any(first in names and second in names for first, second in ENDS)


def _find(columns: Sequence[str], wanted: Sequence[str], taken: Sequence[str | None] = ()) -> str | None:
    """The first of the wanted names that a column has; one spelled exactly so comes first."""
    for name in wanted:
        same = [column for column in columns if column.strip().lower() == name and column not in taken]
        if same:
            return name if name in same else same[0]
    return None
