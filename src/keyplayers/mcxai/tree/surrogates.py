"""Surrogates Q(x, a): what an edge is expected to win, before anybody played it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..._base.arrays import Floats, Ints
from ...errors import InputError
from . import _search_kernels as kernels

Surrogate = Literal["auto", "none", "drop", "regression"]
SURROGATES = ("auto", "none", "drop", "regression")

# a regression on pairs of players holds n * n numbers: beyond this many players "auto" takes "drop"
MAX_REGRESSION = 512


@dataclass(eq=False)
class Quality:
    """Q(x, a) = bias + prior of a + sum of pairs (masked player, a)."""

    prior: Floats  # [n] in units of a win rate
    pairs: Floats  # [n, n] masked before, action; [0, 0] where the surrogate knows no pairs
    learns: bool
    bias: float = 0.0

    def first_moves(self) -> Floats:
        """Q at the root, clipped to what a win rate can be [n]."""
        return np.clip(self.bias + self.prior, 0.0, 1.0)

    def learn(
        self,
        parents: Ints,
        players: Ints,
        n_visits: Ints,
        rewards: Floats,
        n_nodes: int,
    ) -> None:
        """Train on the win rates that the tree holds now."""
        if self.learns:
            self.bias = kernels.learn_edges(
                parents, players, n_visits, rewards, n_nodes, self.prior, self.pairs, self.bias, 2
            )


def make_quality(surrogate: Surrogate, gains: Floats, needed: float) -> Quality:
    """The surrogate at the start of a game.

    Parameters
    ----------
    surrogate
        "none": 0 everywhere. "drop": how far a player moves the margin alone, as a part of what is needed to
        end the game. "regression": that as a start, then trained on the win rates in the tree, with a term per
        player and per pair of a masked player and an action. "auto": regression for up to 512 players.
    gains
        Change of the margin when a player is masked alone, [n].
    needed
        Change of the margin that ends the game.
    """
    if surrogate not in SURROGATES:
        raise InputError(f"surrogate must be one of {', '.join(SURROGATES)}, got {surrogate!r}")
    n = len(gains)
    if surrogate == "auto":
        surrogate = "regression" if n <= MAX_REGRESSION else "drop"
    if surrogate == "none":
        return Quality(np.zeros(n), np.zeros((0, 0)), learns=False)
    prior = np.clip(gains / max(abs(needed), 1e-12), -1, 1)
    if surrogate == "drop":
        return Quality(prior, np.zeros((0, 0)), learns=False)
    return Quality(prior, np.zeros((n, n)), learns=True)
