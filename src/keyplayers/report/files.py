"""Explanations as files for people: one function per suffix."""

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from .._base.atomic import replacing
from ..errors import InputError
from ..explanation import Explanation
from ..plots.choose import save_plot
from .graphml import write_graphml
from .markdown import to_markdown
from .page import write_report

Write = Callable[[Explanation[Any], Path], None]


def _write_markdown(found: Explanation[Any], path: Path) -> None:
    path.write_text(to_markdown(found), encoding="utf-8")


#: suffix -> what writes such a file; one of your own is one more entry
WRITERS: dict[str, Write] = {
    ".html": write_report,
    ".htm": write_report,
    ".md": _write_markdown,
    ".png": save_plot,
    ".svg": save_plot,
    ".pdf": save_plot,
    ".graphml": write_graphml,
}


def write_file(found: Explanation[Any], path: "str | PathLike[str]") -> None:
    """Write an explanation for people, as the suffix says: a page, a picture, Markdown or a graph.

    Raises
    ------
    InputError
        There is no such kind of file, or this explanation has none.
    MissingPackageError
        What writes such files is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise InputError(f"an explanation is written to {', '.join(WRITERS)}, got {fspath(path)!r}")
    with replacing(path) as part:
        WRITERS[suffix](found, part)
