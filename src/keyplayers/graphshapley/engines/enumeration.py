"""The first engine: every coalition of the ball, each exactly once (the paper's Algorithm 1).

Depth-first include/forbid over frontier edges. One sweep up and one down the coalition price all that it is
asked for: its own worth, its worth without each member, and with each member's prior made uniform; so a
contribution costs a constant number of steps, not a propagation.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..._base.interrupts import deferred_interrupt
from ..._base.progress import Progress, Silent
from ...errors import ContradictionError, TooLargeError
from ...mrf.balls import Ball
from ...mrf.field import MarkovRandomField
from ..game.game import CoalitionTable, EngineResult, Game
from ..game.slots import per_slot, scaled_logs, silent_slots, slot_edges
from ..game.worth import CONTRAST, LOG_ODDS, LOG_ZERO, Worth, replaces_zero, worth_of
from . import _enumeration_kernels as kernels

# Largest range of all factors together, in nats, at which numbers are kept linear: exp(-650) and products with
# as many factors' maxima stay clear of the smallest double, exp(-708). Beyond it logarithms are used.
MAX_LINEAR_RANGE = 650.0
# What a bound on log10 of a count may be off by.
_ROUNDING = 1e-6
# Coalitions counted before progress moves and Ctrl-C is heard again: a tenth of a second.
_COUNTED_AT_ONCE = 2**24
# Coalitions beyond which nobody waits for a count before their worths are computed: some seconds.
MAX_COUNTED = 2**30
# Moves of the search (two per coalition) and members of the ball that one block prices: some hundredths of a
# second, after which progress moves and Ctrl-C is heard. Blocks do not change the result.
_BLOCK_MOVES = 2**14
_BLOCK_MEMBERS = 2**18


def count_coalitions(ball: Ball, limit: int, progress: Progress | None = None) -> int:
    """How many coalitions the ball has, or more than `limit` where there are more: a quick walk without worths.

    Beyond `MAX_COUNTED` the walk ends and the number is that + 1. What `progress` raises ends it, too.
    """
    if ball.log10_tree_coalitions > math.log10(limit + 1) + _ROUNDING:
        return limit + 1
    if ball.is_tree:
        return min(_count_subtrees(ball.parents.tolist()) - 1, limit + 1)
    limit = min(limit, MAX_COUNTED)
    search = _Search.of(ball.field, 0)
    progress = progress or Silent()
    progress.begin("counting coalitions")
    while True:
        before = search.n_seen
        search.advance(min(limit, before + _COUNTED_AT_ONCE))
        if search.done or search.n_seen > limit:
            break
        progress.advance(search.n_seen - before)  # a short count tells nothing: nobody can stop it
    progress.end()
    return search.n_seen


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
    walk = _Walk.begin(game, n_coalitions if keep_table else 0)
    progress.begin("coalitions", n_coalitions if counted else None)
    interrupted = False
    try:
        with deferred_interrupt() as pressed:
            while not (walk.done or interrupted):
                progress.advance(walk.visit())
                interrupted = pressed() or walk.search.n_seen >= max_evals
    except KeyboardInterrupt:  # from whoever shows the progress
        interrupted = True
    progress.end()
    return walk.result(interrupted and not walk.done)


def too_many(ball: Ball, max_evals: int) -> str:
    """Why enumeration cannot be used on a ball, and what to change."""
    lower, upper = ball.log10_coalition_bounds
    if ball.is_tree:
        count = f"about 10^{lower:.1f}" if lower > 7 else f"{round(10**lower):,}"
    else:
        count = f"between 10^{max(lower, math.log10(max_evals + 1)):.1f} and 10^{upper:.1f}"
    return (
        f"enumeration gives up: the ball of radius {ball.radius} around {ball.target!r} "
        f"({ball.n_variables:,} variables, {ball.n_edges:,} edges) has {count} coalitions, "
        f"more than max_evals={max_evals:,}; a smaller radius makes the ball smaller, a larger max_evals takes "
        "longer"
    )


def _count_subtrees(parents: list[int]) -> int:
    """Subtrees that hang at the root of a tree, the root alone included; parents come before their children."""
    hanging = [1] * len(parents)
    for v in range(len(parents) - 1, 0, -1):
        hanging[parents[v]] *= 1 + hanging[v]
    return hanging[0]


def log_range(field: MarkovRandomField) -> float:
    """Bound on the range, in nats, of the numbers met on any coalition: of the factors and of their sums."""
    per_prior = _ranges(field.log_priors, field.offsets[:-1])
    per_potential = _ranges(field.log_potentials, field.potential_offsets[:-1])
    n_joined = field.n_variables - 1  # a coalition has at most so many edges
    largest = np.sort(per_potential[field.potential_index])[::-1][:n_joined]
    return float(per_prior.sum() + largest.sum() + np.log(field.n_states).sum())


def local_log_range(field: MarkovRandomField) -> float:
    """The same where messages are brought to one scale on the way; infinite where a potential holds zeros.

    Entries of a message then differ by no more than entries of its positive potential, those of a product by no
    more than the sum around one variable; maps to the target by that around the target besides.
    """
    if np.isneginf(field.log_potentials).any():
        return np.inf
    per_slot_range = _ranges(field.log_potentials, field.potential_offsets[:-1])[field.slots.tables >> 1]
    senders = np.repeat(np.arange(field.n_variables), np.diff(field.slots.offsets))
    per_variable = np.bincount(senders, per_slot_range, minlength=field.n_variables)
    around = per_variable + _ranges(field.log_priors, field.offsets[:-1])
    return float(2 * around.max(initial=0.0) + around[0])


def _ranges(logs: Floats, starts: Ints) -> Floats:
    """Largest minus smallest finite number of each stretch."""
    if not len(starts):
        return np.zeros(0)
    high = np.maximum.reduceat(logs, starts)
    low = np.minimum.reduceat(np.where(np.isneginf(logs), np.inf, logs), starts)
    ranges: Floats = high - low
    return ranges


@dataclass(frozen=True, eq=False)
class _Search:
    """The include/forbid search under way: its state and its graph, as the kernel takes them."""

    tape: Ints  # moves of the latest block
    cursor: Ints  # [5]
    arrays: tuple[Ints, ...]  # stack, position, candidates, resume, lengths, offsets, neighbours

    @classmethod
    def of(cls, field: MarkovRandomField, n_moves: int) -> "_Search":
        """A search that has seen nothing, with a tape of so many moves."""
        n, slots = field.n_variables, field.slots
        stack, position, resume, lengths = (np.zeros(n, dtype=np.int32) for _ in range(4))
        candidates = np.zeros(field.n_edges + 1, dtype=np.int32)
        arrays = (stack, position, candidates, resume, lengths, slots.offsets, slots.neighbours)
        return cls(np.zeros(n_moves, dtype=np.int32), np.zeros(5, dtype=np.int64), arrays)

    def advance(self, limit: int) -> Ints:
        """The next moves; none when all is done or more than `limit` coalitions were seen."""
        return self.tape[: kernels.search(self.tape, limit, self.cursor, *self.arrays)]

    @property
    def n_seen(self) -> int:
        return int(self.cursor[kernels.N_SEEN])

    @property
    def done(self) -> bool:
        return bool(self.cursor[kernels.DONE])


@dataclass(eq=False)
class _Walk:
    """Enumeration under way: the search, the sums so far, and the kernel that prices, with its arguments."""

    game: Game
    search: _Search
    wants_split: Bools  # [n] whether a prior is not uniform
    silent: Bools  # [slots] whether a leaf with a uniform prior sends a uniform message
    stacks: tuple[Ints, ...]  # stack, parents, taken, position of the members; the stack of the tally
    partial: Floats  # [n, 5] sums since the member at each position joined, see `tally`
    sums: Floats  # [n, 5]
    split_sums: Floats  # [n, 2]
    omission_sums: Floats  # [n, 2]
    extremes: Floats  # [2]
    met_zero: Bools  # [1]
    record: Ints  # [M, 2] the coalition that each extends (-1: the target alone), and by which edge
    record_worths: Floats  # [M, 2]
    size: int = 1

    @classmethod
    def begin(cls, game: Game, n_recorded: int) -> "_Walk":
        """An enumeration that has seen nothing yet."""
        field, n = game.ball.field, game.ball.n_variables
        wants_split = _ranges(field.log_priors, field.offsets[:-1]) > 0
        wants_split |= np.logical_or.reduceat(np.isneginf(field.log_priors), field.offsets[:-1])
        stacks = tuple(np.zeros(n, dtype=np.int32) for _ in range(5))
        return cls(
            game=game,
            search=_Search.of(field, max(min(_BLOCK_MOVES, _BLOCK_MEMBERS // n), 2)),
            wants_split=wants_split,
            silent=silent_slots(field),
            stacks=stacks,
            partial=np.zeros((n, 5)),
            sums=np.zeros((n, 5)),
            split_sums=np.zeros((n, 2)),
            omission_sums=np.zeros((n, 2)),
            extremes=np.array([np.inf, -np.inf]),
            met_zero=np.zeros(1, dtype=bool),
            record=np.zeros((n_recorded, 2), dtype=np.int64),
            record_worths=np.zeros((n_recorded, 2)),
        )

    def __post_init__(self) -> None:
        field, n = self.game.ball.field, self.game.ball.n_variables
        too_wide = log_range(field) > MAX_LINEAR_RANGE
        binary = field.uniform_n_states == 2 and not (too_wide and local_log_range(field) > MAX_LINEAR_RANGE)
        self._price = kernels.price_binary if binary else kernels.price_general
        self._arguments = self._binary(too_wide) if binary else self._general(too_wide)
        self._senders = np.repeat(np.arange(n, dtype=np.int32), np.diff(field.slots.offsets))
        self._is_leaf = np.zeros(n, dtype=bool)
        self._worths = np.zeros((len(self.search.tape), 2))
        self._chain = np.zeros(n, dtype=np.int64)
        self._slot_edges = slot_edges(field)

    @property
    def done(self) -> bool:
        return self.search.done

    def visit(self) -> int:
        """Go through the coalitions of another block; how many there were."""
        before = self.search.n_seen
        tape = self.search.advance(np.iinfo(np.int64).max - 1)
        neighbours = self.game.ball.field.slots.neighbours
        *stacks, tally_stack = self.stacks
        self._price(
            *(tape, self._worths, self.size, *stacks, self._is_leaf, neighbours, self._senders),
            *self._arguments,
        )
        self.size = kernels.tally(
            *(tape, self._worths, self.size, tally_stack, self.partial, self.sums, self.extremes, neighbours),
            *(self._chain, self._slot_edges, self.record, self.record_worths),
        )
        return self.search.n_seen - before

    def _binary(self, rescaled: bool) -> tuple[Any, ...]:
        field, worth, direction = self.game.ball.field, self.game.worth, self.game.direction
        n = field.n_variables
        slots = field.slots
        phi = np.exp(scaled_logs(field.log_priors, field.offsets[:-1])).reshape(n, 2)
        tables = np.exp(scaled_logs(field.log_potentials, field.potential_offsets[:-1])).reshape(-1, 2, 2)
        # the sender of a slot is the parent: rows of its matrix are states of the receiver
        both = np.stack([tables.transpose(0, 2, 1), tables], axis=1).reshape(-1, 4)
        log_b = worth.log_belief
        minor = int(np.argmin(log_b))
        floored = np.where(np.isneginf(log_b), LOG_ZERO, log_b)
        return (
            *(phi, both[slots.tables], self.wants_split, self.silent, not self.game.ball.is_tree, rescaled),
            *(_binary_code(worth), worth.state, _binary_code(direction), direction.state),
            *(minor, math.exp(log_b[minor]), floored[minor] - floored[1 - minor]),
            *(self.split_sums, self.omission_sums, self.met_zero, np.zeros((n, 6)), np.zeros((n, 6))),
        )

    def _general(self, in_logs: bool) -> tuple[Any, ...]:
        field, worth, direction = self.game.ball.field, self.game.worth, self.game.direction
        n, width = field.n_variables, int(field.n_states.max())
        log_phi = np.full((n, width), -np.inf)
        log_phi[np.arange(width) < field.n_states[:, None]] = scaled_logs(field.log_priors, field.offsets[:-1])
        potentials, places = per_slot(field)
        scratch = [np.zeros((n + 1, width)) for _ in range(4)]
        return (
            *(field.n_states.astype(np.int32), log_phi if in_logs else np.exp(log_phi)),
            *(potentials if in_logs else np.exp(potentials), places, in_logs),
            *(self.wants_split, self.silent, not self.game.ball.is_tree),
            *(worth.code, worth.state, worth.rival, direction.code, direction.state),
            *(worth.log_belief.copy(), np.exp(worth.log_belief)),  # a copy: one type of array, one compilation
            *(self.split_sums, self.omission_sums, self.met_zero, *scratch, np.zeros(width)),
            *(np.zeros((2 * n, width)), np.zeros(2 * n, dtype=np.int32), np.zeros(2 * n, dtype=np.int32)),
        )

    def result(self, stopped: bool) -> EngineResult:
        """Means from sums."""
        totals, sums = self._totals()
        if np.isnan(totals).any() or np.isnan(self.omission_sums).any() or np.isnan(self.split_sums).any():
            raise ContradictionError(
                f"on some coalition exact zeros exclude every state of {self.game.ball.target!r}: "
                "the field contradicts itself"
            )
        counts = sums[1:, 4]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (sums[1:, [0, 2]] + sums[1:, [1, 3]]) / counts[:, None]
            if self.game.ball.is_tree:
                without = self._mean_omissions(totals, sums)
            else:
                without = self.omission_sums[1:] / counts[:, None]
            as_omissions = np.where(self.split_sums[1:, 1] > 0, self.split_sums[1:, 1] * without[:, 0], 0.0)
            mean_split = (self.split_sums[1:, 0] + as_omissions) / counts
            split = np.where(self.wants_split[1:], mean[:, 0] - mean_split, 0.0)
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
            worth_min=float(self.extremes[0]),
            worth_max=float(self.extremes[1]),
            meets_zero=bool(self.met_zero[0]) or replaces_zero(self.game.worth, self._alone()),
            partial=stopped,
            n_coalitions=None if stopped else float(self.search.n_seen),
            player_counts=None if stopped else counts,
            table=self._table() if len(self.record) else None,
        )

    def _totals(self) -> tuple[Floats, Floats]:
        """Sums over all coalitions [5] and per variable [n, 5]; members still on the stack are folded in."""
        partial, sums = self.partial.copy(), self.sums.copy()
        for k in range(self.size - 1, 0, -1):
            sums[self.stacks[-1][k]] += partial[k]
            partial[k - 1] += partial[k]
        return partial[0], sums

    def _mean_omissions(self, totals: Floats, sums: Floats) -> Floats:
        """[n-1, 2] mean worth and direction of S ∖ v on a tree."""
        alone = self._alone()
        holding = sums.copy()
        holding[0] = totals
        holding[0, 1] += worth_of(self.game.worth, alone)[0]
        holding[0, 3] += worth_of(self.game.direction, alone)[0]
        holding[0, 4] += 1
        apart = holding[self.game.ball.parents[1:]] - sums[1:]
        means: Floats = (apart[:, [0, 2]] + apart[:, [1, 3]]) / apart[:, 4:]
        return means

    def _alone(self) -> Floats:
        """[1, K] log-belief of the target alone."""
        log_prior = self.game.ball.field.log_prior(self.game.ball.target)
        alone: Floats = (log_prior - np.logaddexp.reduce(log_prior))[None]
        return alone

    def _table(self) -> CoalitionTable:
        """Coalitions as lists of edges, from chains of coalitions that extend one another."""
        m = self.search.n_seen
        parents, edges = self.record[:m].T
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
        return CoalitionTable(offsets, flat, self.record_worths[:m, 0], self.record_worths[:m, 1])


def _binary_code(worth: Worth) -> int:
    """A contrast of two states is their log-odds."""
    return LOG_ODDS if worth.code == CONTRAST else worth.code
