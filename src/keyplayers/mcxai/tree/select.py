"""Selection and expansion: a leaf for every playout of a block."""

import math

import numpy as np

from ..._base.arrays import Floats, Ints
from . import _select_kernels as kernels
from ._tree_kernels import ONE_VISIT, back_up
from .growing import GrowingTree
from .surrogates import AdditiveSurrogate

# in units of a win rate: players whose Q differs by this much are drawn at odds of e to 1
TEMPERATURE = 0.1
# the smallest uniform number that is taken for what it is
TINY = 1e-300


def select_leaves(tree: GrowingTree, tie_breaks: Floats) -> kernels.Leaves:
    """Choose a leaf for every playout by UCT and expand where a node may have one child more.

    Each leaf's path is visited at once with reward 0 (virtual loss), so that the next playout goes elsewhere.

    Parameters
    ----------
    tie_breaks
        Uniform numbers that decide between equal Q, [P, n].
    """
    n_playouts, n = tie_breaks.shape
    tree.make_room(n_playouts)
    leaves = kernels.Leaves(
        np.empty(n_playouts, dtype=np.int64), np.zeros((n_playouts, n), dtype=np.bool_), np.empty((n_playouts, n))
    )
    uct = _uct(tree)
    if isinstance(tree.surrogate, AdditiveSurrogate):
        kernels.select_additive(tree.arrays, uct, tree.surrogate.terms, tie_breaks, leaves)
    else:
        for p in range(n_playouts):
            _select(tree, uct, leaves, p, tie_breaks[p])
    return leaves


def _select(tree: GrowingTree, uct: kernels.Uct, leaves: kernels.Leaves, p: int, tie_break: Floats) -> None:
    """One leaf, with a surrogate that is asked in Python."""
    node = kernels.walk_down(tree.arrays.nodes, uct, leaves.masked[p])
    leaves.scores[p] = tree.surrogate.scores(leaves.masked[p : p + 1])[0]
    leaf = kernels.expand(tree.arrays, uct, node, leaves, p, tie_break)
    if leaf != node:
        leaves.scores[p] = tree.surrogate.scores(leaves.masked[p : p + 1])[0]
    back_up(tree.arrays.nodes, leaf, ONE_VISIT, 0.0)
    leaves.nodes[p] = leaf


def _uct(tree: GrowingTree) -> kernels.Uct:
    rules = tree.rules
    widening, exponent = rules.widening or (0.0, 0.0)
    return kernels.Uct(rules.depth, float(rules.exploration), float(widening), float(exponent))


def draw_orders(tree: GrowingTree, leaves: kernels.Leaves, draws: Floats) -> Ints:
    """An order of the players for each roll-out [P, n], drawn by softmax(Q / T) or uniformly; masked ones last.

    Gumbel's noise from uniform `draws` [P, n] makes a sort a draw without replacement.
    """
    temperature = TEMPERATURE if tree.rules.rollout == "surrogate" else math.inf
    keys = np.log(-np.log(np.maximum(draws, TINY))) - leaves.scores / temperature
    keys[leaves.masked] = np.inf
    return keys.argsort(axis=1, kind="stable")
