"""How near a state is to the end of its game: the margin, and log-odds against the classes that come nearest."""

import math
from dataclasses import dataclass, field

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..game.game import Game
from .sets import Seek

# classes besides the target against which log-odds are taken
N_RIVALS = 2
# batches of states that tell how wrong a measure has been lately
RECENT = 3


@dataclass(eq=False)
class Measure:
    """One way to measure it, and how wrong what was expected in this measure has been lately.

    The margin against "the best other class" is no sum of what players do, although that against one class
    often is; so several measures go side by side, and the one that was right lately decides what is hopeless.
    """

    game: Game
    rival: int | None  # log-odds against this class; None: against the best other
    logarithmic: bool
    needed: float = field(init=False)  # drop at which the target is no longer ahead
    _errors: list[tuple[float, int]] = field(default_factory=list)  # sum of squares of a batch, and its size

    def __post_init__(self) -> None:
        self.needed = max(float(self._level(np.array([self.game.start]))[0]), 1e-9)

    def drops(self, indices: Ints) -> Floats:
        """How far the target has fallen back since the start of the game in states seen [B]."""
        return self.needed - self._level(indices)

    def learn(self, errors: Floats) -> None:
        """Note how wrong a batch of expectations was."""
        self._errors = [*self._errors[1 - RECENT :], (float(errors @ errors), len(errors))]

    def error(self) -> float:
        """Root mean square of recent errors, infinite as long as there are none."""
        count = sum(n for _, n in self._errors)
        return math.sqrt(sum(squares for squares, _ in self._errors) / count) if count else math.inf

    def _level(self, indices: Ints) -> Floats:
        """How far y is ahead [B]; in the misclassification game, how far it is behind."""
        board = self.game.board
        level = board.log_odds(indices, self.rival) if self.logarithmic else board.margins(indices)
        return self.game.sign * level


def measures_of(seek: Seek) -> list[Measure]:
    """The margin in probabilities; the log-odds against the classes that single players bring nearest."""
    game, board = seek.game, seek.game.board
    rivals: list[int | None] = [None]
    n_classes = board.probabilities.shape[1]
    if game.sign == 1 and not board.multilabel and n_classes > 2:
        others = np.delete(np.arange(n_classes), board.target)
        seen = seek.singles[seek.singles >= 0]
        nearness = np.sort(board.probabilities[np.ix_(seen, others)], axis=0)[-3:].sum(axis=0)
        rivals = others[np.argsort(-nearness, kind="stable")[:N_RIVALS]].tolist()
    return [Measure(game, None, False), *(Measure(game, rival, True) for rival in rivals)]


def deciding(measures: list[Measure]) -> Bools:
    """Which measures decide what is hopeless [V]: the margin, or all log-odds if one was less wrong lately.

    Log-odds may know well that one class cannot overtake the target while another one can. False everywhere as
    long as nothing was tried.
    """
    errors = [measure.error() / measure.needed for measure in measures]
    best = min(errors)
    by_logarithms = measures[errors.index(best)].logarithmic
    return np.array([best < math.inf and measure.logarithmic == by_logarithms for measure in measures])
