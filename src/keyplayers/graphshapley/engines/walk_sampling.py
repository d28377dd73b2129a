"""The walk game by independent draws: any state counts, zeros, any size.

A draw decides for every copy of the tree of walks whether it is there; the way to a copy made to be there, the
others as drawn, is a draw of the coalitions that hold it. So every copy gets a contribution in every draw,
values are plain means, and draws are independent: the standard error of a variable is that of the sums over its
copies.
"""

from dataclasses import dataclass

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.interrupts import deferred_interrupt
from ..._base.progress import Progress, Silent
from ..._base.seeding import RandomState, generator
from ...errors import InputError
from ...mrf.field import MarkovRandomField
from ..game.beliefs import PRICED_AT_ONCE, Beliefs
from ..game.ranges import RULE_OF_THREE, largest_walk_contributions
from ..game.walk_game import LAWS
from ..game.walk_tree import WalkTree
from ..game.worth import Worth, meets_zero, price
from . import _walk_sampling_kernels as kernels

# Draws between two looks at the standard errors.
_BLOCK = 64
# Standard error wanted of the five largest values, as a share of the largest.
_GOAL, _TOP = 0.01, 5
_MIN_DRAWS, _MAX_DRAWS = 256, 20_000
# Copies times squared state counts times draws that take a second or two.
_MAX_WORK = 1_000_000_000


@dataclass(frozen=True, eq=False)
class SampledValues:
    """One entry per player, in the order of `players`."""

    players: Ints  # [n] positions in the field
    values: Floats  # [n]
    std_errors: Floats  # [n] of independent draws, and at least what allows for contributions not seen
    probabilistic: Floats  # [n]
    direction: Floats  # [n]
    n_draws: int
    worth_min: float
    worth_max: float
    meets_zero: bool  # whether the logarithm of an exact zero was replaced
    partial: bool = False  # stopped early


def sample_walks(
    tree: WalkTree,
    worth: Worth,
    direction: Worth,
    *,
    law: str = "uniform",
    max_draws: int | None = None,
    std_error_goal: float | None = None,
    random_state: RandomState = None,
    progress: Progress | None = None,
) -> SampledValues:
    """Values of all variables that have a copy.

    Parameters
    ----------
    law
        "uniform" or "shapley", see walk_convolution.py.
    max_draws
        Draws to make at most; default: as many as take a second or two.
    std_error_goal
        Standard error of the five largest values at which to stop, in the unit of the worth; default: 1 % of the
        largest, or never where `max_draws` is given.
    progress
        Told how many draws are made. Ctrl-C gives what there is by then, marked ``partial``.

    Raises
    ------
    InputError
        There is no such law, or fewer than two draws are asked for.
    """
    if law not in LAWS:
        raise InputError(f"law must be one of {', '.join(LAWS)}, got {law!r}")
    if max_draws is not None and max_draws < 2:
        raise InputError(f"max_draws must be at least 2, got {max_draws}")
    rng = generator(random_state)
    players, forest = _pack(tree)
    tally = Tally.of(largest_walk_contributions(tree, worth))
    asked, work = _room(tree, forest)
    progress = progress or Silent()
    most = max_draws or _affordable(forest)
    progress.begin("drawing coalitions", most)
    stopped = False
    try:
        with deferred_interrupt() as pressed:
            while tally.n_draws < most and not stopped:
                block = min(len(asked.q), most - tally.n_draws)
                kernels.draw(block, LAWS.index(law), rng, forest, asked, work)
                tally.add(block, worth, direction, forest, asked)
                progress.advance(block)
                stopped = pressed() and tally.n_draws > 1
                if _looks(tally.n_draws, block) and _is_sure(tally, std_error_goal, max_draws):
                    break
    except KeyboardInterrupt:
        if tally.n_draws < 2:
            raise
        stopped = True
    progress.end()
    done = tally.n_draws
    return SampledValues(
        players,
        tally.sums[:, 0] / done,
        tally.std_errors(),
        tally.sums[:, 1] / done,
        tally.sums[:, 2] / done,
        done,
        *tally.extremes,
        meets_zero=tally.meets_zero,
        partial=stopped,
    )


@dataclass(eq=False)
class Tally:
    """Sums over draws, one entry per player."""

    sums: Floats  # [n, 3] value, its probabilistic part, direction
    squares: Floats  # [n] of a draw's value
    bounds: Floats  # [n] proven bound on its absolute value, inf without one
    n_draws: int = 0
    extremes: tuple[float, float] = (np.inf, -np.inf)  # smallest and largest worth seen
    meets_zero: bool = False

    @classmethod
    def of(cls, bounds: Floats) -> "Tally":
        """Nothing seen yet."""
        return cls(np.zeros((len(bounds), 3)), np.zeros(len(bounds)), bounds)

    def add(self, n: int, worth: Worth, direction: Worth, forest: kernels.Forest, asked: kernels.Asked) -> None:
        """Add the contributions of all copies in n draws."""
        whole, flattened, without = (
            Beliefs.from_weights(found[:n].reshape(-1, found.shape[2]))
            for found in (asked.whole, asked.flattened, asked.without)
        )
        worths = price(worth, whole)
        self.meets_zero |= meets_zero(worth, whole) or meets_zero(worth, without)
        low, high = self.extremes
        self.extremes = float(worths.min(initial=low)), float(worths.max(initial=high))
        weights = (asked.q[:n, None] ** (forest.depths[1:] - 1.0)).ravel()
        for i, gains in enumerate(
            (
                worths - price(worth, without),
                worths - price(worth, flattened),
                price(direction, whole) - price(direction, without),
            )
        ):
            drawn = self._per_player(n, weights * gains, forest.players[1:])
            self.sums[:, i] += drawn.sum(axis=0)
            if i == 0:
                self.squares += (drawn**2).sum(axis=0)
        self.n_draws += n

    def _per_player(self, n: int, gains: Floats, players: Ints) -> Floats:
        """[n, players] sums of gains over the copies of each."""
        of_draw = (np.arange(n)[:, None] * len(self.squares) + players).ravel()
        drawn = np.bincount(of_draw, gains, minlength=n * len(self.squares))
        return np.asarray(drawn, dtype=np.float64).reshape(n, -1)

    def std_errors(self) -> Floats:
        """[n] of the mean over independent draws, and at least what allows for values not seen."""
        spread = np.maximum(self.squares - self.sums[:, 0] ** 2 / self.n_draws, 0.0)
        farthest = np.where(np.isfinite(self.bounds), self.bounds + np.abs(self.sums[:, 0]) / self.n_draws, 0.0)
        errors: Floats = np.sqrt(spread / (self.n_draws * (self.n_draws - 1)))
        return np.maximum(errors, RULE_OF_THREE * farthest / self.n_draws)


def _affordable(forest: kernels.Forest) -> int:
    """Draws that take a second or two."""
    n_copies, n_states = forest.own.shape
    return int(np.clip(_MAX_WORK // (n_copies * n_states**2), _MIN_DRAWS, _MAX_DRAWS))


def _looks(n_draws: int, block: int) -> bool:
    """Whether standard errors are looked at after these draws; never at once, for rare large ones come late."""
    return n_draws >= _MIN_DRAWS and n_draws // _BLOCK > (n_draws - block) // _BLOCK


def _is_sure(tally: Tally, goal: float | None, max_draws: int | None) -> bool:
    if goal is None and max_draws is not None:
        return False
    sizes = np.abs(tally.sums[:, 0]) / tally.n_draws
    top = np.argsort(-sizes)[:_TOP]
    wanted = _GOAL * sizes.max(initial=0.0) if goal is None else goal
    return bool((tally.std_errors()[top] <= wanted).all())


def _pack(tree: WalkTree) -> tuple[Ints, kernels.Forest]:
    mrf, t = tree.mrf, tree.variables
    players, position = np.unique(t[1:], return_inverse=True)
    n_states = mrf.n_states[t].astype(np.int64)
    k = tree.boundary.shape[1]
    states = np.arange(k)
    inside = states < n_states[:, None]
    cells = np.minimum(mrf.offsets[t][:, None] + states, len(mrf.log_priors) - 1)
    priors = np.where(inside, mrf.log_priors[cells], -np.inf)
    boundary = np.where(inside, tree.boundary, -np.inf)
    tables, index = np.unique(mrf.slots.tables[tree.slots[1:]], return_inverse=True)
    chances = np.exp(-np.logaddexp(0.0, -tree.log_subtrees))
    n_children = np.diff(tree.children)
    inner = np.where(n_children > 0, np.cumsum(n_children > 0) - 1, -1)
    return players, kernels.Forest(
        tree.children.astype(np.int64),
        tree.parents,
        inner,
        np.append(-1, position.ravel()),
        tree.depths,
        n_states,
        _scaled(priors + boundary),
        _scaled(boundary),
        np.append(0, index.ravel()),
        _directed(mrf, tables, k),
        chances,
    )


def _scaled(logs: Floats) -> Floats:
    scaled: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return scaled


def _directed(mrf: MarkovRandomField, tables: Ints, k: int) -> Floats:
    """[P, K, K] the potentials that are used, rows = states of the sender."""
    psi = np.zeros((len(tables), k, k))
    for i, table in enumerate(tables.tolist()):
        begin, end = mrf.potential_offsets[table >> 1], mrf.potential_offsets[(table >> 1) + 1]
        weights = np.exp(mrf.log_potentials[begin:end] - mrf.log_potentials[begin:end].max())
        weights = weights.reshape(mrf.potential_shapes[table >> 1])
        weights = weights.T if table & 1 else weights
        psi[i, : weights.shape[0], : weights.shape[1]] = weights
    return psi


def _room(tree: WalkTree, forest: kernels.Forest) -> tuple[kernels.Asked, kernels.Work]:
    n, k = forest.own.shape
    n_target, n_inner = int(forest.n_states[0]), int(forest.inner.max()) + 1
    widest = max(1, int(np.diff(tree.children).max()))
    n_draws = min(_BLOCK, max(1, PRICED_AT_ONCE // n))
    whole, flattened, without = (np.zeros((n_draws, n - 1, n_target)) for _ in range(3))
    asked = kernels.Asked(whole, flattened, without, np.ones(n_draws))
    work = kernels.Work(
        np.zeros(n, dtype=np.bool_),
        np.zeros((n, k)),
        np.zeros((n, k)),
        np.zeros((max(1, n_inner), k, k)),
        np.zeros((widest, k)),
    )
    return asked, work
