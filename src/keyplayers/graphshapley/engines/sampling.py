"""The sampling engine: coalitions drawn uniformly, values with standard errors.

What dangles from the ball's cycles (on a tree: everything) is drawn independently and exactly; only the rest,
the core, needs a Markov chain. Its law is that of the whole ball's coalitions with the dangling trees summed
out, so a subtree T of the core has the weight Π_{v in T} N(v).
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import fdtrc

from ..._base.arrays import Bools, Floats, Ints
from ..._base.interrupts import deferred_interrupt
from ..._base.parallel import n_threads, thread_map
from ..._base.progress import Progress, Silent
from ..._base.seeding import RandomState, child, seed_sequence
from ...errors import ContradictionError, InputError
from ..game.game import EngineResult, Game
from ..game.packing import PackedField, is_smooth, pack_field
from ..game.symmetry import Branches, equal_players, find_branches
from . import _sampling_kernels as kernels

# Independent chains. Even ones start from the target alone, odd ones from a spanning tree.
_CHAINS = 4
# Batches that each chain keeps; when all are full they are joined in pairs, so between half and all of them
# are in use. Fewer would make the standard errors themselves uncertain, more would be shorter than the chain's
# memory.
_BATCHES = 32
# Draws per chain before the first look at the standard errors; later looks come when a share more is done.
_FIRST_ROUND = 128
_NEXT_ROUND = 1.5
# Steps of the chain per draw, per variable of the core, and at least. A fresh spanning tree costs little and
# does most of the mixing; steps only have to change which variables are in. Found by variance times seconds on
# balls of Cora: a quarter as many double the variance, four times as many change nothing.
_STEPS_PER_VARIABLE = 0.5
_MIN_STEPS = 8
# Rounds of that many steps, each with a fresh spanning tree, that run a chain in.
_RUN_IN = 20
# A fresh spanning tree may walk so many steps per step of the chain; where it needs more, it is made less often.
_REFRESH_COST = 10.0
# Gains are averaged over ways into the target where the core has so many variables per edge of the target: in
# smaller ones this costs more than it saves (standard error at equal time, balls of Cora and PubMed).
_ROOM_PER_WAY = 11
# Players whose standard errors decide when to stop.
_WATCHED = 5
# What the engine aims at unless told otherwise: standard errors of the watched players as a share of the largest
# value. It stops short of that after so many draws times variables (some seconds), but not before so many draws.
_RELATIVE_GOAL = 0.01
_MAX_WORK = 10_000_000
_MIN_DRAWS = 2_000
# Chains disagree where the differences between them would arise by chance less often than this (for any player).
_DISAGREEMENT = 1e-4
# Effective number of contributions, (Σ|y|)²/Σy², below which a standard error may be luck.
_FEW = 50.0
# Contributions whose variance is at most this share of their mean's square differ by rounding.
_ROUNDING = 1e-12
# Seconds between two signs of life.
_BLOCK_SECONDS = 0.2


class Core(NamedTuple):
    """What the kernels know of the variables on cycles, or between them and the target."""

    ends: Ints  # [m, 2] edges
    end_slots: Ints  # [m, 2] their slots, from either end
    log_weights: Floats  # [n] log N(v) of what dangles at v
    neighbours: Ints  # [2E] of the whole ball
    reverse: Ints  # [2E]
    members: Ints  # [C] the target first
    offsets: Ints  # [n+1] slots within the core of variable v: core_slots[offsets[v] : offsets[v+1]]
    slots: Ints  # [2m]


class Pendant(NamedTuple):
    """What dangles, apart from branches that have nothing to say: those need not be drawn."""

    offsets: Ints  # [n+1] branches at v: offsets[v] .. offsets[v+1]
    kids: Ints  # variable at which the branch begins
    slots: Ints  # slot by which it hangs
    chances: Floats  # probability N / (1 + N) that a coalition with v takes it in


@dataclass
class _Chain:
    """One stream of coalitions; it can be continued at any time."""

    rng: np.random.Generator
    state: tuple[Ints, Bools, Ints, Ints]
    rows: tuple[Ints, Ints, Ints, Ints, Ints]
    work: tuple[Any, ...]  # scratch, see the kernels
    tally: tuple[Ints, Floats, Floats, Floats, Floats]
    refresh_every: int

    @property
    def n_draws(self) -> int:
        return int(self.tally[0][0])


@dataclass(frozen=True, eq=False)
class Estimate:
    """Ratio estimates from batches; the players of one label share theirs."""

    values: Floats  # [n] NaN where never visited
    std_errors: Floats  # [n]
    visits: Floats  # [n] coalitions seen that hold the player
    effective_sizes: Floats  # [n] independent coalitions that would have given the same standard error
    degrees: int  # of freedom of the standard errors
    chains_agree: bool
    p_agreement: float  # chance of larger differences between the chains, over all players


def sample_game(
    game: Game,
    *,
    max_evals: int | None = None,
    std_error_goal: float | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> EngineResult:
    """Values of all players from uniformly drawn coalitions.

    Parameters
    ----------
    max_evals
        Coalitions to draw at most; default: as many as take some seconds.
    std_error_goal
        Stop when the standard errors of the five largest values are at most this, in the unit of the worth.
        Default: one hundredth of the largest value, or no goal where `max_evals` is given.
    n_jobs
        Threads over the chains; the numbers do not depend on it.

    Raises
    ------
    ContradictionError
        A coalition excludes every assignment: the field does.

    References
    ----------
    Wilson, "Generating random spanning trees more quickly than the cover time", STOC 1996,
    doi:10.1145/237814.237880, for the refreshed trees; Flegal and Jones, "Batch means and spectral variance
    estimators in Markov chain Monte Carlo", Annals of Statistics 2010, doi:10.1214/09-AOS735, for batches.
    """
    if max_evals is not None and max_evals < 1:
        raise InputError(f"max_evals must be at least 1, got {max_evals}")
    if std_error_goal is not None and not std_error_goal > 0:
        raise InputError(f"std_error_goal must be positive, got {std_error_goal}")
    if game.ball.n_variables == 1:
        return EngineResult.zeros(0)
    sampler = Sampler(game, random_state=random_state, n_jobs=n_jobs)
    goal = Goal(std_error_goal, relative=_RELATIVE_GOAL if std_error_goal is None and max_evals is None else None)
    most = max_evals or max(_MIN_DRAWS, _MAX_WORK // game.ball.n_variables)
    return sampler.run(most, goal, progress or Silent())


@dataclass(frozen=True)
class Goal:
    """When values are precise enough: standard errors of the largest ones. None: never."""

    std_error: float | None  # in the unit of the worth
    relative: float | None = None  # as a share of the largest value

    def is_met(self, estimate: Estimate) -> bool:
        """Whether to stop; never while the chains disagree."""
        values, errors = estimate.values[1:], estimate.std_errors[1:]
        if not estimate.chains_agree or np.isnan(values).all():
            return False
        allowed = self.std_error
        if self.relative is not None:
            allowed = self.relative * float(np.nanmax(np.abs(values)))
        return allowed is not None and bool((errors[_largest(values)] <= allowed).all())


class Sampler:
    """Chains over the coalitions of one game, and what they have seen so far."""

    def __init__(self, game: Game, *, random_state: RandomState = None, n_jobs: int | None = None) -> None:
        field = game.ball.field
        self.game = game
        self.n_workers = min(_CHAINS, n_threads(n_jobs))
        self.packed = pack_field(field)
        self.linear = is_smooth(field)
        branches = find_branches(field, self.packed)
        self.labels = equal_players(field, self.packed, branches)
        self.core = _core(game, branches)
        self.pendant, self.silent = _pendant(game, self.packed, branches)
        self.tables = field.slots.tables.astype(np.int64)
        self.ways_in = self._ways_in()
        self.n_steps = max(_MIN_STEPS, math.ceil(_STEPS_PER_VARIABLE * len(self.core.members)))
        self.contradiction = False
        root = seed_sequence(random_state)
        self.chains = [self._start(np.random.default_rng(child(root, c)), c) for c in range(_CHAINS)]
        with thread_map(self.n_workers) as spread:
            walked = spread(self._settle, range(_CHAINS))
        longest = max(1.0, max(walked)) / max(1, self.n_steps)
        for chain in self.chains:
            chain.refresh_every = max(1, math.ceil(longest / _REFRESH_COST))

    def _ways_in(self) -> Ints:
        """Directed table [n] from each neighbour within the core to the target, else -1; empty where too dear."""
        own = self.core.slots[: self.core.offsets[1]]
        if not self.linear or len(own) < 2 or len(own) * _ROOM_PER_WAY > len(self.core.members):
            return np.zeros(0, dtype=np.int64)
        ways_in = np.full(self.game.ball.n_variables, -1)
        ways_in[self.core.neighbours[own]] = self.tables[self.core.reverse[own]]
        return ways_in

    @property
    def n_draws(self) -> int:
        """Coalitions drawn by all chains."""
        return sum(chain.n_draws for chain in self.chains)

    def run(self, max_evals: int, goal: Goal, progress: Progress) -> EngineResult:
        """Draw until the goal is met or `max_evals` coalitions are drawn; Ctrl-C ends it early."""
        total = math.ceil(max_evals / _CHAINS)
        n_draws = min(_FIRST_ROUND, total)
        stopped = False
        progress.begin("sampling coalitions", total * _CHAINS)
        try:
            with deferred_interrupt() as pressed:
                while True:
                    self.advance(n_draws, progress, pressed)
                    estimate = self.estimate()
                    if pressed() or n_draws == total or goal.is_met(estimate):
                        break
                    n_draws = min(total, math.ceil(n_draws * _NEXT_ROUND))
                stopped = pressed()
        except KeyboardInterrupt:
            estimate, stopped = self.estimate(), True
        progress.end()
        return self._result(estimate, stopped)

    def advance(
        self, n_draws: int, progress: Progress | None = None, stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Continue every chain to `n_draws` draws, or until `stop`, in blocks short enough for signs of life."""
        progress = progress or Silent()
        block = 16
        with thread_map(self.n_workers) as spread:
            while (done := self.chains[0].n_draws) < n_draws and not stop():
                goal = min(done + block, n_draws)
                began = time.perf_counter()
                spread(lambda chain: self._draw(chain, goal - chain.n_draws), self.chains)  # noqa: B023
                self._refuse_contradiction()
                progress.advance((goal - done) * _CHAINS)
                seconds = max(time.perf_counter() - began, 1e-4)
                block = max(1, int((goal - done) * min(4.0, _BLOCK_SECONDS / seconds)))

    def _refuse_contradiction(self) -> None:
        if self.contradiction:
            raise ContradictionError(
                f"a coalition around {self.game.ball.target!r} excludes every assignment of its variables: "
                "priors, potentials and evidence contradict each other"
            )

    def estimate(self) -> Estimate:
        """What the draws so far say."""
        used = [_used_batches(chain.tally[0]) for chain in self.chains]
        sums = np.concatenate([chain.tally[1][:n] for chain, n in zip(self.chains, used, strict=True)])
        visits = np.concatenate([chain.tally[2][:n] for chain, n in zip(self.chains, used, strict=True)])
        totals = sum((chain.tally[3] for chain in self.chains), np.zeros((len(self.labels), 4)))
        n_labels = int(self.labels.max()) + 1
        sums, by_label_visits, moments = (_pool(self.labels, n_labels, rows) for rows in (sums, visits, totals.T))
        silent = np.ones(n_labels, dtype=bool)
        silent[self.labels[~self.silent]] = False
        extremes = np.stack([chain.tally[4] for chain in self.chains])
        by_label = ratio_estimate(
            sums,
            by_label_visits,
            squares=moments[2],
            magnitudes=moments[3],
            spread=max(0.0, float(extremes[:, 1].max() - extremes[:, 0].min())),
            chain_of=np.repeat(np.arange(_CHAINS), used),
            silent=silent,
        )
        return Estimate(
            by_label.values[self.labels],
            by_label.std_errors[self.labels],
            visits.sum(axis=0),
            by_label.effective_sizes[self.labels],
            by_label.degrees,
            by_label.chains_agree,
            by_label.p_agreement,
        )

    def _start(self, rng: np.random.Generator, index: int) -> _Chain:
        n, k = self.packed.log_priors.shape
        k_target = int(self.packed.n_states[0])
        state = (np.full(n, -1), np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64), np.full(n, -1))
        integers = [np.full(n, -1) for _ in range(5)]
        work = (
            np.zeros((n, k)),
            np.zeros((n, k), dtype=np.int64),
            np.zeros((n, k)),
            np.zeros(n, dtype=bool),
            np.zeros((n, k_target, k)),
            np.zeros((n, k_target)),
            np.zeros((n, k_target)),
            *(np.zeros(k) for _ in range(3)),
            np.zeros((n, k)),
            np.zeros(n, dtype=bool),
            *(np.zeros(n, dtype=np.int64) for _ in range(5)),
        )
        tally = (
            np.array([0, 1, 0]),
            np.zeros((_BATCHES, n)),
            np.zeros((_BATCHES, n)),
            np.zeros((n, 4)),
            np.array([np.inf, -np.inf, 0.0]),
        )
        rows = (integers[0], integers[1], integers[2], integers[3], integers[4])
        return _Chain(rng, state, rows, work, tally, 1)

    def _settle(self, index: int) -> float:
        chain = self.chains[index]
        return float(
            kernels.settle(_RUN_IN, self.n_steps, index % 2 == 1, chain.rng, tuple(self.core), chain.state)
        )

    def _draw(self, chain: _Chain, n_draws: int) -> None:
        worth, direction = self.game.worth, self.game.direction
        consistent = kernels.sample(
            n_draws,
            self.n_steps,
            chain.refresh_every,
            chain.rng,
            tuple(self.core),
            chain.state,
            tuple(self.pendant),
            self.ways_in,
            self.tables,
            chain.rows,
            tuple(self.packed),
            self.linear,
            (
                *(worth.code, worth.log_belief, worth.state, worth.rival),
                *(direction.code, direction.log_belief, direction.state, direction.rival),
            ),
            chain.work,
            chain.tally,
        )
        if not consistent:
            self.contradiction = True

    def _result(self, estimate: Estimate, partial: bool) -> EngineResult:
        totals = sum((chain.tally[3] for chain in self.chains), np.zeros((len(self.labels), 4)))
        n_labels = int(self.labels.max()) + 1
        pooled = _pool(self.labels, n_labels, totals[:, :2].T)
        visits = _pool(self.labels, n_labels, estimate.visits[None])[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = (pooled / visits)[:, self.labels]
        parts[:, self.silent] = 0.0
        values = estimate.values
        players = slice(1, None)
        extremes = np.stack([chain.tally[4] for chain in self.chains])
        return EngineResult(
            values=values[players],
            std_errors=estimate.std_errors[players],
            error_bounds=np.zeros(len(values) - 1),
            probabilistic=parts[0, players],
            topological=(values - parts[0])[players],
            direction=parts[1, players],
            n_evaluations=self.n_draws,
            worth_min=float(extremes[:, 0].min()),
            worth_max=float(extremes[:, 1].max()),
            meets_zero=bool(extremes[:, 2].any()),
            partial=partial,
            diagnostics=self._diagnostics(estimate),
        )

    def _diagnostics(self, estimate: Estimate) -> dict[str, Any]:
        sizes = estimate.effective_sizes[1:]
        watched = _largest(estimate.values[1:])
        finite = sizes[watched][np.isfinite(sizes[watched])]
        return {
            "law": "chain" if self.core.members.size > 1 else "independent",
            "chains": _CHAINS,
            "batches": estimate.degrees + 1,
            "degrees_of_freedom": estimate.degrees,
            "core_variables": int(self.core.members.size),
            "core_edges": len(self.core.ends),
            "steps_between_draws": self.n_steps,
            "effective_sample_size": float(finite.min()) if finite.size else None,
            "chains_agree": estimate.chains_agree,
            "p_agreement": estimate.p_agreement,
            "never_visited": int(np.isnan(estimate.values[1:]).sum()),
        }


def ratio_estimate(
    sums: Floats,
    visits: Floats,
    *,
    squares: Floats,
    magnitudes: Floats,
    spread: float,
    chain_of: Ints,
    silent: Bools,
) -> Estimate:
    """Ratio estimates ΣY/ΣN with standard errors from batches, and whether the chains agree.

    Parameters
    ----------
    sums, visits
        [B, n] Y and N: summed contributions and visits of each player in each batch.
    squares, magnitudes
        [n] summed squares and summed absolute values of single contributions.
    spread
        How far the worth varied over the coalitions seen.
    chain_of
        [B] the chain of each batch.
    silent
        [n] players whose value is known to be 0.
    """
    n_batches = len(sums)
    total = visits.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = sums.sum(axis=0) / total
        residuals = sums - values * visits
        variance = n_batches / max(n_batches - 1, 1) * (residuals**2).sum(axis=0) / total**2
        # a player whose contribution is always the same: what is left is rounding
        single = np.maximum(squares / total - values**2, 0.0)
        varies = single > _ROUNDING * (values**2 + spread**2)
        p_agreement, by_chain, n_chains = _compare_chains(residuals[:, varies], residuals, chain_of)
        agree = p_agreement >= _DISAGREEMENT
        degrees = n_batches - 1
        if not agree:
            # only the chains as wholes can then be trusted to be independent
            variance = np.maximum(variance, n_chains / (n_chains - 1) * (by_chain**2).sum(axis=0) / total**2)
            degrees = n_chains - 1
        effective = np.where(varies, single / variance, np.inf)
        # Where a few large contributions make up the sum (minor players have heavy tails) the standard error
        # may be small by luck: allow for one coalition more in which the player decides all.
        weighty = magnitudes**2 / squares
        variance = np.where(weighty >= _FEW, variance, variance + (spread / total) ** 2)
    std_errors = np.sqrt(variance) if degrees > 0 else np.full(len(values), np.nan)
    std_errors[total == 0] = np.nan
    values[silent], std_errors[silent], effective[silent] = 0.0, 0.0, np.inf
    return Estimate(values, std_errors, total, effective, degrees, bool(agree), float(p_agreement))


def _compare_chains(tested: Floats, residuals: Floats, chain_of: Ints) -> tuple[float, Floats, int]:
    """An F test of means of chains against batches within chains, Bonferroni over players; sums per chain."""
    chains, counts = np.unique(chain_of, return_counts=True)
    n_chains, n_batches = len(chains), len(residuals)
    by_chain = np.stack([residuals[chain_of == c].sum(axis=0) for c in chains])
    within_degrees = n_batches - n_chains
    if n_chains < 2 or within_degrees < 1 or not tested.size:
        return 1.0, by_chain, n_chains
    means = np.stack([tested[chain_of == c].mean(axis=0) for c in chains])
    between = (counts[:, None] * means**2).sum(axis=0) / (n_chains - 1)
    within = ((tested - means[np.searchsorted(chains, chain_of)]) ** 2).sum(axis=0) / within_degrees
    p = fdtrc(n_chains - 1, within_degrees, between / within)  # chance of a larger F
    return min(1.0, float(p.min()) * len(p)), by_chain, n_chains


def _largest(values: Floats) -> Ints:
    """Positions of the values that decide when to stop."""
    order: Ints = np.argsort(-np.abs(np.nan_to_num(values)), kind="stable")[:_WATCHED]
    return order


def _used_batches(counter: Ints) -> int:
    return math.ceil(int(counter[0]) / int(counter[1]))


def _pool(labels: Ints, n_labels: int, rows: Floats) -> Floats:
    """Sums [R, L] of rows [R, n] over the players of each label."""
    pooled = np.zeros((len(rows), n_labels))
    for row, into in zip(rows, pooled, strict=True):
        into += np.bincount(labels, weights=row, minlength=n_labels)
    return pooled


def _core(game: Game, branches: Branches) -> Core:
    field = game.ball.field
    slots = field.slots
    sender = np.repeat(np.arange(field.n_variables), np.diff(slots.offsets))
    within = branches.stays[sender] & branches.stays[slots.neighbours]
    core_slots = np.flatnonzero(within)
    once = core_slots[sender[core_slots] < slots.neighbours[core_slots]]
    offsets = np.zeros(field.n_variables + 1, dtype=np.int64)
    np.cumsum(np.bincount(sender[core_slots], minlength=field.n_variables), out=offsets[1:])
    return Core(
        ends=np.column_stack([sender[once], slots.neighbours[once]]).astype(np.int64),
        end_slots=np.column_stack([once, slots.reverse[once]]).astype(np.int64),
        log_weights=branches.log_weights,
        neighbours=slots.neighbours.astype(np.int64),
        reverse=slots.reverse.astype(np.int64),
        members=np.flatnonzero(branches.stays),
        offsets=offsets,
        slots=core_slots,
    )


def _pendant(game: Game, packed: PackedField, branches: Branches) -> tuple[Pendant, Bools]:
    """The dangling branches that have something to say, and which variables [n] have not."""
    field = game.ball.field
    n = field.n_variables
    silent = np.zeros(n, dtype=bool)
    telling_below = np.zeros(n, dtype=bool)
    parents = np.zeros(n, dtype=np.int64)
    parents[branches.order] = field.slots.neighbours[branches.up_slots[branches.order]]
    even = packed.even[field.slots.tables]
    for v in branches.order.tolist():
        silent[v] = packed.uniform[v] and even[branches.up_slots[v]] and not telling_below[v]
        if not silent[v]:
            telling_below[parents[v]] = True
    kids = branches.order[~silent[branches.order]]
    kids = kids[np.argsort(parents[kids], kind="stable")]
    offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(parents[kids], minlength=n), out=offsets[1:])
    log_n = branches.log_weights[kids]
    chances = np.exp(log_n - np.logaddexp(0.0, log_n))
    return Pendant(offsets, kids.astype(np.int64), branches.up_slots[kids].astype(np.int64), chances), silent
