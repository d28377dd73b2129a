"""Trees that hang on the rest of a graph: stripped leaf by leaf, down to the cycles and what lies between them."""

from typing import NamedTuple

import numpy as np

from .._base.arrays import Bools, Floats, Ints


class PendantTrees(NamedTuple):
    """A graph without its pendant trees: the 2-core, and what hangs on it."""

    order: Ints  # [F] variables in the order in which they fall, each before the one it hung on
    up_slots: Ints  # [N] slot by which each hung on another, -1 where it stays or hung on none
    in_core: Bools  # [N] whether a variable stays


def strip_leaves(offsets: Ints, neighbours: Ints, *, kept: int = -1) -> PendantTrees:
    """Take leaves off again and again (2-core decomposition), in linear time.

    Parameters
    ----------
    offsets
        [N+1] slots of each variable.
    neighbours
        [2E] the variable at the other end of each slot.
    kept
        A variable that is no leaf: it stays, with the way from it to the cycles. -1: none.
    """
    from . import _field_kernels as kernels

    n = len(offsets) - 1
    trees = PendantTrees(np.empty(n, dtype=np.int32), np.full(n, -1, dtype=np.int64), np.ones(n, dtype=np.bool_))
    n_fallen = kernels.strip_leaves(offsets, neighbours, kept, np.diff(offsets), trees)
    return trees._replace(order=trees.order[:n_fallen])


def log_subtree_weights(trees: PendantTrees, neighbours: Ints) -> Floats:
    """[N] log of Π (1 + N(child)) over what hangs on each variable, N(v) being the subtrees that hang at v.

    N(v) is that product itself: every child is left out, or joined with one of its own subtrees.
    """
    log_weights = np.zeros(len(trees.in_core))
    for v, slot in zip(trees.order.tolist(), trees.up_slots[trees.order].tolist(), strict=True):
        if slot >= 0:
            log_weights[neighbours[slot]] += np.logaddexp(0.0, log_weights[v])
    return log_weights
