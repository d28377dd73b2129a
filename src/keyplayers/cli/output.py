"""Results to standard output or to a file, messages to standard error."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import typer

from ..errors import InputError
from ..progress import Bar, Progress, Silent

# rows that a table shows unless --top says otherwise
TOP = 10


def say(text: str) -> None:
    """A message, to standard error."""
    typer.echo(text, err=True)


def show_progress(quiet: bool) -> AbstractContextManager[Progress]:
    """A bar on standard error, where that is a terminal and nobody asked for silence."""
    return nullcontext(Silent()) if quiet or not sys.stderr.isatty() else Bar()


def print_json(data: Mapping[str, Any]) -> None:
    """JSON to standard output: a line per entry, and per row of a table. It holds no NaN, which JSON lacks."""
    entries = ",\n".join(f" {_compact(key)}: {_rows(value)}" for key, value in data.items())
    typer.echo(f"{{\n{entries}\n}}")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table to standard output; numbers are set right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", title_style="bold")
    numeric = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    for column, right in zip(columns, numeric, strict=True):
        table.add_column(Text(str(column)), justify="right" if right else "left")
    for row in rows:
        table.add_row(*(Text(_cell(entry)) for entry in row))
    # a pipe gets whole lines; a terminal its own width
    width = None if sys.stdout.isatty() else 200
    Console(file=sys.stdout, width=width, highlight=False).print(table)


def write_columns(columns: Mapping[str, Any], path: Path) -> None:
    """A table to a file: .csv, .tsv or .parquet.

    Raises
    ------
    InputError
        The suffix says no known format.
    """
    import pyarrow as pa

    from ..frames import make_frame

    write: Callable[[Any], None]
    match path.suffix.lower():
        case ".parquet":
            import pyarrow.parquet as pq

            def write(table: Any) -> None:
                pq.write_table(table, path)
        case ".csv" | ".tsv":
            import pyarrow.csv as csv

            delimiter = "," if path.suffix.lower() == ".csv" else "\t"

            def write(table: Any) -> None:
                csv.write_csv(table, path, csv.WriteOptions(delimiter=delimiter, quoting_style="needed"))
        case _:
            raise InputError(f"cannot write {path}: the suffix must be .csv, .tsv, .parquet or .json")
    table: pa.Table = make_frame(columns, "pyarrow")
    write(table)


def _cell(entry: Any) -> str:
    text = f"{entry:.4f}" if isinstance(entry, float) else str(entry)
    return "0.0000" if text == "-0.0000" else text


def _rows(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {_compact(row)}" for row in value) + "\n ]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
