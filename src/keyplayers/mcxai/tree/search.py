"""Monte Carlo tree search for one game: select, expand, roll out, back up.

Playouts go in blocks: leaves are chosen and the orders of the roll-outs drawn first (kernel), then the model
sees the prefixes of these orders in batches, then rewards are backed up.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..flip_sets.sets import Seek, in_order, shrink
from ..game.game import Game
from . import _search_kernels as kernels
from .surrogates import Quality
from .tree import SearchTree

# in units of a win rate: players whose Q differs by this much are drawn at odds of e to 1
TEMPERATURE = 0.1
# playouts in a row that need no new row, after which the search has seen what it would ever look at
MAX_STALE = 256
# playouts of a survey that run at a time
SURVEYED = 16
# playouts along remembered states for every first move, and at most for every state remembered
REPLAYS, REPLAYS_PER_STATE = 200, 4
# random numbers that replays draw at a time: many players and long playouts would fill the memory
DRAWS = 2**20
# prefixes of a roll-out that the model sees at a time, where roll-outs go in blocks: few waste few rows
# beyond the end of a game, many make few calls
PREFIXES = 3


# arrays of `Playouts` with an entry for every node: name, dtype, value of a node that is not there yet
_NODE_ARRAYS = (
    *((name, np.int64, -1) for name in ("parents", "players", "first", "following")),
    *((name, np.int64, 0) for name in ("n_visits", "n_children", "depths", "n_starts", "groups", "group_visits")),
    *((name, np.float64, 0) for name in ("rewards", "group_rewards")),
    *((name, np.bool_, 0) for name in ("stopped", "pending")),
)


@dataclass(frozen=True)
class Rules:
    """How the tree is searched."""

    depth: int  # L, most actions of a playout
    eta: float  # weight of shortness against change of probability
    exploration: float  # lambda of UCT
    widening: tuple[float, float] | None  # (c, alpha): a node has at most ceil(c * n^alpha) children
    rollout: Literal["surrogate", "random"]
    parallel_leaves: int
    share_orders: bool = False


@dataclass(eq=False)
class Playouts:
    """The tree while it grows, and the playouts that ended."""

    game: Game
    rules: Rules
    quality: Quality
    n_nodes: int = 1
    parents: Ints = field(init=False)  # [T'] as in SearchTree; so are players, n_visits, rewards and n_starts
    players: Ints = field(init=False)
    n_visits: Ints = field(init=False)
    rewards: Floats = field(init=False)
    n_starts: Ints = field(init=False)
    first: Ints = field(init=False)  # [T'] latest child, -1: none
    following: Ints = field(init=False)  # [T'] the child of the same parent made before, -1: none
    n_children: Ints = field(init=False)
    depths: Ints = field(init=False)
    stopped: Bools = field(init=False)  # [T'] the game is over in the state
    pending: Bools = field(init=False)  # [T'] the state has not been looked at
    groups: Ints = field(init=False)  # [T'] or [0]: first node of the same set, where orders share statistics
    group_visits: Ints = field(init=False)  # [T'] by that node
    group_rewards: Floats = field(init=False)
    first_of: Ints = field(init=False)  # [M] or [0]: first node of each state on the board, -1: none
    best: dict[frozenset[int], tuple[float, tuple[int, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._allocate(256)
        self.first_of = np.zeros(0, dtype=np.int64)

    def _allocate(self, capacity: int) -> None:
        for name, dtype, fill in _NODE_ARRAYS:
            grown: Any = np.zeros(capacity, dtype) if fill == 0 else np.full(capacity, fill, dtype)
            held = getattr(self, name, None)
            if held is not None:
                grown[: len(held)] = held
            setattr(self, name, grown)
        if not self.rules.share_orders:
            self.groups = np.zeros(0, dtype=np.int64)

    def reserve(self, n_more: int) -> None:
        """Make room for nodes."""
        if self.n_nodes + n_more > len(self.parents):
            self._allocate(2 * (self.n_nodes + n_more))

    def reserve_states(self) -> None:
        """Make room for the first nodes of all states on the board, where orders share statistics."""
        missing = len(self.game.board.p_target) - len(self.first_of)
        if self.rules.share_orders and missing > 0:
            self.first_of = np.concatenate([self.first_of, np.full(missing, -1)])

    def add(self, parent: int, player: int) -> int:
        """A new child, its state unknown so far."""
        child, self.n_nodes = self.n_nodes, self.n_nodes + 1
        kernels.add(
            child, parent, player, self.parents, self.players, self.first, self.following, self.n_children,
            self.depths, self.pending,
        )  # fmt: skip
        return child

    def finish(self, leaves: Ints, begun: Ints, indices: Ints, lengths: Ints, ended: Bools) -> Floats:
        """Back up what playouts earned; see the kernel."""
        self.reserve_states()
        gained: Floats = kernels.finish(
            leaves, begun, indices, lengths, self.game.changes(indices), ended, self.rules.depth, self.rules.eta,
            self.parents, self.n_visits, self.rewards, self.n_starts, self.depths, self.stopped, self.pending,
            self.groups, self.first_of, self.group_visits, self.group_rewards,
        )  # fmt: skip
        return gained

    def back_up(self, leaf: int, visits: int, gained: float) -> None:
        kernels.back_up(
            leaf, visits, gained, self.parents, self.n_visits, self.rewards, self.groups, self.group_visits,
            self.group_rewards,
        )  # fmt: skip

    def note(self, order: tuple[int, ...], gained: float) -> None:
        """Remember the best order of a set that ended the game."""
        key = frozenset(order)
        held = self.best.get(key)
        if held is None or held[0] < gained:
            self.best[key] = (gained, order)

    def tree(self) -> SearchTree:
        """The tree as it stands, without nodes that no playout completed."""
        visited = self.n_visits[: self.n_nodes] > 0
        visited[0] = True
        keep = np.flatnonzero(visited)
        renumbered = np.full(self.n_nodes + 1, -1)
        renumbered[keep] = np.arange(len(keep))
        return SearchTree(
            renumbered[self.parents[keep]],
            self.players[keep],
            self.n_visits[keep],
            self.rewards[keep],
            self.n_starts[keep],
            self.stopped[keep],
        )


def play(playouts: Playouts, rng: np.random.Generator, max_rows: int, shrinking: Seek | None = None) -> None:
    """Play until the rows are used up or nothing new is left to look at.

    Parameters
    ----------
    shrinking
        Where sets go that a playout found and that are no larger than the best: they are shrunk.
    """
    game, rules = playouts.game, playouts.rules
    board = game.board
    if game.n == 0 or game.ended(np.array([game.start]))[0]:
        return
    allowed, board.max_rows = board.max_rows, min(board.max_rows, board.n_rows + max_rows)
    stale = 0
    try:
        while board.rows_left() > 0 and stale < MAX_STALE:
            before = board.n_rows
            _play_block(playouts, rng.random((rules.parallel_leaves, 2, game.n)), shrinking)
            playouts.quality.learn(
                playouts.parents, playouts.players, playouts.n_visits, playouts.rewards, playouts.n_nodes
            )
            stale = stale + rules.parallel_leaves if board.n_rows == before else 0
    finally:
        board.max_rows = allowed


def _play_block(playouts: Playouts, draws: Floats, shrinking: Seek | None) -> None:
    """Selection and expansion of a block of playouts, their roll-outs, backup."""
    rules, q = playouts.rules, playouts.quality
    widening, exponent = rules.widening or (0.0, 0.0)
    playouts.reserve(len(draws))
    leaves, masked, orders, playouts.n_nodes = kernels.select_block(
        playouts.parents, playouts.players, playouts.n_visits, playouts.rewards, playouts.first,
        playouts.following, playouts.n_children, playouts.depths, playouts.stopped, playouts.pending,
        playouts.groups, playouts.group_visits, playouts.group_rewards, playouts.n_nodes, rules.depth,
        rules.exploration, widening, exponent, q.bias, q.prior, q.pairs,
        TEMPERATURE if rules.rollout == "surrogate" else math.inf, draws,
    )  # fmt: skip
    _finish(playouts, leaves, masked, orders, shrinking)


def _finish(playouts: Playouts, leaves: Ints, masked: Bools, orders: Ints, shrinking: Seek | None) -> None:
    """Roll-outs from leaves that were visited with reward 0, backup, notes of what ended."""
    lengths, begun, indices = _roll_out(playouts, leaves, masked, orders)
    ended = playouts.game.ended(indices)
    noted = playouts.stopped[leaves]  # paths that a playout, or a graft, has been through
    gained = playouts.finish(leaves, begun, indices, lengths, ended)
    largest = math.inf if shrinking is None else shrinking.best_size() or math.inf  # set worth shrinking
    for p in np.flatnonzero(ended & ~noted).tolist():
        order = (*_path(playouts, leaves.item(p)), *orders[p, : lengths[p]].tolist())
        playouts.note(order, gained.item(p))
        if shrinking is not None and len(order) <= largest:
            _shrink(playouts, shrinking, order)
            largest = shrinking.best_size() or math.inf


def _shrink(playouts: Playouts, seek: Seek, order: tuple[int, ...]) -> None:
    """Shrink what a playout found, unless it is known already."""
    players = tuple(sorted(order))
    if players in seek.found:
        return
    smallest = shrink(seek, players)
    for found, index in in_order(seek, [smallest]):
        graft(playouts, found, index)


def _roll_out(playouts: Playouts, leaves: Ints, masked: Bools, orders: Ints) -> tuple[Ints, Ints, Ints]:
    """Follow every order until the game ends or depth is reached.

    Returns
    -------
    lengths, begun, indices
        Actions after the leaf [P]; board index of the leaf's state [P], -1 where the budget ended before the
        roll-out did, and of the last state [P].
    """
    game, rules = playouts.game, playouts.rules
    n_playouts = len(leaves)
    room = np.minimum(rules.depth, game.n) - playouts.depths[leaves]
    whole = int(room.max(initial=0)) + 1
    step = whole if n_playouts == 1 and rules.parallel_leaves == 1 else PREFIXES
    lengths = np.zeros(n_playouts, dtype=np.int64)
    indices = np.full(n_playouts, -1, dtype=np.int64)
    begun = np.full(n_playouts, -1, dtype=np.int64)
    running = np.arange(n_playouts)
    position = 0  # actions after the leaf that come next
    while len(running):
        found = game.look(kernels.prefixes(masked, orders, room, running, position, step))
        running = kernels.settle(found, game.ended(found), room, running, position, step, lengths, begun, indices)
        position += step
    return lengths, begun, indices


def _path(playouts: Playouts, node: int) -> tuple[int, ...]:
    players = []
    while node > 0:
        players.append(playouts.players.item(node))
        node = playouts.parents.item(node)
    return tuple(reversed(players))


def graft(playouts: Playouts, order: tuple[int, ...], index: int) -> None:
    """Enter a playout that was found outside the tree: all its states become nodes, its reward is backed up.

    Parameters
    ----------
    order
        Players masked one after the other; the game ends at the last and not before.
    index
        Board index of the last state.
    """
    game, rules = playouts.game, playouts.rules
    if len(order) > rules.depth:
        return
    playouts.reserve(len(order))
    gained = kernels.reward(len(order), rules.depth, float(game.changes(np.array([index]))[0]), True, rules.eta)
    indices = np.full(len(order), -1)
    if rules.share_orders:
        indices = game.along([order])[0]
        playouts.reserve_states()
    playouts.n_nodes = kernels.graft(
        np.array(order), indices, gained, playouts.n_nodes, playouts.parents, playouts.players, playouts.n_visits,
        playouts.rewards, playouts.n_starts, playouts.first, playouts.following, playouts.n_children,
        playouts.depths, playouts.stopped, playouts.pending, playouts.groups, playouts.first_of,
        playouts.group_visits, playouts.group_rewards,
    )  # fmt: skip
    playouts.note(order, gained)


def survey(playouts: Playouts, rng: np.random.Generator, max_rows: int) -> None:
    """Play every first move out in random order, again and again, until the rows are used up.

    The tree search visits first moves that look good more often and follows the surrogate from there, which finds
    sets but tells little of the players in the middle. These playouts treat all alike, in pairs of an order and
    its reverse.
    """
    game, board = playouts.game, playouts.game.board
    if max_rows <= 0 or game.n == 0 or game.ended(np.array([game.start]))[0]:
        return
    allowed, board.max_rows = board.max_rows, min(board.max_rows, board.n_rows + max_rows)
    leaves = _first_moves(playouts)
    stale = 0
    try:
        while board.rows_left() > 0 and stale < MAX_STALE:
            before = board.n_rows
            keys = rng.random(game.n)
            for order in (np.argsort(keys), np.argsort(-keys)):
                if board.rows_left() > 0:
                    _survey_block(playouts, leaves, order)
            stale = stale + game.n if board.n_rows == before else 0
    finally:
        board.max_rows = allowed


def _survey_block(playouts: Playouts, leaves: Ints, order: Ints) -> None:
    """Every first move followed by the same order of the others: what differs is due to the first move."""
    n = playouts.game.n
    for start in range(0, n, SURVEYED):
        moves = np.arange(start, min(start + SURVEYED, n))
        masked = np.zeros((len(moves), n), dtype=bool)
        masked[np.arange(len(moves)), moves] = True
        orders = np.stack([[*order[order != move].tolist(), move] for move in moves])
        for leaf in leaves[moves].tolist():
            playouts.back_up(leaf, 1, 0.0)
        _finish(playouts, leaves[moves], masked, orders, None)


def replay(playouts: Playouts, rng: np.random.Generator) -> Floats:
    """Play first moves out along remembered states, which costs no row, and tell what each player changes there.

    Returns
    -------
    contributions
        Mean change of P(y), in the direction of the game, as a player is masked in a random order before the
        game ends [n]; NaN for a player never seen.
    """
    game, board = playouts.game, playouts.game.board
    n = game.n
    codes = _codes(n)
    seen = np.flatnonzero(game.counted())
    wide = np.zeros(len(game.base), dtype=np.int64)
    wide[game.players] = codes
    state_codes = board.totals(seen, wide)
    by_code = np.argsort(state_codes, kind="stable")
    known, order = state_codes[by_code], seen[by_code]
    ended = game.ended(np.arange(board.n_states))
    n_playouts = min(REPLAYS * n, REPLAYS_PER_STATE * len(known))
    changes, counts = np.zeros(n), np.zeros(n, dtype=np.int64)
    pool, places, firsts = np.arange(n), np.arange(n), rng.permutation(n)
    depth = min(playouts.rules.depth, n)
    block = max(1, DRAWS // max(1, depth))
    for begin in range(0, n_playouts if n else 0, block):
        kernels.replay(
            codes, known, order, board.p_target, ended, game.start, game.sign, firsts, begin,
            rng.random((min(block, n_playouts - begin), depth)), pool, places, changes, counts,
        )  # fmt: skip
    # whoever no playout met has changed something alone at least
    alone = np.searchsorted(known, codes)
    alone = np.where(alone < len(known), alone, 0)
    met = (counts == 0) & (known[alone] == codes)
    changes[met], counts[met] = game.changes(order[alone[met]]), 1
    contributions: Floats = np.divide(changes, counts, out=np.full(n, np.nan), where=counts > 0)
    return contributions


@lru_cache(maxsize=64)
def _codes(n: int) -> Ints:
    """Random numbers of n players, the same ones for the same n; a set's code is the sum of its players'."""
    return np.random.default_rng(n).integers(-(2**62), 2**62, size=n)


def _first_moves(playouts: Playouts) -> Ints:
    """The root's children, one for every player [n], made where they are missing."""
    n = playouts.game.n
    playouts.reserve(n)
    children = np.full(n, -1, dtype=np.int64)
    child = int(playouts.first[0])
    while child >= 0:
        children[playouts.players[child]] = child
        child = int(playouts.following[child])
    for player in np.flatnonzero(children < 0).tolist():
        children[player] = playouts.add(0, player)
    return children
