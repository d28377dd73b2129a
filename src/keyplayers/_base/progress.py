"""Progress of long work: an object that is passed down, silent unless the caller wants to see it."""

import math
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self


class Progress(Protocol):
    """What long work tells while it runs."""

    def begin(self, label: str, total: float | None = None) -> None:
        """A stage starts; `total` in its own units, None when nobody knows."""

    def advance(self, amount: float = 1, note: str = "") -> None:
        """`amount` more units of the current stage are done; `note` replaces the remark beside the bar."""

    def end(self) -> None:
        """The stage is over."""


class Silent:
    """Tells nothing."""

    def begin(self, label: str, total: float | None = None) -> None:
        pass

    def advance(self, amount: float = 1, note: str = "") -> None:
        pass

    def end(self) -> None:
        pass


class TimeIsUp(KeyboardInterrupt):
    """The time that one piece of work was given is over.

    Whoever turns Ctrl-C into a partial result between two blocks of work does so with this, too.
    """


class Deadline:
    """A silent `Progress` that raises `TimeIsUp` at the first call of `advance` after the deadline.

    Parameters
    ----------
    seconds
        How long the work may take; None: as long as it likes. Work that goes on nevertheless is told again after
        as many seconds.
    stopped
        Asked at every call of `advance`: whether the work shall end now.
    """

    def __init__(self, seconds: float | None = None, stopped: Callable[[], bool] = lambda: False) -> None:
        self._seconds = math.inf if seconds is None else seconds
        self._end = time.monotonic() + self._seconds
        self._stopped = stopped

    def begin(self, label: str, total: float | None = None) -> None:
        pass

    def advance(self, amount: float = 1, note: str = "") -> None:
        if time.monotonic() >= self._end:
            self._end = time.monotonic() + self._seconds
            raise TimeIsUp
        if self._stopped():
            raise TimeIsUp

    def end(self) -> None:
        pass


class Bar:
    """A bar on standard error (rich), shown only where that is a terminal. Use it in a ``with`` block."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bars = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(file=sys.stderr),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task: Any = None

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def begin(self, label: str, total: float | None = None) -> None:
        self._task = self._bars.add_task(label, total=total, note="")

    def advance(self, amount: float = 1, note: str = "") -> None:
        self._bars.update(self._task, advance=amount, note=note)

    def end(self) -> None:
        self._bars.remove_task(self._task)
