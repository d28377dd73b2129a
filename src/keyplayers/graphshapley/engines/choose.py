"""The package's engines, and who of all that are registered plays."""

from dataclasses import replace

from ..._base.progress import Progress
from ..._base.seeding import RandomState
from ...errors import InputError, TooLargeError
from ..game.game import EngineResult, Game
from .registry import ENGINES, WALK_ENGINES, Engine, Request, register_engine

# Coalitions that "auto" enumerates where convolution could play: there it takes no longer, and its error is
# negligible.
_MAX_ENUMERATED_BESIDE_CONVOLUTION = 50_000


def choose_engine(game: Game, method: str, request: Request, progress: Progress) -> tuple[Engine[Game], str]:
    """The engine that plays, and why; `progress` is told where that takes counting.

    Raises
    ------
    InputError
        There is no such method for this game.
    TooLargeError
        The asked one cannot, or with "auto" none can; the message says what to change.
    """
    if method not in ("auto", *ENGINES):
        other = f"; {method!r} plays the game of walks: coalitions='walks'" if method in WALK_ENGINES else ""
        raise InputError(f"method must be one of {', '.join(['auto', *ENGINES])}, got {method!r}{other}")
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


# Engines are imported when they are asked: nobody waits for the kernels of one that does not play.


def _enumeration_refuses(game: Game, request: Request, progress: Progress) -> str | None:
    from .enumeration import refuses

    return refuses(game, request, progress)


def _enumeration_reason(game: Game, request: Request) -> str:
    return f"all coalitions fit into {request.enumeration_limit:,} evaluations"


def _enumerate(game: Game, request: Request, random_state: RandomState, progress: Progress) -> EngineResult:
    from .enumeration import play

    return play(game, request, random_state, progress)


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


register_engine(Engine("enumeration", _enumeration_refuses, _enumeration_reason, _enumerate))
register_engine(Engine("convolution", _convolution_refuses, _convolution_reason, _convolve))
register_engine(Engine("sampling", _sampling_refuses, _sampling_reason, _sample))
