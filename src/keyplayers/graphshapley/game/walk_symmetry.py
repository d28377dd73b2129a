"""Which copies of the tree of walks are equal, and which players are equal because all their copies are.

Copies get a fingerprint of 64 bits from what decides their contributions: prior, boundary, potential, what hangs
on them and where they hang themselves. Two different ones of n copies have the same by chance n² / 2^65 at most:
3e-8 for a million.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from .walk_tree import WalkTree

# Boundaries that differ by less (nats) are the same: propagation leaves equal messages so far apart.
_SAME = 1e-8

# What stands for the logarithm of zero.
_ZERO = np.int64(2**62)

_Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Merged:
    """The tree with one copy in place of equal siblings."""

    tree: WalkTree
    index: Ints  # [T] the copy that stands for each of the whole tree


def merge_equal_copies(tree: WalkTree) -> Merged:
    """One copy for each that differs, with `counts` of how many siblings it stands for."""
    _, firsts, index = np.unique(_labels(tree), return_index=True, return_inverse=True)
    index = index.ravel()
    members = np.bincount(index)
    parents = np.where(firsts == 0, 0, index[tree.parents[firsts]])
    depths = tree.depths[firsts]
    place = np.zeros(len(firsts), dtype=np.int64)
    order = [np.flatnonzero(depths == 0)]
    for depth in range(1, len(tree.levels) - 1):
        here = np.flatnonzero(depths == depth)
        order.append(here[np.lexsort((firsts[here], place[parents[here]]))])
        place[order[-1]] = sum(map(len, order[:-1])) + np.arange(len(here))
    kept = np.concatenate(order)
    counts = members[kept] // members[parents[kept]]
    counts[0] = 1
    hangs_on = place[parents[kept]]
    hangs_on[0] = -1
    firsts = firsts[kept]
    merged = replace(
        tree,
        variables=tree.variables[firsts],
        parents=hangs_on,
        slots=tree.slots[firsts],
        levels=np.searchsorted(tree.depths[firsts], np.arange(len(tree.levels))),
        boundary=tree.boundary[firsts],
        counts=counts,
    )
    return Merged(merged, place[index])


def equal_players(tree: WalkTree) -> Ints:
    """[n] labels of the tree's players, in their order; equal where all their copies are."""
    players, places = tree.players
    sums = np.zeros(len(players), dtype=np.uint64)
    np.add.at(sums, places[1:], _mix(_labels(tree)[1:]))
    labels: Ints = np.unique(sums, return_inverse=True)[1].ravel()
    return labels


def _labels(tree: WalkTree) -> _Hashes:
    """[T] equal for copies that an exchange of equal parts of the tree turns into one another."""
    kinds = _kinds(tree)
    labels = kinds.copy()
    for begin, end in zip(tree.levels[1:-1].tolist(), tree.levels[2:].tolist(), strict=True):
        labels[begin:end] = _mix(kinds[begin:end] + _mix(labels[tree.parents[begin:end]]))
    return labels


def _kinds(tree: WalkTree) -> _Hashes:
    """[T] equal for copies of equal prior, boundary, potential and equal parts that hang on them."""
    index, log_psi = tree.tables
    tables = _numbers(log_psi.reshape(len(log_psi), -1))[index]
    tables[0] = 0
    kinds = _mix(_mix(_numbers(tree.log_priors) + _mix(_numbers(tree.boundary))) + tables)
    for begin, end in zip(tree.levels[-2:0:-1].tolist(), tree.levels[:1:-1].tolist(), strict=True):
        kinds[begin:end] = _mix(kinds[begin:end])
        np.add.at(kinds, tree.parents[begin:end], _mix(kinds[begin:end]))
    return kinds


def _numbers(rows: Floats) -> _Hashes:
    """[T] what rows of logarithms are compared by: differences from the largest, in steps of `_SAME`."""
    hashes = np.zeros(len(rows), dtype=np.uint64)
    tops = np.maximum(rows.max(axis=1), -1e300)  # a row of zeros only: no table is used
    for column in rows.T:
        zero = np.isneginf(column)
        steps = np.rint(np.where(zero, 0.0, column - tops) / _SAME).astype(np.int64)
        hashes = _mix(hashes + np.where(zero, _ZERO, steps).view(np.uint64))
    return hashes


def _mix(numbers: _Hashes) -> _Hashes:
    """Vigna's SplitMix64, doi:10.1145/2714064.2660195: neighbouring numbers go far apart."""
    with np.errstate(over="ignore"):
        z = numbers + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
