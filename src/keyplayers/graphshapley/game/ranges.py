"""How much a player can contribute at most, whatever the coalition: proven from priors and potentials.

The measure is the oscillation of a message: how far its log-ratios between two states reach. What v sends through
a table is a mix of the table's rows, so it oscillates no more than the row that does most; and what v itself has
heard passes a table weakened by tanh(d/4), d being its largest log cross ratio. Leaving v out changes what its
neighbour on the way to the target hears by that message, and the target by what the tables on the way let through.

References
----------
Ihler, Fisher and Willsky, "Loopy belief propagation: convergence and effects of message errors", JMLR 2005,
section 4; the contraction is Birkhoff's.
"""

from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...mrf.field import MarkovRandomField
from .packing import pack_field
from .trimming import strongest_ways
from .walk_tree import WalkTree
from .worth import Worth

# Standard errors per unseen contribution: 1.96 of them are the three of the rule of three, by which something that
# did not show in m independent looks has a chance below 3/m, in 95 of 100 cases.
RULE_OF_THREE = 3.0 / 1.96
# Rounds in which bounds on what variables hear make bounds on what they send smaller; each is valid by itself.
_ROUNDS = 4
# Stands for "no bound": exact zeros.
_ENDLESS = 1e6


def largest_contributions(field: MarkovRandomField, worth: Worth) -> Floats:
    """[n] bound on |contribution| of each variable of a ball to variable 0; inf where zeros allow anything.

    It holds for every subtree around variable 0, for beliefs over any number of states. 0 stands where the
    contribution is always the same: leaves of variable 0, if the worth is linear in log-odds.
    """
    if worth.kind.slope is None or field.n_edges == 0:
        return np.full(field.n_variables, np.inf)
    slots, shapes = field.slots, field.potential_shapes
    both_ways = np.stack([shapes, shapes[:, ::-1]], axis=1).reshape(-1, 2)
    tables = _Tables.of(pack_field(field).log_psi, both_ways)
    sent = _oscillations(field, tables)
    reach, _ = strongest_ways(field)
    to_target = slots.neighbours == 0
    widest = float(tables.cross_ratios[slots.tables][to_target].max(initial=0.0))
    moved = np.where(to_target, sent, np.minimum(sent * reach[slots.neighbours], widest))
    bounds, senders = np.zeros(field.n_variables), np.repeat(np.arange(field.n_variables), np.diff(slots.offsets))
    np.maximum.at(bounds, senders, moved)
    # how far the target's belief on a coalition can be from the whole field's
    with np.errstate(invalid="ignore"):  # where both exclude a state
        apart = worth.log_belief - field.log_priors[: len(worth.log_belief)]
    reached = float(_spans(apart, np.array([0, len(apart)]))[0] + sent[to_target].sum())
    slope = worth.kind.slope(worth.question, reached)
    found = np.where((bounds >= _ENDLESS) | (reached >= _ENDLESS), np.inf, bounds * slope)
    if field.n_states[0] == 2 and worth.kind.derivatives is not None:
        only_slot = slots.offsets[:-1][np.diff(slots.offsets) == 1]
        leaves = senders[only_slot[slots.neighbours[only_slot] == 0]]
        if not worth.kind.derivatives(worth.question)[1:].any():
            found[leaves] = 0.0
    return found


def largest_walk_contributions(tree: WalkTree, worth: Worth) -> Floats:
    """[n] the same for the players of the walk game: what all copies of each contribute in one draw, at most."""
    index, log_psi = tree.tables
    if worth.kind.slope is None or tree.n_copies < 2:
        return np.full(len(tree.players[0]), np.inf)
    shapes = np.zeros((len(log_psi), 2), dtype=np.int64)
    shapes[index[1:]] = np.column_stack([tree.n_states[1:], tree.n_states[tree.parents[1:]]])
    tables = _Tables.of(log_psi, shapes)
    rows, sums, passes = (part[index] for part in (tables.rows, tables.sums, tables.passes))
    states = np.arange(tree.log_own.shape[1])
    heard = _range(tree.log_own, states < tree.n_states[:, None])
    sent = np.zeros(tree.n_copies)
    for begin, end in zip(tree.levels[-2:0:-1].tolist(), tree.levels[:1:-1].tolist(), strict=True):
        sent[begin:end] = np.minimum(rows[begin:end], sums[begin:end] + passes[begin:end] * heard[begin:end])
        heard += np.bincount(tree.parents[begin:end], sent[begin:end], tree.n_copies)
    reach = np.ones(tree.n_copies)
    for begin, end in zip(tree.levels[1:-1].tolist(), tree.levels[2:].tolist(), strict=True):
        reach[begin:end] = passes[begin:end] * reach[tree.parents[begin:end]]
    with np.errstate(invalid="ignore"):  # where both exclude a state
        apart = worth.log_belief - tree.log_own[0, : len(worth.log_belief)]
    reached = float(_spans(apart, np.array([0, len(apart)]))[0]) + float(sent[1 : tree.levels[2]].sum())
    bounds = tree.per_player(np.append(0.0, sent[1:] * reach[tree.parents[1:]]))
    endless = (bounds >= _ENDLESS) | (reached >= _ENDLESS)
    return np.where(endless, np.inf, bounds * worth.kind.slope(worth.question, reached))


def _oscillations(field: MarkovRandomField, tables: "_Tables") -> Floats:
    """[2E] bound on the oscillation of what each slot carries, in any coalition."""
    slots, n = field.slots, field.n_variables
    senders = np.repeat(np.arange(n), np.diff(slots.offsets))
    most, uninformed, passes = (part[slots.tables] for part in (tables.rows, tables.sums, tables.passes))
    own = _spans(field.log_priors, field.offsets)
    sent = most
    for _ in range(_ROUNDS):
        heard = own + np.bincount(slots.neighbours, sent, n)
        without = np.where(heard[senders] >= _ENDLESS, _ENDLESS, heard[senders] - sent[slots.reverse])
        sent = np.minimum(most, uninformed + passes * without)
    return sent


class _Tables(NamedTuple):
    """What directed tables do to messages; a table has a row per state of the sender."""

    rows: Floats  # [2P] the largest oscillation of a row
    sums: Floats  # [2P] that of the sum of its rows: what an uninformed sender says
    cross_ratios: Floats  # [2P] the largest log cross ratio

    @property
    def passes(self) -> Floats:
        """[2P] share of what the sender has heard that goes through at most."""
        passed: Floats = np.tanh(self.cross_ratios / 4.0)
        return passed

    @classmethod
    def of(cls, logs: Floats, shapes: Ints) -> "_Tables":
        """Of tables [2P, K, K] in nats that use so many rows and columns [2P, 2] of their cells."""
        states = np.arange(logs.shape[1])
        row, column = states < shapes[:, :1], states < shapes[:, 1:]
        used = row[:, :, None] & column[:, None, :]
        rows = np.where(row, _range(logs, used), 0.0).max(axis=1)
        sums = _range(np.logaddexp.reduce(np.where(used, logs, -np.inf), axis=1), column)
        ratios = np.zeros(len(logs))
        for x in states.tolist():
            both = used & used[:, x : x + 1]
            with np.errstate(invalid="ignore"):
                between = _range(logs - logs[:, x : x + 1], both)
            ratios = np.maximum(ratios, np.where(both.any(axis=2), between, 0.0).max(axis=1))
        ratios[(np.isneginf(logs) & used).any(axis=(1, 2))] = _ENDLESS
        return cls(rows, sums, ratios)


def _range(logs: Floats, used: Bools) -> Floats:
    """Largest minus smallest of the used entries of the last axis; endless where one is an exact zero."""
    with np.errstate(invalid="ignore"):
        span = np.where(used, logs, -np.inf).max(axis=-1) - np.where(used, logs, np.inf).min(axis=-1)
    span[~used.any(axis=-1)] = 0.0
    bounded: Floats = np.minimum(np.where(np.isfinite(span), span, _ENDLESS), _ENDLESS)
    return bounded


def _spans(logs: Floats, offsets: Ints) -> Floats:
    """[n] the same of each segment."""
    with np.errstate(invalid="ignore"):
        span = np.maximum.reduceat(logs, offsets[:-1]) - np.minimum.reduceat(logs, offsets[:-1])
    bounded: Floats = np.minimum(np.where(np.isfinite(span), span, _ENDLESS), _ENDLESS)
    return bounded
