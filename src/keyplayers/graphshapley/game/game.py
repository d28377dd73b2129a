"""The game that all engines play, and the record in which each returns its answer."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.names import Names
from ...errors import InputError
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


@dataclass(frozen=True, eq=False)
class Inference:
    """How the belief that is explained was inferred."""

    schedule: str
    converged: bool
    exact: bool
    sweeps: int
    exact_belief: Floats | None = None  # [K] where the field has cycles and an exact check was cheap

    def disagreement(self, belief: Floats) -> float | None:
        """Largest difference of a probability from exact inference; None where that is not known."""
        if self.exact:
            return 0.0
        return None if self.exact_belief is None else float(np.abs(self.exact_belief - belief).max())


@dataclass(frozen=True, eq=False)
class SubtreeGame:
    """What GraphShapley knows beyond the values; arrays [n] follow `Explanation.players`."""

    states: tuple[Hashable, ...]  # [K] of the target
    belief: Floats  # [K] of the target in the whole field
    log_belief: Floats  # [K] nats
    worth: str  # name of the characteristic function
    worth_states: tuple[Hashable, ...]  # the state it speaks of, both states of a contrast, or none
    unit: str
    probabilistic: Floats  # [n]
    topological: Floats  # [n]
    direction: Floats  # [n]
    direction_unit: str  # "log-odds" or "probability"
    direction_state: Hashable  # the target's most believed state
    error_bounds: Floats  # [n]
    distances: Ints  # [n] hops
    paths: tuple[tuple[Hashable, ...], ...]  # [n] best path of each player, itself first, the target last
    log10_player_coalitions: Floats  # [n] log10 of how many coalitions hold each player; NaN where unknown
    engine: str  # "enumeration", "convolution" or "sampling"; "none" where the target is observed
    engine_reason: str  # why this one
    radius: int | None
    ball: Ball | None  # None in an explanation read from a file
    n_variables: int  # of the ball
    n_edges: int
    log10_coalitions: float | None  # exact, None where unknown
    log10_coalition_bounds: tuple[float, float]
    saturated: bool  # the worth hardly varies: see `worth="log_odds"`
    meets_zero: bool  # the logarithm of an exact zero was replaced by -700
    partial: bool  # stopped early
    target_observed: bool
    worth_alone: float  # of the target by itself
    worth_ball: float | None  # of the whole ball; None where propagation on it does not converge
    inference: Inference
    groups: Ints  # [n] players of one number are equal: a symmetry of the ball exchanges them
    n_dropped: int = 0  # variables of the ball left out because of `max_ball`
    diagnostics: dict[str, Any] = field(default_factory=dict)  # what only this engine knows; JSON can hold it
    table: CoalitionTable | None = None  # where it was asked for
    field_names: Names | None = None  # of all variables; None in an explanation from a file or another process

    def __getstate__(self) -> dict[str, Any]:
        # millions of names would travel with every explanation that a worker sends back
        return self.__dict__ | {"field_names": None}

    def equal_to(self, i: int) -> Ints:
        """Positions of all players that are equal to player i, itself among them."""
        return np.flatnonzero(self.groups == self.groups[i])

    def coalitions(self) -> list[tuple[tuple[tuple[Hashable, Hashable], ...], float]]:
        """All coalitions as tuples of edges (pairs of names), each with its worth, best first.

        Raises
        ------
        InputError
            They were not kept: ask for them with ``GraphShapley(mrf, keep_coalitions=True)``.
        """
        if self.table is None or self.ball is None:
            raise InputError("the coalitions were not kept: GraphShapley(mrf, keep_coalitions=True) keeps them")
        names, edges, table = self.ball.field.names, self.ball.field.edges, self.table
        found = []
        for m in np.argsort(-table.worths, kind="stable").tolist():
            rows = table.edges[table.offsets[m] : table.offsets[m + 1]]
            pairs = tuple((names[int(a)], names[int(b)]) for a, b in edges[rows])
            found.append((pairs, float(table.worths[m])))
        return found
