# mypy: ignore-errors
"""Kernels of selection and expansion. Arrays only; see select.py."""

import math
from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel
from ._tree_kernels import NONE, ONE_VISIT, ROOT, add_child, back_up


class Uct(NamedTuple):
    """How a node is chosen."""

    max_depth: int
    exploration: float  # lambda
    widening: float  # c of c * n^alpha children; 0: every action gets a child before any is visited again
    exponent: float  # alpha


class AdditiveTerms(NamedTuple):
    """Q(x, a) = bias + prior of a + sum of pairs (player masked before, a)."""

    bias: np.ndarray  # [1]
    prior: np.ndarray  # [n]
    pairs: np.ndarray  # [n, n] masked before, action; [0, 0] where there are none


class Leaves(NamedTuple):
    """The leaves of a block of playouts."""

    nodes: np.ndarray  # [P]
    masked: np.ndarray  # [P, n]
    scores: np.ndarray  # [P, n] Q(x, a) of every action


@kernel
def walk_down(nodes, uct, masked):
    """Walk down from the root by UCT to a leaf, or to the first node that may have one child more.

    Writes: masked [n]. Returns: the node.
    """
    n = len(masked)
    masked[:] = False
    node = ROOT
    while not is_leaf(nodes, uct, node, n) and not may_expand(nodes, uct, node, n):
        node = best_child(nodes, uct, node)
        masked[nodes[node].player] = True
    return node


@kernel
def is_leaf(nodes, uct, node, n):
    """Whether a roll-out begins here: the game is over, its state is unknown, or it is as deep as it may be."""
    return nodes[node].ended or nodes[node].pending or nodes[node].depth >= min(uct.max_depth, n)


@kernel
def may_expand(nodes, uct, node, n):
    """Whether a node may have one child more: ceil(c * n^alpha) by its visits (progressive widening)."""
    allowed = n - nodes[node].depth
    if uct.widening > 0:
        width = uct.widening * child_visits(nodes, node) ** uct.exponent
        if width < allowed:  # before it becomes an integer, which may not hold it
            allowed = max(1, math.ceil(width))
    return nodes[node].n_children < allowed


@kernel
def child_visits(nodes, node):
    """Visits of all children of a node."""
    total = 0
    child = nodes[node].last_child
    while child >= 0:
        total += nodes[child].n_visits
        child = nodes[child].older_sibling
    return total


@kernel
def best_child(nodes, uct, node):
    """The child of largest mean reward + lambda * sqrt(ln n(x) / n(x, a)); ties go to the lower player."""
    log_total = math.log(max(1, child_visits(nodes, node)))
    best = NONE
    best_score = -np.inf
    child = nodes[node].last_child
    while child >= 0:
        visits = nodes[child].n_visits
        if visits == 0:  # rows ran out before its first playout did
            return child
        mean = nodes[child].rewards / visits
        first = nodes[child].first_node
        if first >= 0:
            mean = nodes[first].shared_rewards / nodes[first].shared_visits
        score = mean + uct.exploration * math.sqrt(log_total / visits)
        if score > best_score or (score == best_score and nodes[child].player < nodes[best].player):
            best = child
            best_score = score
        child = nodes[child].older_sibling
    return best


@kernel
def expand(tree, uct, node, leaves, p, tie_break):
    """Give a node the child of the untried action of largest Q, unless it is a leaf.

    leaves.scores[p]: Q of every action there. tie_break [n] decides between equal Q. Writes: leaves.masked[p],
    tree. Returns: the child, or the node itself.
    """
    n = len(tie_break)
    if is_leaf(tree.nodes, uct, node, n):
        return node
    tried = np.zeros(n, dtype=np.bool_)
    child = tree.nodes[node].last_child
    while child >= 0:
        tried[tree.nodes[child].player] = True
        child = tree.nodes[child].older_sibling
    best = NONE
    for a in range(n):
        if leaves.masked[p, a] or tried[a]:
            continue
        q, best_q = leaves.scores[p, a], leaves.scores[p, best]
        if best < 0 or q > best_q or (q == best_q and tie_break[a] > tie_break[best]):
            best = a
    leaves.masked[p, best] = True
    return add_child(tree, node, best)


@kernel
def additive_scores(nodes, node, terms, scores):
    """Q(x, a) of every action from the action and the players masked before it. Writes: scores [n]."""
    for a in range(len(scores)):
        scores[a] = terms.bias[0] + terms.prior[a]
    if len(terms.pairs):
        while node > 0:
            player = nodes[node].player
            for a in range(len(scores)):
                scores[a] += terms.pairs[player, a]
            node = nodes[node].parent


@kernel
def select_additive(tree, uct, terms, tie_breaks, leaves):
    """Select a leaf for every playout of a block, with an additive surrogate.

    Each leaf's path is visited at once with reward 0 (virtual loss), so that the next playout goes elsewhere.
    tie_breaks [P, n] uniform. Writes: tree, leaves.
    """
    for p in range(len(tie_breaks)):
        node = walk_down(tree.nodes, uct, leaves.masked[p])
        additive_scores(tree.nodes, node, terms, leaves.scores[p])
        leaf = expand(tree, uct, node, leaves, p, tie_breaks[p])
        if leaf != node:
            additive_scores(tree.nodes, leaf, terms, leaves.scores[p])
        back_up(tree.nodes, leaf, ONE_VISIT, 0.0)
        leaves.nodes[p] = leaf
