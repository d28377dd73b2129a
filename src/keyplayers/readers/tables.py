"""Tables from files: CSV, TSV and Parquet, compressed or not, as Arrow tables."""

import csv as text_tables
import gzip
import re
from typing import Any

from ..errors import FileFormatError

# a text that an integer is written as, and no other: "7", but not "007", "+7" or "7.0"
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_table(path: str, *, header: bool | None = None) -> Any:
    """A table as text (CSV, TSV) or with its own types (Parquet).

    Parameters
    ----------
    header
        Whether a text file begins with column names; None: unless its first two cells are integers.

    Raises
    ------
    FileFormatError
        The file is no such table; the message says where, as far as the parser knows.
    OSError
        There is no such file, or it may not be read.
    """
    import pyarrow as pa

    from . import suffix

    kind = suffix(path)
    if kind != ".parquet" and kind not in _DELIMITERS:
        raise FileFormatError(f"{path}: a table must be .csv, .tsv (either also as .gz) or .parquet")
    open(path, "rb").close()  # a missing file, a folder: Python says it better than Arrow
    try:
        if kind == ".parquet":
            import pyarrow.parquet as pq

            table = pq.read_table(path)
        else:
            table = _read_text(path, _DELIMITERS[kind], header)
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: line 1 is not UTF-8") from None
    except (pa.ArrowException, OSError) as error:
        line = _undecodable_line(path) if "UTF8" in str(error) else None
        what = f"line {line} is not UTF-8; convert the file" if line else str(error)
        raise FileFormatError(f"{path}: {what}") from None
    columns = table.column_names
    repeated = next((column for i, column in enumerate(columns) if column in columns[:i]), None)
    if repeated is not None:
        raise FileFormatError(f"{path}: column names must be distinct, but {repeated!r} stands more than once")
    return table


def _read_text(path: str, delimiter: str, header: bool | None) -> Any:
    """A table of texts, without the blanks around them."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as csv

    with pa.input_stream(path) as stream:  # decompresses .gz by its name
        begin = stream.read(1 << 16)
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError(f"{path}: the file is UTF-16; tables are read as UTF-8")
    first = next(iter(begin.decode("utf-8-sig", errors="replace").splitlines()), "")
    if not first.strip():
        raise FileFormatError(f"{path}: line 1 is empty; expected the names of the columns")
    cells = next(text_tables.reader([first], delimiter=delimiter))
    if header is None:
        header = not all(_INTEGER.fullmatch(cell.strip()) for cell in cells[:2])
    with pa.input_stream(path) as stream:
        table = csv.read_csv(
            stream,
            read_options=csv.ReadOptions(autogenerate_column_names=not header),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                # as text: "007" is not 7, and "NA" may be somebody's name
                column_types=dict.fromkeys(cells if header else [f"f{i}" for i in range(len(cells))], pa.string()),
                strings_can_be_null=False,
            ),
        )
    # "a, b" speaks of b, not of " b"
    trimmed = [
        pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column for column in table.columns
    ]
    return pa.table(trimmed, names=[name.strip() for name in table.column_names])


def _undecodable_line(path: str) -> int | None:
    """The first line that is not UTF-8."""
    with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


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
