"""``keyplayers compare``: what changed between two explanations, or between two stores."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Json
from .output import TABLES, TOP, check_output, emit, print_json, print_table, write_columns


def compare(
    first: Annotated[
        Path, typer.Argument(metavar="FIRST", help="An explanation (.json, .npz) or the folder of a store.")
    ],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="The same of another day, target or setting.")],
    top: Annotated[int, typer.Option(min=0, help="Rows to show.")] = TOP,
    as_json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the table: .csv, .tsv or .parquet.")
    ] = None,
) -> None:
    """Say what changed between two explanations, or between two stores: what is new since last week?"""
    from ..report.compare import compare as find_changes

    check_output(output, *TABLES)
    found: Any = find_changes(_open(first), _open(second))
    if output is not None:
        write_columns({**found.columns, **_as_texts(found.columns)}, output)
    if as_json:
        print_json(found.to_dict())
    elif output is None:
        emit(found.sentence)
        rows = list(zip(*(list(column)[:top] for column in found.columns.values()), strict=True))
        print_table("What changed", list(found.columns), [["" if e is None else e for e in row] for row in rows])


def _open(path: Path) -> Any:
    from ..archive import load
    from ..batch.store.reader import open_store

    return open_store(path) if path.is_dir() else load(path)


def _as_texts(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """Columns of names, which may be of several types, as texts."""
    named = (key for key in ("name", "target", "before", "after") if key in columns)
    return {key: [None if entry is None else str(entry) for entry in columns[key]] for key in named}
