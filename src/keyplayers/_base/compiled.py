"""The one decorator for compiled code, and the one place where compiled code is kept.

numba's own cache looks at one file: where a kernel calls one of another file, a changed callee would leave the
cached caller with the old code. So compiled code is kept in a folder named after the sources of all kernels.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config, event

from ..errors import KeyPlayersWarning

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
    before = config.CACHE_DIR
    config.CACHE_DIR = "" if folder is None else str(folder)
    try:
        return numba.njit(
            nogil=True,
            error_model="numpy",
            cache=folder is not None,
            inline="always" if inline else "never",
        )(function)
    finally:
        config.CACHE_DIR = before


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
    for path in sorted(package.rglob("_*_kernels.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _parents() -> list[Path]:
    if config.CACHE_DIR:
        return [Path(config.CACHE_DIR)]
    places = [_PACKAGE / "__pycache__"]
    try:
        home = Path.home()
    except RuntimeError:  # no home at all
        return places
    return [*places, Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "keyplayers"]


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
    """Tells once, on standard error, that compiling takes a while."""

    told = False

    def on_start(self, event: Any) -> None:
        module = getattr(event.data["dispatcher"], "__module__", "")
        if self.told or not module.startswith("keyplayers."):
            return
        self.told = True
        if sys.stderr is not None:
            where = cache_folder()
            kept = "kept for later starts" if where else "and again at every start"
            sys.stderr.write(f"keyplayers: compiling, once for each kind of work ({kept})\n")
            sys.stderr.flush()

    def on_end(self, event: Any) -> None:
        pass


ANNOUNCER = _Announcer()
event.register("numba:compile", ANNOUNCER)
