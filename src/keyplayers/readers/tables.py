"""Tables from files: CSV, TSV, lists of edges and Parquet, compressed or not, as Arrow tables."""

import csv as text_tables
import gzip
import io
import mmap
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from .._base.foreign import reading
from ..errors import FileFormatError
from .paths import check_plain_file, suffix

# a text that an integer is written as, and no other: "7", but not "007", "+7" or "7.0"
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
# lists of edges as SNAP and others give them: comments, then two or more columns between blanks
LISTS = (".txt", ".edgelist", ".edges")
_COMMENT = re.compile(rb"^[ \t]*[#%][^\r\n]*(?:\r\n?|\n|$)", re.MULTILINE)
_BLANKS = re.compile(rb"[ \t]+")
_OUTER_BLANKS = re.compile(rb"^[ \t]+|[ \t]+(?=\r|\n|$)", re.MULTILINE)
# bytes in which the first line must end
_BEGIN = 1 << 16


class Table(NamedTuple):
    """A table and what was taken by guess when it was read."""

    data: Any  # pyarrow.Table
    notes: tuple[str, ...]


class Heading(NamedTuple):
    """Whether the first line of a text has the names of the columns."""

    is_header: bool
    guess: str | None = None  # in one sentence, where it is one


# whether there is a header; or who looks at the cells of the first line and at the lines below it to tell
Header: TypeAlias = bool | Callable[[Sequence[str], Any], Heading]


def read_table(path: str, *, header: Header = True) -> Any:
    """A table as text (CSV, TSV, lists of edges) or with its own types (Parquet).

    Parameters
    ----------
    header
        Whether a text file begins with column names; columns without are called f0, f1, ..

    Raises
    ------
    FileFormatError
        The file is no such table; the message says where, as far as the parser knows.
    OSError
        There is no such file, or it may not be read.
    """
    return read_table_and_notes(path, header=header).data


def read_table_and_notes(path: str, *, header: Header = True) -> Table:
    """The same, with what was taken by guess."""
    kind = suffix(path)
    if kind != ".parquet" and kind not in _DELIMITERS and kind not in LISTS:
        known = ", ".join([*_DELIMITERS, *LISTS])
        raise FileFormatError(f"{path}: a table must be {known} (each also as .gz) or .parquet")
    check_plain_file(path)
    with reading(path, _explain):
        if kind == ".parquet":
            import pyarrow.parquet as pq

            table = Table(pq.read_table(path), ())
        else:
            table = _read_text(path, kind, header)
    columns = table.data.column_names
    repeated = next((column for i, column in enumerate(columns) if column in columns[:i]), None)
    if repeated is not None:
        raise FileFormatError(f"{path}: column names must be distinct, but {repeated!r} stands more than once")
    return table


def _explain(path: str, error: Exception) -> str | None:
    """What Arrow's error means, with the line; None where it says all."""
    if isinstance(error, UnicodeDecodeError):
        return f"line {_undecodable_line(path) or 1} is not UTF-8; convert the file"
    if "UTF8" in str(error):
        line = _undecodable_line(path)
        return f"line {line} is not UTF-8; convert the file" if line else None
    return None


def _read_text(path: str, kind: str, header: Header) -> Table:
    """A table of texts, without the blanks around them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    begin = _begin(path)
    if kind in LISTS:
        begin = _OUTER_BLANKS.sub(b"", _COMMENT.sub(b"", begin))
    first = _first_line(begin, path)
    delimiter, notes = _delimiter(first, kind)
    cells = _cells(_BLANKS.sub(b" ", begin) if delimiter == " " else begin, delimiter)
    rows = _parse(path, kind, delimiter, len(cells))
    trimmed = [pc.utf8_trim_whitespace(column) for column in rows.columns]  # "a, b" speaks of b, not of " b"
    cells = [column[0].as_py() for column in trimmed] if rows.num_rows else []
    below = pa.table([column.slice(1) for column in trimmed], names=rows.column_names)
    heading = Heading(header) if isinstance(header, bool) else header(cells, below)
    if heading.guess is not None:
        notes = (*notes, heading.guess)
    if heading.is_header:
        return Table(pa.table(below.columns, names=cells), notes)
    return Table(pa.table(trimmed, names=rows.column_names), notes)


def _begin(path: str) -> bytes:
    """The first bytes, decompressed."""
    import pyarrow as pa

    with pa.input_stream(path) as stream:  # decompresses .gz by its name
        begin: bytes = stream.read(_BEGIN)
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in begin[:64]:
        raise FileFormatError(f"{path}: the file is UTF-16 or no text; tables are read as UTF-8")
    return begin.removeprefix(b"\xef\xbb\xbf")


def _first_line(begin: bytes, path: str) -> str:
    first = re.split(rb"\r\n?|\n", begin, maxsplit=1)[0].decode(errors="replace")
    if not first.strip():
        raise FileFormatError(f"{path}: line 1 is empty; expected the names of the columns")
    return first


def _delimiter(first: str, kind: str) -> tuple[str, tuple[str, ...]]:
    """What separates the cells: what the suffix says, or else what the first line shows."""
    usual = _DELIMITERS.get(kind)
    if usual is not None and usual in first:
        return usual, ()
    for delimiter, words in ((",", "commas"), ("\t", "tabs"), (";", "semicolons"), ("|", "vertical bars")):
        if delimiter in first and (usual is not None or delimiter != "\t"):
            told = () if usual is None else (f"columns are separated by {words}",)
            return delimiter, told
    return (usual or " "), ()


def _cells(begin: bytes, delimiter: str) -> list[str]:
    """The cells of the first record, which may go over several lines where a cell is quoted."""
    text = io.StringIO(begin.decode(errors="replace"), newline="")
    return next(iter(text_tables.reader(text, delimiter=delimiter)), [])


def _parse(path: str, kind: str, delimiter: str, n_columns: int) -> Any:
    """All lines as rows of texts; columns are called f0, f1, .."""
    import pyarrow as pa
    import pyarrow.csv as csv

    data = _whole(path, delimiter) if kind in LISTS else None
    with pa.input_stream(path) if data is None else pa.BufferReader(data) as stream:
        try:
            return csv.read_csv(
                stream,
                read_options=csv.ReadOptions(autogenerate_column_names=True),
                parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=_has_quotes(path)),
                convert_options=csv.ConvertOptions(
                    # as text: "007" is not 7, and "NA" may be somebody's name
                    column_types={f"f{i}": pa.string() for i in range(n_columns)},
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            found = _ragged_line(path, delimiter, n_columns) if data is None else None
            if found is None:
                raise
            raise FileFormatError(f"{path}: {found}") from error


def _whole(path: str, delimiter: str) -> bytes:
    """A list of edges without comments, one blank between columns."""
    import pyarrow as pa

    with pa.input_stream(path) as stream:
        data = _COMMENT.sub(b"", stream.read())
    return _BLANKS.sub(b" ", _OUTER_BLANKS.sub(b"", data)) if delimiter == " " else data


def _has_quotes(path: str) -> bool:
    """Whether cells may hold line breaks; without any, Arrow may cut the file anywhere."""
    if path.lower().endswith(".gz"):
        return True
    with open(path, "rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(b'"') >= 0
        except (ValueError, OSError):  # empty, or no plain file
            return True


def _ragged_line(path: str, delimiter: str, n_columns: int) -> str | None:
    """The first line with another number of cells than the first one, in words."""
    with gzip.open(path, "rt", newline="") if path.lower().endswith(".gz") else open(path, newline="") as file:
        rows = text_tables.reader(file, delimiter=delimiter)
        begin = 1
        for cells in rows:
            if cells and len(cells) != n_columns:
                what = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
                return f"line {begin} has {what}, where the first has {n_columns}: {', '.join(cells[:8])}"
            begin = rows.line_num + 1
    return None


def _undecodable_line(path: str) -> int | None:
    """The first line that is not UTF-8."""
    with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


def is_integer(text: str) -> bool:
    """Whether a text is an integer as integers are written."""
    return _INTEGER.fullmatch(text) is not None


def names_from_text(column: Any, path: str, what: str) -> Any:
    """A column of names: texts that are integers, written as integers are, become integers.

    The rule looks at one text at a time, so that several files agree on a name.

    Raises
    ------
    FileFormatError
        A name is missing; the message says in which row.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _plain_texts(column)
    if not pa.types.is_string(column.type):
        missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    else:
        # not compared with "": making an Arrow scalar loads pandas
        missing = pc.invert(pc.binary_length(pc.utf8_trim_whitespace(column)).cast(pa.bool_()))
    if pc.any(missing).as_py():
        row = pc.index(missing, True).as_py() + 1
        raise FileFormatError(f"{path}: row {row} has no {what} (rows count from 1 below the header)")
    if not pa.types.is_string(column.type):
        return column
    integers = pc.match_substring_regex(column, f"^(?:{_INTEGER.pattern})$")
    if pc.all(integers).as_py():
        return column.cast(pa.int64())
    if not pc.any(integers).as_py():
        return column
    return [int(text) if _INTEGER.fullmatch(text) else text for text in column.to_pylist()]


def _plain_texts(column: Any) -> Any:
    """A column of texts in the one type that the rest looks for, whatever Parquet kept them in."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return column


def numbers_from_text(column: Any, path: str, what: str) -> Any:
    """A column of numbers as an array of doubles.

    Raises
    ------
    FileFormatError
        An entry is no number; the message says which and where.
    """
    import numpy as np
    import pyarrow as pa

    try:
        return np.asarray(_plain_texts(column).cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowException:
        for row, entry in enumerate(column, 1):
            try:
                entry.cast(pa.float64())
            except pa.ArrowException:
                raise FileFormatError(
                    f"{path}: row {row}, column {what!r}: {entry.as_py()!r} is no number "
                    "(rows count from 1 below the header)"
                ) from None
        raise FileFormatError(f"{path}: column {what!r} holds {column.type}, no numbers") from None
