"""Results to standard output or to a file, messages to standard error."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import typer

from .._base.atomic import replacing
from .._base.progress import Bar, Progress, Silent
from ..errors import InputError

# numbers below would show as 0 with four decimals; those below the second are what rounding leaves of a zero
_SHOWN = 5e-5
_ROUNDING = 1e-12
# rows that a table shows unless --top says otherwise
TOP = 10
# tables that `write_columns` writes
TABLES = (".csv", ".tsv", ".parquet")
# files that hold an explanation whole
EXPLANATIONS = (".json", ".json.gz", ".npz")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def check_output(path: Path | None, *suffixes: str) -> None:
    """Refuse, before any work, a file that could not be written after it.

    Raises
    ------
    InputError
        The suffix is none of these, or the folder does not exist.
    """
    if path is None:
        return
    if not path.name.lower().endswith(suffixes):
        raise InputError(f"cannot write {path}: the suffix must be one of {', '.join(suffixes)}")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if not path.resolve().parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.resolve().parent}")


def plural(n: int, what: str, more: str | None = None) -> str:
    """``1 edge``, ``2 edges``, ``1,000 edges``."""
    return f"{n:,} {what if n == 1 else more or what + 's'}"


def printable(text: str) -> str:
    """A text on one line that cannot command the terminal: control characters as their escapes."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def rounded(number: float) -> str:
    """Four digits; what only rounding keeps from 0 is 0."""
    return "0" if abs(number) < _ROUNDING else f"{number:.4g}"


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

    table = Table(title=Text(printable(title)) if title else None, title_justify="left", title_style="bold")
    numeric = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    for column, right in zip(columns, numeric, strict=True):
        table.add_column(Text(printable(str(column))), justify="right" if right else "left")
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

    from .._base.frames import make_frame

    table: pa.Table = make_frame(columns, "pyarrow")
    suffix = path.suffix.lower()
    if suffix not in TABLES:
        raise InputError(f"cannot write {path}: the suffix must be one of {', '.join(TABLES)}")
    with replacing(path) as part:
        if suffix == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, part)
        else:
            import pyarrow.csv as csv

            delimiter = "," if suffix == ".csv" else "\t"
            csv.write_csv(table, part, csv.WriteOptions(delimiter=delimiter, quoting_style="needed"))


def _cell(entry: Any) -> str:
    if not isinstance(entry, float):
        return printable(str(entry))
    # a standard error of 2e-5 must not look like the 0 of an exact value; below comes the noise of rounding
    text = f"{entry:.1e}" if _ROUNDING < abs(entry) < _SHOWN else f"{entry:.4f}"
    return "0.0000" if text == "-0.0000" else text


def _rows(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {_compact(row)}" for row in value) + "\n ]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
