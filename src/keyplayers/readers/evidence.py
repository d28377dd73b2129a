"""Evidence from tables: hard (a state) or soft (a weight per state)."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from .._base.arrays import Floats
from ..errors import FileFormatError, InputError, UnknownNameError
from ..mrf.build.columns import NAMES, find_name_column, find_state_column
from ..mrf.field import MarkovRandomField
from .paths import suffix
from .tables import Heading, names_from_text, numbers_from_text, read_table_and_notes

Unknown: TypeAlias = Literal["error", "skip"]


@dataclass
class Evidence:
    """What a table says of the variables of a field."""

    found: dict[Hashable, Any] = field(default_factory=dict)  # name -> state, or weights [K]
    notes: tuple[str, ...] = ()  # what was taken by guess, or left out


def read_evidence(path: str, mrf: MarkovRandomField, *, unknown: Unknown = "error") -> Evidence:
    """Evidence of a table: columns name and state, or name and one weight per state (soft). Or a UAI file (.evid).

    Rows without a state say nothing and are passed over.

    Parameters
    ----------
    unknown
        What to do with names that the field does not have: "error", or "skip", which counts them in a note.

    Raises
    ------
    FileFormatError
        A row names an unknown variable or state; the message says which row.
    """
    if unknown not in ("error", "skip"):
        raise InputError(f"unknown must be error or skip, got {unknown!r}")
    if suffix(path) == ".evid":
        from .uai import read_evidence as read_uai_evidence

        return Evidence(read_uai_evidence(path, mrf))
    table, notes = read_table_and_notes(path, header=lambda cells, below: _heading(cells, mrf))
    columns = table.column_names
    if len(columns) < 2:
        raise FileFormatError(f"{path}: evidence needs columns name and state, found {', '.join(columns)}")
    name = find_name_column(columns)
    others = [column for column in columns if column != name]
    names = names_from_text(table.column(name), path, name)
    rows = _Rows(path, mrf, names if isinstance(names, list) else names.to_pylist(), unknown)
    state = find_state_column(others) or (others[0] if len(others) == 1 else None)
    if state is None:
        weights: Floats = np.column_stack([numbers_from_text(table.column(c), path, c) for c in others])
        found = _soft_evidence(rows, others, weights)
    else:
        found = _hard_evidence(rows, table.column(state).to_pylist())
    return Evidence(found, tuple(f"{path}: {note}" for note in (*notes, *rows.notes)))


def _heading(cells: Sequence[str], mrf: MarkovRandomField) -> Heading:
    """A first line that speaks of a variable and its state is no header."""
    lowered = {cell.lower() for cell in cells}
    if len(cells) != 2 or lowered & set(NAMES) or find_state_column(cells) is not None:
        return Heading(True)
    try:
        parse_state(mrf, mrf.names.parse(cells[0]), cells[1])
    except UnknownNameError:
        return Heading(True)
    return Heading(False, f"the first line ({', '.join(cells)}) is taken as evidence, not as a header")


@dataclass
class _Rows:
    """The names of a table's rows, looked up in the field."""

    path: str
    mrf: MarkovRandomField
    names: list[Any]
    unknown: Unknown
    skipped: list[Any] = field(default_factory=list)

    def known(self) -> Iterator[tuple[int, int, Hashable]]:
        """Index, row as a person counts, and variable of each row whose name the field has."""
        for i, given in enumerate(self.names):
            try:
                yield i, i + 1, _known(given, self.mrf)
            except UnknownNameError as error:
                if self.unknown == "error":
                    raise FileFormatError(f"{self.path}: row {i + 1}: {error}") from None
                self.skipped.append(given)

    @property
    def notes(self) -> tuple[str, ...]:
        n = len(self.skipped)
        if not n:
            return ()
        rows = "1 row is" if n == 1 else f"{n:,} rows are"
        first = f"about {self.skipped[0]!r}, which" if n == 1 else f"about names (first {self.skipped[0]!r}) that"
        return (f"{rows} {first} the field does not have: left out",)


def _known(given: Hashable, mrf: MarkovRandomField) -> Hashable:
    try:
        mrf.index(given)
        return given
    except UnknownNameError:
        return mrf.names.parse(str(given))


def _hard_evidence(rows: _Rows, states: list[Any]) -> dict[Hashable, Any]:
    evidence: dict[Hashable, Any] = {}
    for i, row, variable in rows.known():
        state = states[i]
        if state is None or state == "" or state != state:
            continue
        if isinstance(state, float) and state.is_integer():
            state = int(state)  # numbers beside missing ones are kept as floats in Parquet
        try:
            known = parse_state(rows.mrf, variable, str(state))
        except UnknownNameError as error:
            raise FileFormatError(f"{rows.path}: row {row}: {error}") from None
        if evidence.setdefault(variable, known) != known:
            raise FileFormatError(
                f"{rows.path}: row {row}: variable {variable!r} is {known!r} here, "
                f"but {evidence[variable]!r} above"
            )
    return evidence


def _soft_evidence(rows: _Rows, columns: list[str], weights: Floats) -> dict[Hashable, Any]:
    """Weights by the names of the states where columns are called so, else in the order of the columns."""
    evidence: dict[Hashable, Any] = {}
    for i, row, variable in rows.known():
        states = [str(state) for state in rows.mrf.states(variable)]
        if variable in evidence:
            raise FileFormatError(f"{rows.path}: row {row}: variable {variable!r} stands in a row above too")
        if sorted(states) == sorted(columns):
            order = [columns.index(state) for state in states]
        elif len(columns) == len(states) and not set(states) & set(columns):
            order = list(range(len(columns)))
        else:
            raise FileFormatError(
                f"{rows.path}: row {row}: variable {variable!r} has states {', '.join(states)}; "
                f"the columns of weights are {', '.join(columns)}"
            )
        evidence[variable] = weights[i, order]
    return evidence


def parse_state(mrf: MarkovRandomField, variable: Hashable, text: str) -> Hashable:
    """The state of a variable that a text means: one whose name is spelled so, else the number it spells.

    Raises
    ------
    UnknownNameError
        There is no such state.
    """
    for state in mrf.states(variable):
        if str(state) == text:
            return state
    number = int(text) if text.isascii() and text.isdigit() else text
    return mrf.states(variable)[mrf.state_index(variable, number)]
