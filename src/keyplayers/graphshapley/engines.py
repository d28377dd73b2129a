"""The engines and who of them plays: the one place where they meet."""

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InputError, TooLargeError
from ..progress import Progress
from ..seeding import RandomState
from .game import EngineResult, Game

# Coalitions that enumeration prices where nobody says otherwise: a second or two.
MAX_ENUMERATED = 2_000_000


@dataclass(frozen=True)
class Request:
    """What the caller allows and wants."""

    max_evals: int | None = None  # coalitions whose worth may be computed; None: what the engine is made for
    std_error_goal: float | None = (
        None  # sampling may stop when every standard error is below, in the worth's unit
    )
    keep_coalitions: bool = False


@dataclass(frozen=True)
class Engine:
    """One way of finding the values."""

    name: str
    # None where it can play, else why not, with what to change
    refuses: Callable[[Game, Request], str | None]
    # why "auto" takes it, once it does not refuse
    reason: Callable[[Game, Request], str]
    play: Callable[[Game, Request, RandomState, Progress], EngineResult]


def _enumeration_refuses(game: Game, request: Request) -> str | None:
    from .enumeration import count_coalitions, too_many

    max_evals = request.max_evals or MAX_ENUMERATED
    if count_coalitions(game.ball, max_evals) > max_evals:
        return too_many(game.ball, max_evals)
    return None


def _enumeration_reason(game: Game, request: Request) -> str:
    return f"all coalitions fit into {request.max_evals or MAX_ENUMERATED:,} evaluations"


def _enumerate(game: Game, request: Request, random_state: RandomState, progress: Progress) -> EngineResult:
    from .enumeration import enumerate_coalitions

    return enumerate_coalitions(
        game,
        max_evals=request.max_evals or MAX_ENUMERATED,
        keep_table=request.keep_coalitions,
        progress=progress,
    )


# in the order in which method="auto" asks them
ENGINES = {
    engine.name: engine
    for engine in [Engine("enumeration", _enumeration_refuses, _enumeration_reason, _enumerate)]
}
METHODS = ("auto", *ENGINES)


def choose_engine(game: Game, method: str, request: Request) -> tuple[Engine, str]:
    """The engine that plays, and why.

    Raises
    ------
    InputError
        There is no such method.
    TooLargeError
        The asked one cannot, or with "auto" none can; the message says what to change.
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    asked = list(ENGINES.values()) if method == "auto" else [ENGINES[method]]
    refusals = []
    for engine in asked:
        refusal = engine.refuses(game, request)
        if refusal is None:
            return engine, engine.reason(game, request) if method == "auto" else "asked for"
        refusals.append(refusal)
    raise TooLargeError("; ".join(refusals))
