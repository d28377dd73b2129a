"""Roll-outs: the states that come up as players are masked in the orders drawn, evaluated in batches."""

import numpy as np

from ..._base.arrays import Bools, Ints
from . import _rollout_kernels as kernels
from ._tree_kernels import Playouts
from .growing import GrowingTree

# roll-out states that each roll-out shows to the model in a call, where they go in blocks: few waste few rows
# beyond the end of a game, many make few calls
STATES_PER_CALL = 3


def roll_out(tree: GrowingTree, leaves: Ints, masked: Bools, orders: Ints) -> Playouts:
    """Follow every order [P, n] from its leaf until the game ends or depth is reached.

    Parameters
    ----------
    leaves
        Nodes [P].
    masked
        Players masked there [P, n].
    """
    game, rules = tree.game, tree.rules
    n_playouts = len(leaves)
    room = np.minimum(rules.depth, game.n) - tree.nodes["depth"][leaves]
    one_by_one = n_playouts == 1 and rules.parallel_leaves == 1
    step = int(room.max(initial=0)) + 1 if one_by_one else STATES_PER_CALL
    unknown = np.full(n_playouts, -1, dtype=np.int64)
    lengths = np.zeros(n_playouts, dtype=np.int64)
    rollouts = kernels.Rollouts(masked, orders, room, unknown, lengths, unknown.copy())
    running = np.arange(n_playouts)
    position = 0  # actions after the leaf that come next
    while len(running):
        found = game.evaluate(kernels.next_states(rollouts, running, position, step), tree.budget)
        running = kernels.advance(rollouts, running, position, step, found, game.ended(found))
        position += step
    indices = rollouts.indices
    return Playouts(leaves, rollouts.begun, lengths, game.changes(indices), game.ended(indices))
