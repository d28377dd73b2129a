"""Beliefs of the target on a block of coalitions: on each, without each member, its prior uniform."""

from typing import Any, NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...mrf.field import MarkovRandomField
from ..game.beliefs import PRICED_AT_ONCE, Beliefs
from ..game.slots import per_slot, scaled_logs, silent_slots
from . import _sweep_kernels as kernels

# Largest range of all factors together, in nats, at which numbers are kept linear: exp(-650) and products with
# as many factors' maxima stay clear of the smallest double, exp(-708). Beyond it logarithms are used.
MAX_LINEAR_RANGE = 650.0


class SweepSlots(NamedTuple):
    """The graph, as the sweeps read it."""

    neighbours: Ints  # [2E]
    senders: Ints  # [2E]
    silent: Bools  # [2E] whether a leaf with a uniform prior sends a uniform message: splitting it is omitting it
    wants_split: Bools  # [n] whether a prior is not uniform
    cyclic: bool  # whether omissions are asked for; on trees their sums follow from the others


class BinaryFactors(NamedTuple):
    """Priors and potentials of variables with two states, linear, maximum 1."""

    phi: Floats  # [n, 2]
    psi: Floats  # [2E, 4] row-major
    rescaled: bool  # whether messages and maps are brought to sum 1: on deep coalitions they fade


class GeneralFactors(NamedTuple):
    """Priors and potentials for any numbers of states, maximum 1, or their logarithms."""

    n_states: Ints  # [n]
    phi: Floats  # [n, K]
    potentials: Floats  # flat
    places: Ints  # [2E, 3] for each slot where its matrix begins, and its shape
    in_logs: bool


class BinaryMembers(NamedTuple):
    """The members of the coalition at hand, and scratch."""

    size: Ints  # [1]
    stack: Ints  # [n]
    parents: Ints  # [n] position on the stack
    taken: Ints  # [n] slot by which each joined
    position: Ints  # [n] of each variable on the stack, -1 for outsiders
    is_leaf: Bools  # [n]
    up: Floats  # [n, 6]
    down: Floats  # [n, 6]


class GeneralMembers(NamedTuple):
    """The members of the coalition at hand, and scratch."""

    size: Ints  # [1]
    stack: Ints  # [n]
    parents: Ints  # [n] position on the stack
    taken: Ints  # [n] slot by which each joined
    position: Ints  # [n] of each variable on the stack, -1 for outsiders
    is_leaf: Bools  # [n]
    below: Floats  # [n+1, K] product of the children's messages
    messages: Floats  # [n+1, K]
    rest: Floats  # [n+1, K] all that a parent gathers apart from this member
    prefix: Floats  # [n+1, K]
    vector: Floats  # [K]


class Asked(NamedTuple):
    """What a sweep finds: beliefs of the target, whom each concerns and what it is for."""

    beliefs: Floats  # [K, A] two weights, or probabilities, or logarithms up to a constant
    whose: Ints  # [A] the member that is left out or split
    kinds: Ints  # [A] WHOLE, OMISSION, SPLIT or OMISSION_AND_SPLIT
    own: Ints  # [coalitions] where the belief of each coalition itself stands
    uniform_leaves: Floats  # [n] splits left out because they equal omissions that are not asked for


class Sweep:
    """The sweep that fits a field, with its place on the tape."""

    def __init__(self, field: MarkovRandomField, *, cyclic: bool) -> None:
        n = field.n_variables
        n_target = int(field.n_states[0])
        wants_split = _ranges(field.log_priors, field.offsets[:-1]) > 0
        wants_split |= np.logical_or.reduceat(np.isneginf(field.log_priors), field.offsets[:-1])
        senders = np.repeat(np.arange(n, dtype=np.int32), np.diff(field.slots.offsets))
        self.slots = SweepSlots(field.slots.neighbours, senders, silent_slots(field), wants_split, cyclic)
        too_wide = log_range(field) > MAX_LINEAR_RANGE
        binary = field.uniform_n_states == 2 and not (too_wide and local_log_range(field) > MAX_LINEAR_RANGE)
        self.in_logs = too_wide and not binary
        self._binary = binary
        capacity = PRICED_AT_ONCE + 2 * n
        self.asked = Asked(
            np.empty((n_target, capacity)),
            np.zeros(capacity, dtype=np.int32),
            np.empty(capacity, dtype=np.int8),
            np.zeros(capacity, dtype=np.int32),
            np.zeros(n),
        )
        self._sweep = kernels.sweep_binary if binary else kernels.sweep_general
        self._members: Any
        self._factors: Any
        if binary:
            self._factors, self._members = _binary(field, too_wide)
        else:
            self._factors, self._members = _general(field, too_wide)

    def run(self, tape: Ints) -> tuple[Beliefs, Ints, int]:
        """The beliefs of the next coalitions on a tape, see `Asked`; which are coalitions', and the moves made."""
        n_asked, n, n_moves, zeros = self._sweep(tape, self._members, self.slots, self._factors, self.asked)
        found = self.asked.beliefs[:, :n_asked]
        if self.in_logs:
            return Beliefs.from_logs(found.T, has_zeros=zeros), self.asked.own[:n], n_moves
        beliefs = Beliefs.from_weights(found.T, normalised=not self._binary, has_zeros=zeros)
        return beliefs, self.asked.own[:n], n_moves


def _binary(field: MarkovRandomField, rescaled: bool) -> tuple[BinaryFactors, BinaryMembers]:
    n = field.n_variables
    phi = np.exp(scaled_logs(field.log_priors, field.offsets[:-1])).reshape(n, 2)
    tables = np.exp(scaled_logs(field.log_potentials, field.potential_offsets[:-1])).reshape(-1, 2, 2)
    # the sender of a slot is the parent: rows of its matrix are states of the receiver
    both = np.stack([tables.transpose(0, 2, 1), tables], axis=1).reshape(-1, 4)
    members = BinaryMembers(*_stacks(n), up=np.zeros((n, 6)), down=np.zeros((n, 6)))
    return BinaryFactors(phi, both[field.slots.tables], rescaled), members


def _general(field: MarkovRandomField, in_logs: bool) -> tuple[GeneralFactors, GeneralMembers]:
    n, width = field.n_variables, int(field.n_states.max())
    phi = np.full((n, width), -np.inf)
    phi[np.arange(width) < field.n_states[:, None]] = scaled_logs(field.log_priors, field.offsets[:-1])
    potentials, places = per_slot(field)
    if not in_logs:
        phi, potentials = np.exp(phi), np.exp(potentials)
    below, messages, rest, prefix = (np.zeros((n + 1, width)) for _ in range(4))
    members = GeneralMembers(*_stacks(n), below, messages, rest, prefix, np.zeros(width))
    return GeneralFactors(field.n_states.astype(np.int32), phi, potentials, places, in_logs), members


def _stacks(n: int) -> tuple[Ints, Ints, Ints, Ints, Ints, Bools]:
    stack, parents, taken, position = (np.zeros(n, dtype=np.int32) for _ in range(4))
    return np.ones(1, dtype=np.int64), stack, parents, taken, position, np.zeros(n, dtype=bool)


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
    """Largest minus smallest finite number of each segment."""
    if not len(starts):
        return np.zeros(0)
    high = np.maximum.reduceat(logs, starts)
    low = np.minimum.reduceat(np.where(np.isneginf(logs), np.inf, logs), starts)
    ranges: Floats = high - low
    return ranges
