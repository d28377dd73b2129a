"""Ctrl-C in long work: heard between two blocks, so that what there is can be handed back whole.

The signals that end a program (SIGTERM, SIGHUP) do the same where `heed_termination` says so.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# whether Ctrl-C was pressed since `noted_interrupts` was entered, deferred or not
_heard = threading.Event()
# how often `noted_interrupts` is entered at present
_depth = 0
# the signal that asked the program to end
_ended_by: int | None = None


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Within the block Ctrl-C raises nothing; the function that it gives says whether it was pressed.

    Outside the main thread, and where something else than Python listens to the signal, nothing is changed.
    """
    pressed = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        pressed.set()
        _heard.set()

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not callable(signal.getsignal(signal.SIGINT)):
        yield pressed.is_set
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def noted_interrupts() -> Iterator[None]:
    """Within the block Ctrl-C does what it does, and `interrupted` says in every thread whether it was pressed.

    For whoever runs many pieces of work, each of which may have turned Ctrl-C into a partial result, or which run
    in threads that hear no signals.
    """
    global _depth
    if not _depth:
        _heard.clear()
    previous = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not callable(previous):
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        _heard.set()
        previous(number, frame)

    signal.signal(signal.SIGINT, note)
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        signal.signal(signal.SIGINT, previous)


@contextmanager
def heed_termination(*, survive: bool = False) -> Iterator[None]:
    """Within the block the signals that end a program do what Ctrl-C does, so that it can tidy up.

    Where nobody has said what else they do.

    Parameters
    ----------
    survive
        Whether the program goes on after the block, and ends itself; else such a signal ends it there after all.
    """
    global _ended_by
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [
        number
        for name in ("SIGTERM", "SIGHUP")
        if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in taken:
        signal.signal(number, _as_ctrl_c)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        given = _ended_by
        if given is not None and given in taken:
            _ended_by = None
            if not survive:
                signal.raise_signal(given)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    global _ended_by
    _ended_by = number
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt


def ended_by() -> int | None:
    """The signal that asked the program to end, if one did."""
    return _ended_by


def interrupted() -> bool:
    """Whether Ctrl-C was pressed since `noted_interrupts` was entered last."""
    return _heard.is_set()
