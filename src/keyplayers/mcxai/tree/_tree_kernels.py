# mypy: ignore-errors
"""Kernels of the game tree: a new child, backup, reward, a playout that was found elsewhere. Arrays only."""

from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel

# A node of the tree, number 0 the root; an edge is known by the node it leads to. One array of records instead of
# an array for each field: kernels of the tree compile in half the time, and a call costs a fifth.
NODE = np.dtype(
    [
        ("parent", np.int64),  # -1 at the root
        ("player", np.int64),  # masked on the edge from the parent, -1 at the root
        ("depth", np.int64),  # players masked
        ("last_child", np.int64),  # the child made last, -1: none
        ("older_sibling", np.int64),  # the child of the same parent made before, -1: none
        ("n_children", np.int64),
        ("n_visits", np.int64),  # playouts through the edge
        ("rewards", np.float64),  # sum of their rewards
        ("n_starts", np.int64),  # playouts whose roll-out began here
        ("first_node", np.int64),  # where orders share statistics: first node of the same state; else -1
        ("shared_visits", np.int64),  # of all nodes of the same state, by its first node
        ("shared_rewards", np.float64),
        ("ended", np.bool_),  # the game is over in the state
        ("pending", np.bool_),  # the state has not been evaluated
    ],
    align=True,
)

# Numbers with a type: numba would compile a kernel anew for every plain literal that it is called with.
ROOT = np.int64(0)
NONE = np.int64(-1)
NO_VISIT, ONE_VISIT, TAKEN_BACK = np.int64(0), np.int64(1), np.int64(-1)


class Tree(NamedTuple):
    """A tree while it grows."""

    nodes: np.ndarray  # [T] of `NODE`
    size: np.ndarray  # [1] nodes in use
    node_of: np.ndarray  # [M] first node of each state in the cache, -1: none; [0] where orders share nothing


class Playouts(NamedTuple):
    """Playouts that were rolled out."""

    leaves: np.ndarray  # [P] node where each roll-out began
    begun: np.ndarray  # [P] cache index of that node's state, -1 where the budget ended first
    lengths: np.ndarray  # [P] actions after the leaf
    changes: np.ndarray  # [P] change of P(y) in the direction of the game
    ended: np.ndarray  # [P] whether the game ended


@kernel
def add_child(tree, parent, player):
    """A new node, whose state is unknown so far. Returns: the node."""
    nodes = tree.nodes
    child = tree.size[0]
    tree.size[0] += 1
    nodes[child].parent = parent
    nodes[child].player = player
    nodes[child].depth = nodes[parent].depth + 1
    nodes[child].older_sibling = nodes[parent].last_child
    nodes[child].pending = True
    nodes[parent].last_child = child
    nodes[parent].n_children += 1
    return child


@kernel
def back_up(nodes, leaf, visits, reward):
    """Add visits and reward to every edge from the leaf up to the root, and to their states' statistics."""
    node = leaf
    while node > 0:
        nodes[node].n_visits += visits
        nodes[node].rewards += reward
        first = nodes[node].first_node  # -1 also while the state is unknown: its visits are added when it is known
        if first >= 0:
            nodes[first].shared_visits += visits
            nodes[first].shared_rewards += reward
        node = nodes[node].parent
    nodes[0].n_visits += visits
    nodes[0].rewards += reward


@kernel
def reward(n_actions, depth, change, ended, eta):
    """Reward of a playout: ``eta * (1 - l / L) + (1 - eta) * q``, 0 where the game did not end.

    l actions of at most L, q the change of P(y) in the direction of the game, clipped to [0, 1].
    """
    if not ended:
        return 0.0
    return eta * (1 - n_actions / depth) + (1 - eta) * min(max(change, 0.0), 1.0)


@kernel
def set_state(tree, node, index):
    """A new node's state is known, with this cache index (-1: none); its orders share statistics from now on."""
    nodes = tree.nodes
    nodes[node].pending = False
    if len(tree.node_of) == 0:
        return
    first = node
    if index >= 0:
        if tree.node_of[index] < 0:
            tree.node_of[index] = node
        first = tree.node_of[index]
    nodes[node].first_node = first
    nodes[first].shared_visits += nodes[node].n_visits
    nodes[first].shared_rewards += nodes[node].rewards


@kernel
def back_up_all(tree, playouts, depth, eta):
    """Back up the rewards of playouts, whose leaves were visited with reward 0 when they were selected.

    Where the budget ended first the visit is taken back. Writes: tree. Returns: rewards [P].
    """
    nodes = tree.nodes
    rewards = np.zeros(len(playouts.leaves))
    for p in range(len(playouts.leaves)):
        leaf = playouts.leaves[p]
        if playouts.begun[p] < 0:
            back_up(nodes, leaf, TAKEN_BACK, 0.0)
            continue
        over = playouts.ended[p]
        if nodes[leaf].pending:
            set_state(tree, leaf, playouts.begun[p])
            nodes[leaf].ended = over and playouts.lengths[p] == 0
        n_actions = nodes[leaf].depth + playouts.lengths[p]
        rewards[p] = reward(n_actions, depth, playouts.changes[p], over, eta)
        back_up(nodes, leaf, NO_VISIT, rewards[p])
        nodes[leaf].n_starts += 1
    return rewards


@kernel
def insert_path(tree, order, indices, gained):
    """Enter a playout that ended: all its states become nodes, its reward is backed up.

    order: players, after the last of which the game is over. indices: cache index of the state after each,
    where orders share statistics. Writes: tree.
    """
    nodes = tree.nodes
    node = ROOT
    for step in range(len(order)):
        child = nodes[node].last_child
        while child >= 0 and nodes[child].player != order[step]:
            child = nodes[child].older_sibling
        if child < 0:
            child = add_child(tree, node, order[step])
        if nodes[child].pending:
            set_state(tree, child, indices[step])
        node = child
    nodes[node].ended = True
    back_up(nodes, node, ONE_VISIT, gained)
    nodes[node].n_starts += 1
