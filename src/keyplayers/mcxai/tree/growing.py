"""The tree while it grows, and the playouts that ended."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..._base.arrays import Floats, Ints
from ..budget import Budget
from ..game.game import Game, Order
from . import _tree_kernels as kernels
from .surrogates import Surrogate
from .tree import SearchTree

# nodes for which there is room at first
ROOM = 256

# what each array of `Nodes` holds for a node that is not there yet
_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("parents", "players", "last_child", "older_sibling"), np.int64(-1)),
    **dict.fromkeys(("depths", "n_children", "n_visits", "n_starts"), np.int64(0)),
    "rewards": np.float64(0),
    **dict.fromkeys(("ended", "pending"), np.bool_(False)),
}


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
    nodes: kernels.Nodes = field(init=False)
    shared: kernels.Shared = field(init=False)
    best: dict[frozenset[int], tuple[float, Order]] = field(default_factory=dict)  # reward, order of sets that end

    def __post_init__(self) -> None:
        size = np.ones(1, dtype=np.int64)
        self.nodes = kernels.Nodes(size, *(np.full(ROOM, _EMPTY[name]) for name in kernels.Nodes._fields[1:]))
        room = ROOM if self.rules.share_orders else 0
        ints, floats = np.zeros(room, dtype=np.int64), np.zeros(room)
        self.shared = kernels.Shared(ints, ints.copy(), floats, np.zeros(0, dtype=np.int64))

    @property
    def n_nodes(self) -> int:
        """Nodes in use."""
        return int(self.nodes.size[0])

    def make_room(self, n_more: int) -> None:
        """Make room for so many further nodes, and for all states of the cache where orders share statistics."""
        nodes, shared = self.nodes, self.shared
        needed = self.n_nodes + n_more
        if needed > len(nodes.parents):
            grown = {name: _longer(getattr(nodes, name), 2 * needed, _EMPTY[name]) for name in _EMPTY}
            self.nodes = nodes._replace(**grown)
        if self.rules.share_orders:
            n_nodes, n_states = len(self.nodes.parents), len(self.game.cache.p_target)
            self.shared = kernels.Shared(
                _longer(shared.first_node, n_nodes, 0),
                _longer(shared.n_visits, n_nodes, 0),
                _longer(shared.rewards, n_nodes, 0),
                _longer(shared.node_of, n_states, -1),
            )

    def add_child(self, parent: int, player: int) -> int:
        """A new child, its state unknown so far."""
        return int(kernels.add_child(self.nodes, parent, player))

    def back_up(self, leaf: int, visits: int, reward: float) -> None:
        """Add visits and reward to every edge from a leaf up to the root."""
        kernels.back_up(self.nodes, self.shared, leaf, visits, reward)

    def back_up_all(self, playouts: kernels.Playouts) -> Floats:
        """Back up what playouts earned [P]; see the kernel."""
        self.make_room(0)
        earned: Floats = kernels.back_up_all(
            self.nodes, self.shared, playouts, self.rules.depth, float(self.rules.eta)
        )
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
        kernels.insert_path(self.nodes, self.shared, np.array(order, dtype=np.int64), indices, earned)
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
            players.append(self.nodes.players.item(node))
            node = self.nodes.parents.item(node)
        return tuple(reversed(players))

    def first_moves(self) -> Ints:
        """The root's children, one for every player [n], made where they are missing."""
        n = self.game.n
        self.make_room(n)
        children = np.full(n, -1, dtype=np.int64)
        child = int(self.nodes.last_child[0])
        while child >= 0:
            children[self.nodes.players[child]] = child
            child = int(self.nodes.older_sibling[child])
        for player in np.flatnonzero(children < 0).tolist():
            children[player] = self.add_child(0, player)
        return children

    def result(self) -> SearchTree:
        """The tree as it stands, without nodes that no playout completed."""
        nodes = self.nodes
        visited = nodes.n_visits[: self.n_nodes] > 0
        visited[0] = True
        keep = np.flatnonzero(visited)
        renumbered = np.full(self.n_nodes + 1, -1)
        renumbered[keep] = np.arange(len(keep))
        return SearchTree(
            parents=renumbered[nodes.parents[keep]],
            players=nodes.players[keep],
            n_visits=nodes.n_visits[keep],
            rewards=nodes.rewards[keep],
            n_starts=nodes.n_starts[keep],
            ended=nodes.ended[keep],
        )


def _longer(array: Any, length: int, fill: Any) -> Any:
    """The array with room for `length` entries, filled up."""
    missing = length - len(array)
    return array if missing <= 0 else np.concatenate([array, np.full(missing, fill, dtype=array.dtype)])
