"""The convolution engine: all coalitions of a tree of binary variables at once.

Uniformly over the subtrees that hold v, a child c of v belongs to the subtree independently of its siblings,
with probability N(c) / (1 + N(c)). The target's log-odds is therefore a sum of independent messages. Going up,
each variable's sum of messages gets a law on a grid; going down, each variable gets a value function
g_v(log-odds of v) = E[worth | the way to v is in], and a player's value is the mean of its value function less the
same with no message from it.

A message between two grid points is shared out over the six nearest ones with Lagrange's weights, which is the
transpose of interpolation: for every value function g the error is at most C h⁶ sup|g⁽⁶⁾|. The derivatives of
value functions are bounded once and for all (the worth's are known, messages compress them), so the bound in
the result is proven, not estimated. Two points and second differences would need grids a thousand times finer.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.progress import Progress, Silent
from ...errors import InputError
from ..game.game import EngineResult, Game
from ..game.packing import PackedField, pack_field
from ..game.symmetry import Branches, equal_players, find_branches
from ..game.worth import worth_of
from .derivatives import compose, message_derivatives, worth_derivatives
from .grids import (
    MARGIN,
    POINTS,
    SHARE_ERROR,
    Rows,
    Sum,
    add_up,
    binomial,
    interpolate,
    power,
    rest_of_power,
    share_out,
    shares,
    take_apart,
)

# Wanted bound on the error of every value, in the unit of the worth.
TOLERANCE = 1e-6
# Grid steps stay between these: the upper one keeps a worth's shape visible, the lower one memory in bounds.
_STEPS = (1e-3, 0.25)
# Points on the grids of all messages together that are too many (each takes some 40 bytes on the way), at the
# step that usually results.
_MAX_POINTS = 3e7
_USUAL_STEP = 0.03
# Rounding of a value, in units of the largest worth.
_ROUNDING = 1e-13


def convolve_game(game: Game, *, tolerance: float = TOLERANCE, progress: Progress | None = None) -> EngineResult:
    """Values of all players of a tree-shaped, binary game, with a proven bound on their error.

    Parameters
    ----------
    tolerance
        Wanted bound on the error of every value; the result states the bound that was reached.

    Raises
    ------
    InputError
        The ball has a cycle, a variable with other than two states, or a potential with zeros.
    """
    reason = why_not(game)
    if reason:
        raise InputError(f"convolution cannot be used: {reason}")
    if not tolerance > 0:
        raise InputError(f"tolerance must be positive, got {tolerance}")
    if game.ball.n_variables == 1:
        return EngineResult.zeros(0)
    tree = _Tree.of(game)
    tree.choose_steps(tolerance)
    progress = progress or Silent()
    progress.begin("convolution", 2 * len(tree.nodes))
    for node in reversed(tree.nodes):
        tree.gather(node)
        progress.advance()
    answer = _Answer.empty(len(tree.nodes))
    tree.start()
    for node in tree.nodes:
        tree.spread(node, answer)
        progress.advance()
    progress.end()
    return tree.result(answer)


def why_not(game: Game) -> str:
    """What keeps the engine from this game; empty where nothing does."""
    mrf = game.ball.field
    if game.worth.kind.derivatives is None:
        return f"the worth {game.worth.name!r} has no bounds on its derivatives"
    if not game.ball.is_tree:
        return f"the ball has {game.ball.n_cycles:,} cycles"
    if mrf.uniform_n_states != 2:
        return "not all variables of the ball have two states"
    if not np.isfinite(mrf.log_potentials).all():
        return "a potential has zeros"
    tables = mrf.log_potentials.reshape(-1, 4)[mrf.potential_index]
    ranges = np.abs(tables[:, 0] - tables[:, 1] - tables[:, 2] + tables[:, 3])
    if (ranges / _USUAL_STEP).sum() > _MAX_POINTS:
        return f"potentials are so strong (up to {ranges.max():,.0f} nats) that grids would not fit into memory"
    return ""


@dataclass(eq=False)
class _Node:
    """Players that are equal: one of them stands for all."""

    variable: int
    count: int  # how many there are
    parent: int  # node, -1 for the target
    multiplicity: int  # children of this node that each variable of the parent has
    kind: int  # equal branches share their law
    log_odds: float  # of the prior, may be infinite
    log_psi: Floats | None  # [2, 2] towards the parent
    chance: float  # N / (1 + N)
    is_leaf: bool
    children: list[int] = field(default_factory=list)
    derivatives: Floats = field(default_factory=lambda: np.zeros(6))  # bounds for its value functions

    def message(self, log_odds: Floats) -> Floats:
        """The log-odds it sends, given its own."""
        assert self.log_psi is not None
        return _messages(log_odds, self.log_psi)


@dataclass(eq=False)
class _Answer:
    """Per node and per worth (value, direction)."""

    values: Floats  # [nodes, 2]
    probabilistic: Floats  # [nodes]

    @classmethod
    def empty(cls, n: int) -> "_Answer":
        return cls(np.zeros((n, 2)), np.zeros(n))


@dataclass(eq=False)
class _Tree:
    """Classes of equal variables, the target's first and parents before children."""

    game: Game
    labels: Ints  # [n] node of each variable
    nodes: list[_Node]
    sums: dict[int, Sum]  # per kind
    steps: dict[int, float]  # per kind: h
    functions: dict[int, Floats] = field(
        default_factory=dict
    )  # [2, L] value function of a node on its law's cells
    largest: float = 0.0  # bound on |worth|
    extremes: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, game: Game) -> "_Tree":
        mrf = game.ball.field
        packed = pack_field(mrf)
        branches = find_branches(mrf, packed)
        labels = equal_players(mrf, packed, branches)
        nodes, position = _nodes(game, packed, branches, labels)
        return cls(game, position[labels], nodes, {}, {})

    def choose_steps(self, tolerance: float) -> None:
        """Bound the derivatives of all value functions, then give each sum of messages its grid step."""
        self.nodes[0].derivatives = worth_derivatives(self.game.worth)
        for node in self.nodes[1:]:
            if node.is_leaf:
                continue  # receives nothing, so nothing is shared out there
            node.derivatives = compose(self.nodes[node.parent].derivatives, message_derivatives(node.log_psi))
        worst: dict[int, float] = {}
        for node in self.nodes:
            if not node.is_leaf:
                worst[node.kind] = max(worst.get(node.kind, 0.0), float(node.derivatives[5]))
        n_shares = max(1, sum(_n_shares(node) for node in self.nodes[1:]))
        share = tolerance / (6.0 * n_shares * SHARE_ERROR)  # two means per value; the rest is for the variation
        for kind, derivative in worst.items():
            step = (share / derivative) ** (1 / POINTS) if derivative > 0 else _STEPS[1]
            self.steps[kind] = float(np.clip(step, *_STEPS))

    def gather(self, node: _Node) -> None:
        """The law of the sum of messages to `node`."""
        if node.is_leaf or node.kind in self.sums:
            return
        h = self.steps[node.kind]
        single, others = self._split(node)
        batches = [self._leaf_rows(single, h)] if single else []
        batches += [self._rows_of(child, h) for child in others]
        total = Sum(h)
        total.lengths = [rows.length for rows in batches]
        add_up(total, batches)
        self.sums[node.kind] = total

    def start(self) -> None:
        """The worths as functions of the target's log-odds."""
        log_odds = self._cells(self.nodes[0]) + self.nodes[0].log_odds
        log_beliefs = np.stack([-np.logaddexp(0.0, log_odds), -np.logaddexp(0.0, -log_odds)], axis=1)
        worths = np.stack([worth_of(worth, log_beliefs) for worth in (self.game.worth, self.game.direction)])
        law = self.sums[self.nodes[0].kind].law
        assert law is not None
        likely = worths[0][law.masses[0] > 1e-15]
        self.extremes = (float(likely.min()), float(likely.max()))
        self.largest = float(np.abs(worths[0]).max())
        self.functions[0] = worths

    def spread(self, node: _Node, answer: _Answer) -> None:
        """Values of the children of `node` and their value functions, from its own value function."""
        if node.is_leaf:
            return
        total = self.sums[node.kind]
        parts = take_apart(total, self.functions.pop(int(self.labels[node.variable])))
        single, others = self._split(node)
        if single:
            self._tell_leaves(single, parts.pop(0), total.step, answer)
        for child, function in zip(others, parts, strict=True):
            self._tell(child, function[:, 0], total.step, answer)

    def result(self, answer: _Answer) -> EngineResult:
        """One entry per player."""
        nodes = self.labels[1:]
        bound = self._bound()
        log10_n = self.game.ball.log10_coalitions
        counts = self.game.ball.log10_coalitions_per_player
        countable = log10_n is not None and log10_n < 300
        values = answer.values[nodes, 0]
        target_law = self.sums[self.nodes[0].kind].law
        assert target_law is not None
        return EngineResult(
            values=values,
            std_errors=np.zeros(len(nodes)),
            error_bounds=np.full(len(nodes), bound),
            probabilistic=answer.probabilistic[nodes],
            topological=values - answer.probabilistic[nodes],
            direction=answer.values[nodes, 1],
            n_evaluations=target_law.length,
            worth_min=self.extremes[0],
            worth_max=self.extremes[1],
            meets_zero=bool(np.isneginf(self.game.worth.log_belief).any()),
            n_coalitions=10.0**log10_n if countable and log10_n is not None else None,
            player_counts=10.0**counts if countable and counts is not None else None,
            diagnostics={
                "equal_classes": len(self.nodes) - 1,
                "sums": len(self.sums),
                "grid_steps": [min(self.steps.values()), max(self.steps.values())],
                "grid_points": max(total.law.length for total in self.sums.values() if total.law is not None),
            },
        )

    def _bound(self) -> float:
        """Errors of all sharings, twice (a value is a difference of two means), and of all that was cut off."""
        error = 0.0
        for node in self.nodes[1:]:
            parent = self.nodes[node.parent]
            total = self.sums[parent.kind]
            shared = _n_shares(node) * SHARE_ERROR * total.step**POINTS * parent.derivatives[5]
            error += shared * total.variation
        lost = sum(node.count * self.sums[node.kind].lost for node in self.nodes if not node.is_leaf)
        return 2.0 * error + (4.0 * lost + _ROUNDING) * self.largest

    def _split(self, node: _Node) -> tuple[list[int], list[int]]:
        """Children that are leaves without an equal, and the others."""
        single = [c for c in node.children if self.nodes[c].is_leaf and self.nodes[c].multiplicity == 1]
        return single, [c for c in node.children if not self.nodes[c].is_leaf or self.nodes[c].multiplicity > 1]

    def _cells(self, node: _Node) -> Floats:
        """[L] sums of messages at the cells of the node's law."""
        total = self.sums[node.kind]
        assert total.law is not None
        cells: Floats = (total.law.offsets[0] + np.arange(total.law.length)) * total.step
        return cells

    def _leaf_rows(self, leaves: list[int], h: float) -> Rows:
        """Laws of the messages of single leaves, in or out with equal chances."""
        sent, flat = self._leaf_messages(leaves)
        ends = np.stack([sent, flat, np.zeros(len(leaves))])
        offsets = np.floor(ends.min(axis=0) / h).astype(np.int64) - MARGIN
        length = int((np.ceil(ends.max(axis=0) / h) - offsets).max()) + MARGIN + 1
        masses = np.zeros((len(leaves), length))
        rows = np.arange(len(leaves))
        cells, weights = shares(sent / h)
        for i in range(POINTS):
            np.add.at(masses, (rows, cells[:, i] - offsets), 0.5 * weights[:, i])
        masses[rows, -offsets] += 0.5
        return Rows(offsets, masses)

    def _leaf_messages(self, leaves: list[int]) -> tuple[Floats, Floats]:
        """What leaves send, and what they would with uniform priors."""
        tables = np.array([self.nodes[c].log_psi for c in leaves])
        log_odds = np.array([self.nodes[c].log_odds for c in leaves])
        return _messages(log_odds, tables), _messages(np.zeros(len(leaves)), tables)

    def _rows_of(self, child: int, h: float) -> Rows:
        """Law of the summed messages of a child (or all children equal to it), as one row."""
        node = self.nodes[child]
        points, masses, hull = self._atoms(node)
        row = share_out(points, masses, hull, h)
        if node.multiplicity > 1 and not node.is_leaf:
            row = power(row, node.multiplicity)[0]
        return row

    def _atoms(self, node: _Node) -> tuple[Floats, Floats, tuple[float, float]]:
        """Points and masses of a node's message (for equal leaves: of their sum), and all points of interest."""
        if node.is_leaf:
            sent, flat = node.message(np.array([node.log_odds, 0.0]))
            counts, masses = binomial(node.multiplicity)
            points = counts * sent
            rest = binomial(node.multiplicity - 1)[0] * sent  # what equal leaves send beside one of them
            every = np.concatenate([points, rest, rest + sent, rest + flat])
            return points, masses, (float(every.min()), float(every.max()))
        law = self.sums[node.kind].law
        assert law is not None
        cells = self._cells(node)
        sent, flat = node.message(cells + node.log_odds), node.message(cells)
        points = np.append(sent, 0.0)
        masses = np.append(node.chance * law.masses[0], 1.0 - node.chance)
        every = np.concatenate([points, flat])
        return points, masses, (float(every.min()), float(every.max()))

    def _tell_leaves(self, leaves: list[int], functions: Floats, h: float, answer: _Answer) -> None:
        """Values of single leaves, given the value functions [2, R, L] of their messages."""
        sent, flat = self._leaf_messages(leaves)
        ends = np.stack([sent, flat, np.zeros(len(leaves))])
        offsets = np.floor(ends.min(axis=0) / h).astype(np.int64) - MARGIN
        rows = np.arange(len(leaves))
        found = []
        for points in (sent, flat, np.zeros(len(leaves))):
            cells, weights = shares(points / h)
            found.append((functions[:, rows[:, None], cells - offsets[:, None]] * weights).sum(axis=-1))
        answer.values[leaves] = (found[0] - found[2]).T
        answer.probabilistic[leaves] = found[0][0] - found[1][0]

    def _tell(self, child: int, function: Floats, h: float, answer: _Answer) -> None:
        """Value of a child, given the value function [2, L] of its message (or of those of all equal to it)."""
        node = self.nodes[child]
        points, masses, hull = self._atoms(node)
        one = share_out(points, masses, hull, h)
        offset = int(one.offsets[0])
        if node.is_leaf:
            sent, flat = node.message(np.array([node.log_odds, 0.0]))
            counts, chances = binomial(node.multiplicity - 1)
            with_it = interpolate(function, offset, h, (counts + 1) * sent) @ chances
            answer.values[child] = with_it - interpolate(function, offset, h, counts * sent) @ chances
            answer.probabilistic[child] = (
                with_it - interpolate(function, offset, h, counts * sent + flat) @ chances
            )[0]
            return
        if node.multiplicity > 1:
            _, fewer, start = power(one, node.multiplicity)
            function = rest_of_power(function, one, fewer, start)
        law = self.sums[node.kind].law
        assert law is not None
        cells = self._cells(node)
        own = interpolate(function, offset, h, node.message(cells + node.log_odds))
        flattened = interpolate(function, offset, h, node.message(cells))
        without = interpolate(function, offset, h, np.zeros(1))[:, 0]
        # masses add up to 1 apart from what was cut off
        mass = law.masses[0] / law.masses[0].sum()
        answer.values[child] = own @ mass - without
        answer.probabilistic[child] = (own @ mass - flattened @ mass)[0]
        self.functions[child] = own


def _nodes(game: Game, packed: PackedField, branches: Branches, labels: Ints) -> tuple[list[_Node], Ints]:
    """Classes of equal variables in an order from the target outwards, and the node of each label."""
    slots = game.ball.field.slots
    n = len(labels)
    parents = np.full(n, -1)
    parents[branches.order] = slots.neighbours[branches.up_slots[branches.order]]
    behind: dict[int, list[int]] = {}
    for v in branches.order.tolist():
        behind.setdefault(int(parents[v]), []).append(v)
    counts = np.bincount(labels)
    log_odds = packed.log_priors[:, 1] - packed.log_priors[:, 0]
    position = np.full(len(counts), -1)

    def node(v: int, parent: int, multiplicity: int) -> _Node:
        log_n = branches.log_weights[v]
        log_psi = packed.log_psi[slots.tables[branches.up_slots[v]]] if parent >= 0 else None
        position[labels[v]] = len(nodes)
        return _Node(
            variable=v,
            count=int(counts[labels[v]]),
            parent=parent,
            multiplicity=multiplicity,
            kind=int(branches.kinds[v]),
            log_odds=float(log_odds[v]),
            log_psi=log_psi,
            chance=float(np.exp(-np.logaddexp(0.0, -log_n))),
            is_leaf=parent >= 0 and v not in behind,
        )

    nodes: list[_Node] = []
    nodes.append(node(0, -1, 1))
    at = 0
    while at < len(nodes):
        own = behind.get(nodes[at].variable, [])
        multiplicities = Counter(labels[own].tolist())
        for v in own:
            if position[labels[v]] < 0:
                nodes[at].children.append(len(nodes))
                nodes.append(node(v, at, multiplicities[int(labels[v])]))
        at += 1
    return nodes, position


def _messages(log_odds: Floats, log_psi: Floats) -> Floats:
    """Messages' log-odds, given the senders' [P], through tables [2, 2] or [P, 2, 2], rows = senders' states."""
    l00, l01, l10, l11 = (log_psi[..., x, y] for x in (0, 1) for y in (0, 1))
    a = np.where(np.isfinite(log_odds), log_odds, 0.0)
    sent = np.logaddexp(l01, a + l11) - np.logaddexp(l00, a + l10)
    sent = np.where(log_odds == np.inf, l11 - l10, sent)
    messages: Floats = np.where(log_odds == -np.inf, l01 - l00, sent)
    return messages


def _n_shares(node: _Node) -> int:
    """How often messages of the node's variables are shared out: once for all equal leaves of one parent."""
    return ceil(node.count / node.multiplicity) if node.is_leaf else node.count
