"""The sampling engine: coalitions drawn uniformly, values with standard errors.

What dangles from the ball's cycles (on a tree: everything) is drawn independently and exactly; only the rest,
the core, needs a Markov chain.
"""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.interrupts import deferred_interrupt
from ..._base.parallel import n_threads, thread_map
from ..._base.progress import Progress, Silent
from ..._base.seeding import RandomState, child, seed_sequence
from ...errors import ContradictionError, InputError
from ..game.game import EngineResult, Game
from ..game.packing import PackedField, is_smooth, pack_field
from ..game.ranges import largest_contributions
from ..game.symmetry import equal_players, find_branches
from ..game.worth import meets_zero, price
from . import _forest_kernels, _rehanging_kernels
from .chain import Chain, Core, Pendant, find_core, find_pendant
from .estimates import Estimate, Goal, Players, Tally, estimate_values, largest, pool
from .forests import AskedRows, Forest, Work, beliefs_of, sweep
from .rehanging import Ways, make_ways, n_hung, no_ways, tables_into_target

# Independent chains. Even ones start from the target alone, odd ones from a spanning tree.
_CHAINS = 4
# Draws per chain before the first look at the standard errors; later looks come when a share more is done.
_FIRST_ROUND = 128
_NEXT_ROUND = 1.5
# What the engine aims at unless told otherwise: standard errors of the watched players as a share of the largest
# value. It stops short of that after so many draws times variables (some seconds), but not before so many draws.
_RELATIVE_GOAL = 0.01
_MAX_WORK = 10_000_000
_MIN_DRAWS = 2_000
# Seconds between two signs of life.
_BLOCK_SECONDS = 0.2


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
    doi:10.1145/237814.237880, for the fresh spanning trees; Flegal and Jones, "Batch means and spectral variance
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


class PricedRows(NamedTuple):
    """The beliefs of a block with their worths, and the gains of its rows, as the tally reads them."""

    without: Ints  # [R] see AskedRows
    flattened: Ints  # [R]
    worths: Floats  # [A]
    directions: Floats  # [A]
    gains: Floats  # [R, 3] scratch: contribution, its part due to the prior, contribution under the direction


class _Stream:
    """A chain with all that turns its coalitions into sums; streams share nothing that is written to."""

    def __init__(self, game: Game, packed: PackedField, chain: Chain, linear: bool, ways_in: Ints | None) -> None:
        n = game.ball.n_variables
        self.game, self.packed, self.chain = game, packed, chain
        self.forest = Forest.empty(n, game.ball.field.slots.tables.astype(np.int64))
        n_rows, (_, k) = len(self.forest.variables), packed.log_priors.shape
        self.averages = ways_in is not None
        self.ways: Ways = no_ways(k) if ways_in is None else make_ways(chain.core, ways_in, n_rows, k)
        self.work = Work.empty(n_rows, packed, linear=linear)
        n_beliefs = 2 * n_rows + 2 * n_hung(n_rows) * self.averages
        self.asked = AskedRows.empty(n_rows, n_beliefs, int(packed.n_states[0]))
        self.gains = np.zeros((n_rows, 3))
        self.tally = Tally.empty(n)
        self.extremes = (np.inf, -np.inf)
        self.met_zero = False
        self.contradiction = False

    @property
    def n_draws(self) -> int:
        """Coalitions drawn so far."""
        return int(self.tally.counter[0])

    def advance(self, n_draws: int) -> None:
        """Draw so many more coalitions, block by block, and add up the contributions of their members."""
        while n_draws > 0 and not self.contradiction:
            n_drawn = self.chain.draw(n_draws, self.forest)
            self._add(n_drawn)
            n_draws -= n_drawn

    def _add(self, n_drawn: int) -> None:
        n_asked = sweep(self.forest, n_drawn, self.packed, self.work, self.asked)
        if n_asked is None:
            self.contradiction = True
            return
        if self.averages:
            n_asked = _rehanging_kernels.rehang(
                n_drawn, n_asked, self.forest, self.packed, self.work, self.ways, self.asked
            )
        beliefs = beliefs_of(self.asked, n_asked)
        worths, directions = price(self.game.worth, beliefs), price(self.game.direction, beliefs)
        starts = self.forest.starts[: n_drawn + 1]
        coalitions = self.asked.without[starts[:-1]][np.diff(starts) > 1]  # the target alone is no coalition
        self.contradiction = bool(np.isnan(worths[self.asked.without[starts[:-1]]]).any())
        self.met_zero |= beliefs.has_zeros and meets_zero(self.game.worth, beliefs)
        low, high = self.extremes
        self.extremes = float(worths[coalitions].min(initial=low)), float(worths[coalitions].max(initial=high))
        priced = PricedRows(self.asked.without, self.asked.flattened, worths, directions, self.gains)
        _forest_kernels.tally(n_drawn, self.forest, priced, self.ways.hung, self.tally)


class Sampler:
    """Chains over the coalitions of one game, and what they have seen so far."""

    def __init__(self, game: Game, *, random_state: RandomState = None, n_jobs: int | None = None) -> None:
        field = game.ball.field
        self.game = game
        self.n_workers = min(_CHAINS, n_threads(n_jobs))
        packed, linear = pack_field(field), is_smooth(field)
        branches = find_branches(field, packed)
        labels = equal_players(field, packed, branches)
        self.core: Core = find_core(field, branches)
        self.pendant: Pendant
        self.pendant, silent = find_pendant(field, packed, branches)
        self.players = Players.of(labels, silent, largest_contributions(field, game.worth))
        self.ways_in = tables_into_target(self.core, field.slots.tables, linear=linear)
        root = seed_sequence(random_state)
        chains = [
            Chain(self.core, self.pendant, np.random.default_rng(child(root, c)), spanning=c % 2 == 1)
            for c in range(_CHAINS)
        ]
        with thread_map(self.n_workers) as spread:
            longest = max(spread(Chain.burn_in, chains))
        for chain in chains:
            chain.set_pace(longest)
        self.streams = [_Stream(game, packed, chain, linear, self.ways_in) for chain in chains]

    @property
    def n_draws(self) -> int:
        """Coalitions drawn by all chains."""
        return sum(stream.n_draws for stream in self.streams)

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
                    first = n_draws <= _FIRST_ROUND  # what is rare has had no chance yet
                    if pressed() or n_draws == total or (not first and goal.is_met(estimate)):
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
            while (done := self.streams[0].n_draws) < n_draws and not stop():
                goal = min(done + block, n_draws)
                began = time.perf_counter()
                spread(lambda stream: stream.advance(goal - stream.n_draws), self.streams)  # noqa: B023
                self._refuse_contradiction()
                progress.advance((goal - done) * _CHAINS)
                seconds = max(time.perf_counter() - began, 1e-4)
                block = max(1, int((goal - done) * min(4.0, _BLOCK_SECONDS / seconds)))

    def _refuse_contradiction(self) -> None:
        if any(stream.contradiction for stream in self.streams):
            raise ContradictionError(
                f"a coalition around {self.game.ball.target!r} excludes every assignment of its variables: "
                "priors, potentials and evidence contradict each other"
            )

    def estimate(self) -> Estimate:
        """What the draws so far say."""
        low, high = self._extremes()
        tallies = [stream.tally for stream in self.streams]
        return estimate_values(tallies, self.players, max(0.0, high - low), dependent=self.dependent)

    @property
    def dependent(self) -> bool:
        """Whether draws come from a Markov chain."""
        return self.core.members.size > 1

    def _extremes(self) -> tuple[float, float]:
        """Smallest and largest worth seen."""
        lows, highs = zip(*(stream.extremes for stream in self.streams), strict=True)
        return min(lows), max(highs)

    def _result(self, estimate: Estimate, partial: bool) -> EngineResult:
        labels = self.players.labels
        totals = sum((stream.tally.totals for stream in self.streams), np.zeros((len(labels), 4)))
        with np.errstate(invalid="ignore", divide="ignore"):
            visits = pool(labels, estimate.visits[None])[0]
            parts = (pool(labels, totals[:, :2].T) / visits)[:, labels]
        parts[:, self.players.silent] = 0.0
        values = estimate.values
        players = slice(1, None)
        low, high = self._extremes()
        return EngineResult(
            values=values[players],
            std_errors=estimate.std_errors[players],
            error_bounds=np.zeros(len(values) - 1),
            probabilistic=parts[0, players],
            topological=(values - parts[0])[players],
            direction=parts[1, players],
            n_evaluations=self.n_draws,
            worth_min=low,
            worth_max=high,
            meets_zero=any(stream.met_zero for stream in self.streams),
            partial=partial,
            diagnostics=self._diagnostics(estimate),
        )

    def _diagnostics(self, estimate: Estimate) -> dict[str, Any]:
        sizes = estimate.effective_sizes[1:]
        watched = largest(estimate.values[1:])
        finite = sizes[watched][np.isfinite(sizes[watched])]
        return {
            "law": "chain" if self.dependent else "independent",
            "chains": _CHAINS,
            "batches": estimate.degrees + 1,
            "degrees_of_freedom": estimate.degrees,
            "core_variables": int(self.core.members.size),
            "core_edges": len(self.core.ends),
            "steps_between_draws": self.streams[0].chain.n_steps,
            "effective_sample_size": float(finite.min()) if finite.size else None,
            "chains_agree": estimate.chains_agree,
            "p_agreement": estimate.p_agreement,
            "allowed_for_unseen": float(estimate.unseen[1:][watched].max(initial=0.0)),
            "never_visited": int(np.isnan(estimate.values[1:]).sum()),
        }
