"""The one decorator for compiled code, and the one place where compiled code is kept.

numba's own cache looks at one file: where a kernel calls one of another file, a changed callee would leave the
cached caller with the old code. So compiled code is kept in a folder named after the sources of all kernels.
"""

import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, config, event

from ..errors import KeyPlayersWarning
from .messages import before_workers, tell

_PACKAGE = Path(__file__).parent.parent
_PREFIX = "kernels-"
# Folders of earlier sources that stay, those used last: two checkouts may share one place, and must not take turns
# in compiling.
_KEPT = 2


def kernel(function: Callable[..., Any], /, *, inline: bool = False) -> Any:
    """Compile `function` at its first call, for the types of its arguments; without the GIL, without fastmath.

    Division by zero gives infinity or NaN, as in NumPy.

    Parameters
    ----------
    inline
        Whether callers take the code in instead of calling it: for what a loop over arrays calls, where numba
        would count references to every array that it hands on.
    """
    folder = cache_folder()
    compiled = numba.njit(nogil=True, error_model="numpy", inline="always" if inline else "never")(function)
    if folder is None or config.DISABLE_JIT:
        return compiled
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        compiled._cache = _Cache(function)
    except RuntimeError:  # the folder cannot be written to any more
        pass
    finally:
        config.CACHE_DIR = before
    return compiled


class _Cache(caching.FunctionCache):  # type: ignore[misc]
    """numba's cache of one function. A full disk or a torn file costs a compilation, not the user's call."""

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return super().load_overload(signature, context)
        except Exception:  # whatever a torn file makes of unpickling
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        try:
            super().save_overload(signature, compiled)
        except OSError as error:
            _warn_unkept(f"{error.strerror or error}: {cache_folder()}")


@cache
def _warn_unkept(reason: str) -> None:
    """Once for every reason."""
    warnings.warn(f"compiled code could not be kept ({reason})", KeyPlayersWarning, stacklevel=2)


def inlined(function: Callable[..., Any], /) -> Any:
    """A `kernel` whose callers take its code in."""
    return kernel(function, inline=True)


@cache
def cache_folder() -> Path | None:
    """Where compiled code is kept; None, with one warning, where no folder can be written to.

    In ``NUMBA_CACHE_DIR`` where the user set it, else beside the package, else in the user's cache.
    """
    name = _PREFIX + source_hash(_PACKAGE)
    for parent in _parents():
        folder = parent / name
        if _is_writable(folder):
            _remove_old(folder)
            return folder
    warnings.warn(
        "compiled code cannot be kept, since no folder for it can be written to: every start compiles anew. "
        "Set NUMBA_CACHE_DIR to a folder that can",
        KeyPlayersWarning,
        stacklevel=2,
    )
    return None


def source_hash(package: Path) -> str:
    """A hash over the sources of all kernels of a package, and numba's version."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for path in sorted(_kernel_files(package)):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _kernel_files(package: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(package):
        inner[:] = [name for name in inner if name != "__pycache__"]  # where thousands of compiled files may lie
        yield from (Path(folder, name) for name in names if name.startswith("_") and name.endswith("_kernels.py"))


def _parents() -> list[Path]:
    if config.CACHE_DIR:
        return [Path(config.CACHE_DIR)]
    places = [_PACKAGE / "__pycache__"]
    home = os.path.expanduser("~") if os.environ.get("HOME", "~") else "~"  # an empty one would mean the root
    given = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    # without a home "~" stays as it is, and would mean a folder in the current one
    return [*places, Path(given) / "keyplayers"] if os.path.isabs(given) else places


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            os.utime(folder)  # used now: see _remove_old
    except OSError:
        return False
    return True


def _remove_old(folder: Path) -> None:
    """Remove the folders of earlier sources, but those used last."""
    try:
        others = [path for path in folder.parent.glob(_PREFIX + "*") if path != folder and path.is_dir()]
        for path in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT:]:
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # another process removed one meanwhile
        return


class _Announcer(event.Listener):  # type: ignore[misc]
    """Tells once that compiling takes a while."""

    told = False

    def on_start(self, event: Any) -> None:
        module = getattr(event.data["dispatcher"], "__module__", "")
        if not self.told and module.startswith("keyplayers."):
            announce()

    def on_end(self, event: Any) -> None:
        pass


def announce() -> None:
    """Tell once that compiling takes a while."""
    if not _ANNOUNCER.told:
        _ANNOUNCER.told = True
        kept = "kept for later starts" if cache_folder() else "and again at every start"
        tell(f"compiling, once for each kind of work ({kept})")


def _announce_for_workers() -> None:
    folder = cache_folder()
    if folder is None or next(folder.rglob("*.nbi"), None) is None:  # nothing is compiled yet
        announce()


_ANNOUNCER = _Announcer()
event.register("numba:compile", _ANNOUNCER)
before_workers(_announce_for_workers)
