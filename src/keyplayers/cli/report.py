"""``keyplayers report``: a folder of explanations as pages."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Quiet
from .output import emit, say, show_progress


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="STORE", help="The folder of a store (--store DIR).", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="New folder for the pages.", show_default=False),
    ],
    quiet: Quiet = False,
) -> None:
    """Write many explanations as pages: an index that sorts, filters and searches, and a page for each target."""
    from .._base.optional import require
    from ..batch.store.reader import open_store
    from ..report import write_index
    from .batch import count_line

    require("jinja2")
    found = open_store(folder)
    with show_progress(quiet) as progress:
        index = write_index(found, output, progress=progress)
    emit(str(index))
    if not quiet:
        say(count_line(found))
