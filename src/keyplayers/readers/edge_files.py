"""Fields from edge tables in files, with priors and potentials beside them."""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.foreign import reading
from .._base.names import Names
from ..errors import FileFormatError, InputError
from ..mrf.build.columns import (
    EdgeColumns,
    find_edge_columns,
    find_name_column,
    looks_like_edges,
)
from ..mrf.build.priors import PriorTable, prior_table
from ..mrf.field import MarkovRandomField
from .paths import suffix
from .tables import Heading, is_integer, names_from_text, numbers_from_text, read_table, read_table_and_notes


def read_field(path: str, **options: Any) -> MarkovRandomField:
    """A field from a table with columns source, target[, type]; see `read_mrf`."""
    no_header = options.pop("header", None) is False
    table, notes = read_table_and_notes(path, header=False if no_header else edge_heading)
    columns = table.column_names
    if table.num_columns < 2:
        raise FileFormatError(
            f"{path}: an edge table needs two columns, found {table.num_columns} ({', '.join(columns)}); "
            "are the columns separated by commas (.csv) or tabs (.tsv)?"
        )
    found = _edge_columns(path, columns, options.pop("source", None), options.pop("target", None))
    source = names_from_text(table.column(found.source), path, found.source)
    target = names_from_text(table.column(found.target), path, found.target)
    potential = options.get("potential") if options.get("potential") is not None else options.get("log_potential")
    if isinstance(potential, Mapping) and options.get("edge_types") is None:
        if found.type is None:
            raise FileFormatError(f"{path}: potentials per type need a column 'type'; the columns are {columns}")
        options["edge_types"] = _known_types(table.column(found.type).to_pylist(), potential)
    weights = options.get("edge_weights")
    if isinstance(weights, str):
        if weights not in columns:
            raise FileFormatError(f"{path}: there is no column {weights!r}; the columns are {', '.join(columns)}")
        options["edge_weights"] = numbers_from_text(table.column(weights), path, weights)
    mrf = MarkovRandomField.from_edges(_edge_frame(source, target), **options)
    guesses = notes if found.guess is None else (*notes, found.guess)
    return replace(mrf, notes=(*(f"{path}: {note}" for note in guesses), *mrf.notes)) if guesses else mrf


def _edge_columns(path: str, columns: list[str], source: str | None, target: str | None) -> EdgeColumns:
    try:
        return find_edge_columns(columns, source, target)
    except InputError as error:
        raise FileFormatError(f"{path}: {error}") from None


def edge_heading(cells: Sequence[str], below: Any) -> Heading:
    """Whether the first line of an edge table has the names of the columns or is an edge."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if looks_like_edges(cells):
        return Heading(True)
    if all(is_integer(cell) for cell in cells[:2]):
        return Heading(False)
    ends = pa.array(cells[:2], pa.string())
    shown = ", ".join(cells[:4])
    if any(pc.any(pc.is_in(column, value_set=ends)).as_py() for column in below.columns[:2]):
        return Heading(False, f"the first line ({shown}) is taken as an edge, since its names stand below again")
    return Heading(True, f"the first line ({shown}) is taken as the names of the columns")


def read_priors(path: str, *, log_domain: bool = False) -> PriorTable:
    """Priors of a table: a name column (called name, or the first) and one column per state.

    A single column of numbers from 0 to 1 is the probability of the last of two states.

    Raises
    ------
    FileFormatError
        A name is missing or an entry is no number.
    InputError
        The prior of a variable cannot be used.
    """
    table, notes = read_table_and_notes(path, header=_prior_heading)
    has_header = not notes
    name = find_name_column(table.column_names)
    states = [column for column in table.column_names if column != name]
    if not states:
        raise FileFormatError(f"{path}: a table of priors needs a name column and one column per state")
    names = names_from_text(table.column(name), path, name)
    rows = np.column_stack([numbers_from_text(table.column(state), path, state) for state in states])
    listed = names if isinstance(names, list) else names.to_pylist()
    found = prior_table(Names(listed), rows, tuple(states) if has_header else None, log_domain=log_domain)
    return replace(found, notes=tuple(f"{path}: {note}" for note in (*notes, *found.notes)))


def _prior_heading(cells: Sequence[str], below: Any) -> Heading:
    if len(cells) > 1 and all(_is_number(cell) for cell in cells[1:]):
        return Heading(False, f"the first line ({', '.join(cells[:4])}) is taken as a prior, not as a header")
    return Heading(True)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_potential(path: str) -> Any:
    """One matrix, or ``{type: matrix}``, from JSON; or one matrix from CSV or TSV without a header.

    Raises
    ------
    FileFormatError
        The file holds something else.
    """
    if suffix(path) != ".json":
        table = read_table(path, header=False)
        return np.column_stack([numbers_from_text(column, path, "?") for column in table.columns])
    with reading(path), open(path, encoding="utf-8") as file:
        given = json.load(file)
    if not isinstance(given, list | dict):
        raise FileFormatError(f"{path}: expected a matrix [[..], ..] or {{type: matrix}}, got {given!r}")
    return given


def _known_types(types: list[Any], potential: Mapping[Hashable, Any]) -> list[Any]:
    """Types as the potentials call them: a table and a mapping may differ in 7 and "7"."""
    spelled = {str(known): known for known in potential}
    means = {given: given if given in potential else spelled.get(str(given), given) for given in set(types)}
    return [means[given] for given in types]


def _edge_frame(source: Any, target: Any) -> Any:
    """Both columns as a table; as pairs where Arrow cannot hold their types."""
    import pyarrow as pa

    if isinstance(source, list) or isinstance(target, list) or source.type != target.type:
        columns = [column if isinstance(column, list) else column.to_pylist() for column in (source, target)]
        return list(zip(*columns, strict=True))
    return pa.table({"source": source, "target": target})
