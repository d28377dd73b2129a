"""Games in general: characteristic functions over sets of players, and their Shapley values.

Not what GraphShapley computes, whose coalitions are subtrees; baselines and tests play these.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ._base.arrays import Bools, Floats
from ._base.progress import Progress, Silent
from ._base.seeding import RandomState, generator
from .errors import InputError, TooLargeError

# Most players for exact values: 2^n worths of 8 bytes each.
MAX_EXACT_PLAYERS = 22
# Coalitions asked for at once where the caller does not say.
BATCH_SIZE = 4096


class CharacteristicFunction(Protocol):
    """What coalitions are worth."""

    def __call__(self, coalitions: Bools, /) -> Floats:
        """[B] worths of coalitions [B, n]; True where a player is present."""


class Counting:
    """A characteristic function that counts how many coalitions it was asked for."""

    def __init__(self, worth: CharacteristicFunction) -> None:
        self._worth = worth
        self.n_evaluations = 0

    def __call__(self, coalitions: Bools, /) -> Floats:
        """[B] worths of coalitions [B, n]."""
        self.n_evaluations += len(coalitions)
        return self._worth(coalitions)


class Remembering:
    """A characteristic function that evaluates no coalition twice."""

    def __init__(self, worth: CharacteristicFunction) -> None:
        self._worth = worth
        self._known: dict[bytes, float] = {}

    def __call__(self, coalitions: Bools, /) -> Floats:
        """[B] worths of coalitions [B, n]."""
        keys = [row.tobytes() for row in np.packbits(coalitions, axis=1)]
        new = {key: i for i, key in reversed(list(enumerate(keys))) if key not in self._known}
        if new:
            rows = sorted(new.values())
            worths = np.asarray(self._worth(coalitions[rows]), dtype=np.float64)
            self._known |= {keys[i]: worth for i, worth in zip(rows, worths.tolist(), strict=True)}
        return np.array([self._known[key] for key in keys], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ShapleyEstimate:
    """Shapley values from sampled permutations."""

    values: Floats  # [n]
    std_errors: Floats  # [n] of the mean over permutations; NaN where there was one only
    n_permutations: int
    n_evaluations: int


def shapley_values(worth: CharacteristicFunction, n_players: int, *, batch_size: int = BATCH_SIZE) -> Floats:
    """[n] exact Shapley values from the worths of all 2^n coalitions.

    Parameters
    ----------
    worth
        The game.
    n_players
        Number of players n.
    batch_size
        Most coalitions asked for at once.

    Raises
    ------
    TooLargeError
        There are too many players for 2^n worths.

    References
    ----------
    Shapley, "A value for n-person games", 1953.

    Examples
    --------
    >>> left, right = 0, [1, 2]
    >>> glove = lambda coalitions: coalitions[:, left] * coalitions[:, right].any(axis=1) * 1.0
    >>> shapley_values(glove, 3).round(4).tolist()
    [0.6667, 0.1667, 0.1667]
    """
    _check_players(n_players)
    if n_players > MAX_EXACT_PLAYERS:
        raise TooLargeError(
            f"exact Shapley values of {n_players} players need 2^{n_players} worths; "
            f"at most {MAX_EXACT_PLAYERS} players are allowed: sample_shapley_values takes any number"
        )
    players = np.arange(n_players)
    masks = np.arange(2**n_players)
    worths = np.empty(len(masks))
    for begin in range(0, len(masks), batch_size):
        some = masks[begin : begin + batch_size]
        worths[some] = worth((some[:, None] >> players & 1).astype(bool))
    sizes = (masks >> players[:, None] & 1).sum(axis=0)
    # the share of orders in which exactly these players come before: s! (n - 1 - s)! / n!
    shares = np.array([1.0 / (n_players * math.comb(n_players - 1, s)) for s in range(n_players)])
    values = np.empty(n_players)
    for player in players:
        without = masks[(masks >> player & 1) == 0]
        gains = worths[without | 1 << player] - worths[without]
        values[player] = shares[sizes[without]] @ gains
    return values


def sample_shapley_values(
    worth: CharacteristicFunction,
    n_players: int,
    *,
    max_evals: int,
    random_state: RandomState = None,
    batch_size: int = BATCH_SIZE,
    progress: Progress | None = None,
) -> ShapleyEstimate:
    """Shapley values from random orders of the players.

    Each order gives every player one marginal contribution, for n + 1 worths (those of nobody and of everybody
    are evaluated once for all). `batch_size` never changes the result.

    Parameters
    ----------
    max_evals
        Most coalitions whose worth is computed; at least n + 1.

    Raises
    ------
    InputError
        `max_evals` is not enough for a single order.

    References
    ----------
    Castro, Gómez and Tejada, Comput. Oper. Res. 36 (2009), doi:10.1016/j.cor.2008.04.004.
    """
    _check_players(n_players)
    per_order = max(n_players - 1, 1)
    n_permutations = (max_evals - 2) // per_order
    if n_permutations < 1:
        raise InputError(f"one order of {n_players} players takes {per_order + 2} evaluations, got {max_evals=}")
    rng = generator(random_state)
    progress = progress or Silent()
    empty, full = _evaluate(worth, np.array([[False] * n_players, [True] * n_players]), batch_size)
    n_evaluations = 2
    total, squares = np.zeros(n_players), np.zeros(n_players)
    at_once = max(batch_size // per_order, 1)
    progress.begin("permutations", n_permutations)
    for done in range(0, n_permutations, at_once):
        orders = rng.permuted(np.tile(np.arange(n_players), (min(at_once, n_permutations - done), 1)), axis=1)
        ranks = np.argsort(orders, axis=1)
        prefixes = ranks[:, None, :] < np.arange(1, n_players)[None, :, None]  # [orders, n - 1, n]
        worths = np.full((len(orders), n_players + 1), full)
        worths[:, 0] = empty
        inner = prefixes.reshape(-1, n_players)
        worths[:, 1:-1] = _evaluate(worth, inner, batch_size).reshape(len(orders), -1)
        n_evaluations += len(inner)
        gains = np.empty((len(orders), n_players))
        np.put_along_axis(gains, orders, np.diff(worths, axis=1), axis=1)
        total += gains.sum(axis=0)
        squares += np.square(gains - (full - empty) / n_players).sum(axis=0)
        progress.advance(len(orders))
    progress.end()
    values = total / n_permutations
    shifted = values - (full - empty) / n_players
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = np.maximum(squares / n_permutations - shifted**2, 0.0) * n_permutations / (n_permutations - 1)
    std_errors = np.sqrt(variances / n_permutations) if n_permutations > 1 else np.full(n_players, np.nan)
    return ShapleyEstimate(values, std_errors, n_permutations, n_evaluations)


def _evaluate(worth: CharacteristicFunction, coalitions: Bools, batch_size: int) -> Floats:
    batches = [coalitions[begin : begin + batch_size] for begin in range(0, len(coalitions), batch_size)]
    worths = [np.asarray(worth(batch), dtype=np.float64) for batch in batches]
    return np.concatenate(worths) if worths else np.zeros(0)


def _check_players(n_players: int) -> None:
    if n_players < 1:
        raise InputError(f"a game needs at least one player, got {n_players}")
