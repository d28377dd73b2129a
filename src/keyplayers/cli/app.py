"""The program: its commands, and how errors and warnings reach the terminal."""

import sys
import warnings
from typing import Annotated, Any, TextIO

import typer

from .._base.interrupts import ended_by, heed_termination, interrupted, noted_interrupts
from .._base.messages import silence
from .._version import __version__
from ..errors import KeyPlayersError
from . import commands
from .beliefs import beliefs
from .compare import compare
from .demo import demo
from .doctor import doctor
from .evaluate import evaluate
from .explain import ball, explain
from .explain_model import explain_model
from .learn import learn
from .output import say
from .report import report
from .serve import serve
from .store import store
from .streams import prepare_streams
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
# status after Ctrl-C; after a signal it is 128 and its number
_INTERRUPTED = 130

for _command in (
    beliefs,
    explain,
    ball,
    what_if,
    learn,
    evaluate,
    explain_model,
    compare,
    report,
    serve,
    demo,
    doctor,
):
    commands.add(app, _command)
app.add_typer(store, name="store")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"keyplayers {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """Run the command line.

    Exit status 0: done; 1: an error that one line explains; 2: wrong usage; 130: interrupted; 128 and the number
    of a signal that asked the program to end (143: SIGTERM).
    """
    prepare_streams()
    silence(False)
    warnings.showwarning = _show_warning
    with heed_termination(survive=True):
        status = _run(sys.argv[1:] if arguments is None else arguments)
        if status == _INTERRUPTED and ended_by():
            status = 128 + int(ended_by() or 0)
    if status:
        sys.exit(status)


def _run(arguments: list[str]) -> int:
    """The exit status."""
    try:
        with noted_interrupts():
            status = _status_of(arguments)
            if status == 0 and interrupted():
                _complain("interrupted: the result is what was found until then")
                status = _INTERRUPTED
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        _complain("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None  # whoever read the output has had enough; nothing is left to be flushed
        return 1
    except Exception as error:
        if commands.debugged():
            raise
        _explain_error(error)
        return 1
    return status


def _status_of(arguments: list[str]) -> int:
    try:
        app(arguments)
    except SystemExit as stop:
        # what Ctrl-C becomes, unless the command has told more of it
        if isinstance(getattr(stop.__context__, "__cause__", None), KeyboardInterrupt):
            _complain("interrupted")
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def _explain_error(error: Exception) -> None:
    """One line on standard error."""
    text = str(error)
    if isinstance(error, OSError) and not isinstance(error, KeyPlayersError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}"
        if sys.stdout is not None and error.filename == "standard output":
            sys.stdout = None
    if not isinstance(error, KeyPlayersError | OSError):
        text += f" ({type(error).__name__}; this is a fault of keyplayers, --debug shows where)"
    _complain(text)


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
    say(f"keyplayers: {' '.join(text.splitlines())}")
