"""Results to standard output and nothing else there: what a model prints goes to standard error."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from io import TextIOWrapper
from typing import TextIO

# where results go while a command runs; None: to standard output as it is
_results: TextIO | None = None


def prepare_streams() -> None:
    """Make standard streams safe to use, closed ones too.

    A closed descriptor would be given to the next file that is opened, and whatever prints would write into that.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free: this one
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may know fewer characters than names have


def results() -> TextIO:
    """Where results go.

    Raises
    ------
    OSError
        Standard output is closed.
    """
    stream = _results or sys.stdout
    if stream is None:
        raise OSError(errno.EBADF, "it is closed", "standard output")
    return stream


@contextmanager
def results_apart() -> Iterator[None]:
    """Within the block `results` is standard output, and whatever else is printed goes to standard error.

    Also what compiled libraries print, and worker processes that start meanwhile.
    """
    global _results
    if _results is not None or sys.stdout is None:
        yield
        return
    with ExitStack() as exits:
        _results = exits.enter_context(_moved(sys.stdout))
        exits.callback(_forget)
        exits.enter_context(redirect_stdout(sys.stderr))
        yield


def _forget() -> None:
    global _results
    _results = None


@contextmanager
def _moved(stream: TextIO) -> Iterator[TextIO]:
    """The stream under another descriptor, its own being standard error's; the stream itself if it has none."""
    if not isinstance(stream, TextIOWrapper) or not _is_standard_output(stream):
        yield stream
        return
    stream.flush()
    kept = os.dup(1)
    moved = _Results(open(kept, "wb"), stream.encoding, "backslashreplace")  # noqa: SIM115
    os.dup2(2, 1)
    try:
        yield moved
        moved.flush()
    finally:
        os.dup2(kept, 1)
        with suppress(OSError):  # full, or nobody reads it: told by the flush above
            moved.close()


class _Results(TextIOWrapper):
    """Says, where it cannot be written to, that it is standard output."""

    def write(self, text: str) -> int:
        with _named():
            return super().write(text)

    def flush(self) -> None:
        with _named():
            super().flush()


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


def _is_standard_output(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 1
    except (OSError, ValueError):
        return False
