"""A folder of pages: an index of all targets of a store, and a page for each."""

import shutil
from collections.abc import Hashable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base.atomic import replacing
from .._base.printable import shortened
from .._base.progress import Progress, Silent
from .._version import __version__
from ..batch.store.encoding import FAILED
from ..errors import InputError
from ..explanation import Explanation
from .compare import decision
from .data import page_data
from .limits import ONE_OF_MANY, probabilities, significant
from .page import asset, environment, page_parts, render

if TYPE_CHECKING:
    from ..batch.store.reader import Store

# what all pages share, beside the index
_SHARED = ("page.css", "page.js")
_FOLDER = "targets"
# pages in a folder: more make file managers and some file systems slow
_PER_FOLDER = 1000
# letters of a sentence in the index
_SENTENCE = 200


class Row(NamedTuple):
    """A target in the index."""

    target: str
    status: str
    said: str  # what is believed or predicted
    probability: float | None
    player: str  # the most important one
    value: float | None
    sentence: str  # or why it failed
    page: str  # where its page is, "" where it has none


def write_index(store: "Store", folder: "str | PathLike[str]", *, progress: Progress | None = None) -> Path:
    """Write a store as pages: ``index.html``, which sorts, filters and searches, and a page per target.

    Everything works from the file system, without a server and without a connection.

    Parameters
    ----------
    folder
        New, empty, or one that this function wrote before.

    Returns
    -------
    Path
        The index.

    Raises
    ------
    InputError
        The folder holds something else.
    MissingPackageError
        Jinja2 is not installed (the extra "report").
    """
    root, progress = Path(folder), progress or Silent()
    index = root / "index.html"
    _check(root)
    template = environment().get_template("target.html")
    root.mkdir(parents=True, exist_ok=True)
    for name in (*_SHARED, ".keyplayers"):
        (root / name).write_text("" if name.startswith(".") else asset(name), encoding="utf-8")
    shutil.rmtree(root / _FOLDER, ignore_errors=True)
    rows = []
    progress.begin("pages", len(store.names()))
    for number, (target, found) in enumerate(_targets(store)):
        if isinstance(found, str):
            rows.append(Row(ONE_OF_MANY.name(target), FAILED, "", None, "", None, shortened(found, _SENTENCE), ""))
        else:
            page = f"{_FOLDER}/{number // _PER_FOLDER}/{number}.html"
            _write_page(root / page, template, target, found)
            rows.append(_row(target, found, page))
        progress.advance()
    progress.end()
    with replacing(index) as part:
        part.write_text(_render_index(store, rows), encoding="utf-8")
    return index


def _check(root: Path) -> None:
    if root.exists() and (not root.is_dir() or (any(root.iterdir()) and not (root / ".keyplayers").is_file())):
        raise InputError(f"{root} is not empty, and no report: give a new folder")


def _targets(store: "Store") -> Iterator[tuple[Hashable, Explanation[Any] | str]]:
    """Every target with its explanation, or why there is none."""
    failures = store.failures
    for target in store.names():
        yield target, failures[target] if target in failures else store[target]


def _write_page(path: Path, template: Any, target: Hashable, found: Explanation[Any]) -> None:
    data = page_data(found.structure, found, ONE_OF_MANY)
    if data["target"] != ONE_OF_MANY.name(target):  # a row of a table, of which a class is explained
        data["about"] = f"{data['about']} of {ONE_OF_MANY.name(target)}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(template.render(**page_parts(data), version=__version__), encoding="utf-8")


def _row(target: Hashable, found: Explanation[Any], page: str) -> Row:
    said, probability = _said(found)
    player, value = found.top(1)[0] if len(found) else ("", None)
    return Row(
        target=ONE_OF_MANY.name(target),
        status="partial" if getattr(found, "partial", False) else "done",
        said=said,
        probability=probability,
        player=shortened(str(player), 60),
        value=None if value is None else significant(value),
        sentence=shortened(found.sentence, _SENTENCE),
        page=page,
    )


def _said(found: Explanation[Any]) -> tuple[str, float | None]:
    state, probability = decision(found)
    shown = None if probability is None else probabilities(np.array([probability]))[0]
    return ("" if state is None else ONE_OF_MANY.name(state)), shown


def _render_index(store: "Store", rows: list[Row]) -> str:
    counts = store.counts
    data = {"rows": [list(row) for row in rows], "columns": Row._fields}
    made = [["explainer", store.manifest["explainer"].rpartition(".")[2]], *ONE_OF_MANY.settings(store.settings)]
    told = {"total": counts.total(), "failed": counts[FAILED], "partial": counts["partial"]}
    return render("index.html", data, script="index.js", settings=made, counts=told)
