"""Errors of other packages become ours: one sentence that names the file."""

import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..errors import FileFormatError, KeyPlayersError

# what parsers and decompressors raise on damaged files; errors of the operating system say enough themselves
_FOREIGN = (
    ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError, struct.error, zlib.error,
    zipfile.BadZipFile, RecursionError, OverflowError, MemoryError, NotImplementedError, RuntimeError,
)  # fmt: skip


@contextmanager
def reading(path: str, explain: Callable[[str, Exception], str | None] | None = None) -> Iterator[None]:
    """While a file is read: whatever goes wrong with its content is a `FileFormatError` that names it.

    Parameters
    ----------
    explain
        Given the path and an error: what it means, or None where its own words do.

    Raises
    ------
    FileFormatError
        The content is damaged, or not what it should be.
    OSError
        The file cannot be read at all.
    """
    try:
        yield
    except KeyPlayersError:
        raise
    except json.JSONDecodeError as error:
        raise FileFormatError(f"{path}: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except _FOREIGN as error:
        raise FileFormatError(f"{path}: {_in_words(path, error, explain)}") from error
    except OSError as error:
        if error.errno is not None and error.strerror is not None:  # the operating system's own
            raise
        raise FileFormatError(f"{path}: {_in_words(path, error, explain)}") from error


def _in_words(path: str, error: Exception, explain: Callable[[str, Exception], str | None] | None) -> str:
    said = None if explain is None else explain(path, error)
    if said is None:
        words = {
            MemoryError: "its sizes ask for more memory than there is",
            RecursionError: "it is nested too deeply",
        }
        said = words.get(type(error)) or " ".join(str(error).split()) or type(error).__name__
    return said
