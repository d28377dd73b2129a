"""How near a state is to the end of its game: the margin, and log-odds against the classes that come nearest."""

import math
from dataclasses import dataclass, field

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..game.game import Game

# classes besides the target against which log-odds are taken
N_RIVALS = 2
# single players whose probabilities of a class say how near that class comes
N_NEAREST = 3
# batches of states that tell how wrong an objective has been lately
RECENT = 3
# A probability below this cannot be told from 0 when log-odds are taken, unless the model gave smaller ones.
SMALLEST_PROBABILITY = 1e-3
# the smallest distance to the end that can be divided by
SMALLEST_GAP = 1e-9


@dataclass(eq=False)
class Objective:
    """One measure of the distance to the end, and how wrong what was expected in it has been lately.

    The margin against "the best other class" is no sum of what players do, although that against one class
    often is; so several objectives go side by side, and the one with the smallest recent error decides which
    candidate sets are pruned.
    """

    game: Game
    rival: int | None  # log-odds against this class; None: against the best other
    logarithmic: bool
    smallest: float = SMALLEST_PROBABILITY  # what counts as 0 where logarithms are taken
    gap: float = field(init=False)  # drop at which the target is no longer ahead
    _errors: list[tuple[float, int]] = field(default_factory=list)  # sum of squares of a batch, and its size

    def __post_init__(self) -> None:
        self.gap = max(float(self._level(np.array([self.game.start]))[0]), SMALLEST_GAP)

    def drops(self, indices: Ints) -> Floats:
        """How far the target has fallen back since the start of the game in states seen [B]."""
        return self.gap - self._level(indices)

    def learn(self, errors: Floats) -> None:
        """Note how wrong a batch of expectations was."""
        self._errors = [*self._errors[1 - RECENT :], (float(errors @ errors), len(errors))]

    def error(self) -> float:
        """Root mean square of recent errors, infinite as long as there are none."""
        count = sum(n for _, n in self._errors)
        return math.sqrt(sum(squares for squares, _ in self._errors) / count) if count else math.inf

    def _level(self, indices: Ints) -> Floats:
        """How far y is ahead [B]; in the misclassification game, how far it is behind."""
        cache = self.game.cache
        level = cache.log_odds(indices, self.rival, self.smallest) if self.logarithmic else cache.margins(indices)
        return self.game.sign * level


def objectives_of(game: Game, singles: Ints) -> list[Objective]:
    """The margin in probabilities; the log-odds against the classes that single players bring nearest.

    Parameters
    ----------
    singles
        Cache indices of the states with one player masked.
    """
    cache = game.cache
    rivals: list[int | None] = [None]
    n_classes = cache.probabilities.shape[1]
    smallest = smallest_probability(game, singles)
    if cache.contrast is None and game.sign == 1 and not cache.multilabel and n_classes > 2:
        others = np.delete(np.arange(n_classes), cache.target)
        nearness = np.sort(cache.probabilities[np.ix_(singles, others)], axis=0)[-N_NEAREST:].sum(axis=0)
        rivals = others[np.argsort(-nearness, kind="stable")[:N_RIVALS]].tolist()
    return [Objective(game, None, False), *(Objective(game, rival, True, smallest) for rival in rivals)]


def smallest_probability(game: Game, singles: Ints) -> float:
    """The smallest positive probability of the target, or of what it is compared with, in these states.

    Confident models give probabilities of 1e-17 that still tell where the end lies; forests give 0, which tells
    nothing.
    """
    seen = np.append(singles, game.start)
    p = np.concatenate([game.cache.p_target[seen], game.cache.p_other[seen]])
    return float(min(SMALLEST_PROBABILITY, p.min(initial=1.0, where=p > 0)))


def active_objectives(objectives: list[Objective]) -> Bools:
    """Which objectives decide what is hopeless [V]: the margin, or all log-odds if one was less wrong lately.

    Log-odds may know well that one class cannot overtake the target while another one can. False everywhere as
    long as nothing was tried.
    """
    errors = [objective.error() / objective.gap for objective in objectives]
    best = min(errors)
    by_logarithms = objectives[errors.index(best)].logarithmic
    return np.array([best < math.inf and objective.logarithmic == by_logarithms for objective in objectives])
