"""What the library says without being asked, a line at a time, to standard error."""

import sys
from collections.abc import Callable

_silent = False
# asked before worker processes start: whether there is something to tell that these would say each for itself
_before_workers: list[Callable[[], None]] = []


def silence(on: bool = True) -> None:
    """Say nothing from here on: somebody asked for quiet, or another process speaks for this one."""
    global _silent
    _silent = on


def tell(text: str) -> None:
    """One line on standard error, if there is one."""
    if _silent or sys.stderr is None:
        return
    try:
        sys.stderr.write(f"keyplayers: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # closed, or nobody reads it
        return


def before_workers(speak: Callable[[], None]) -> None:
    """Have `speak` called in this process before worker processes start, which are silent."""
    _before_workers.append(speak)


def speak_for_workers() -> None:
    """Tell what the worker processes that are about to start would."""
    for speak in _before_workers:
        speak()
