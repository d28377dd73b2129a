"""The walk game of binary variables by convolution: all coalitions of the tree of walks at once.

A copy is there with some chance given that its parent is, independently of its siblings. The target's log-odds is
then a sum of independent messages: laws of sums go up, value functions g_a(log-odds of a) = E[worth | a is there]
come down, and a copy's value is the mean of its value function less the same with no message from it.

Unlike in a ball, many small messages meet at a hub and most copies are leaves, so laws are added up one message at
a time: a leaf's message is a handful of masses, and six products a cell are cheaper than a Fourier transform.

Chances, by the law of coalitions:

======= ======================================================================================================
uniform N/(1 + N), N = Π_children (1 + N(child)): every subtree counts the same
shapley q for all; the mean over q uniform on (0, 1), weighted by q^(d - 1) for a copy after d steps: the chance
        that its parent is there
======= ======================================================================================================

Under the second law values add up to what the tree adds, whatever the worth: they are Shapley's in the game whose
players are the copies and in which a set of copies is worth what its part around the target is worth. That follows
from d/dq E_q[worth] = Σ_a P_q(parent of a is there) · E_q[contribution of a | a is there].
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Floats, Ints
from ...errors import InputError, TooLargeError
from ..game.walk_game import LAWS
from ..game.walk_tree import WalkTree
from ..game.worth import Worth, worth_of
from . import _walk_kernels as kernels
from .derivatives import compose, message_derivatives, worth_derivatives
from .grids import POINTS, SHARE_ERROR

# Wanted bound on the error of every copy's value, in the unit of the worth.
TOLERANCE = 1e-6
# Grid steps stay between these: the upper one keeps a worth's shape visible, the lower one memory in bounds.
_STEPS = (1e-3, 0.25)
# A window reaches so many standard deviations and largest messages to either side of the mean, or over the range.
_DEVIATIONS, _LARGEST = 8.0, 4.0
# Sharing out widens a range by MARGIN cells a message; that more messages do so at once has no mass to speak of.
_SPREADING = 12
# Potentials that span more nats would underflow.
_MAX_RANGE = 250.0
# Cells of the partial sums at one copy (512 MiB).
_MAX_CELLS = 2**26
# Means over q: intervals of the Clenshaw-Curtis rule to begin and to end with, and the wanted error.
_INTERVALS = (8, 64)
_QUADRATURE = 1e-5
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class CopyValues:
    """One entry per copy; that of the target is 0."""

    values: Floats  # [T]
    probabilistic: Floats  # [T]
    direction: Floats  # [T]
    bounds: Floats  # [T] on the error of `values`, apart from the mean over q
    quadrature: Floats  # [T] what halving the rule's intervals changed; 0 under the uniform law
    n_rules: int  # chances q for which the tree was played; 1 under the uniform law
    cells: int  # of the target's law
    worth_min: float
    worth_max: float


class _Play(NamedTuple):
    """The tree played with given chances."""

    values: Floats  # [W, T] worth and, where that is another, direction
    probabilistic: Floats  # [T]
    bound: float
    cells: int
    extremes: tuple[float, float]


def convolve_walks(
    tree: WalkTree, worth: Worth, direction: Worth, *, law: str = "uniform", tolerance: float = TOLERANCE
) -> CopyValues:
    """Value of every copy.

    Parameters
    ----------
    law
        "uniform" or "shapley", see above.
    tolerance
        Wanted bound on the error of every copy's value.

    Raises
    ------
    InputError
        A variable has other than two states, a potential has a zero, or there is no such law.
    """
    reason = why_not(tree)
    if reason:
        raise InputError(f"convolution cannot be used: {reason}")
    if law not in LAWS:
        raise InputError(f"law must be one of {', '.join(LAWS)}, got {law!r}")
    same = (worth.kind, worth.states) == (direction.kind, direction.states)
    engine = _Engine(tree, (worth,) if same else (worth, direction), tolerance)
    if law == "uniform":
        log_n = tree.log_subtrees
        play = engine.play(np.exp(-np.logaddexp(0.0, -log_n)))
        return _copy_values(play.values, play.probabilistic, play.bound, np.zeros(tree.n_copies), 1, play)
    return _mean_over_q(engine, np.maximum(tree.depths - 1, 0))


def why_not(tree: WalkTree) -> str:
    """What keeps the engine from this tree; empty where nothing does."""
    if (tree.mrf.n_states[tree.variables] != 2).any():
        return "not all variables have two states"
    tables = _log_psi(tree)
    if not np.isfinite(tables).all():
        return "a potential has zeros"
    if np.ptp(tables, axis=1).max(initial=0.0) > _MAX_RANGE:
        return f"a potential spans more than {_MAX_RANGE:g} nats"
    return ""


def _copy_values(
    values: Floats, probabilistic: Floats, bound: float, quadrature: Floats, n_rules: int, play: _Play
) -> CopyValues:
    bounds = np.full(len(probabilistic), bound)
    bounds[0] = 0.0
    return CopyValues(
        values[0],
        probabilistic,
        values[-1],
        bounds,
        quadrature,
        n_rules,
        play.cells,
        play.extremes[0],
        play.extremes[1],
    )


def _mean_over_q(engine: "_Engine", powers: Ints) -> CopyValues:
    """Clenshaw and Curtis' rule, its intervals halved until that changes nothing any more."""
    n = engine.tree.n_copies
    plays: dict[float, _Play] = {}
    intervals, before = _INTERVALS[0], np.zeros((len(engine.worths) + 1, n))
    while True:
        nodes, weights = clenshaw_curtis(intervals)
        total = np.zeros_like(before)
        for q, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            if q not in plays:
                plays[q] = engine.play(np.full(n, q))
            total += weight * q**powers * np.vstack([plays[q].values, plays[q].probabilistic])
        change = np.abs(total - before).max(axis=0)
        largest = max(1.0, float(np.abs(total[0]).max(initial=0.0)))
        if intervals > _INTERVALS[0] and (
            change.max(initial=0.0) <= _QUADRATURE * largest or intervals >= _INTERVALS[1]
        ):
            break
        intervals, before = 2 * intervals, total
    widest = max(plays.values(), key=lambda play: play.extremes[1] - play.extremes[0])
    bound = max(play.bound for play in plays.values())
    return _copy_values(total[:-1], total[-1], bound, change, len(plays), widest)


def clenshaw_curtis(n: int) -> tuple[Floats, Floats]:
    """n + 1 nodes and weights of the rule on (0, 1), n even; the nodes of n/2 are among them, to the last bit.

    References
    ----------
    Waldvogel, "Fast construction of the Fejér and Clenshaw-Curtis quadrature rules", BIT 46 (2006),
    doi:10.1007/s10543-006-0045-4.
    """
    nodes = np.array([(1.0 - np.cos(np.pi * (k / n))) / 2.0 for k in range(n + 1)])
    j = np.arange(1, n // 2 + 1)
    b = np.where(j == n // 2, 1.0, 2.0) / (4.0 * j**2 - 1.0)
    angles = 2.0 * np.pi * np.outer(np.arange(n + 1), j) / n
    weights = (1.0 - np.cos(angles) @ b) / n
    weights[[0, -1]] /= 2.0
    return nodes, weights


class _Engine:
    """What all plays of one tree share."""

    def __init__(self, tree: WalkTree, worths: tuple[Worth, ...], tolerance: float) -> None:
        if not tolerance > 0:
            raise InputError(f"tolerance must be positive, got {tolerance}")
        self.tree = tree
        self.worths = worths
        offsets = tree.mrf.offsets[tree.variables]
        self.flat = tree.boundary[:, 1] - tree.boundary[:, 0]
        # messages that meet at each copy
        self.n_messages = np.bincount(tree.parents[1:], tree.multiplicities[1:], tree.n_copies)
        priors = tree.mrf.log_priors[offsets + 1] - tree.mrf.log_priors[offsets]
        self.log_odds = priors + self.flat
        tables = np.vstack([np.zeros((1, 4)), _log_psi(tree)])
        self.psi = np.exp(tables - tables.max(axis=1, keepdims=True))
        cross = np.abs(tables[:, 0] - tables[:, 1] - tables[:, 2] + tables[:, 3]).max()
        self.derivatives = _derivatives(worths[0], float(cross), len(tree.levels) - 1)
        self.steps = _grid_steps(self.derivatives, int(tree.members[1:].sum()), tolerance)

    def play(self, chances: Floats) -> _Play:
        """Laws up, value functions down."""
        tree, n_levels = self.tree, len(self.tree.levels) - 1
        copies = kernels.Copies(tree.children, self.log_odds, self.flat, self.psi, chances, tree.multiplicities)
        laws = [_leaves(tree, n_levels - 1)]
        rows: list[kernels.Rows] = []
        error, lost = 0.0, 0.0
        for depth in range(n_levels - 2, -1, -1):
            row, law = self._windows(copies, laws[0], depth)
            variations, losses = np.ones(len(law.halves)), np.zeros(len(law.halves))
            kernels.convolve_level(copies, laws[0], row, law, variations, losses)
            laws, rows = [law, *laws], [row, *rows]
            here = slice(tree.levels[depth], tree.levels[depth + 1])
            members = tree.members[here]
            error += (
                float((self.n_messages[here] * members) @ variations)
                * SHARE_ERROR
                * law.h**POINTS
                * self.derivatives[depth][5]
            )
            lost += float(members @ losses)
        functions, extremes, largest = self._at_target(laws[0])
        values, probabilistic = np.zeros((len(self.worths), tree.n_copies)), np.zeros(tree.n_copies)
        for depth in range(n_levels - 1):
            behind = np.zeros((len(self.worths), len(laws[depth + 1].masses)))
            found = kernels.Found(values, probabilistic, behind)
            kernels.spread_level(copies, laws[depth + 1], rows[depth], laws[depth], functions, found)
            functions = behind
        bound = 2.0 * error + (4.0 * lost + _ROUNDING) * largest
        return _Play(values, probabilistic, bound, len(laws[0].masses), extremes)

    def _windows(
        self, copies: kernels.Copies, below: kernels.Laws, depth: int
    ) -> tuple[kernels.Rows, kernels.Laws]:
        """Rows of the level below on this level's cells, and empty laws wide enough for their sums."""
        tree, h = self.tree, self.steps[depth]
        begin, end = tree.levels[depth + 1], tree.levels[depth + 2]
        n = int(end - begin)
        rows = kernels.Rows(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), *np.zeros((3, n)))
        kernels.measure_rows(copies, below, h, rows)
        first, last = int(tree.levels[depth]), int(tree.levels[depth + 1])
        owner = tree.parents[begin:end] - first
        widest = np.zeros(last - first)
        np.maximum.at(widest, owner, rows.reaches)
        counts = tree.multiplicities[begin:end]
        deviations = np.sqrt(np.bincount(owner, counts * rows.variances, last - first))
        ranges = np.bincount(owner, counts * rows.reaches, last - first)
        reach = np.minimum(_DEVIATIONS * deviations + _LARGEST * widest, ranges) + widest
        n_messages = self.n_messages[first:last].astype(np.int64)
        half = np.ceil(reach / h).astype(np.int64) + 1 + kernels.MARGIN * np.minimum(n_messages, _SPREADING)
        half[n_messages == 0] = 0
        n_rows = np.diff(tree.children)[first:last]
        if (n_rows * (2 * half + 1)).max(initial=0) > _MAX_CELLS:
            raise TooLargeError("too many different messages meet at one variable")
        starts = np.append(0, np.cumsum(2 * half + 1))
        offsets = np.zeros(last - first, dtype=np.int64)
        return rows, kernels.Laws(first, h, half, offsets, starts, np.zeros(int(starts[-1])))

    def _at_target(self, law: kernels.Laws) -> tuple[Floats, tuple[float, float], float]:
        """[W, L] the worths at the cells of the target's law, their range where there is mass, their size."""
        cells = (law.offsets[0] + np.arange(len(law.masses))) * law.h
        log_odds = cells + self.log_odds[0]
        log_beliefs = np.stack([-np.logaddexp(0.0, log_odds), -np.logaddexp(0.0, -log_odds)], axis=1)
        functions = np.stack([worth_of(worth, log_beliefs) for worth in self.worths])
        likely = functions[0][np.abs(law.masses) > 1e-15]
        return functions, (float(likely.min()), float(likely.max())), float(np.abs(functions[0]).max())


def _leaves(tree: WalkTree, depth: int) -> kernels.Laws:
    """The laws of the farthest copies: nothing hangs there."""
    n = int(tree.levels[depth + 1] - tree.levels[depth])
    nothing = np.zeros(n, dtype=np.int64)
    return kernels.Laws(int(tree.levels[depth]), 1.0, nothing, nothing, np.arange(n + 1), np.ones(n))


def _log_psi(tree: WalkTree) -> Floats:
    """[T-1, 4] log-potentials 00, 01, 10, 11 towards the parent in nats, first digit the copy's state."""
    tables = tree.mrf.slots.tables[tree.slots[1:]]
    if not len(tables):
        return np.zeros((0, 4))
    cells = tree.mrf.potential_offsets[tables >> 1][:, None] + np.where(
        (tables & 1)[:, None] == 1, [0, 2, 1, 3], [0, 1, 2, 3]
    )
    log_psi: Floats = tree.mrf.log_potentials[cells]
    return log_psi


def _derivatives(worth: Worth, cross_ratio: float, n_levels: int) -> list[Floats]:
    """Per level [6] bounds on the derivatives of value functions; the strongest potential stands for all."""
    table = np.array([[0.0, 0.0], [0.0, cross_ratio]])
    found = [worth_derivatives(worth)]
    for _ in range(n_levels - 1):
        found.append(compose(found[-1], message_derivatives(table)))
    return found


def _grid_steps(derivatives: list[Floats], n_shares: int, tolerance: float) -> list[float]:
    """Per level the step at which all sharings together stay within the tolerance."""
    share = tolerance / (6.0 * max(1, n_shares) * SHARE_ERROR)
    steps = []
    for bounds in derivatives:
        step = (share / bounds[5]) ** (1 / POINTS) if bounds[5] > 0 else _STEPS[1]
        steps.append(float(np.clip(step, *_STEPS)))
    return steps
