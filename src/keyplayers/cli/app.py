"""The program: its commands, and how errors and warnings reach the terminal."""

import sys
import warnings
from io import TextIOWrapper
from typing import Annotated, Any, TextIO

import typer

from .._version import __version__
from ..errors import KeyPlayersError
from .beliefs import beliefs
from .demo import demo
from .explain import ball, explain
from .explain_model import explain_model
from .output import printable, say
from .store import store
from .what_if import what_if

app = typer.Typer(
    name="keyplayers",
    help="Who are the key players behind a decision? Beliefs of Markov random fields and predictions of "
    "classifiers, explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(beliefs)
app.command()(explain)
app.command()(ball)
app.command()(what_if)
app.command()(explain_model)
app.add_typer(store, name="store")
app.command()(demo)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"keyplayers {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """Run the command line.

    Exit status 0: done; 1: an error that one line explains; 2: wrong usage; 130: interrupted.
    """
    given = sys.argv[1:] if arguments is None else arguments
    # wherever it stands, so that it can be added to the end of a line
    debug = "--debug" in given
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may know fewer characters than names have
    try:
        app([argument for argument in given if argument != "--debug"])
    except SystemExit as stop:
        # what Ctrl-C becomes, unless the command has told more of it
        if isinstance(getattr(stop.__context__, "__cause__", None), KeyboardInterrupt):
            _complain("interrupted")
        raise
    except BrokenPipeError:
        # whoever read the output has had enough; nothing is left to be flushed
        sys.stdout = None
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        expected = isinstance(error, KeyPlayersError | OSError)
        if isinstance(error, OSError) and error.filename and error.strerror:
            error = OSError(f"{error.filename}: {error.strerror}")
        hint = "" if expected else f" ({type(error).__name__}; this is a fault of keyplayers, --debug shows where)"
        _complain(f"{error}{hint}")
        sys.exit(1)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> Any:
    _complain(f"warning: {message}")


def _complain(text: str) -> None:
    """One line on standard error, whatever the text holds."""
    say(f"keyplayers: {printable(text.replace(chr(10), ' '))}")
