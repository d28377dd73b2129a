"""Progress of long work: an object that is passed down, silent unless the caller wants to see it."""

import sys
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
