"""Ctrl-C in long work: heard between two blocks, so that what there is can be handed back whole."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Within the block Ctrl-C raises nothing; the function that it gives says whether it was pressed.

    Outside the main thread, and where something else than Python listens to the signal, nothing is changed.
    """
    pressed = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        pressed.set()

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not callable(signal.getsignal(signal.SIGINT)):
        yield pressed.is_set
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, previous)
