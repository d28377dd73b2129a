"""The tree that a search leaves behind, and what is read off it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class SearchTree:
    """What the search knows when it stops. Node 0 is the root; an edge is known by the node it leads to."""

    parents: Ints  # [T] index of the parent state, -1 at the root
    players: Ints  # [T] player masked on the edge from the parent, -1 at the root
    n_visits: Ints  # [T] playouts through the edge; at the root, all playouts
    rewards: Floats  # [T] sum of their rewards, each in [0, 1]
    n_starts: Ints  # [T] playouts that went on from this state by roll-out, or ended in it
    ended: Bools  # [T] whether the game is over in the state

    def __len__(self) -> int:
        return len(self.parents)

    def win_rates(self) -> Floats:
        """Mean reward of every edge [T], NaN where it has no visit."""
        rates = np.full(len(self), np.nan)
        np.divide(self.rewards, self.n_visits, out=rates, where=self.n_visits > 0)
        return rates

    def path(self, node: int) -> tuple[int, ...]:
        """Players masked from the root to a node, in order."""
        players: list[int] = []
        while node > 0:
            players.append(int(self.players[node]))
            node = int(self.parents[node])
        return tuple(reversed(players))

    def children(self, node: int) -> Ints:
        """The nodes below a node."""
        return np.flatnonzero(self.parents == node)

    def best_complete(self) -> int | None:
        """The end state whose edge has the largest win rate, None where no path in the tree is complete."""
        candidates = np.flatnonzero(self.ended & (self.n_visits > 0) & (self.parents >= 0))
        if len(candidates) == 0:
            return None
        return int(candidates[np.argmax(self.win_rates()[candidates])])

    def text(self, names: Sequence[Any], max_depth: int = 3, max_children: int = 5) -> str:
        """The tree as indented lines, the most visited children first."""
        rates = self.win_rates()
        lines = [f"start: {self.n_visits[0]} playouts"]
        below: dict[int, list[int]] = {}
        for node in range(1, len(self)):
            below.setdefault(int(self.parents[node]), []).append(node)
        stack = [(0, 0)]
        while stack:
            node, depth = stack.pop()
            if node:
                mark = "  (over)" if self.ended[node] else ""
                lines.append(
                    f"{'  ' * depth}{names[self.players[node]]}: "
                    f"win rate {rates[node]:.3f}, {self.n_visits[node]} visits{mark}"
                )
            if depth < max_depth:
                nodes = sorted(below.get(node, []), key=lambda t: (-self.n_visits[t], -self.rewards[t]))
                hidden = len(nodes) - max_children
                if hidden > 0 and depth == 0:
                    lines[0] += f"; {hidden} of {len(nodes)} first moves not shown"
                stack.extend((t, depth + 1) for t in reversed(nodes[:max_children]))
        return "\n".join(lines)

    def to_networkx(self, names: Sequence[Any]) -> Any:
        """A ``networkx.DiGraph``: nodes 0 .. T - 1 with player, n_visits, win_rate, ended."""
        from ..._base.optional import require

        graph = require("networkx").DiGraph()
        rates = self.win_rates()
        for node in range(len(self)):
            player = names[self.players[node]] if node else None
            graph.add_node(
                node,
                player=player,
                n_visits=int(self.n_visits[node]),
                win_rate=float(rates[node]),
                ended=bool(self.ended[node]),
            )
            if node:
                graph.add_edge(int(self.parents[node]), node)
        return graph
