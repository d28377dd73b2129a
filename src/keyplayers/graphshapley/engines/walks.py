"""The engines of the walk game, and which of them plays."""

from dataclasses import replace

import numpy as np

from ..._base.arrays import Floats
from ..._base.progress import Progress
from ..._base.seeding import RandomState
from ...errors import InputError, TooLargeError
from ..game.game import EngineResult
from ..game.walk_game import WalkGame
from .registry import WALK_ENGINES, Engine, Request, register_engine

# Copies, equal ones counted once, up to which "auto" takes convolution: beyond, draws are sure enough sooner.
_MAX_CONVOLVED = 50_000


def play_walks(
    game: WalkGame, method: str, request: Request, random_state: RandomState, progress: Progress
) -> tuple[EngineResult, str, str]:
    """What the engine found, which one it was, and why that one.

    Raises
    ------
    InputError
        There is no such method for this game.
    TooLargeError
        The one asked for cannot play, or with "auto" none can; the message says why.
    """
    if method not in ("auto", *WALK_ENGINES):
        raise InputError(
            f"the walk game is played by {' or '.join(WALK_ENGINES)} (or method='auto'), not by {method!r}, "
            "which plays the game of subtrees: coalitions='subtrees'"
        )
    if not len(game.ball.members) > 1:
        return EngineResult.zeros(0), "convolution", "there is no other variable"
    if method != "auto":
        return _play_asked(WALK_ENGINES[method], game, request, random_state, progress)
    request, refusals = replace(request, max_convolved=_MAX_CONVOLVED), list[str]()
    for engine in list(WALK_ENGINES.values()):
        refusal = engine.refuses(game, request, progress)
        if refusal is None:
            try:
                found = engine.play(game, request, random_state, progress)
                return found, engine.name, "; ".join([*refusals, engine.reason(game, request)])
            except TooLargeError as error:  # which only playing has shown
                refusal = str(error)
        refusals.append(refusal)
    raise TooLargeError("; ".join(refusals))


def _play_asked(
    engine: Engine[WalkGame], game: WalkGame, request: Request, random_state: RandomState, progress: Progress
) -> tuple[EngineResult, str, str]:
    refusal = engine.refuses(game, request, progress)
    if refusal is not None:
        raise TooLargeError(f"{engine.name} cannot play: {refusal}")
    try:
        return engine.play(game, request, random_state, progress), engine.name, "asked for"
    except TooLargeError as error:
        raise TooLargeError(f"{engine.name} cannot play: {error}") from error


# Engines are imported when they are asked: nobody waits for the kernels of one that does not play.


def _convolution_refuses(game: WalkGame, request: Request, progress: Progress) -> str | None:
    from .walk_convolution import why_not

    obstacle, n_copies = why_not(game.merged.tree), game.merged.tree.n_copies
    if not obstacle and request.max_convolved is not None and n_copies > request.max_convolved:
        obstacle = f"{n_copies:,} copies are more than {request.max_convolved:,}"
    return obstacle or None


def _convolution_reason(game: WalkGame, request: Request) -> str:
    return "two states without zeros: all coalitions at once, with a proven error bound"


def _sampling_refuses(game: WalkGame, request: Request, progress: Progress) -> str | None:
    return None


def _sampling_reason(game: WalkGame, request: Request) -> str:
    return "drawn independently"


def _convolve(game: WalkGame, request: Request, random_state: RandomState, progress: Progress) -> EngineResult:
    from .walk_convolution import convolve_walks

    merged = game.merged
    found = convolve_walks(merged.tree, game.worth, game.direction, law=game.law)

    def per_player(per_copy: Floats) -> Floats:
        return game.tree.per_player(per_copy[merged.index])[game.order]

    values, probabilistic = per_player(found.values), per_player(found.probabilistic)
    return EngineResult(
        values=values,
        std_errors=np.zeros(len(values)),
        error_bounds=per_player(found.bounds + found.quadrature),
        probabilistic=probabilistic,
        topological=values - probabilistic,
        direction=per_player(found.direction),
        n_evaluations=found.cells * found.n_rules,
        worth_min=found.worth_min,
        worth_max=found.worth_max,
        meets_zero=bool(np.isneginf(game.worth.log_belief).any()),
        n_coalitions=_n_coalitions(game),
        diagnostics={"copies": merged.tree.n_copies, "plays": found.n_rules},
    )


def _sample(game: WalkGame, request: Request, random_state: RandomState, progress: Progress) -> EngineResult:
    from .walk_sampling import sample_walks

    found = sample_walks(
        game.tree,
        game.worth,
        game.direction,
        law=game.law,
        max_draws=request.max_evals,
        std_error_goal=request.std_error_goal,
        random_state=random_state,
        progress=progress,
    )
    values, probabilistic = found.values[game.order], found.probabilistic[game.order]
    return EngineResult(
        values=values,
        std_errors=found.std_errors[game.order],
        error_bounds=np.zeros(len(values)),
        probabilistic=probabilistic,
        topological=values - probabilistic,
        direction=found.direction[game.order],
        n_evaluations=found.n_draws,
        worth_min=found.worth_min,
        worth_max=found.worth_max,
        meets_zero=found.meets_zero,
        partial=found.partial,
        n_coalitions=_n_coalitions(game),
        diagnostics={"draws": found.n_draws},
    )


def _n_coalitions(game: WalkGame) -> float | None:
    log_n = float(game.tree.log_subtrees[0])
    return float(np.expm1(log_n)) if log_n < 700.0 else None


register_engine(Engine("convolution", _convolution_refuses, _convolution_reason, _convolve), coalitions="walks")
register_engine(Engine("sampling", _sampling_refuses, _sampling_reason, _sample), coalitions="walks")
