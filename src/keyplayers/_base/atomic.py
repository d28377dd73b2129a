"""Files written whole or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: "str | os.PathLike[str]") -> Iterator[Path]:
    """A path beside `path`, with its suffixes, to write to; it takes the place of `path` once the block ends well.

    What stood there is untouched until then, and for good where the block raises; the new file has its mode. Two
    threads or programs that write at a time do not meet: the last one to end well counts.
    """
    target = Path(path).resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        yield target  # a folder, which the caller's write refuses, or a pipe, which nothing can replace
        return
    try:
        part = new_beside(target)
    except FileNotFoundError as error:
        # the name that the user gave, not ours
        raise FileNotFoundError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def new_beside(target: Path, prefix: str = ".") -> Path:
    """A new empty file in the folder of `target`, with its suffixes, under a name that nobody can guess."""
    suffixes = "".join(target.suffixes[-2:])[-20:]
    part = target.with_name(f"{prefix}{secrets.token_hex(8)}{suffixes}")
    # neither an old file nor a link that somebody laid there
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return part


def refuse_link(path: Path) -> None:
    """Refuse a name that leads elsewhere: what is written or removed there would be something else.

    Raises
    ------
    OSError
        It is a symbolic link.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "this is a symbolic link, which may lead to anything", str(path))
