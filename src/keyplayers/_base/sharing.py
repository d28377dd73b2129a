"""One big object for many workers: threads use it as it is, processes map its arrays instead of copying them.

The object is pickled once, by cloudpickle with out-of-band buffers: everything that is an array goes into one
file as it lies in memory, and every process maps that file. Objects in Python (closures, classes of a
notebook) travel as well.
"""

import json
import mmap
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

from ..errors import InputError, KeyPlayersWarning
from .messages import silence
from .parallel import Workers, leave_safe_path

Thing = TypeVar("Thing")

# arrays begin at multiples of this, as NumPy likes them
_ALIGNMENT = 64
# in a worker process: the object mapped last, under the path of its file; a batch shares one object
_mapped: dict[str, Any] = {}


class Shared(Generic[Thing]):
    """A handle to an object; pickled to a process on this machine it becomes a mapping of the object's file.

    Arrays of a mapped object are read-only.
    """

    def __init__(self, load: Callable[[], Thing], *sent: Any) -> None:
        self._load = load
        self._sent = sent  # what brings the object to another process, and its arguments

    @property
    def thing(self) -> Thing:
        """The object.

        Raises
        ------
        InputError
            This process cannot load it.
        """
        return self._load()

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._sent:
            raise pickle.PicklingError("the object is shared with threads only")
        revive, *arguments = self._sent
        return revive, tuple(arguments)


@contextmanager
def share(
    thing: Thing, workers: Workers, folder: "str | os.PathLike[str] | None" = None
) -> Iterator[Shared[Thing]]:
    """A handle to `thing` that can be sent to workers; what was written for them goes away at the end.

    Parameters
    ----------
    folder
        Where the file for processes may stand, default the folder for temporary files.

    Raises
    ------
    InputError
        The object cannot be sent to other processes.
    """
    if workers.share_memory:
        yield Shared(lambda: thing)
        return
    if not workers.on_this_machine:  # they see none of this machine's files: the object travels in every task
        yield Shared(lambda: thing, _revive, _pickled(thing), _places())
        return
    with TemporaryDirectory(prefix=".shared-", dir=folder) as private:  # for this user's eyes only
        path = os.path.abspath(os.path.join(private, "object"))  # workers may be at home elsewhere
        _write(thing, path)
        yield Shared(lambda: thing, _attach, path, _places())


def _places() -> list[str]:
    """Where modules are found: also those that were imported from the current folder on demand."""
    here = os.getcwd()
    return [*(place or here for place in sys.path), here]


def can_be_sent(thing: Any) -> bool:
    """Whether other processes can have the object."""
    try:
        _pickled(thing, lambda buffer: None)
    except InputError:
        return False
    return True


def fingerprint(thing: Any) -> str | None:
    """A short text that differs between things that differ; None for what cannot be pickled by name or by value.

    It tells a store that it goes on with the same thing; it is no protection against anybody. Functions count by
    their name.
    """
    import joblib

    try:
        digest: str = joblib.hash(thing)
    except Exception:  # whatever the object's own methods raise
        return None
    return digest


def _pickled(thing: Any, keep: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    """The pickle; arrays go to `keep`, where there is one."""
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(thing, protocol=5, buffer_callback=keep)
    except Exception as error:  # whatever the object's own methods raise
        raise InputError(
            f"{type(thing).__name__} cannot be sent to other processes ({error}); use threads, or one worker"
        ) from error
    return data


def _write(thing: Any, path: str) -> None:
    """Into a new file: the pickle, the arrays, a table of where they begin, its size."""
    buffers: list[pickle.PickleBuffer] = []
    data = _pickled(thing, buffers.append)
    views = [memoryview(data), *(buffer.raw() for buffer in buffers)]
    with open(path, "xb") as file:
        spans = []
        for view in views:
            file.write(bytes(-file.tell() % _ALIGNMENT))
            spans.append((file.tell(), view.nbytes))
            file.write(view)
        table = json.dumps(spans).encode()
        file.write(table)
        file.write(len(table).to_bytes(8, "little"))


def _attach(path: str, places: list[str]) -> Shared[Any]:
    return Shared(lambda: _once(path, places))


def _revive(data: bytes, places: list[str]) -> Shared[Any]:
    # pickled by this program moments ago, and sent inside a task that is a pickle itself: no data of a user's
    return Shared(cache(lambda: _load(lambda: pickle.loads(data), places)))


def _once(path: str, places: list[str]) -> Any:
    if path not in _mapped:
        _mapped.clear()
        _mapped[path] = _load(lambda: _map(path), places)
    return _mapped[path]


def _load(load: Callable[[], Any], places: list[str]) -> Any:
    """What `load` gives, with modules found where the sender finds them."""
    sys.path.extend(place for place in places if place not in sys.path)
    silence()  # the sender speaks for all
    leave_safe_path()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KeyPlayersWarning)
            return load()
    except Exception as error:
        raise InputError(f"a worker process cannot load what it was sent: {error}") from error


def _map(path: str) -> Any:
    with open(path, "rb") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    table_size = int.from_bytes(whole[-8:], "little")
    spans = json.loads(bytes(whole[-8 - table_size : -8]))
    data, *buffers = (whole[begin : begin + size] for begin, size in spans)
    # what `_write` of this run put into a folder that only this user can read
    return pickle.loads(data, buffers=buffers)
