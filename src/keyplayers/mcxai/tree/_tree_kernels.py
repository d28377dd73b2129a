# mypy: ignore-errors
"""Kernels of the game tree: a new child, backup, reward, a playout that was found elsewhere. Arrays only."""

from typing import NamedTuple

import numpy as np

from ..._base.compiled import kernel


# Numbers with a type: numba would compile a kernel anew for every plain literal that it is called with.
ROOT = np.int64(0)
NONE = np.int64(-1)
NO_VISIT, ONE_VISIT, TAKEN_BACK = np.int64(0), np.int64(1), np.int64(-1)


class Nodes(NamedTuple):
    """The nodes of a tree, 0 the root; an edge is known by the node it leads to."""

    size: np.ndarray  # [1] nodes in use
    parents: np.ndarray  # [T] -1 at the root
    players: np.ndarray  # [T] player masked on the edge from the parent, -1 at the root
    depths: np.ndarray  # [T] players masked
    last_child: np.ndarray  # [T] child made last, -1: none
    older_sibling: np.ndarray  # [T] child of the same parent made before, -1: none
    n_children: np.ndarray  # [T]
    n_visits: np.ndarray  # [T] playouts through the edge
    rewards: np.ndarray  # [T] sum of their rewards
    n_starts: np.ndarray  # [T] playouts whose roll-out began here
    ended: np.ndarray  # [T] the game is over in the state
    pending: np.ndarray  # [T] the state has not been evaluated


class Shared(NamedTuple):
    """Statistics of states, which all orders of the same set share; arrays of length 0 where they do not."""

    first_node: np.ndarray  # [T] first node of the same state
    n_visits: np.ndarray  # [T] by that node
    rewards: np.ndarray  # [T] by that node
    node_of: np.ndarray  # [M] first node of each state in the cache, -1: none


class Playouts(NamedTuple):
    """Playouts that were rolled out."""

    leaves: np.ndarray  # [P] node where each roll-out began
    begun: np.ndarray  # [P] cache index of that node's state, -1 where the budget ended first
    lengths: np.ndarray  # [P] actions after the leaf
    changes: np.ndarray  # [P] change of P(y) in the direction of the game
    ended: np.ndarray  # [P] whether the game ended


@kernel
def add_child(nodes, parent, player):
    """A new node, whose state is unknown so far. Returns: the node."""
    child = nodes.size[0]
    nodes.size[0] += 1
    nodes.parents[child] = parent
    nodes.players[child] = player
    nodes.depths[child] = nodes.depths[parent] + 1
    nodes.older_sibling[child] = nodes.last_child[parent]
    nodes.last_child[parent] = child
    nodes.n_children[parent] += 1
    nodes.pending[child] = True
    return child


@kernel
def back_up(nodes, shared, leaf, visits, reward):
    """Add visits and reward to every edge from the leaf up to the root, and to their states' statistics."""
    node = leaf
    while node > 0:
        nodes.n_visits[node] += visits
        nodes.rewards[node] += reward
        # a pending node has no state yet: its own visits are added when it gets one
        if len(shared.first_node) and not nodes.pending[node]:
            shared.n_visits[shared.first_node[node]] += visits
            shared.rewards[shared.first_node[node]] += reward
        node = nodes.parents[node]
    nodes.n_visits[0] += visits
    nodes.rewards[0] += reward


@kernel
def reward(n_actions, depth, change, ended, eta):
    """Reward of a playout: ``eta * (1 - l / L) + (1 - eta) * q``, 0 where the game did not end.

    l actions of at most L, q the change of P(y) in the direction of the game, clipped to [0, 1].
    """
    if not ended:
        return 0.0
    return eta * (1 - n_actions / depth) + (1 - eta) * min(max(change, 0.0), 1.0)


@kernel
def set_state(nodes, shared, node, index):
    """A new node's state is known, with this cache index (-1: none); its orders share statistics from now on."""
    nodes.pending[node] = False
    if len(shared.first_node):
        first = node
        if index >= 0:
            if shared.node_of[index] < 0:
                shared.node_of[index] = node
            first = shared.node_of[index]
        shared.first_node[node] = first
        shared.n_visits[first] += nodes.n_visits[node]
        shared.rewards[first] += nodes.rewards[node]


@kernel
def back_up_all(nodes, shared, playouts, depth, eta):
    """Back up the rewards of playouts, whose leaves were visited with reward 0 when they were selected.

    Where the budget ended first the visit is taken back. Writes: nodes, shared. Returns: rewards [P].
    """
    rewards = np.zeros(len(playouts.leaves))
    for p in range(len(playouts.leaves)):
        leaf = playouts.leaves[p]
        if playouts.begun[p] < 0:
            back_up(nodes, shared, leaf, TAKEN_BACK, 0.0)
            continue
        over = playouts.ended[p]
        if nodes.pending[leaf]:
            set_state(nodes, shared, leaf, playouts.begun[p])
            nodes.ended[leaf] = over and playouts.lengths[p] == 0
        n_actions = nodes.depths[leaf] + playouts.lengths[p]
        rewards[p] = reward(n_actions, depth, playouts.changes[p], over, eta)
        back_up(nodes, shared, leaf, NO_VISIT, rewards[p])
        nodes.n_starts[leaf] += 1
    return rewards


@kernel
def insert_path(nodes, shared, order, indices, gained):
    """Enter a playout that ended: all its states become nodes, its reward is backed up.

    order: players, after the last of which the game is over. indices: cache index of the state after each,
    where orders share statistics. Writes: nodes, shared.
    """
    node = ROOT
    for step in range(len(order)):
        child = nodes.last_child[node]
        while child >= 0 and nodes.players[child] != order[step]:
            child = nodes.older_sibling[child]
        if child < 0:
            child = add_child(nodes, node, order[step])
        if nodes.pending[child]:
            set_state(nodes, shared, child, indices[step])
        node = child
    nodes.ended[node] = True
    back_up(nodes, shared, node, ONE_VISIT, gained)
    nodes.n_starts[node] += 1
