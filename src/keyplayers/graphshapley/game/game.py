"""The game that all engines play, and the record in which each returns its answer."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...mrf.balls import Ball
from .worth import Worth


@dataclass(frozen=True, eq=False)
class Game:
    """Coalitions are subtrees of the ball that hold its target (position 0) and at least one edge.

    The players are the ball's other members, in the ball's order.
    """

    ball: Ball
    worth: Worth
    direction: Worth  # log-odds or probability of the target's most believed state


@dataclass(frozen=True, eq=False)
class CoalitionTable:
    """All coalitions, one by one."""

    offsets: Ints  # [M+1] edges of coalition m: edges[offsets[m] : offsets[m + 1]]
    edges: Ints  # rows of `ball.field.edges`
    worths: Floats  # [M] in the unit of the worth
    directions: Floats  # [M] in the unit of the direction


@dataclass(frozen=True, eq=False)
class WalkTable:
    """All coalitions of a walk game, one by one."""

    walks: tuple[tuple[Hashable, ...], ...]  # [T] names from the target on
    present: Bools  # [M, T]
    worths: Floats  # [M]

    def coalitions(self) -> list[tuple[tuple[tuple[Hashable, ...], ...], float]]:
        """Each coalition as the walks that it holds, and its worth; best first."""
        found = []
        for m in np.argsort(-self.worths, kind="stable").tolist():
            held = np.flatnonzero(self.present[m, 1:]) + 1
            found.append((tuple(self.walks[copy] for copy in held.tolist()), float(self.worths[m])))
        return found


@dataclass(frozen=True, eq=False)
class EngineResult:
    """What an engine found; one entry per player, in the order of the ball."""

    values: Floats  # [n-1] mean marginal contribution
    std_errors: Floats  # [n-1] 0 where exact, NaN where nobody knows
    error_bounds: Floats  # [n-1] proven bound on |value - exact value| apart from sampling; 0 where exact
    probabilistic: Floats  # [n-1] the part of the value that the player's prior makes
    topological: Floats  # [n-1] the rest: what its edges and those behind it make
    direction: Floats  # [n-1] value under the direction worth
    n_evaluations: int  # coalitions whose worth was computed
    worth_min: float  # over the coalitions that were seen (a bound where they were not seen one by one)
    worth_max: float
    meets_zero: bool  # whether the logarithm of an exact zero was replaced
    partial: bool = False  # stopped early: the mean over the coalitions seen so far
    n_coalitions: float | None = None  # M, where the engine knows it
    player_counts: Floats | None = None  # [n-1] coalitions that hold each player, where the engine knows it
    table: CoalitionTable | None = None
    diagnostics: dict[str, Any] = field(default_factory=dict)  # what only this engine knows; JSON can hold it

    @classmethod
    def zeros(cls, n: int) -> "EngineResult":
        """The result where no coalition makes a difference to any of n players, or none exists."""
        zeros = np.zeros(n)
        return cls(zeros, zeros, zeros, zeros, zeros, zeros, 0, np.inf, -np.inf, meets_zero=False)

    @property
    def spread(self) -> float:
        """How far the worth varies over the coalitions; 0 where there are none."""
        spread = self.worth_max - self.worth_min
        return float(spread) if np.isfinite(spread) else 0.0
