"""Text files of models: read whole, word by word, with the line of whatever is wrong."""

import gzip
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from .._base.arrays import Floats
from .._base.foreign import reading
from .._base.names import Names
from ..errors import FileFormatError, InputError, TooLargeError
from ..mrf.build.factors import LogFactor, assemble, log_table
from ..mrf.field import MarkovRandomField
from .paths import check_plain_file

_GZIP = b"\x1f\x8b"
# how much of a word a message shows
_SHOWN = 40


def read_text(path: str) -> str:
    """The content of a text file in UTF-8, unpacked where it is compressed by gzip, whatever it is called.

    Raises
    ------
    FileFormatError
        The file is damaged or no text; the message says which line.
    """
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(f"{path}: line {line} is not UTF-8; convert the file") from None


def read_bytes(path: str) -> bytes:
    """The content of a file, unpacked where it is compressed by gzip."""
    check_plain_file(path)
    with reading(path), open(path, "rb") as file:
        data = file.read()
        try:
            return gzip.decompress(data) if data.startswith(_GZIP) else data
        except (OSError, EOFError, zlib.error) as error:
            raise FileFormatError(f"{path}: the compressed file is damaged: {error}") from None


def refuse_options(path: str, options: Mapping[str, Any]) -> None:
    """A file that is a whole model takes no options of edge tables.

    Raises
    ------
    FileFormatError
        Some were given.
    """
    given = [name for name in options if options[name] is not None]
    if given:
        raise FileFormatError(f"{path} is a whole model, so it takes no {', '.join(given)}")


def make_field(
    path: str, names: Names, counts: Sequence[int], factors: Sequence[LogFactor], states: Any = None
) -> MarkovRandomField:
    """The field of a file's factors.

    Raises
    ------
    InputError, TooLargeError
        They make none; the message names the file.
    """
    try:
        parts = assemble(names, np.array(counts, dtype=np.int64), factors, states)
    except (InputError, TooLargeError) as error:
        raise type(error)(f"{path}: {error}") from None
    return MarkovRandomField(*parts)


class Words:
    """The words of a text, one after the other."""

    def __init__(self, path: str, text: str, pattern: str = r"\S+") -> None:
        self.path = path
        self._text, self._pattern = text, re.compile(pattern)
        self.words: list[str] = self._pattern.findall(text)
        self.at = 0

    @property
    def left(self) -> int:
        """How many words are still to come."""
        return len(self.words) - self.at

    def line(self, at: int) -> int:
        """The line of the word with this number; the last line where there is none."""
        for number, found in enumerate(self._pattern.finditer(self._text)):
            if number == at:
                return self._text.count("\n", 0, found.start()) + 1
        return self._text.rstrip().count("\n") + 1

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Say what is wrong with a word, by default with the last that was taken."""
        raise FileFormatError(f"{self.path}: line {self.line(self.at - 1 if at is None else at)}: {message}")

    def peek(self) -> str:
        """The next word, empty at the end."""
        return self.words[self.at] if self.left else ""

    def word(self, what: str) -> str:
        """The next word."""
        if not self.left:
            self.fail(f"the file ends where {what} should stand", self.at)
        self.at += 1
        return self.words[self.at - 1]

    def integer(self, what: str, least: int = 0, below: int | None = None) -> int:
        """The next word, which must be an integer in this range."""
        word = self.word(what)
        if not re.fullmatch(r"\d{1,15}", word) or int(word) < least or (below is not None and int(word) >= below):
            wanted = f"an integer from {least}" + ("" if below is None else f" to {below - 1}")
            self.fail(f"{what} must be {wanted}, got {word[:_SHOWN]!r}")
        return int(word)

    def numbers(self, n: int, what: str) -> Floats:
        """The next n words, which must be numbers."""
        if n > self.left:
            self.fail(f"{what} needs {n:,} numbers, but the file ends after {self.left:,}", len(self.words))
        words = self.words[self.at : self.at + n]
        try:
            numbers = np.array(words, dtype=np.float64)
        except ValueError:
            wrong = next(i for i, word in enumerate(words) if not _is_number(word))
            self.fail(f"{what}: {words[wrong][:_SHOWN]!r} is no number", self.at + wrong)
        self.at += n
        return numbers

    def end(self) -> None:
        """Refuse whatever comes after what was read."""
        if self.left:
            self.fail(f"nothing more is expected here, got {self.peek()[:_SHOWN]!r}", self.at)

    def log_table(self, table: Floats, what: str) -> Floats:
        """Logarithms of a table; what is wrong with it stands at the last word."""
        try:
            return log_table(table, what)
        except InputError as error:
            self.fail(str(error))


def _is_number(word: str) -> bool:
    try:
        np.float64(word)
    except ValueError:
        return False
    return True
