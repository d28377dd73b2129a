"""One writer at a time: a lock that the operating system takes away from whoever dies."""

import errno
import json
import os
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..._base.atomic import refuse_link
from ...errors import InputError, StoreLockedError

if sys.platform == "win32":
    import msvcrt

    # a byte far behind the text, so that others can read who holds the lock
    _BYTE = 2**30

    def _take(descriptor: int) -> None:
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


# where the system can, a link is not followed even if it is laid at the last moment
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# what a lock that somebody holds says; anything else is said by file systems without locks
_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}


class WriterLock:
    """The right to write into a folder. Use it in a ``with`` block.

    On one machine the operating system keeps the lock, so a writer that was killed holds nothing and its
    process number may be used again. Who holds it is written inside, which also tells writers on other machines
    that see the folder over a network where locks do not travel.

    Raises
    ------
    StoreLockedError
        On entering: somebody else writes, or a writer on another machine may.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        refuse_link(self._path)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o644)
        try:
            self._lock(descriptor)
            left = self._owner(descriptor)
            if left and not _seen_from_here(left):
                raise StoreLockedError(
                    f"{self._path.parent} was being written by {_describe(left)}, which cannot be seen from here; "
                    f"if it does not run any more, delete {self._path}"
                )
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(_myself()).encode())
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        _held.add(descriptor)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            _held.discard(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _lock(self, descriptor: int) -> None:
        try:
            _take(descriptor)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise InputError(
                    f"{self._path.parent} lies on a file system that keeps no locks ({error.strerror}), so two "
                    "writers could not know of each other; give a folder on another one"
                ) from None
            raise StoreLockedError(
                f"{self._path.parent} is being written by {_describe(self._read())}; wait for it, "
                "or give another folder"
            ) from None

    def _owner(self, descriptor: int) -> dict[str, Any]:
        """Whom a lock that is free names: one that was left behind. Anything else in the file is not ours."""
        begin = self._path.read_bytes().lstrip(b"\0")[:1]  # a writer may have died while it wrote
        if os.fstat(descriptor).st_nlink > 1 or begin not in (b"", b"{"):
            raise InputError(f"{self._path} is no lock of a store; it is left as it is. Give another folder")
        return self._read()

    def _read(self) -> dict[str, Any]:
        try:
            read = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return read if isinstance(read, dict) else {}


def _myself() -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "boot": _boot(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _seen_from_here(owner: dict[str, Any]) -> bool:
    """Whether the operating system would have told us that this owner still holds the lock.

    It would where the same system runs (containers share it, whatever they are called), and where a machine of
    the same name was started again.
    """
    return owner.get("host") == socket.gethostname() or (owner.get("boot") == _boot() and _boot() is not None)


def _boot() -> str | None:
    """What identifies the running operating system, until it is started again."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def _describe(owner: dict[str, Any]) -> str:
    if not owner:
        return "another process"
    return f"process {owner.get('pid')} on {owner.get('host')} since {owner.get('since')}"


# descriptors of locks that this process holds
_held: set[int] = set()


def _forget() -> None:
    # a forked worker must not keep the lock alive when its parent is killed
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
