"""Which part of a neighbourhood is drawn, and where: the target in the middle, players around it."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from .._base.arrays import Floats, Ints
from ..explanation import Explanation
from ..graphshapley.present import first_of_groups
from ..graphshapley.result import SubtreeGame

# Radii of nodes, from no value to the largest; that of the target; free space between neighbours on a ring, and
# between rings. In units of a page: a letter is some 12 high.
_SMALLEST, _LARGEST, _TARGET = 5.0, 17.0, 20.0
_PADDING, _RING = 8.0, 85.0
# Edges that are no steps of a path are drawn where there are at most so many: more hide what matters.
_MAX_LINKS = 150


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes 1 .. m stand for groups of equal players, the most important first; node 0 is the target."""

    players: Ints  # [m] position in the explanation of the player that stands for the node
    counts: Ints  # [m] how many equal players it stands for
    parents: Ints  # [m] node that is the next step of its best path, 0 for the target
    radii: Floats  # [m+1]
    positions: Floats  # [m+1, 2] x to the right, y down; the target at 0, 0
    links: Ints  # [L, 2] further edges between nodes that are drawn
    n_others: int  # players that are not drawn
    others_value: float  # their values together
    others_position: tuple[float, float] | None  # None where all are drawn

    def path(self, node: int) -> list[int]:
        """Nodes from this one to the target, both included."""
        steps = [node]
        while steps[-1]:
            steps.append(int(self.parents[steps[-1] - 1]))
        return steps


def network(found: Explanation[SubtreeGame], max_nodes: int) -> Network:
    """The `max_nodes` most important groups of equal players, and whoever stands on their best paths."""
    game, groups = found.structure, _Groups(found)
    chosen = groups.with_paths(max_nodes)
    node_of = {int(game.groups[first]): 1 + node for node, first in enumerate(chosen)}
    nexts = [groups.next(first) for first in chosen]
    parents = np.array([0 if group is None else node_of[group] for group in nexts], dtype=np.int64)
    values = np.nan_to_num(found.values)
    drawn = np.isin(game.groups, game.groups[chosen])
    radii = np.concatenate([[_TARGET], _radii(values[chosen])])
    n_others = int((~drawn).sum())
    positions = _radial(parents, radii, values[chosen], n_others > 0)
    return Network(
        players=np.array(chosen, dtype=np.int64),
        counts=np.bincount(game.groups)[game.groups[chosen]],
        parents=parents,
        radii=radii,
        positions=positions[: len(radii)],
        links=_links(found, node_of, parents),
        n_others=n_others,
        others_value=float(values[~drawn].sum()),
        others_position=(float(positions[-1, 0]), float(positions[-1, 1])) if n_others else None,
    )


class _Groups:
    """Groups of equal players, and how their best paths lead through each other."""

    def __init__(self, found: Explanation[SubtreeGame]) -> None:
        self.game = found.structure
        self.firsts = first_of_groups(found.structure)
        self.first_of = {int(self.game.groups[first]): first for first in self.firsts}
        self.position: dict[Hashable, int] = {player: i for i, player in enumerate(found.players)}

    def next(self, first: int) -> int | None:
        """Group of the next player on a player's best path, None where there is none before the target."""
        steps = self.game.paths[first]
        step = next((self.position[step] for step in steps[1:-1] if step in self.position), None)
        if step is None:
            return None
        group = int(self.game.groups[step])
        # equal players are equally far, so this is a step nearer, whatever a file says
        return group if len(self.game.paths[self.first_of[group]]) < len(steps) else None

    def with_paths(self, n: int) -> list[int]:
        """Those who stand for the n most important groups, and for the groups that their paths lead through."""
        chosen: set[int] = set()
        for first in self.firsts[:n]:
            step: int | None = first
            while step is not None and step not in chosen:
                chosen.add(step)
                group = self.next(step)
                step = None if group is None else self.first_of[group]
        return sorted(chosen)


def _radii(values: Floats) -> Floats:
    """Areas grow with the size of a value."""
    sizes = np.abs(values)
    shares = sizes / sizes.max() if sizes.max(initial=0.0) > 0 else sizes
    radii: Floats = _SMALLEST + (_LARGEST - _SMALLEST) * np.sqrt(shares)
    return radii


def _radial(parents: Ints, radii: Floats, values: Floats, others: bool) -> Floats:
    """[m+1 or m+2, 2] positions on rings by steps from the target; the last one for the others.

    Every node has a sector as wide as it and what hangs behind it need; rings are as large as the nodes on them
    need. Around the target players stand by value, the largest first, clockwise from the top.
    """
    m = len(parents)
    if others:
        parents, radii, values = np.append(parents, 0), np.append(radii, _LARGEST), np.append(values, 0.0)
    children: list[list[int]] = [[] for _ in range(len(radii))]
    for node in np.argsort(-values, kind="stable").tolist():
        if node < m:
            children[parents[node]].append(1 + node)
    if others:
        children[0].append(1 + m)
    order = [0]
    for node in order:
        order += children[node]
    own = 2 * radii + _PADDING
    needs = own.copy()
    for node in reversed(order):
        needs[node] = max(own[node], sum(needs[child] for child in children[node]))
    return _placed(order, children, own, needs)


def _placed(order: list[int], children: list[list[int]], own: Floats, needs: Floats) -> Floats:
    n = len(order)
    begins, sectors, depths = np.zeros(n), np.full(n, 2 * np.pi), np.zeros(n, dtype=np.int64)
    for node in order:
        begin, total = begins[node], sum(needs[child] for child in children[node])
        for child in children[node]:
            begins[child], depths[child] = begin, depths[node] + 1
            sectors[child] = sectors[node] * needs[child] / total
            begin += sectors[child]
    rings = np.zeros(depths.max(initial=0) + 1)
    for depth in range(1, len(rings)):
        wide = np.max(own[depths == depth] / sectors[depths == depth])
        rings[depth] = max(rings[depth - 1] + _RING, wide)
    angles, distances = begins + sectors / 2 - np.pi / 2, rings[depths]
    return np.column_stack([distances * np.cos(angles), distances * np.sin(angles)])


def _links(found: Explanation[SubtreeGame], node_of: dict[int, int], parents: Ints) -> Ints:
    """Edges of the ball between nodes that are drawn, but for the steps of paths; none where they are too many."""
    nothing = np.zeros((0, 2), dtype=np.int64)
    around = found.structure.ball
    if around is None or not node_of:
        return nothing
    group = {player: int(number) for player, number in zip(found.players, found.structure.groups, strict=True)}
    nodes = np.array([node_of.get(group.get(name, -1), -1) for name in around.field.names])
    nodes[0] = 0
    ends = np.sort(nodes[around.field.edges], axis=1)
    ends = np.unique(ends[(ends[:, 0] >= 0) & (ends[:, 0] < ends[:, 1])], axis=0)
    steps = {(int(min(pair)), int(max(pair))) for pair in enumerate(parents.tolist(), start=1)}
    links = [pair for pair in ends.tolist() if tuple(pair) not in steps]
    return np.array(links, dtype=np.int64) if 0 < len(links) <= _MAX_LINKS else nothing
