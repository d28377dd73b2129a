"""The engines and who of them plays: the one place where they meet."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..._base.progress import Progress
from ..._base.seeding import RandomState
from ...errors import InputError, TooLargeError
from ..game.game import EngineResult, Game

# Coalitions that enumeration prices where nobody says otherwise: a second or two.
MAX_ENUMERATED = 2_000_000
# ... and with method="auto" where convolution could play: there it takes no longer, and its error is negligible.
_MAX_ENUMERATED_BESIDE_CONVOLUTION = 50_000


@dataclass(frozen=True)
class Request:
    """What the caller allows and wants."""

    max_evals: int | None = None  # coalitions whose worth may be computed; None: what the engine is made for
    std_error_goal: float | None = None  # of the largest values, in the worth's unit: where sampling may stop
    keep_coalitions: bool = False
    max_enumerated: int = MAX_ENUMERATED  # coalitions to enumerate where `max_evals` is None

    @property
    def enumeration_limit(self) -> int:
        """Most coalitions that enumeration goes through."""
        return self.max_evals or self.max_enumerated


@dataclass(frozen=True)
class Engine:
    """One way of finding the values."""

    name: str
    # None where it can play, else why not, with what to change
    refuses: Callable[[Game, Request, Progress], str | None]
    # why "auto" takes it, once it does not refuse
    reason: Callable[[Game, Request], str]
    play: Callable[[Game, Request, RandomState, Progress], EngineResult]


def _enumeration_refuses(game: Game, request: Request, progress: Progress) -> str | None:
    from .enumeration import count_coalitions, too_many

    limit = request.enumeration_limit
    if count_coalitions(game.ball, limit, progress) > limit:
        return too_many(game.ball, limit)
    return None


def _enumeration_reason(game: Game, request: Request) -> str:
    return f"all coalitions fit into {request.enumeration_limit:,} evaluations"


def _enumerate(game: Game, request: Request, random_state: RandomState, progress: Progress) -> EngineResult:
    from .enumeration import enumerate_coalitions

    return enumerate_coalitions(
        game,
        max_evals=request.enumeration_limit,
        keep_table=request.keep_coalitions,
        progress=progress,
    )


def _convolution_refuses(game: Game, request: Request, progress: Progress) -> str | None:
    from .convolution import why_not

    if request.keep_coalitions:
        return "convolution does not list coalitions; only enumeration does"
    reason = why_not(game)
    return f"convolution cannot play: {reason}" if reason else None


def _convolution_reason(game: Game, request: Request) -> str:
    return "the ball is a tree of variables with two states: all coalitions at once, with a proven error bound"


def _convolve(game: Game, request: Request, random_state: RandomState, progress: Progress) -> EngineResult:
    from .convolution import convolve_game

    return convolve_game(game, progress=progress)


def _sampling_refuses(game: Game, request: Request, progress: Progress) -> str | None:
    return "sampling does not list coalitions; only enumeration does" if request.keep_coalitions else None


def _sampling_reason(game: Game, request: Request) -> str:
    ball = game.ball
    size = f"the ball ({ball.n_variables:,} variables, {ball.n_cycles:,} cycles) has too many coalitions to list"
    if ball.is_tree:
        return f"{size}, and convolution needs two states without zeros; drawn independently"
    return f"{size} and is no tree; drawn by a Markov chain"


def _sample(game: Game, request: Request, random_state: RandomState, progress: Progress) -> EngineResult:
    from .sampling import sample_game

    return sample_game(
        game,
        max_evals=request.max_evals,
        std_error_goal=request.std_error_goal,
        random_state=random_state,
        progress=progress,
    )


# in the order in which method="auto" asks them
ENGINES = {
    engine.name: engine
    for engine in [
        Engine("enumeration", _enumeration_refuses, _enumeration_reason, _enumerate),
        Engine("convolution", _convolution_refuses, _convolution_reason, _convolve),
        Engine("sampling", _sampling_refuses, _sampling_reason, _sample),
    ]
}
METHODS = ("auto", *ENGINES)


def choose_engine(game: Game, method: str, request: Request, progress: Progress) -> tuple[Engine, str]:
    """The engine that plays, and why; `progress` is told where that takes counting.

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
    if method == "auto" and _convolution_refuses(game, request, progress) is None:
        request = replace(request, max_enumerated=_MAX_ENUMERATED_BESIDE_CONVOLUTION)
    refusals = []
    for engine in asked:
        refusal = engine.refuses(game, request, progress)
        if refusal is None:
            return engine, engine.reason(game, request) if method == "auto" else "asked for"
        refusals.append(refusal)
    raise TooLargeError("; ".join(refusals))
