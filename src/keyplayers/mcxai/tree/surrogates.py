"""Surrogates Q(x, a): what an edge is expected to win, before anybody played it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._base.arrays import Bools, Floats
from . import _surrogate_kernels as kernels
from ._select_kernels import AdditiveTerms

Nodes = np.ndarray[Any, np.dtype[np.void]]  # [T] of `NODE`

# a regression on pairs of players holds n * n numbers: beyond this many players "auto" takes "drop"
MAX_REGRESSION = 512
# sweeps over the tree after every block of playouts
N_SWEEPS = 2
# the smallest gap that can be divided by
SMALLEST_GAP = 1e-12


class Surrogate(Protocol):
    """Q(x, a), in units of a win rate."""

    def scores(self, masked: Bools) -> Floats:
        """Q of every action [B, n] in states of masked players [B, n]; what is masked already does not count."""

    def learn(self, nodes: Nodes) -> None:
        """Train on the win rates that the tree holds now, ``nodes["rewards"] / nodes["n_visits"]``."""


@dataclass(eq=False)
class AdditiveSurrogate:
    """Q(x, a) = bias + prior of a + sum of pairs (masked player, a)."""

    terms: AdditiveTerms
    learns: bool = False

    @classmethod
    def of(cls, prior: Floats, *, pairs: bool = False, learns: bool = False) -> "AdditiveSurrogate":
        """With this prior [n]; `pairs` says whether it knows pairs of players."""
        n = len(prior) if pairs else 0
        return cls(AdditiveTerms(np.zeros(1), prior, np.zeros((n, n))), learns)

    def scores(self, masked: Bools) -> Floats:
        """Q of every action [B, n]."""
        q: Floats = self.terms.bias + np.broadcast_to(self.terms.prior, masked.shape)
        return q + masked @ self.terms.pairs if len(self.terms.pairs) else q

    def learn(self, nodes: Nodes) -> None:
        """Train on the win rates that the tree holds now."""
        if self.learns:
            kernels.fit_win_rates(nodes, self.terms, N_SWEEPS)


# gains [n]: change of the margin when a player is masked alone; gap: change that ends the game
Factory = Callable[[Floats, float], Surrogate]


def _prior(gains: Floats, gap: float) -> Floats:
    """What a player moves the margin alone, as a part of what is needed to end the game [n]."""
    return np.clip(gains / max(abs(gap), SMALLEST_GAP), -1, 1)


def no_surrogate(gains: Floats, gap: float) -> Surrogate:
    """Q is 0 everywhere."""
    return AdditiveSurrogate.of(np.zeros(len(gains)))


def drop_surrogate(gains: Floats, gap: float) -> Surrogate:
    """Q is what a player moves the margin alone, as a part of what is needed."""
    return AdditiveSurrogate.of(_prior(gains, gap))


def regression_surrogate(gains: Floats, gap: float) -> Surrogate:
    """That as a start, then trained on the win rates in the tree, with a term per player and per pair."""
    return AdditiveSurrogate.of(_prior(gains, gap), pairs=True, learns=True)


def auto_surrogate(gains: Floats, gap: float) -> Surrogate:
    """Regression for up to 512 players, else drop."""
    return (regression_surrogate if len(gains) <= MAX_REGRESSION else drop_surrogate)(gains, gap)


# name -> factory. A surrogate from outside is one more entry; `McXai(surrogate=name)` finds it here.
SURROGATES: dict[str, Factory] = {
    "auto": auto_surrogate,
    "none": no_surrogate,
    "drop": drop_surrogate,
    "regression": regression_surrogate,
}


def first_move_scores(surrogate: Surrogate, n: int) -> Floats:
    """Q at the root, clipped to what a win rate can be [n]."""
    scores: Floats = surrogate.scores(np.zeros((1, n), dtype=bool))[0]
    return np.clip(scores, 0.0, 1.0)
