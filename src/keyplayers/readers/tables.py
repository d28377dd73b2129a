"""Tables from files: CSV, TSV and Parquet, compressed or not, as Arrow tables."""

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
    """
    import pyarrow as pa

    from . import suffix

    kind = suffix(path)
    try:
        if kind == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_table(path)
        if kind not in _DELIMITERS:
            raise FileFormatError(f"{path}: a table must be .csv, .tsv (either also as .gz) or .parquet")
        return _read_text(path, _DELIMITERS[kind], header)
    except pa.ArrowInvalid as error:
        raise FileFormatError(f"{path}: {error}") from None


def _read_text(path: str, delimiter: str, header: bool | None) -> Any:
    import pyarrow as pa
    import pyarrow.csv as csv

    with pa.input_stream(path) as stream:  # decompresses .gz by its name
        first = stream.read(1 << 16).split(b"\n", 1)[0].decode("utf-8-sig", errors="replace").strip("\r")
    if not first.strip():
        raise FileFormatError(f"{path}: line 1 is empty; expected the names of the columns")
    cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
    if header is None:
        header = not all(_INTEGER.fullmatch(cell) for cell in cells[:2])
    with pa.input_stream(path) as stream:
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(autogenerate_column_names=not header),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                # as text: "007" is not 7, and "NA" may be somebody's name
                column_types=dict.fromkeys(cells if header else [f"f{i}" for i in range(len(cells))], pa.string()),
                strings_can_be_null=False,
            ),
        )


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

    if not pa.types.is_string(column.type):
        missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    else:
        missing = pc.equal(pc.utf8_trim_whitespace(column), "")
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
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        for row, entry in enumerate(column.to_pylist(), 1):
            try:
                float(entry)
            except (TypeError, ValueError):
                raise FileFormatError(
                    f"{path}: row {row}, column {what!r}: {entry!r} is no number "
                    "(rows count from 1 below the header)"
                ) from None
        raise
