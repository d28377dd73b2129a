"""What GraphShapley knows of a decision beyond the values of its players."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from .._base.arrays import Floats, Ints
from .._base.names import Names
from ..errors import InputError
from ..mrf.balls import Ball
from ..mrf.inference.beliefs import BeliefState
from .game.game import CoalitionTable, WalkTable
from .what_ifs import WhatIfs

Role: TypeAlias = Literal["for", "against", "connects"]

# Rounding of a value, in units of the largest worth.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Inference:
    """How the belief that is explained was inferred."""

    schedule: str
    converged: bool
    exact: bool
    sweeps: int
    exact_belief: Floats | None = None  # [K] where the field has cycles and an exact check was cheap
    messages_belief: Floats | None = None  # [K] of the propagation whose messages were taken, where it is another

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
    std_errors: Floats  # [n] as in the explanation
    error_bounds: Floats  # [n]
    distances: Ints  # [n] hops
    paths: tuple[tuple[Hashable, ...], ...]  # [n] best path of each player, itself first, the target last
    log10_player_coalitions: Floats  # [n] log10 of how many coalitions hold each player; NaN where unknown
    engine: str  # "enumeration", "convolution" or "sampling"; "none" where the target is observed
    engine_reason: str  # why this one
    radius: int | None
    ball: Ball | None  # None in an explanation read from a file
    n_variables: int  # of the ball, auxiliary ones left out
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
    table: CoalitionTable | WalkTable | None = None  # where it was asked for
    coalitions_of: Literal["subtrees", "walks"] = "subtrees"
    boundary: Literal["messages", "cut"] = "cut"  # what is said by variables to which walks do not go on
    law: Literal["uniform", "shapley"] = "uniform"  # of coalitions
    n_copies: int | None = None  # walks that the game of walks is played with
    coverage: float | None = None  # sum of values / (worth_ball - worth_alone); None where that is 0 or unknown
    factors: tuple[
        Hashable, ...
    ] = ()  # [F] of the ball, over three or more variables: no players, only on their way
    factor_values: Floats = field(default_factory=lambda: np.zeros(0))  # [F] what each adds by itself
    what_ifs: WhatIfs | None = None  # where they were asked for
    beliefs: BeliefState | None = None  # of the whole field; None in an explanation from a file or another process

    def __getstate__(self) -> dict[str, Any]:
        # a whole field would travel with every explanation that a worker sends back
        return self.__dict__ | {"beliefs": None}

    @property
    def field_names(self) -> Names | None:
        """Names of all variables; None where `beliefs` is."""
        return None if self.beliefs is None else self.beliefs.mrf.names

    @cached_property
    def uncertainties(self) -> Floats:
        """[n] how far each value may be off: standard error, proven bound and rounding; NaN where nobody knows."""
        worths = [abs(worth) for worth in (self.worth_alone, self.worth_ball) if worth is not None]
        parts = np.nan_to_num(np.abs(self.probabilistic)) + np.nan_to_num(np.abs(self.topological))
        rounding = _ROUNDING * max([*worths, float(parts.max(initial=0.0))])
        uncertainties: Floats = self.std_errors + self.error_bounds + rounding
        return uncertainties

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """[n] what each player does: evidence for or against the state in question, or it only connects.

        The state is the one that the worth speaks of, else the most believed one. Evidence of its own has whose
        probabilistic part is not 0; it speaks for the state where that part is positive. Worths of the whole
        belief have no such sign: there the direction says it.
        """
        pull = self.probabilistic if self.worth_states else self.direction
        least = _ROUNDING * np.nan_to_num(np.abs(self.probabilistic)).max(initial=0.0)
        return tuple(
            "connects" if not abs(own) > least else "for" if towards > 0 else "against"
            for own, towards in zip(self.probabilistic.tolist(), pull.tolist(), strict=True)
        )

    @property
    def order(self) -> dict[Role, list[Hashable]]:
        """Names of the players that speak for the state in question, against it, and that connect.

        The first two by the size of what their evidence says, the third by the size of what their edges carry.
        """
        evidence, edges = np.abs(self.probabilistic), np.abs(self.topological)
        ranked: dict[Role, list[Hashable]] = {}
        for role in get_args(Role):
            sizes = np.nan_to_num(edges if role == "connects" else evidence)
            by_size = np.argsort(-sizes, kind="stable").tolist()
            ranked[role] = [self.paths[i][0] for i in by_size if self.roles[i] == role]
        return ranked

    def equal_to(self, i: int) -> Ints:
        """Positions of all players that are equal to player i, itself among them."""
        return np.flatnonzero(self.groups == self.groups[i])

    def coalitions(self) -> list[tuple[tuple[tuple[Hashable, ...], ...], float]]:
        """All coalitions with their worths, best first.

        A coalition of subtrees is a tuple of edges (pairs of names), one of walks a tuple of walks (names, the
        target first).

        Raises
        ------
        InputError
            They were not kept: ask for them with ``GraphShapley(mrf, keep_coalitions=True)``.
        """
        if self.table is None or self.ball is None:
            raise InputError("the coalitions were not kept: GraphShapley(mrf, keep_coalitions=True) keeps them")
        if isinstance(self.table, WalkTable):
            return self.table.coalitions()
        names, edges, table = self.ball.field.names, self.ball.field.edges, self.table
        found: list[tuple[tuple[tuple[Hashable, ...], ...], float]] = []
        for m in np.argsort(-table.worths, kind="stable").tolist():
            rows = table.edges[table.offsets[m] : table.offsets[m + 1]]
            pairs = tuple((names[int(a)], names[int(b)]) for a, b in edges[rows])
            found.append((pairs, float(table.worths[m])))
        return found
