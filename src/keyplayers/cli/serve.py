"""``keyplayers serve``: a page to play with a field in."""

from typing import Annotated

import typer

from .explain import Radius
from .options import FieldOptions, Model, Quiet, takes
from .output import emit, say
from .streams import results


@takes(field=FieldOptions)
def serve(
    model: Model,
    field: FieldOptions,
    radius: Radius = 2,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0: one that is free.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Serve a page, to this machine only, in which evidence is switched and beliefs and explanations follow."""
    from .._base.optional import require

    for package in ("starlette", "uvicorn", "jinja2"):
        require(package)
    from ..serve import Session, run

    session = Session(field.load(model), radius=None if radius < 0 else radius)
    if not quiet:
        say("open this address in a browser of this machine; whoever has it can use the page; Ctrl-C ends it")
    run(session, port=port, tell=_tell)


def _tell(address: str) -> None:
    emit(address)
    results().flush()
