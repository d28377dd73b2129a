"""The first engine: every coalition of the ball, each exactly once (the paper's Algorithm 1).

Depth-first include/forbid over frontier edges. One sweep up and one down the coalition price all that it is
asked for: its own worth, its worth without each member, and with each member's prior made uniform; so a
contribution costs a constant number of steps, not a propagation.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..errors import ContradictionError, TooLargeError
from ..mrf.field import MarkovRandomField
from ..mrf.neighbourhood import Ball
from ..progress import Progress, Silent
from . import _enumeration_kernels as kernels
from .game import CoalitionTable, EngineResult, Game
from .worth import CONTRAST, LOG_ODDS, LOG_ZERO, Worth, worth_of

# Largest range of all factors together, in nats, at which numbers are kept linear: exp(-650) and products with
# as many factors' maxima stay clear of the smallest double, exp(-708). Beyond it logarithms are used.
_MAX_LINEAR_RANGE = 650.0
# Coalitions of the first block, and seconds that later ones should take: how often progress moves and Ctrl-C
# is heard. Blocks do not change the result.
_FIRST_BLOCK = 2_000
_BLOCK_SECONDS = 0.1


def count_coalitions(ball: Ball, limit: int) -> int:
    """How many coalitions the ball has, or `limit` + 1 where there are more: a quick walk without worths."""
    if ball.is_tree and 10.0**ball.log10_coalition_bounds[0] > 2.0 * limit + 2.0:
        return limit + 1
    return int(kernels.count_coalitions(limit, *_Search.of(ball.field).arrays))


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
        There are more coalitions than that; found out before any worth is computed.
    ContradictionError
        Exact zeros exclude every state of the target on some coalition.

    Notes
    -----
    Sums are kept per variable v: A(v) of worths over the coalitions that hold v, n(v) of their number. On a
    tree the omissions need no worths of their own. S ∖ v runs through the coalitions T that hold v's parent p
    but not v, through each as often as there are subtrees below v; so their mean is
    (A(p) − A(v)) / (n(p) − n(v)), the target alone included where p is the target.

    On Ctrl-C the result is that of the coalitions seen so far, marked `partial`.

    References
    ----------
    "Rigorous Explanation of Inference on Probabilistic Graphical Models", arXiv:2004.10066, Algorithm 1.
    """
    ball = game.ball
    if ball.n_variables == 1:
        return _nothing(0)
    n_coalitions = count_coalitions(ball, max_evals)
    if n_coalitions > max_evals:
        raise TooLargeError(_too_many(ball, max_evals))
    walk = _Walk.begin(game, n_coalitions if keep_table else 0)
    progress = progress or Silent()
    progress.begin("coalitions", n_coalitions)
    partial = False
    try:
        block = _FIRST_BLOCK
        while not walk.done:
            before, started = walk.n_seen, time.perf_counter()
            walk.visit(block)
            seconds = time.perf_counter() - started
            progress.advance(walk.n_seen - before)
            block = int(min(max(block * _BLOCK_SECONDS / max(seconds, 1e-6), _FIRST_BLOCK), 10 * block))
    except KeyboardInterrupt:
        partial = True
    progress.end()
    return walk.result(partial)


def log_range(field: MarkovRandomField) -> float:
    """Bound on the range, in nats, of the numbers met on any coalition: of the factors and of their sums."""
    per_prior = _ranges(field.log_priors, field.offsets[:-1])
    per_potential = _ranges(field.log_potentials, field.potential_offsets[:-1])
    n_joined = field.n_variables - 1  # a coalition has at most so many edges
    largest = np.sort(per_potential[field.potential_index])[::-1][:n_joined]
    return float(per_prior.sum() + largest.sum() + np.log(field.n_states).sum())


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
    """State of the include/forbid search, in the order in which kernels take it, and its graph."""

    arrays: tuple[Any, ...]  # cursor, stack, parents, taken, position, candidates, resume, lengths, graph [3]
    slot_edges: Ints  # [slots] row of `field.edges`

    @classmethod
    def of(cls, field: MarkovRandomField) -> "_Search":
        """A search that stands at the target."""
        n, slots = field.n_variables, field.slots
        senders = np.repeat(np.arange(n, dtype=np.int32), np.diff(slots.offsets))
        keys = np.minimum(senders, slots.neighbours) * n + np.maximum(senders, slots.neighbours)
        edge_keys = field.edges.min(axis=1).astype(np.int64) * n + field.edges.max(axis=1)
        order = np.argsort(edge_keys)
        slot_edges = order[np.searchsorted(edge_keys[order], keys)]

        def positions() -> Ints:
            return np.zeros(n, dtype=np.int32)

        cursor = np.zeros(6, dtype=np.int64)
        stack, position = positions(), positions()
        candidates = np.zeros(field.n_edges + 1, dtype=np.int32)
        kernels.begin(cursor, stack, position, candidates, slots.offsets)
        arrays = (cursor, stack, positions(), positions(), position, candidates, positions(), positions())
        return cls((*arrays, slots.offsets, slots.neighbours, senders), slot_edges)


@dataclass(eq=False)
class _Walk:
    """Enumeration under way: the search, the sums so far, and the kernel with its arguments."""

    game: Game
    search: _Search
    wants_split: Bools  # [n] whether a prior is not uniform
    partial: Floats  # [n, 5] sums since the member at each position joined, see the kernel
    sums: Floats  # [n, 5]
    split_sums: Floats  # [n]
    omission_sums: Floats  # [n, 2]
    extremes: Floats  # [2]
    record_parents: Ints  # [M] the coalition that each extends by one edge, -1 for the target alone
    record_edges: Ints  # [M]
    record_worths: Floats  # [M, 2]
    kernel: Any
    arguments: tuple[Any, ...]

    @classmethod
    def begin(cls, game: Game, n_recorded: int) -> "_Walk":
        """An enumeration that has seen nothing yet."""
        field, n = game.ball.field, game.ball.n_variables
        wants_split = _ranges(field.log_priors, field.offsets[:-1]) > 0
        wants_split |= np.logical_or.reduceat(np.isneginf(field.log_priors), field.offsets[:-1])
        walk = cls(
            game=game,
            search=_Search.of(field),
            wants_split=wants_split,
            partial=np.zeros((n, 5)),
            sums=np.zeros((n, 5)),
            split_sums=np.zeros(n),
            omission_sums=np.zeros((n, 2)),
            extremes=np.array([np.inf, -np.inf]),
            record_parents=np.zeros(n_recorded, dtype=np.int64),
            record_edges=np.zeros(n_recorded, dtype=np.int32),
            record_worths=np.zeros((n_recorded, 2)),
            kernel=None,
            arguments=(),
        )
        in_logs = log_range(field) > _MAX_LINEAR_RANGE
        if field.uniform_n_states == 2 and not in_logs:
            walk._play_binary()
        else:
            walk._play_general(in_logs)
        return walk

    @property
    def n_seen(self) -> int:
        return int(self.search.arrays[0][kernels.N_SEEN])

    @property
    def done(self) -> bool:
        return bool(self.search.arrays[0][kernels.DONE])

    def visit(self, n_more: int) -> None:
        """Go on through up to `n_more` coalitions."""
        self.kernel(n_more, *self.search.arrays, *self.arguments)

    def _play_binary(self) -> None:
        field, worth, direction = self.game.ball.field, self.game.worth, self.game.direction
        n = field.n_variables
        slots = field.slots
        phi = np.exp(_scaled(field.log_priors, field.offsets[:-1])).reshape(n, 2)
        tables = np.exp(_scaled(field.log_potentials, field.potential_offsets[:-1])).reshape(-1, 2, 2)
        # the sender of a slot is the parent: rows of its matrix are states of the receiver
        both = np.stack([tables.transpose(0, 2, 1), tables], axis=1).reshape(-1, 4)
        log_b = worth.log_belief
        minor = int(np.argmin(log_b))
        floored = np.where(np.isneginf(log_b), LOG_ZERO, log_b)
        self.kernel = kernels.walk_binary
        self.arguments = (
            *(phi, both[slots.tables], self.wants_split, not self.game.ball.is_tree),
            *(_binary_code(worth), worth.state, _binary_code(direction), direction.state),
            *(minor, math.exp(log_b[minor]), floored[minor] - floored[1 - minor]),
            *(self.partial, self.sums, self.split_sums, self.omission_sums, self.extremes),
            *(np.zeros((n, 6)), np.zeros((n, 6)), np.zeros(n, dtype=np.int64), self.search.slot_edges),
            *(self.record_parents, self.record_edges, self.record_worths),
        )

    def _play_general(self, in_logs: bool) -> None:
        field, worth, direction = self.game.ball.field, self.game.worth, self.game.direction
        n, width = field.n_variables, int(field.n_states.max())
        log_phi = np.full((n, width), -np.inf)
        log_phi[np.arange(width) < field.n_states[:, None]] = _scaled(field.log_priors, field.offsets[:-1])
        potentials = _scaled(field.log_potentials, field.potential_offsets[:-1])
        table, transposed = field.slots.tables >> 1, (field.slots.tables & 1) == 1
        rows, columns = field.potential_shapes[table].astype(np.int64).T
        # rows of a table belong to the sender, the parent, unless it is read transposed
        places = np.column_stack(
            [
                field.potential_offsets[table],
                np.where(transposed, columns, 1),
                np.where(transposed, 1, columns),
                np.where(transposed, rows, columns),
                np.where(transposed, columns, rows),
            ]
        )
        scratch = [np.zeros((n, width)) for _ in range(4)]
        self.kernel = kernels.walk_general
        self.arguments = (
            *(field.n_states, log_phi if in_logs else np.exp(log_phi)),
            *(potentials if in_logs else np.exp(potentials), places, in_logs),
            *(self.wants_split, not self.game.ball.is_tree),
            *(worth.code, worth.state, worth.rival, direction.code, direction.state, worth.log_belief),
            *(self.partial, self.sums, self.split_sums, self.omission_sums, self.extremes),
            *(*scratch, np.zeros(width), np.zeros(width), np.zeros(n, dtype=np.int64), self.search.slot_edges),
            *(self.record_parents, self.record_edges, self.record_worths),
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
            split = np.where(self.wants_split[1:], mean[:, 0] - self.split_sums[1:] / counts, 0.0)
        values = mean - without
        unknown = np.full(len(values), np.nan if stopped else 0.0)
        return EngineResult(
            values=values[:, 0],
            std_errors=unknown,
            error_bounds=unknown.copy(),
            probabilistic=split,
            topological=values[:, 0] - split,
            direction=values[:, 1],
            n_evaluations=self.n_seen,
            worth_min=float(self.extremes[0]),
            worth_max=float(self.extremes[1]),
            meets_zero=bool(self.search.arrays[0][kernels.MET_ZERO]),
            partial=stopped,
            n_coalitions=None if stopped else float(self.n_seen),
            player_counts=None if stopped else counts,
            table=self._table() if len(self.record_edges) else None,
        )

    def _totals(self) -> tuple[Floats, Floats]:
        """Sums over all coalitions [5] and per variable [n, 5]; members still on the stack are folded in."""
        partial, sums = self.partial.copy(), self.sums.copy()
        cursor, stack = self.search.arrays[:2]
        for k in range(int(cursor[kernels.SIZE]) - 1, 0, -1):
            kernels.fold(k, stack[k], partial, sums)
        return partial[0], sums

    def _mean_omissions(self, totals: Floats, sums: Floats) -> Floats:
        """[n-1, 2] mean worth and direction of S ∖ v on a tree."""
        alone = self.game.ball.field.log_priors[: self.game.ball.field.n_states[0]]
        alone = (alone - np.logaddexp.reduce(alone))[None]
        holding = sums.copy()
        holding[0] = totals
        holding[0, 1] += worth_of(self.game.worth, alone)[0]
        holding[0, 3] += worth_of(self.game.direction, alone)[0]
        holding[0, 4] += 1
        apart = holding[self.game.ball.parents[1:]] - sums[1:]
        means: Floats = (apart[:, [0, 2]] + apart[:, [1, 3]]) / apart[:, 4:]
        return means

    def _table(self) -> CoalitionTable:
        """Coalitions as lists of edges, from chains of coalitions that extend one another."""
        m = self.n_seen
        parents, edges = self.record_parents[:m], self.record_edges[:m]
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


def _scaled(logs: Floats, starts: Ints) -> Floats:
    """Each stretch less its maximum."""
    if not len(starts):
        return logs
    lengths = np.diff(np.append(starts, len(logs)))
    return logs - np.repeat(np.maximum.reduceat(logs, starts), lengths)


def _nothing(n: int) -> EngineResult:
    """The result where no coalition exists."""
    zeros = np.zeros(n)
    return EngineResult(zeros, zeros, zeros, zeros, zeros, zeros, 0, np.inf, -np.inf, False, False, 0.0, zeros)


def _too_many(ball: Ball, max_evals: int) -> str:
    lower, upper = ball.log10_coalition_bounds
    if ball.is_tree:
        count = f"about 10^{lower:.1f}" if lower > 7 else f"{round(10**lower):,}"
    else:
        count = f"between 10^{max(lower, math.log10(max_evals + 1)):.1f} and 10^{upper:.1f}"
    return (
        f"enumeration gives up: the ball of radius {ball.radius} around {ball.target!r} "
        f"({ball.n_variables:,} variables, {ball.n_edges:,} edges) has {count} coalitions, "
        f"more than max_evals={max_evals:,}"
    )
