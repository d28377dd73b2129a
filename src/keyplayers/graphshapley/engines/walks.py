"""The engines of the walk game, and which of them plays."""

import numpy as np

from ..._base.arrays import Floats
from ..._base.progress import Progress
from ..._base.seeding import RandomState
from ...errors import InputError, TooLargeError
from ..game.game import EngineResult
from ..game.walk_game import WalkGame
from ..game.walk_symmetry import Merged, merge_equal_copies
from .registry import Request

METHODS = ("auto", "convolution", "sampling")
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
        Convolution was asked for and cannot play; the message says why.
    """
    from .walk_convolution import why_not

    if method not in METHODS:
        raise InputError(
            f"the walk game is played by {' or '.join(METHODS[1:])} (or method='auto'), not by {method!r}, "
            "which plays the game of subtrees: coalitions='subtrees'"
        )
    if not len(game.ball.members) > 1:
        return EngineResult.zeros(0), "convolution", "there is no other variable"
    if method == "sampling":
        return _sample(game, request, random_state, progress), "sampling", "asked for"
    merged = merge_equal_copies(game.tree)
    obstacle = why_not(merged.tree)
    if method == "auto" and not obstacle and merged.tree.n_copies > _MAX_CONVOLVED:
        obstacle = f"{merged.tree.n_copies:,} copies are more than {_MAX_CONVOLVED:,}"
    if not obstacle:
        try:
            found = _convolve(game, merged)
            reason = "two states without zeros: all coalitions at once, with a proven error bound"
            return found, "convolution", "asked for" if method == "convolution" else reason
        except TooLargeError as error:
            obstacle = str(error)
    if method == "convolution":
        raise TooLargeError(f"convolution cannot play: {obstacle}")
    return _sample(game, request, random_state, progress), "sampling", f"{obstacle}; drawn independently"


def _convolve(game: WalkGame, merged: Merged) -> EngineResult:
    from .walk_convolution import convolve_walks

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
