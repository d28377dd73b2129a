"""Fields from edge tables in files, with priors, potentials and evidence beside them."""

import json
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from .._base.arrays import Floats
from .._base.names import Names
from ..errors import FileFormatError, UnknownNameError
from ..mrf.build.priors import PriorTable, prior_table
from ..mrf.field import MarkovRandomField
from .tables import names_from_text, numbers_from_text, read_table


def read_field(path: str, **options: Any) -> MarkovRandomField:
    """A field from a table with columns source, target[, type]; see `read_mrf`."""
    table = read_table(path)
    columns = table.column_names
    if table.num_columns < 2:
        raise FileFormatError(
            f"{path}: an edge table needs two columns, found {table.num_columns} ({', '.join(columns)}); "
            "are the columns separated by commas (.csv) or tabs (.tsv)?"
        )
    first, second = ("source", "target") if {"source", "target"} <= set(columns) else columns[:2]
    source = names_from_text(table.column(first), path, first)
    target = names_from_text(table.column(second), path, second)
    potential = options.get("potential") if options.get("potential") is not None else options.get("log_potential")
    if isinstance(potential, Mapping) and options.get("edge_types") is None:
        third = "type" if "type" in columns else next((c for c in columns if c not in (first, second)), None)
        if third is None:
            raise FileFormatError(f"{path}: potentials per type need a column 'type'; the columns are {columns}")
        options["edge_types"] = _known_types(table.column(third).to_pylist(), potential)
    weights = options.get("edge_weights")
    if isinstance(weights, str):
        if weights not in columns:
            raise FileFormatError(f"{path}: there is no column {weights!r}; the columns are {', '.join(columns)}")
        options["edge_weights"] = numbers_from_text(table.column(weights), path, weights)
    return MarkovRandomField.from_edges(_edge_frame(source, target), **options)


def read_priors(path: str, *, log_domain: bool = False) -> PriorTable:
    """Priors of a table: a name column (called name, or the first) and one column per state.

    Raises
    ------
    FileFormatError
        A name is missing or an entry is no number.
    InputError
        The prior of a variable cannot be used.
    """
    table = read_table(path, header=True)
    name = "name" if "name" in table.column_names else table.column_names[0]
    states = [column for column in table.column_names if column != name]
    if not states:
        raise FileFormatError(f"{path}: a table of priors needs a name column and one column per state")
    names = names_from_text(table.column(name), path, name)
    rows = np.column_stack([numbers_from_text(table.column(state), path, state) for state in states])
    listed = names if isinstance(names, list) else names.to_pylist()
    return prior_table(Names(listed), rows, tuple(states), log_domain=log_domain)


def read_potential(path: str) -> Any:
    """One matrix, or ``{type: matrix}``, from JSON; or one matrix from CSV or TSV without a header.

    Raises
    ------
    FileFormatError
        The file holds something else.
    """
    from . import suffix

    if suffix(path) != ".json":
        table = read_table(path, header=False)
        return np.column_stack([numbers_from_text(column, path, "?") for column in table.columns])
    with open(path, encoding="utf-8") as file:
        try:
            given = json.load(file)
        except json.JSONDecodeError as error:
            raise FileFormatError(f"{path}: line {error.lineno}, column {error.colno}: {error.msg}") from None
    if not isinstance(given, list | dict):
        raise FileFormatError(f"{path}: expected a matrix [[..], ..] or {{type: matrix}}, got {given!r}")
    return given


def read_evidence(path: str, mrf: MarkovRandomField) -> dict[Hashable, Any]:
    """Evidence of a table: columns name and state, or name and one weight per state (soft).

    Rows without a state say nothing and are passed over.

    Raises
    ------
    FileFormatError
        A row names an unknown variable or state; the message says which row.
    """
    table = read_table(path, header=True)
    columns = table.column_names
    if len(columns) < 2:
        raise FileFormatError(f"{path}: evidence needs columns name and state, found {', '.join(columns)}")
    name = "name" if "name" in columns else columns[0]
    others = [column for column in columns if column != name]
    names = names_from_text(table.column(name), path, name)
    rows = names if isinstance(names, list) else names.to_pylist()
    soft = len(others) > 1 and "state" not in others
    if soft:
        weights: Floats = np.column_stack([numbers_from_text(table.column(c), path, c) for c in others])
        return _soft_evidence(mrf, path, rows, others, weights)
    states = table.column("state" if "state" in others else others[0]).to_pylist()
    evidence: dict[Hashable, Any] = {}
    for row, (given, state) in enumerate(zip(rows, states, strict=True), 1):
        if state is None or state == "" or state != state:
            continue
        variable = _known(given, mrf, path, row)
        if isinstance(state, float) and state.is_integer():
            state = int(state)  # numbers beside missing ones are kept as floats in Parquet
        try:
            known = parse_state(mrf, variable, str(state))
        except UnknownNameError as error:
            raise FileFormatError(f"{path}: row {row}: {error}") from None
        if evidence.setdefault(variable, known) != known:
            raise FileFormatError(
                f"{path}: row {row}: variable {variable!r} is {known!r} here, but {evidence[variable]!r} above"
            )
    return evidence


def _soft_evidence(
    mrf: MarkovRandomField, path: str, rows: list[Any], columns: list[str], weights: Floats
) -> dict[Hashable, Any]:
    """Weights by the names of the states where columns are called so, else in the order of the columns."""
    evidence: dict[Hashable, Any] = {}
    for row, given in enumerate(rows, 1):
        variable = _known(given, mrf, path, row)
        states = [str(state) for state in mrf.states(variable)]
        if variable in evidence:
            raise FileFormatError(f"{path}: row {row}: variable {variable!r} stands in a row above too")
        if sorted(states) == sorted(columns):
            order = [columns.index(state) for state in states]
        elif len(columns) == len(states) and not set(states) & set(columns):
            order = list(range(len(columns)))
        else:
            raise FileFormatError(
                f"{path}: row {row}: variable {variable!r} has states {', '.join(states)}; "
                f"the columns of weights are {', '.join(columns)}"
            )
        evidence[variable] = weights[row - 1, order]
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


def _known_types(types: list[Any], potential: Mapping[Hashable, Any]) -> list[Any]:
    """Types as the potentials call them: a table and a mapping may differ in 7 and "7"."""
    spelled = {str(known): known for known in potential}
    means = {given: given if given in potential else spelled.get(str(given), given) for given in set(types)}
    return [means[given] for given in types]


def _known(given: Hashable, mrf: MarkovRandomField, path: str, row: int) -> Hashable:
    try:
        mrf.index(given)
        return given
    except UnknownNameError:
        try:
            return mrf.names.parse(str(given))
        except UnknownNameError as error:
            raise FileFormatError(f"{path}: row {row}: {error}") from None


def _edge_frame(source: Any, target: Any) -> Any:
    """Both columns as a table; as pairs where Arrow cannot hold their types."""
    import pyarrow as pa

    if isinstance(source, list) or isinstance(target, list) or source.type != target.type:
        columns = [column if isinstance(column, list) else column.to_pylist() for column in (source, target)]
        return list(zip(*columns, strict=True))
    return pa.table({"source": source, "target": target})
