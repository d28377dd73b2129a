"""Progress of long work: an object that is passed down, silent unless the caller wants to see it."""

import math
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

from .messages import tell

# Logs get a line so often; what takes less than the second number is not announced.
_LINE_SECONDS = 30.0
_LONG_SECONDS = 120.0
# what is announced: other totals may be no more than upper bounds
_COUNTED = "targets"


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


def show_progress() -> "Bar | Lines":
    """Progress on standard error: a bar in a terminal or notebook, elsewhere a line every half minute.

    Give it as ``progress=``; it can be used in a ``with`` block, which leaves nothing behind on the screen.
    """
    in_terminal = sys.stderr is not None and sys.stderr.isatty()
    return Bar() if in_terminal or _in_notebook() else Lines()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class Bar:
    """A bar (rich) in a terminal or notebook."""

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
            console=Console() if _in_notebook() else Console(file=sys.stderr),
            transient=True,
        )
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def begin(self, label: str, total: float | None = None) -> None:
        self._bars.start()
        self._task = self._bars.add_task(label, total=total, note="")

    def advance(self, amount: float = 1, note: str = "") -> None:
        self._bars.update(self._task, advance=amount, note=note)

    def end(self) -> None:
        self._bars.remove_task(self._task)
        self._bars.stop()


class Lines:
    """A line on standard error every half minute, for logs: how much is done, the rate, the time left.

    Many targets that take more than two minutes are announced as soon as their rate is known: at the second call
    of `advance`, since the first one waited for compilers and workers to start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.begin("")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def begin(self, label: str, total: float | None = None) -> None:
        self._label, self._total = label, total
        self._began = self._last = self._clock()
        self._done = 0.0
        self._first: tuple[float, float] | None = None  # when the first call came, and what was done by then
        self._announced = not (total and label.startswith(_COUNTED))

    def advance(self, amount: float = 1, note: str = "") -> None:
        self._done += amount
        now = self._clock()
        left = self._seconds_left(now)
        self._first = self._first or (now, self._done)
        if not self._announced and left is not None:
            self._announced = True
            if left > _LONG_SECONDS:
                tell(f"{self._total:,.0f} {self._label}, about {duration(left + now - self._began)}")
                self._last = now
        if now - self._last >= _LINE_SECONDS:
            self._last = now
            tell(self._line(now - self._began, left, note))

    def end(self) -> None:
        pass

    def _seconds_left(self, now: float) -> float | None:
        """By the rate since the first call."""
        if self._first is None or not self._total:
            return None
        began, before = self._first
        return (now - began) * (self._total - self._done) / max(self._done - before, 1e-9)

    def _line(self, seconds: float, left: float | None, note: str) -> str:
        line = f"{self._label}: {self._done:,.0f}"
        if self._total:
            line += f" of {self._total:,.0f} ({self._done / self._total:.0%})"
        if left is not None:
            line += f", {duration(left)} left"
        return f"{line}, {note}" if note else f"{line}, {self._done / seconds:,.1f}/s"


def duration(seconds: float) -> str:
    """A time span in its largest fitting unit: ``50 s``, ``12 min``, ``2.5 h``, ``3.1 d``."""
    for size, unit in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}" if unit == "min" else f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
