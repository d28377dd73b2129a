"""Coalitions drawn uniformly: pendant trees exactly and independently, the rest by a Markov chain.

The chain's law is that of the whole ball's coalitions with the pendant trees summed out, so a subtree T of the
core has the weight Π_{v in T} N(v).
"""

import math
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..._base.segments import offsets_of
from ...mrf.field import MarkovRandomField
from ..game.packing import PackedField
from ..game.symmetry import Branches
from . import _chain_kernels as kernels
from .forests import Forest

# Steps of the chain per draw, per variable of the core, and at least. A fresh spanning tree costs little and
# does most of the mixing; steps only have to change which variables are in. Found by variance times seconds on
# balls of Cora: a quarter as many double the variance, four times as many change nothing.
_STEPS_PER_VARIABLE = 0.5
_MIN_STEPS = 8
# Rounds of that many steps, each with a fresh spanning tree, that burn a chain in.
_BURN_IN = 20
# A fresh spanning tree may walk so many steps per step of the chain; where it needs more, it is made less often.
_RESAMPLING_COST = 10.0


class Core(NamedTuple):
    """The variables on cycles, or between them and the target."""

    ends: Ints  # [m, 2] edges
    end_slots: Ints  # [m, 2] their slots, from either end
    log_weights: Floats  # [n] log N(v) of what hangs at v
    neighbours: Ints  # [2E] of the whole ball
    reverse: Ints  # [2E]
    members: Ints  # [C] the target first
    offsets: Ints  # [n+1] slots within the core of variable v: slots[offsets[v] : offsets[v+1]]
    slots: Ints  # [2m]


class Pendant(NamedTuple):
    """The pendant trees, apart from branches that have nothing to say: those need not be drawn."""

    offsets: Ints  # [n+1] branches at v: offsets[v] .. offsets[v+1]
    kids: Ints  # variable at which the branch begins
    slots: Ints  # slot by which it hangs
    chances: Floats  # probability N / (1 + N) that a coalition with v takes it in


class ChainState(NamedTuple):
    """The subtree of the core at which a chain stands."""

    up_slots: Ints  # [n] slot by which each member hangs on another, -1 for the target and outsiders
    inside: Bools  # [n]
    n_children: Ints  # [n]
    marks: Ints  # [n] scratch
    pace: Ints  # [3] steps between draws, draws until the next fresh spanning tree, draws between two of them


class Chain:
    """One stream of coalitions; it can be continued at any time."""

    def __init__(self, core: Core, pendant: Pendant, rng: np.random.Generator, *, spanning: bool) -> None:
        n = len(core.log_weights)
        self.core, self.pendant, self.rng = core, pendant, rng
        self.n_steps = max(_MIN_STEPS, math.ceil(_STEPS_PER_VARIABLE * len(core.members)))
        inside = np.zeros(n, dtype=bool)
        inside[core.members if spanning else 0] = True
        self.state = ChainState(
            np.full(n, -1), inside, np.zeros(n, dtype=np.int64), np.full(n, -1), np.array([self.n_steps, 1, 1])
        )

    def burn_in(self) -> float:
        """Run the chain in; the mean number of steps that a fresh spanning tree walks."""
        walked = 0
        if len(self.core.members) > 1:
            for _ in range(_BURN_IN):
                walked += kernels.resample_spanning_tree(self.rng, self.core, self.state)
                kernels.metropolis_steps(self.n_steps, self.rng, self.core, self.state)
        return walked / _BURN_IN

    def set_pace(self, walked: float) -> None:
        """How often to make a fresh spanning tree where that walks so many steps."""
        self.state.pace[2] = max(1, math.ceil(max(1.0, walked) / self.n_steps / _RESAMPLING_COST))

    def draw(self, n_draws: int, forest: Forest) -> int:
        """Draw coalitions into the forest, as many as fit and at most so many; how many there are."""
        return int(kernels.draw(n_draws, self.rng, self.core, self.state, self.pendant, forest))


def find_core(field: MarkovRandomField, branches: Branches) -> Core:
    """The part of a ball that needs a chain."""
    slots = field.slots
    sender = np.repeat(np.arange(field.n_variables), np.diff(slots.offsets))
    within = branches.in_core[sender] & branches.in_core[slots.neighbours]
    core_slots = np.flatnonzero(within)
    once = core_slots[sender[core_slots] < slots.neighbours[core_slots]]
    return Core(
        ends=np.column_stack([sender[once], slots.neighbours[once]]).astype(np.int64),
        end_slots=np.column_stack([once, slots.reverse[once]]).astype(np.int64),
        log_weights=branches.log_weights,
        neighbours=slots.neighbours.astype(np.int64),
        reverse=slots.reverse.astype(np.int64),
        members=np.flatnonzero(branches.in_core),
        offsets=offsets_of(np.bincount(sender[core_slots], minlength=field.n_variables)),
        slots=core_slots,
    )


def find_pendant(field: MarkovRandomField, packed: PackedField, branches: Branches) -> tuple[Pendant, Bools]:
    """The pendant branches that have something to say, and which variables [n] have not."""
    n = field.n_variables
    silent = np.zeros(n, dtype=bool)
    informative_below = np.zeros(n, dtype=bool)
    parents = np.zeros(n, dtype=np.int64)
    parents[branches.order] = field.slots.neighbours[branches.up_slots[branches.order]]
    even = packed.even[field.slots.tables]
    for v in branches.order.tolist():
        silent[v] = packed.uniform[v] and even[branches.up_slots[v]] and not informative_below[v]
        if not silent[v]:
            informative_below[parents[v]] = True
    kids = branches.order[~silent[branches.order]]
    kids = kids[np.argsort(parents[kids], kind="stable")]
    log_n = branches.log_weights[kids]
    chances = np.exp(log_n - np.logaddexp(0.0, log_n))
    offsets = offsets_of(np.bincount(parents[kids], minlength=n))
    return Pendant(offsets, kids.astype(np.int64), branches.up_slots[kids].astype(np.int64), chances), silent
