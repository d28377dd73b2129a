"""Results to standard output or to a file, messages to standard error."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .._base.atomic import replacing
from .._base.optional import require
from .._base.printable import printable as printable
from .._base.progress import Progress, Silent
from .._base.progress import show_progress as display_progress
from ..errors import InputError
from .streams import results

if TYPE_CHECKING:
    from ..explanation import Explanation

# numbers below would show as 0 with four decimals; those below the second are what rounding leaves of a zero
_SHOWN = 5e-5
_ROUNDING = 1e-12
# rows that a table shows unless --top says otherwise
TOP = 10
# tables that `write_columns` writes
TABLES = (".csv", ".tsv", ".parquet")
# files that hold an explanation whole
EXPLANATIONS = (".json", ".json.gz", ".npz")
# pages that people read, and further files for them; what it takes to write them
PAGES = (".html", ".htm")
_NEEDED = {
    ".html": "jinja2",
    ".htm": "jinja2",
    ".md": None,
    ".png": "matplotlib",
    ".svg": "matplotlib",
    ".pdf": "matplotlib",
    ".graphml": "networkx",
}
FOR_PEOPLE = tuple(_NEEDED)
# what a spreadsheet takes for a formula
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.])")


def check_output(path: Path | None, *suffixes: str) -> None:
    """Refuse, before any work, a file that could not be written after it.

    Raises
    ------
    InputError
        The suffix is none of these, or the folder does not exist.
    MissingPackageError
        What writes such files is not installed.
    """
    if path is None:
        return
    if not path.name.lower().endswith(suffixes):
        raise InputError(f"cannot write {path}: the suffix must be one of {', '.join(suffixes)}")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if not path.resolve().parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.resolve().parent}")
    needed = _NEEDED.get(path.suffix.lower())
    if needed is not None:
        require(needed)


def check_page(path: Path | None, many: bool) -> None:
    """Refuse, before any work, a page that could not be written after it.

    Raises
    ------
    InputError
        The suffix is none of a page, the folder does not exist, or there are many targets.
    MissingPackageError
        What makes pages is not installed.
    """
    if path is None:
        return
    if many:
        raise InputError("--html is for a single target; of many: `keyplayers report STORE -o DIR`")
    check_output(path, *PAGES)


def plural(n: int, what: str, more: str | None = None) -> str:
    """``1 edge``, ``2 edges``, ``1,000 edges``."""
    return f"{n:,} {what if n == 1 else more or what + 's'}"


def rounded(number: float) -> str:
    """Four digits; what only rounding keeps from 0 is 0."""
    return "0" if abs(number) < _ROUNDING else f"{number:.4g}"


def say(text: str) -> None:
    """A message on one line, to standard error."""
    with suppress(OSError):  # closed, or nobody reads it
        typer.echo(printable(text), err=True)


def emit(text: str) -> None:
    """A line of a result, whatever names it holds."""
    results().write(printable(text) + "\n")


def show_progress(quiet: bool) -> AbstractContextManager[Progress]:
    """Progress on standard error, where nobody asked for silence."""
    return nullcontext(Silent()) if quiet else display_progress()


def print_json(data: Mapping[str, Any]) -> None:
    """JSON to standard output: a line per entry, and per row of a table. It holds no NaN, which JSON lacks."""
    entries = ",\n".join(f" {_compact(key)}: {_rows(value)}" for key, value in data.items())
    results().write(f"{{\n{entries}\n}}\n")


def tell_explanation(
    found: "Explanation[Any]",
    table: Callable[[Any, int], None],
    notes: Callable[[Any], Sequence[str]],
    *,
    top: int | None,
    as_json: bool,
    output: Path | None,
    html: Path | None,
    quiet: bool,
) -> None:
    """One explanation, as the options of a command ask: into a file, as JSON, or as sentence, table and notes."""
    if output is not None:
        write_explanation(found, output)
    if html is not None:
        found.report(html)
    if as_json:
        print_json(_shortened(found.to_dict(), top))
    elif (output is None and html is None) or not quiet:
        emit(found.sentence)
        table(found, TOP if top is None else top)
        for note in () if quiet else notes(found):
            say(note)


def write_explanation(found: "Explanation[Any]", path: Path) -> None:
    """An explanation whole, its players as a table, or what people look at."""
    from ..explanation import structure_columns

    if path.name.lower().endswith(TABLES):
        columns = {"name": list(found.players), "value": found.values, "std_error": found.std_errors}
        write_columns(columns | structure_columns(found.structure, found), path)
    elif path.name.lower().endswith(FOR_PEOPLE):
        from ..report import write_file

        write_file(found, path)
    else:
        found.save(path)


def _shortened(data: dict[str, Any], top: int | None) -> dict[str, Any]:
    """The JSON with its first players only; how many there are stands beside them."""
    if top is None:
        return data
    return data | {"n_players": len(data["players"]), "players": data["players"][:top]}


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
    out = results()
    Console(file=out, width=None if out.isatty() else 200, highlight=False).print(table)


def write_columns(columns: Mapping[str, Any], path: Path) -> None:
    """A table to a file: .csv, .tsv or .parquet.

    In a text table a cell that a spreadsheet would take for a formula gets an apostrophe in front.

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
            csv.write_csv(
                _without_formulas(table), part, csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
            )


def _without_formulas(table: Any) -> Any:
    import pyarrow as pa

    columns = [
        pa.array([_harmless(cell) for cell in column.to_pylist()], pa.string())
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[_harmless(name) for name in table.column_names])


def _harmless(cell: str | None) -> str | None:
    return f"'{cell}" if cell is not None and _FORMULA.match(cell) else cell


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
    # JSON on every code page: what it lacks is written as an escape of JSON's own
    unicode = (results().encoding or "utf-8").lower().replace("-", "") in ("utf8", "utf16", "utf32")
    return json.dumps(value, ensure_ascii=not unicode, allow_nan=False)
