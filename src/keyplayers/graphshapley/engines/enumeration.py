"""The first engine: every coalition of the ball, each exactly once (the paper's Algorithm 1).

Depth-first include/forbid over frontier edges. One sweep up and one down the coalition give all beliefs that it is
asked for: its own, without each member, and with each member's prior made uniform; so a contribution costs a
constant number of steps, not a propagation.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.interrupts import deferred_interrupt
from ..._base.progress import Progress, Silent
from ..._base.seeding import RandomState
from ...errors import ContradictionError, TooLargeError
from ..game.beliefs import Beliefs
from ..game.game import CoalitionTable, EngineResult, Game
from ..game.slots import slot_edges
from ..game.worth import meets_zero, price, replaces_zero, worth_of
from . import _sweep_kernels as kernels
from .registry import Request
from .search import MAX_COUNTED, Search, count_coalitions, too_many
from .sweeps import Sweep

# Moves of the search (two per coalition) in one block: some hundredths of a second, after which progress moves and
# Ctrl-C is heard. Blocks do not change the result.
BLOCK_MOVES = 2**14


def refuses(game: Game, request: Request, progress: Progress) -> str | None:
    """Why not all coalitions can be gone through; None where they can."""
    limit = request.enumeration_limit
    if count_coalitions(game.ball, limit, progress) > limit:
        return too_many(game.ball, limit)
    return None


def play(game: Game, request: Request, random_state: RandomState, progress: Progress) -> EngineResult:
    """Go through them."""
    return enumerate_coalitions(
        game, max_evals=request.enumeration_limit, keep_table=request.keep_coalitions, progress=progress
    )


def enumerate_coalitions(
    game: Game, *, max_evals: int, keep_table: bool = False, progress: Progress | None = None
) -> EngineResult:
    """Exact values by going through all coalitions.

    Parameters
    ----------
    max_evals
        Most coalitions whose worth may be computed.
    keep_table
        Whether to return all coalitions with their worths.

    Raises
    ------
    TooLargeError
        There are more coalitions than that; found out before any worth is computed, unless counting alone
        would take long: then the result is partial when `max_evals` are done.
    ContradictionError
        Exact zeros exclude every state of the target on some coalition.

    Notes
    -----
    Sums are kept per variable v: A(v) of worths over the coalitions that hold v, n(v) of their number. On a
    tree the omissions need no worths of their own. S ∖ v runs through the coalitions T that hold v's parent p
    but not v, through each as often as there are subtrees below v; so their mean is
    (A(p) − A(v)) / (n(p) − n(v)), the target alone included where p is the target.

    On Ctrl-C the result is that of the coalitions seen so far, marked `partial`: with cycles the mean over their
    contributions, on a tree the difference of the means over those that hold the player and over those seen
    that hold its parent but not itself; NaN where nothing was seen to compare.

    References
    ----------
    "Rigorous Explanation of Inference on Probabilistic Graphical Models", arXiv:2004.10066, Algorithm 1.
    """
    ball = game.ball
    if ball.n_variables == 1:
        return EngineResult.zeros(0)
    progress = progress or Silent()
    n_coalitions = count_coalitions(ball, max_evals, progress)
    counted = ball.is_tree or n_coalitions <= MAX_COUNTED
    if n_coalitions > max_evals or (keep_table and not counted):
        raise TooLargeError(too_many(ball, max_evals))
    walk = _Walk(game, n_coalitions if keep_table else 0)
    progress.begin("coalitions", n_coalitions if counted else None)
    interrupted = False
    try:
        with deferred_interrupt() as pressed:
            while not (walk.search.done or interrupted):
                progress.advance(walk.visit())
                interrupted = pressed() or walk.search.n_seen >= max_evals
    except KeyboardInterrupt:  # from whoever shows the progress
        interrupted = True
    progress.end()
    return walk.result(interrupted and not walk.search.done)


class Sums(NamedTuple):
    """What has been added up; worth and direction are kept with what rounding loses of them."""

    size: Ints  # [1] members of the coalition at which the tape stands
    stack: Ints  # [n] these
    partial: Floats  # [n, 5] sums since the member at each position joined, as in `holding`
    holding: (
        Floats  # [n, 5] over the coalitions that hold each variable: worth, its rest, direction, its rest, count
    )
    asked: Floats  # [4, n, 2] worth and direction of what was asked, per kind and member

    @classmethod
    def empty(cls, n: int) -> "Sums":
        """Nothing seen yet: the tape stands at the target alone."""
        size, stack = np.ones(1, dtype=np.int64), np.zeros(n, dtype=np.int32)
        return cls(size, stack, np.zeros((n, 5)), np.zeros((n, 5)), np.zeros((4, n, 2)))

    @property
    def omissions(self) -> Floats:
        """[n, 2] worth and direction without each member."""
        omissions: Floats = self.asked[kernels.OMISSION] + self.asked[kernels.OMISSION_AND_SPLIT]
        return omissions

    @property
    def splits(self) -> Floats:
        """[n] worth with each member's prior uniform."""
        splits: Floats = (self.asked[kernels.SPLIT] + self.asked[kernels.OMISSION_AND_SPLIT])[:, 0]
        return splits

    def folded(self) -> tuple[Floats, Floats]:
        """Sums over all coalitions [5] and per variable [n, 5], with those of the members still on the stack."""
        partial, holding = self.partial.copy(), self.holding.copy()
        for k in range(int(self.size[0]) - 1, 0, -1):
            holding[self.stack[k]] += partial[k]
            partial[k - 1] += partial[k]
        return partial[0], holding


class Record(NamedTuple):
    """The coalitions one by one, where they are asked for: M > 0."""

    chain: Ints  # [n] of each position on the stack, the coalition that ends there; chain[0]: how many there are
    slot_edges: Ints  # [2E] row of `field.edges`
    links: Ints  # [M, 2] the coalition that each extends (-1: the target alone), and by which edge
    worths: Floats  # [M, 2] worth and direction

    def table(self) -> CoalitionTable | None:
        """Coalitions as lists of edges, from links of coalitions that extend one another."""
        if not len(self.links):
            return None
        m = int(self.chain[0])
        parents, edges = self.links[:m].T
        sizes = np.zeros(m, dtype=np.int64)
        at = np.arange(m)
        while (on := at >= 0).any():
            sizes += on
            at = np.where(on, parents[at], -1)
        offsets = np.zeros(m + 1, dtype=np.int64)
        np.cumsum(sizes, out=offsets[1:])
        flat = np.empty(offsets[-1], dtype=np.int32)
        at, end = np.arange(m), offsets[1:].copy()
        while at.size:
            end -= 1
            flat[end] = edges[at]
            on = parents[at] >= 0
            at, end = parents[at[on]], end[on]
        return CoalitionTable(offsets, flat, self.worths[:m, 0], self.worths[:m, 1])


@dataclass(eq=False)
class _Walk:
    """Enumeration under way."""

    game: Game
    n_recorded: int
    extremes: tuple[float, float] = (np.inf, -np.inf)
    met_zero: bool = False
    sweep: Sweep = field(init=False)
    search: Search = field(init=False)
    sums: Sums = field(init=False)
    record: Record = field(init=False)

    def __post_init__(self) -> None:
        mrf, m = self.game.ball.field, self.n_recorded
        self.sweep = Sweep(mrf, cyclic=not self.game.ball.is_tree)
        self.search = Search(mrf, BLOCK_MOVES)
        self.sums = Sums.empty(mrf.n_variables)
        chain, links = np.zeros(mrf.n_variables, dtype=np.int64), np.zeros((m, 2), dtype=np.int64)
        self.record = Record(chain, slot_edges(mrf), links, np.zeros((m, 2)))

    def visit(self) -> int:
        """Go through the coalitions of another block; how many there were."""
        before = self.search.n_seen
        tape = self.search.advance(np.iinfo(np.int64).max - 1)
        while len(tape):
            beliefs, own, n_moves = self.sweep.run(tape)
            self._add(tape[:n_moves], beliefs, own)
            tape = tape[n_moves:]
        return self.search.n_seen - before

    def _add(self, tape: Ints, beliefs: Beliefs, at: Ints) -> None:
        asked, game = self.sweep.asked, self.game
        worths, directions = price(game.worth, beliefs), price(game.direction, beliefs)
        self.met_zero |= meets_zero(game.worth, beliefs)
        kernels.add_up(asked, len(beliefs), worths, directions, self.sums)
        own = worths[at]
        kernels.tally(tape, own, directions[at], self.sweep.slots.neighbours, self.sums, self.record)
        low, high = self.extremes
        self.extremes = float(own.min(initial=low)), float(own.max(initial=high))

    def result(self, stopped: bool) -> EngineResult:
        """Means from sums."""
        totals, holding = self.sums.folded()
        omissions, splits = self.sums.omissions, self.sums.splits
        if any(np.isnan(found).any() for found in (totals, omissions, splits)):
            raise ContradictionError(
                f"on some coalition exact zeros exclude every state of {self.game.ball.target!r}: "
                "the field contradicts itself"
            )
        counts = holding[1:, 4]
        uniform_leaves = self.sweep.asked.uniform_leaves[1:]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (holding[1:, [0, 2]] + holding[1:, [1, 3]]) / counts[:, None]
            if self.game.ball.is_tree:
                without = self._mean_omissions(totals, holding)
            else:
                without = omissions[1:] / counts[:, None]
            as_omissions = np.where(uniform_leaves > 0, uniform_leaves * without[:, 0], 0.0)
            mean_split = (splits[1:] + as_omissions) / counts
            split = np.where(self.sweep.slots.wants_split[1:], mean[:, 0] - mean_split, 0.0)
        values = mean - without
        unknown = np.full(len(values), np.nan if stopped else 0.0)
        return EngineResult(
            values=values[:, 0],
            std_errors=unknown,
            error_bounds=unknown.copy(),
            probabilistic=split,
            topological=values[:, 0] - split,
            direction=values[:, 1],
            n_evaluations=self.search.n_seen,
            worth_min=self.extremes[0],
            worth_max=self.extremes[1],
            meets_zero=self.met_zero or replaces_zero(self.game.worth, self._alone()),
            partial=stopped,
            n_coalitions=None if stopped else float(self.search.n_seen),
            player_counts=None if stopped else counts,
            table=self.record.table(),
        )

    def _mean_omissions(self, totals: Floats, holding: Floats) -> Floats:
        """[n-1, 2] mean worth and direction of S ∖ v on a tree."""
        alone = self._alone()
        of_parents = holding.copy()
        of_parents[0] = totals
        of_parents[0, 1] += worth_of(self.game.worth, alone)[0]
        of_parents[0, 3] += worth_of(self.game.direction, alone)[0]
        of_parents[0, 4] += 1
        apart = of_parents[self.game.ball.parents[1:]] - holding[1:]
        means: Floats = (apart[:, [0, 2]] + apart[:, [1, 3]]) / apart[:, 4:]
        return means

    def _alone(self) -> Floats:
        """[1, K] log-belief of the target alone."""
        log_prior = self.game.ball.field.log_prior(self.game.ball.target)
        alone: Floats = (log_prior - np.logaddexp.reduce(log_prior))[None]
        return alone
