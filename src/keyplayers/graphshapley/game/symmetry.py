"""Which players are equal because the ball looks the same from where they stand."""

from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...mrf.field import MarkovRandomField
from ...mrf.pendant import log_subtree_weights, strip_leaves
from .packing import PackedField, pack_field


class Branches(NamedTuple):
    """The trees that dangle from the rest of a ball (from the target, where the ball is a tree)."""

    order: Ints  # [F] dangling variables, each before the one it hangs on
    up_slots: Ints  # [n] slot by which each hangs on another, -1 for the rest
    in_core: Bools  # [n] whether a variable is part of the rest; the target always is
    log_weights: Floats  # [n] log N(v), N(v) = Π_children (1 + N(child)): subtrees that hang at v
    kinds: Ints  # [n] equal where prior, potential upwards and branches behind are; -1 for the rest


def find_branches(field: MarkovRandomField, packed: PackedField) -> Branches:
    """The dangling trees of a ball, and which of them are isomorphic."""
    slots = field.slots
    trees = strip_leaves(slots.offsets, slots.neighbours, kept=0)
    priors = _prior_kinds(packed)
    tables = _table_kinds(packed)[slots.tables]
    kinds = np.full(field.n_variables, -1, dtype=np.int64)
    behind: dict[int, list[int]] = {}
    known: dict[tuple[int, int, tuple[int, ...]], int] = {}
    for v in trees.order.tolist():
        parent = int(slots.neighbours[trees.up_slots[v]])
        key = (int(priors[v]), int(tables[trees.up_slots[v]]), tuple(sorted(behind.pop(v, ()))))
        kinds[v] = known.setdefault(key, len(known))
        behind.setdefault(parent, []).append(int(kinds[v]))
    log_weights = log_subtree_weights(trees, slots.neighbours)
    return Branches(trees.order, trees.up_slots, trees.in_core, log_weights, kinds)


def equal_players(field: MarkovRandomField, packed: PackedField, branches: Branches) -> Ints:
    """[n] labels; players of one label are exchanged by a symmetry of the ball that keeps the target.

    Found are equal branches of one variable and variables with the same neighbours, not all symmetries.
    """
    slots = field.slots
    n = field.n_variables
    priors = _prior_kinds(packed)
    tables = _table_kinds(packed)[slots.tables]
    dangling: dict[int, list[int]] = {}
    for v in branches.order.tolist():
        dangling.setdefault(int(slots.neighbours[branches.up_slots[v]]), []).append(int(branches.kinds[v]))
    labels = np.full(n, -1, dtype=np.int64)
    labels[0] = 0
    twins: dict[tuple[int, tuple[int, ...], bytes], int] = {}
    for v in np.flatnonzero(branches.in_core).tolist():
        if v == 0:
            continue
        own = slice(int(slots.offsets[v]), int(slots.offsets[v + 1]))
        rest = branches.in_core[slots.neighbours[own]]
        ends = np.stack([slots.neighbours[own][rest], tables[own][rest]])
        ends = ends[:, np.argsort(ends[0])]
        key = (int(priors[v]), tuple(sorted(dangling.get(v, ()))), ends.tobytes())
        labels[v] = twins.setdefault(key, len(twins) + 1)
    followers: dict[tuple[int, int], int] = {}
    for v in branches.order[::-1].tolist():
        parent = int(slots.neighbours[branches.up_slots[v]])
        key_of_branch = (int(labels[parent]), int(branches.kinds[v]))
        labels[v] = followers.setdefault(key_of_branch, len(twins) + 1 + len(followers))
    return labels


def player_groups(field: MarkovRandomField) -> Ints:
    """[n-1] labels of a ball's players, see `equal_players`."""
    if field.n_variables == 1:
        return np.zeros(0, dtype=np.int64)
    packed = pack_field(field)
    return equal_players(field, packed, find_branches(field, packed))[1:]


def _prior_kinds(packed: PackedField) -> Ints:
    rows = np.column_stack([packed.log_priors, packed.n_states])
    kinds: Ints = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    return kinds


def _table_kinds(packed: PackedField) -> Ints:
    rows = packed.log_psi.reshape(len(packed.log_psi), -1)
    kinds: Ints = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    return kinds
