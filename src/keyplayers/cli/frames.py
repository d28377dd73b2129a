"""Tables for classifiers, as frames of pandas."""

from pathlib import Path
from typing import Any


def read_frame(path: Path) -> Any:
    """A table from a .csv, .tsv or .parquet file.

    Raises
    ------
    FileFormatError
        There is no such file, or it is no such table.
    InputError
        It is of another kind, or has no rows.
    """
    from .._base.optional import require
    from ..errors import FileFormatError, InputError
    from ..readers.paths import suffix

    pandas = require("pandas")
    if not path.is_file():
        raise FileFormatError(f"{path}: no such file")
    try:
        match suffix(str(path)):
            case ".parquet":
                table = pandas.read_parquet(path)
            case ".tsv":
                table = pandas.read_csv(path, sep="\t")
            case ".csv":
                table = pandas.read_csv(path)
            case _:
                raise InputError(f"{path}: a table is .csv, .tsv (either also as .gz) or .parquet")
    except (ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise FileFormatError(f"{path}: {error}") from error
    if not len(table):
        raise InputError(f"{path} has no rows")
    return table
