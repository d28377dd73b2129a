"""Files written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: "str | os.PathLike[str]") -> Iterator[Path]:
    """A path beside `path`, with its suffix, to write to; it takes the place of `path` once the block ends well.

    What stood there is untouched until then, and for good where the block raises.
    """
    target = Path(path).resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        yield target  # a folder, which the caller's write refuses, or a pipe, which nothing can replace
        return
    part = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        yield part
        os.replace(part, target)
    except FileNotFoundError as error:
        # the name that the user gave, not ours
        raise FileNotFoundError(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        part.unlink(missing_ok=True)
