"""T_r(X): the tree of self-avoiding walks from a target, on which the walk game is played.

A node is a *copy* of its walk's last variable. Every neighbour of that variable to which the walk does not go on
says what it says at the fixed point of belief propagation: its message multiplies into the copy's boundary. So the
target's belief on the whole tree is its belief by propagation, for every number of steps.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..._base.segments import concatenated_ranges
from ...errors import InputError, TooLargeError
from ...mrf.field import MarkovRandomField
from ...mrf.inference.beliefs import BeliefState
from ...mrf.inference.messages import message_offsets
from ...mrf.inference.propagation import MessageOrigin

# Copies that a tree may have: each takes some 200 bytes here and in the engines.
MAX_COPIES = 5_000_000


@dataclass(frozen=True, eq=False)
class WalkTree:
    """All self-avoiding walks of at most `radius` steps from a target, shorter ones first.

    Copies of one parent stand together, in the order of the field's slots.
    """

    mrf: MarkovRandomField
    variables: Ints  # [T] position in the field; the target's copy is the first
    parents: Ints  # [T] copy, -1 for the target
    slots: Ints  # [T] directed edge of the field from a copy's variable to its parent's, -1 for the target
    levels: Ints  # [r+2] copies after d steps: levels[d] .. levels[d + 1]
    boundary: Floats  # [T, K] log factors in nats; zeros where the boundary is cut

    # [T] equal siblings that a copy stands for, itself among them; None: each stands for itself
    counts: Ints | None = None

    @property
    def n_copies(self) -> int:
        """Number of copies, the target's included."""
        return len(self.variables)

    @cached_property
    def multiplicities(self) -> Ints:
        """[T] equal siblings that a copy stands for."""
        return np.ones(self.n_copies, dtype=np.int64) if self.counts is None else self.counts

    @cached_property
    def players(self) -> tuple[Ints, Ints]:
        """[n] variables that have a copy, ascending, and [T] the place of each copy's; -1 for the target."""
        players, places = np.unique(self.variables[1:], return_inverse=True)
        return players, np.append(-1, places.ravel())

    def per_player(self, per_copy: Floats) -> Floats:
        """[n] sums over the copies of each player."""
        players, places = self.players
        return np.asarray(np.bincount(places[1:], per_copy[1:], len(players)), dtype=np.float64)

    @cached_property
    def n_states(self) -> Ints:
        """[T] states of each copy."""
        n_states: Ints = self.mrf.n_states[self.variables].astype(np.int64)
        return n_states

    @cached_property
    def members(self) -> Ints:
        """[T] copies of the tree without merging that each stands for."""
        members = self.multiplicities.copy()
        for begin, end in zip(self.levels[1:-1].tolist(), self.levels[2:].tolist(), strict=True):
            members[begin:end] *= members[self.parents[begin:end]]
        return members

    @cached_property
    def log_priors(self) -> Floats:
        """[T, K] log-priors in nats, -inf where a copy has fewer states."""
        states = np.arange(self.boundary.shape[1])
        offsets, logs = self.mrf.offsets[self.variables][:, None], self.mrf.log_priors
        cells = np.minimum(offsets + states, len(logs) - 1)
        return np.where(states < self.n_states[:, None], logs[cells], -np.inf)

    @cached_property
    def log_own(self) -> Floats:
        """[T, K] log prior times boundary in nats, -inf where a copy has fewer states."""
        own: Floats = self.log_priors + self.boundary
        return own

    @cached_property
    def tables(self) -> tuple[Ints, Floats]:
        """[T] which table joins a copy to its parent (0 for the target), and the tables [P, K, K] in nats.

        Rows are states of the copy; -inf where there are fewer.
        """
        used, index = np.unique(self.mrf.slots.tables[self.slots[1:]], return_inverse=True)
        k = self.boundary.shape[1]
        log_psi = np.full((max(1, len(used)), k, k), -np.inf)
        for i, table in enumerate(used.tolist()):
            begin, end = self.mrf.potential_offsets[table >> 1], self.mrf.potential_offsets[(table >> 1) + 1]
            logs = self.mrf.log_potentials[begin:end].reshape(self.mrf.potential_shapes[table >> 1])
            logs = logs.T if table & 1 else logs
            log_psi[i, : logs.shape[0], : logs.shape[1]] = logs
        return np.append(0, index.ravel()).astype(np.int64), log_psi

    @cached_property
    def depths(self) -> Ints:
        """[T] steps of each walk."""
        return np.repeat(np.arange(len(self.levels) - 1), np.diff(self.levels))

    @cached_property
    def children(self) -> Ints:
        """[T+1] copies that hang on copy t: children[t] .. children[t + 1]."""
        begins: Ints = np.searchsorted(self.parents, np.arange(self.n_copies))
        begins[0] = 1
        return np.append(begins, self.n_copies)

    @cached_property
    def log_subtrees(self) -> Floats:
        """[T] log N of each copy, N = Π_children (1 + N(child)): subtrees that hang there."""
        log_n = np.zeros(self.n_copies)
        for begin, end in zip(self.levels[-2:0:-1], self.levels[:1:-1], strict=True):
            gains = self.multiplicities[begin:end] * np.logaddexp(0.0, log_n[begin:end])
            log_n += np.bincount(self.parents[begin:end], gains, self.n_copies)
        return log_n

    def walk(self, copy: int) -> tuple[int, ...]:
        """Variables from the target to a copy."""
        walk = []
        while copy >= 0:
            walk.append(int(self.variables[copy]))
            copy = int(self.parents[copy])
        return tuple(reversed(walk))


@dataclass(frozen=True, eq=False)
class BoundaryMessages:
    """The messages of a fixed point, padded to K = the largest state count, and their products per variable."""

    logs: Floats  # [2E, K] log m in nats; -inf are zeros, 0 where the receiver has fewer states
    totals: Floats  # [N, K] sum of the finite logs that a variable receives
    n_zeros: Ints  # [N, K] how many zeros it receives

    @classmethod
    def of(cls, state: BeliefState) -> "BoundaryMessages":
        """What all targets of a field share.

        Raises
        ------
        InputError
            The beliefs do not come from propagation, so there are no messages.
        """
        if not isinstance(state.origin, MessageOrigin):
            raise InputError(f"the walk game needs messages of belief propagation, not {state.schedule!r} beliefs")
        mrf, flat = state.mrf, state.origin.messages.in_logs.values
        n_states = mrf.n_states[mrf.slots.neighbours]
        width = int(mrf.n_states.max(initial=1))
        logs = np.zeros((len(n_states), width))
        cells, owner = concatenated_ranges(message_offsets(mrf)[:-1], message_offsets(mrf)[1:])
        logs[owner, cells - message_offsets(mrf)[owner]] = flat
        zero = np.isneginf(logs)
        finite = np.where(zero, 0.0, logs)
        shape = mrf.n_variables, width
        totals, n_zeros = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        for x in range(width):
            totals[:, x] = np.bincount(mrf.slots.neighbours, finite[:, x], mrf.n_variables)
            n_zeros[:, x] = np.bincount(mrf.slots.neighbours[zero[:, x]], minlength=mrf.n_variables)
        return cls(logs, totals, n_zeros)

    def all_but(self, variables: Ints, slots: Ints) -> Floats:
        """[T, K] log product of what each variable receives, except through one slot of its own."""
        left_out = self.logs[slots]
        zero = np.isneginf(left_out)
        rest = self.totals[variables] - np.where(zero, 0.0, left_out)
        rest[self.n_zeros[variables] > zero] = -np.inf
        return rest


def walk_tree(
    mrf: MarkovRandomField,
    target: int,
    radius: int,
    messages: BoundaryMessages | None,
    *,
    within: Ints | None = None,
    max_copies: int = MAX_COPIES,
) -> WalkTree:
    """T_r of the variable at position `target`.

    Parameters
    ----------
    radius
        Hops r of the longest walks; steps out of auxiliary variables are none.
    messages
        Of the fixed point; None cuts the tree off from the rest of the field.
    within
        Variables that walks may go to, ascending; None: all. The others say what messages say.

    Raises
    ------
    TooLargeError
        The tree has more than `max_copies` copies.
    """
    k = int(mrf.n_states.max(initial=1))
    walks: Ints = np.array([[target]], dtype=np.int64)
    levels = [0, 1]
    parts = [_Level(walks[:, -1], np.array([-1]), np.array([-1]), np.zeros((1, k)), np.zeros(1, dtype=np.int64))]
    while True:
        goes_on = _may_go_on(mrf, parts[-1], radius)
        if messages is not None and levels[-1] > 1:
            ended = np.flatnonzero(~goes_on)
            variables, slots = parts[-1].variables[ended], mrf.slots.reverse[parts[-1].slots[ended]]
            parts[-1].boundary[ended] = messages.all_but(variables, slots)
        step = _Step(walks, parts[-1], levels[-2], np.flatnonzero(goes_on))
        walks, level = _grow(mrf, step, messages, within, max_copies - levels[-1])
        if not len(walks):
            break
        levels.append(levels[-1] + len(walks))
        parts.append(level)
    return WalkTree(
        mrf,
        np.concatenate([level.variables for level in parts]),
        np.concatenate([level.parents for level in parts]),
        np.concatenate([level.slots for level in parts]),
        np.array(levels),
        np.concatenate([level.boundary for level in parts]),
    )


@dataclass(eq=False)
class _Level:
    """The copies after some number of steps; see `WalkTree`."""

    variables: Ints
    parents: Ints
    slots: Ints
    boundary: Floats
    hops: Ints  # from the target; those out of auxiliary variables do not count


class _Step(NamedTuple):
    """Walks, their last copies, and which of them go on."""

    walks: Ints  # [n, d]
    last: _Level
    first: int  # number of the first of the last copies
    goes_on: Ints  # rows


def _may_go_on(mrf: MarkovRandomField, level: _Level, radius: int) -> Bools:
    """[n] which walks may be a hop longer; all out of auxiliary variables may, since that is no hop."""
    within: Bools = level.hops < radius
    return within if mrf.auxiliary is None else within | mrf.auxiliary[level.variables]


def _grow(
    mrf: MarkovRandomField, step: _Step, messages: BoundaryMessages | None, within: Ints | None, max_new: int
) -> tuple[Ints, _Level]:
    """Go on by one step. Writes the boundary of the walks so far: of the neighbours to whom they cannot go."""
    slots, last = mrf.slots, step.last
    walks = step.walks[step.goes_on]
    ends = walks[:, -1]
    n_reached = int((slots.offsets[ends + 1] - slots.offsets[ends]).sum())
    too_large = _too_large(max_new + step.first + len(step.walks), walks.shape[1])
    if n_reached - len(walks) > max_new + walks.size:
        raise TooLargeError(too_large)
    reach, owner = concatenated_ranges(slots.offsets[ends], slots.offsets[ends + 1])
    neighbours = slots.neighbours[reach]
    known = _on_walk(walks, owner, neighbours)
    if within is not None:
        places = np.minimum(np.searchsorted(within, neighbours), len(within) - 1)
        known |= within[places] != neighbours
    if messages is not None and known.any():
        silent = known & (neighbours != walks[owner, -2]) if walks.shape[1] > 1 else known
        said = messages.logs[slots.reverse[reach[silent]]]
        np.add.at(last.boundary, step.goes_on[owner[silent]], said)
    owner, reach, neighbours = owner[~known], reach[~known], neighbours[~known].astype(np.int64)
    if len(owner) > max_new:
        raise TooLargeError(too_large)
    longer = np.column_stack([walks[owner], neighbours])
    nothing = np.zeros((len(owner), last.boundary.shape[1]))
    sender = step.goes_on[owner]
    hops = last.hops[sender] + (1 if mrf.auxiliary is None else mrf.real[ends[owner]])
    return longer, _Level(neighbours, step.first + sender, slots.reverse[reach].astype(np.int64), nothing, hops)


def _on_walk(walks: Ints, owner: Ints, neighbours: Ints) -> Bools:
    """Whether a walk has been at a neighbour of its end."""
    known = np.zeros(len(owner), dtype=bool)
    for step in range(walks.shape[1]):
        known |= walks[owner, step] == neighbours
    return known


def _too_large(max_copies: int, steps: int) -> str:
    return (
        f"the tree of walks has more than {max_copies:,} copies after {steps} steps: "
        "use a smaller radius, or drop what matters least with max_ball"
    )
