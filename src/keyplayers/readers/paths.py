"""What a path says of its file: the format by its suffix, and whether it is a file at all."""

import os
import stat
from pathlib import PurePath

from ..errors import FileFormatError


def suffix(path: str) -> str:
    """The suffix that says the format, without .gz, in lower case."""
    name = PurePath(path.lower())
    return PurePath(name.stem).suffix if name.suffix == ".gz" else name.suffix


def check_plain_file(path: str) -> None:
    """Refuse what is no file that can be read twice; a pipe would wait for ever.

    Raises
    ------
    OSError
        There is no such file, it is a folder, or may not be read.
    FileFormatError
        It is a pipe or a device.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileFormatError(f"{path}: is a pipe or a device; write it to a file first, which is read twice")
    open(path, "rb").close()  # a folder, or no permission: Python says it better than Arrow
