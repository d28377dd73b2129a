"""What is read back from a file, checked as fields are: a damaged one is refused, not believed."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._base.arrays import Floats
from ..errors import InputError
from ..explanation import Explanation
from .codec import from_dict
from .result import SubtreeGame

# Probabilities are written with all their digits: their sum is 1 up to rounding.
_SUM_TOLERANCE = 1e-6


def checked_from_dict(data: Mapping[str, Any]) -> Explanation[SubtreeGame]:
    """The explanation that a JSON holds.

    Raises
    ------
    InputError
        It says what cannot be.
    """
    found = from_dict(data)
    game = found.structure
    _check_distribution(game.belief, len(game.states), "belief")
    if game.log_belief.shape != game.belief.shape:
        raise InputError(f"log_belief must have one entry per state ({len(game.states)})")
    if game.inference.exact_belief is not None:
        _check_distribution(game.inference.exact_belief, len(game.states), "exact_belief")
    if len(set(game.states)) < len(game.states):
        raise InputError("states must be distinct")
    if (game.distances < 0).any():
        raise InputError("distance must not be negative")
    if game.n_variables < 1 or game.n_edges < 0:
        raise InputError("the ball must have at least its target")
    return found


def _check_distribution(probabilities: Floats, n_states: int, what: str) -> None:
    if probabilities.shape != (n_states,):
        raise InputError(f"{what} must have one entry per state ({n_states}), got {probabilities.size}")
    sane = np.isfinite(probabilities).all() and (probabilities >= 0).all()
    if not sane or abs(probabilities.sum() - 1) > _SUM_TOLERANCE:
        raise InputError(f"{what} must be probabilities whose sum is 1, got {probabilities.tolist()}")
