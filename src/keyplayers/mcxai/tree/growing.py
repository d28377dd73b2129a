"""The tree while it grows, and the playouts that ended."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..._base.arrays import Floats, Ints
from ..budget import Budget
from ..game.game import Game, Order
from . import _tree_kernels as kernels
from .surrogates import Nodes, Surrogate
from .tree import SearchTree

# nodes for which there is room at first
ROOM = 256

# a node that is not there yet
_EMPTY = np.zeros((), dtype=kernels.NODE)
for _name in ("parent", "player", "last_child", "older_sibling", "first_node"):
    _EMPTY[_name] = -1


@dataclass(frozen=True)
class Rules:
    """How the tree is searched."""

    depth: int  # most actions of a playout
    eta: float  # weight of shortness against change of probability
    exploration: float  # lambda of UCT
    widening: tuple[float, float] | None  # (c, alpha): a node has at most ceil(c * n^alpha) children
    rollout: Literal["surrogate", "random"]
    parallel_leaves: int
    share_orders: bool = False


@dataclass(eq=False)
class GrowingTree:
    """The tree while it grows, and the playouts that ended."""

    game: Game
    rules: Rules
    surrogate: Surrogate
    budget: Budget
    arrays: kernels.Tree = field(init=False)
    best: dict[frozenset[int], tuple[float, Order]] = field(default_factory=dict)  # reward, order of sets that end

    def __post_init__(self) -> None:
        self.arrays = kernels.Tree(
            np.full(ROOM, _EMPTY), np.ones(1, dtype=np.int64), np.full(self._n_states(), kernels.NONE)
        )

    @property
    def nodes(self) -> Nodes:
        """The nodes in use [T], of `NODE`."""
        return self.arrays.nodes[: self.arrays.size[0]]

    def make_room(self, n_more: int) -> None:
        """Make room for so many further nodes, and for all states of the cache where orders share statistics."""
        nodes, size, node_of = self.arrays
        needed, n_states = size[0] + n_more, self._n_states()
        if needed > len(nodes):
            nodes = np.concatenate([nodes, np.full(2 * needed - len(nodes), _EMPTY)])
        if n_states > len(node_of):
            node_of = np.concatenate([node_of, np.full(n_states - len(node_of), kernels.NONE)])
        self.arrays = kernels.Tree(nodes, size, node_of)

    def _n_states(self) -> int:
        """States for which the tree needs room, where orders share statistics."""
        return len(self.game.cache.p_target) if self.rules.share_orders else 0

    def add_child(self, parent: int, player: int) -> int:
        """A new child, its state unknown so far."""
        return int(kernels.add_child(self.arrays, parent, player))

    def back_up(self, leaf: int, visits: int, reward: float) -> None:
        """Add visits and reward to every edge from a leaf up to the root."""
        kernels.back_up(self.arrays.nodes, leaf, visits, reward)

    def back_up_all(self, playouts: kernels.Playouts) -> Floats:
        """Back up what playouts earned [P]; see the kernel."""
        self.make_room(0)
        earned: Floats = kernels.back_up_all(self.arrays, playouts, self.rules.depth, float(self.rules.eta))
        return earned

    def insert_path(self, order: Order, index: int) -> None:
        """Enter a playout that was found outside the tree: its states become nodes, its reward is backed up.

        Parameters
        ----------
        order
            Players masked one after the other; the game ends at the last and not before.
        index
            Cache index of the last state.
        """
        game, rules = self.game, self.rules
        if len(order) > rules.depth:
            return
        earned = float(
            kernels.reward(
                len(order), rules.depth, float(game.changes(np.array([index]))[0]), True, float(rules.eta)
            )
        )
        indices = np.full(len(order), -1)
        if rules.share_orders:
            indices = game.evaluate_prefixes([order], self.budget)[0]
        self.make_room(len(order))
        kernels.insert_path(self.arrays, np.array(order, dtype=np.int64), indices, earned)
        self.note_end(order, earned)

    def note_end(self, order: Order, reward: float) -> None:
        """Remember the best order of a set that ended the game."""
        key = frozenset(order)
        held = self.best.get(key)
        if held is None or held[0] < reward:
            self.best[key] = (reward, order)

    def path(self, node: int) -> Order:
        """Players masked from the root to a node, in order."""
        players = []
        while node > 0:
            players.append(self.nodes["player"].item(node))
            node = self.nodes["parent"].item(node)
        return tuple(reversed(players))

    def first_moves(self) -> Ints:
        """The root's children, one for every player [n], made where they are missing."""
        n = self.game.n
        self.make_room(n)
        children = np.full(n, -1, dtype=np.int64)
        first = np.flatnonzero(self.nodes["parent"] == 0)
        children[self.nodes["player"][first]] = first
        for player in np.flatnonzero(children < 0).tolist():
            children[player] = self.add_child(0, player)
        return children

    def result(self) -> SearchTree:
        """The tree as it stands, without nodes that no playout completed."""
        nodes = self.nodes
        visited = nodes["n_visits"] > 0
        visited[0] = True
        keep = np.flatnonzero(visited)
        renumbered = np.full(len(nodes) + 1, -1)
        renumbered[keep] = np.arange(len(keep))
        kept = nodes[keep]
        return SearchTree(
            parents=renumbered[kept["parent"]],
            players=kept["player"].copy(),
            n_visits=kept["n_visits"].copy(),
            rewards=kept["rewards"].copy(),
            n_starts=kept["n_starts"].copy(),
            ended=kept["ended"].copy(),
        )
