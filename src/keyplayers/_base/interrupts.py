"""Ctrl-C in long work: heard between two blocks, so that what there is can be handed back whole."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# whether Ctrl-C was pressed since `noted_interrupts` was entered, deferred or not
_heard = threading.Event()


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
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def interrupted() -> bool:
    """Whether Ctrl-C was pressed since `noted_interrupts` was entered last."""
    return _heard.is_set()
