"""Best paths: how a player reaches the target."""

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.segments import concatenated_ranges
from ...mrf.balls import Ball
from ...mrf.field import MarkovRandomField
from .slots import per_slot
from .worth import Worth, worth_of

# Shortest paths that are compared for one player; further ones are left out, nearest variables first. In a ball
# of radius 2 a player would need more common neighbours with the target.
_MAX_PATHS = 4096
# Numbers that a step of all paths followed at once may take.
_BLOCK_ENTRIES = 2**22


def best_paths(ball: Ball, worth: Worth) -> list[list[int]]:
    """For each player a shortest path to the target, among these the one whose own coalition is worth most.

    Positions in the ball, the player first, the target (0) last. Ties go to the path that was found first.
    """
    if ball.is_tree:
        return _tree_paths(ball.parents)
    depths = _depths(ball.parents)
    steps = _Steps(ball.field, depths)
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
    """Steps towards the target: to neighbours one hop nearer."""

    def __init__(self, field: MarkovRandomField, depths: Ints) -> None:
        slots = field.slots
        senders = np.repeat(np.arange(field.n_variables), np.diff(slots.offsets))
        nearer = depths[slots.neighbours] == depths[senders] - 1
        self.field = field
        self.offsets = np.zeros(field.n_variables + 1, dtype=np.int64)  # steps of v: offsets[v] .. offsets[v + 1]
        np.cumsum(np.bincount(senders[nearer], minlength=field.n_variables), out=self.offsets[1:])
        self.receivers = slots.neighbours[nearer].astype(np.int64)
        # the slot that joins the farther variable to the nearer one
        self.potentials, places = per_slot(field)
        self.places = places[slots.reverse[nearer]]
        self.width = int(field.n_states.max())

    def gather(self, at: Ints) -> Floats:
        """[R, width] log-priors of the variables at which paths stand."""
        logs = np.full((len(at), self.width), -np.inf)
        cells, owner = concatenated_ranges(self.field.offsets[at], self.field.offsets[at + 1])
        logs[owner, cells - self.field.offsets[at][owner]] = self.field.log_priors[cells]
        return logs

    def send(self, logs: Floats, steps: Ints) -> Floats:
        """[R, width] log messages of steps, from what their senders gathered."""
        places = self.places[steps]
        sent = np.full((len(steps), self.width), -np.inf)
        for n_from, n_to in np.unique(places[:, 1:], axis=0).tolist():
            alike = np.flatnonzero((places[:, 1] == n_from) & (places[:, 2] == n_to))
            at_once = max(_BLOCK_ENTRIES // (n_from * n_to), 1)
            for begin in range(0, len(alike), at_once):
                rows = alike[begin : begin + at_once]
                cells = places[rows, 0][:, None] + np.arange(n_from * n_to)
                matrices = self.potentials[cells].reshape(len(rows), n_from, n_to)
                joint = logs[rows, :n_from, None] + matrices
                sent[rows, :n_to] = np.logaddexp.reduce(joint, axis=1)
        return sent


def _best_of_depth(steps: _Steps, players: Ints, depth: int, worth: Worth, ball: Ball) -> list[list[int]]:
    if depth == 1:
        return [[int(player), 0] for player in players]
    found: list[list[int]] = []
    at_once = max(_BLOCK_ENTRIES // (_MAX_PATHS * steps.width), 1)
    for begin in range(0, len(players), at_once):
        found.extend(_best_of_some(steps, players[begin : begin + at_once], depth, worth, ball))
    return found


def _best_of_some(steps: _Steps, players: Ints, depth: int, worth: Worth, ball: Ball) -> list[list[int]]:
    """Follow all shortest paths of some players at once."""
    owner = np.arange(len(players))  # whose path each row is
    at = players
    logs = steps.gather(at)
    trail: list[tuple[Ints, Ints]] = []  # per hop: the row that each row came from, where it stands
    for _ in range(depth):
        choices, source = concatenated_ranges(steps.offsets[at], steps.offsets[at + 1])
        owners = owner[source]
        first = np.searchsorted(owners, owners)
        kept = np.arange(len(owners)) - first < _MAX_PATHS
        choices, source = choices[kept], source[kept]
        messages = steps.send(logs[source], choices)
        owner, at = owner[source], steps.receivers[choices]
        logs = steps.gather(at) + messages
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
