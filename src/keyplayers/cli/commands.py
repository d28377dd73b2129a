"""What all commands share: how they are run, and what they refuse."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from ..errors import FileFormatError, KeyPlayersError
from .streams import results_apart

# whether --debug was given to the command that runs
_debugged = False

_Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


class Command(TyperCommand):
    """A command that refuses an option given twice where only one can count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given: set[str] = set()
        for parameter in self.make_parser(ctx).parse_args(args=list(args))[2]:
            single = isinstance(parameter, TyperOption) and not (parameter.multiple or parameter.is_flag)
            if single and parameter.name in given:
                raise typer.BadParameter(f"{parameter.opts[0]} is given twice; it takes one value", ctx=ctx)
            given.add(parameter.name)
        return super().parse_args(ctx, args)


def add(program: typer.Typer, command: Callable[..., None], name: str | None = None) -> None:
    """Make a function a command of the program, with the option ``--debug``."""
    signature = inspect.signature(command)

    @wraps(command)
    def run(*arguments: Any, debug: bool = False, **options: Any) -> None:
        global _debugged
        _debugged = debug
        with results_apart():
            try:
                command(*arguments, **options)
            except SystemExit as stop:  # ours are typer's
                raise KeyPlayersError(
                    f"a model or another foreign function ended the program (exit status {stop.code})"
                ) from stop
            except EOFError as error:
                raise FileFormatError(f"a file ends too early: {error}") from error

    parameter = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug)
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), parameter]
    )
    run.__annotations__ = command.__annotations__ | {"debug": _Debug}
    program.command(name, cls=Command)(run)


def debugged() -> bool:
    """Whether the last command was given --debug."""
    return _debugged
