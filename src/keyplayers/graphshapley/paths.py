"""Best paths: how a player reaches the target."""

import numpy as np

from ..arrays import Floats, Ints, spans
from ..mrf.field import MarkovRandomField
from ..mrf.neighbourhood import Ball
from .worth import Worth, worth_of

# Shortest paths that are compared for one player; further ones are left out, nearest variables first. In a ball
# of radius 2 a player would need more common neighbours with the target.
_MAX_PATHS = 4096
# Numbers that all paths followed at once may hold.
_BLOCK_ENTRIES = 2**22


def best_paths(ball: Ball, worth: Worth) -> list[list[int]]:
    """For each player a shortest path to the target, among these the one whose own coalition is worth most.

    Positions in the ball, the player first, the target (0) last. Ties go to the path that was found first.
    """
    if ball.is_tree:
        return _tree_paths(ball.parents)
    depths = _depths(ball.parents)
    field = ball.field
    owners = np.repeat(np.arange(field.n_variables), np.diff(field.slots.offsets))
    nearer = depths[field.slots.neighbours] == depths[owners] - 1
    offsets = np.zeros(field.n_variables + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners[nearer], minlength=field.n_variables), out=offsets[1:])
    steps = _Steps(field, offsets, np.flatnonzero(nearer))
    paths: list[list[int]] = []
    for depth in range(1, int(depths.max(initial=0)) + 1):
        players = np.flatnonzero(depths == depth)
        paths.extend(_best_of_depth(steps, players, depth, worth, ball))
    order = np.argsort([path[0] for path in paths], kind="stable")
    return [paths[i] for i in order]


def _tree_paths(parents: Ints) -> list[list[int]]:
    paths = [[0]]
    for v in range(1, len(parents)):
        paths.append([v, *paths[int(parents[v])]])
    return paths[1:]


def _depths(parents: Ints) -> Ints:
    depths = np.zeros(len(parents), dtype=np.int64)
    for v in range(1, len(parents)):
        depths[v] = depths[parents[v]] + 1
    return depths


class _Steps:
    """Steps towards the target: slots to neighbours one hop nearer, with their potentials padded to one shape."""

    def __init__(self, field: MarkovRandomField, offsets: Ints, slots: Ints) -> None:
        self.offsets = offsets  # [n+1] steps of variable v: slots[offsets[v] : offsets[v + 1]]
        self.slots = slots
        self.receivers = field.slots.neighbours
        self.tables = field.slots.tables
        self.width = int(field.n_states.max())
        self.log_priors = np.full((field.n_variables, self.width), -np.inf)
        self.log_priors[np.arange(self.width) < field.n_states[:, None]] = field.log_priors
        n_tables = len(field.potential_shapes)
        self.log_potentials = np.full((n_tables, 2, self.width, self.width), -np.inf)  # [table, turned, from, to]
        for i, (rows, columns) in enumerate(field.potential_shapes.tolist()):
            begin, end = field.potential_offsets[i : i + 2]
            matrix = field.log_potentials[begin:end].reshape(rows, columns)
            self.log_potentials[i, 0, :rows, :columns] = matrix
            self.log_potentials[i, 1, :columns, :rows] = matrix.T

    def send(self, logs: Floats, slots: Ints) -> Floats:
        """[R, width] log messages over slots, of what their senders gathered."""
        matrices = self.log_potentials[self.tables[slots] >> 1, self.tables[slots] & 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            messages = np.logaddexp.reduce(logs[:, :, None] + matrices, axis=1)
        return np.asarray(messages, dtype=np.float64)


def _best_of_depth(steps: _Steps, players: Ints, depth: int, worth: Worth, ball: Ball) -> list[list[int]]:
    if depth == 1:
        return [[int(player), 0] for player in players]
    found: list[list[int]] = []
    at_once = max(_BLOCK_ENTRIES // (_MAX_PATHS * steps.width**2), 1)
    for begin in range(0, len(players), at_once):
        found.extend(_best_of_some(steps, players[begin : begin + at_once], depth, worth, ball))
    return found


def _best_of_some(steps: _Steps, players: Ints, depth: int, worth: Worth, ball: Ball) -> list[list[int]]:
    """Follow all shortest paths of some players at once."""
    owner = np.arange(len(players))  # whose path each row is
    at = players
    logs = steps.log_priors[at]
    trail: list[tuple[Ints, Ints]] = []  # per hop: the row that each row came from, where it stands
    for _ in range(depth):
        choices, source = spans(steps.offsets[at], steps.offsets[at + 1])
        owners = owner[source]
        first = np.searchsorted(owners, owners)
        kept = np.arange(len(owners)) - first < _MAX_PATHS
        choices, source = choices[kept], source[kept]
        slots = steps.slots[choices]
        messages = steps.send(logs[source], slots)
        owner, at = owner[source], steps.receivers[slots].astype(np.int64)
        logs = steps.log_priors[at] + messages
        trail.append((source, at))
    logs = logs[:, : int(ball.field.n_states[0])]
    worths = worth_of(worth, logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    order = np.lexsort((np.arange(len(owner)), -worths, owner))
    rows = order[np.searchsorted(owner[order], np.arange(len(players)))]
    paths = []
    for player, row in zip(players.tolist(), rows.tolist(), strict=True):
        path = []
        for source, stands in reversed(trail):
            path.append(int(stands[row]))
            row = int(source[row])
        paths.append([player, *reversed(path)])
    return paths
