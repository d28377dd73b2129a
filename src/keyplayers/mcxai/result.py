"""What is read off the two games: the structure of a McXai explanation."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from ..spaces.views import Mark, View
from .tree.tree import SearchTree

Players = tuple[Hashable, ...]
Kind = Literal["classification", "misclassification"]
PairChanges = np.ndarray[tuple[int, int], np.dtype[np.float64]]


class SetValue(NamedTuple):
    """A set of players and how playouts through it fared."""

    players: Players
    win_rate: float
    n_visits: int


class Relation(NamedTuple):
    """How the worth of masking `player` changes once `given` is masked.

    `change` is in probability: what masking both moves P(target) beyond the sum of what each moves alone. The win
    rates are those of the tree, NaN where it holds no such edge.
    """

    player: Hashable
    given: Hashable
    kind: str  # "competing": less important once the other is masked; "conditional": more, or only then
    change: float
    win_rate: float  # of the player as a first move
    win_rate_given: float  # of the player right after the other
    n_visits: int
    n_visits_given: int


class Alternative(NamedTuple):
    """A set of changes after which the model decides otherwise, towards one real row."""

    changes: Mapping[Hashable, tuple[str, str]]  # player -> value, the value that is put in
    new_class: Hashable
    p_target: float  # P(target) after them
    distance: float  # of the row, in [0, 1]


@dataclass(frozen=True, eq=False, kw_only=True)
class GameResult:
    """One finished game: what ended it, and the tree it was searched with."""

    kind: Kind
    players: Players  # [n] players of this game; the tree's numbers point here
    flipped: bool
    minimal: bool  # whether no player of the key set can be spared; False also where the rows did not tell
    confirmed: bool  # whether the key set ended the game in the mean of several answers, or the model has no noise
    flip_sets: tuple[
        Players, ...
    ]  # sets that end the game, smallest first, in replay order; minimal but for the first
    best_set: Players  # the key set; where nothing ends the game, the set that came nearest
    probability_change: float  # how far the best set moves P(target), in the direction of the game
    p_best: float  # P(target) with the best set masked
    new_class: Hashable  # class predicted with the best set masked
    best_path: Players  # complete path with the largest win rate
    best_path_win_rate: float
    lower_bound: int  # every set that ends the game has at least so many players (all smaller ones were tried)
    win_rates: Floats  # [n] of the players as first moves; the surrogate's estimate where n_visits is 0
    n_visits: Ints  # [n]
    interactions: PairChanges  # [m, 3]: local players a < b, what masking both adds to P beyond each alone
    tree: SearchTree
    n_rows: int
    n_playouts: int

    def relations(self) -> list[Relation]:
        """Pairs of players, the strongest relation first."""
        second = self._second_moves()
        found = []
        for a, b, change in self.interactions.tolist():
            player, given = sorted((int(a), int(b)), key=lambda p: self.win_rates[p])
            rate_given, visits_given = second.get((given, player), (float("nan"), 0))
            found.append(
                Relation(
                    player=self.players[player],
                    given=self.players[given],
                    kind="competing" if change < 0 else "conditional",
                    change=change,
                    win_rate=float(self.win_rates[player]),
                    win_rate_given=rate_given,
                    n_visits=int(self.n_visits[player]),
                    n_visits_given=visits_given,
                )
            )
        return sorted(found, key=lambda r: -abs(r.change))

    def sets(self, max_size: int = 3) -> list[SetValue]:
        """Sets of up to `max_size` players by win rate, all orders of a set taken together."""
        totals: dict[tuple[int, ...], tuple[float, int]] = {}  # by the order seen first: rewards, visits
        first_order: dict[frozenset[int], tuple[int, ...]] = {}
        for node in range(1, len(self.tree)):
            path = self.tree.path(node)
            if len(path) <= max_size:
                order = first_order.setdefault(frozenset(path), path)
                gained, n_visits = totals.get(order, (0.0, 0))
                totals[order] = (
                    gained + float(self.tree.rewards[node]),
                    n_visits + int(self.tree.n_visits[node]),
                )
        found = [
            SetValue(tuple(self.players[p] for p in path), gained / n_visits, n_visits)
            for path, (gained, n_visits) in totals.items()
            if n_visits
        ]
        return sorted(found, key=lambda s: (-s.win_rate, len(s.players)))

    def readouts(self, target: Hashable, top: int) -> list[str]:
        """Lines that tell the top players, sets, relations, the best path and the best set."""
        verb = "carry" if self.kind == "classification" else "oppose"
        first = np.argsort(-self.win_rates, kind="stable")[:top]
        several = [s for s in self.sets() if len(s.players) > 1][:top]
        related = self.relations()[:top]
        over = "ends the game" if self.flipped else "does not end it"
        return [
            f"{self.kind} game: players that {verb} {target!r}",
            "  players: " + _join(f"{self.players[i]} {self.win_rates[i]:.3f}" for i in first),
            "  sets: " + _join(f"{_braced(s.players)} {s.win_rate:.3f}" for s in several),
            "  relations: " + _join(f"{r.player} given {r.given} {r.kind} {r.change:+.3f}" for r in related),
            f"  best path: {' -> '.join(map(str, self.best_path)) or 'none'}",
            f"  best set: {_braced(self.best_set)} ({over}; at least {self.lower_bound} are needed)",
        ]

    def text(self, max_depth: int = 3, max_children: int = 5) -> str:
        """The tree as indented lines."""
        return self.tree.text(self.players, max_depth, max_children)

    def to_networkx(self) -> Any:
        """The tree as a ``networkx.DiGraph``."""
        return self.tree.to_networkx(self.players)

    def _second_moves(self) -> dict[tuple[int, int], tuple[float, int]]:
        """(first player, second player) -> win rate and visits of the second move."""
        tree, rates = self.tree, self.tree.win_rates()
        second = [t for t in range(1, len(tree)) if tree.parents[t] > 0 and tree.parents[tree.parents[t]] == 0]
        return {
            (int(tree.players[tree.parents[t]]), int(tree.players[t])): (float(rates[t]), int(tree.n_visits[t]))
            for t in second
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class GameTrees:
    """Both games about one instance. `Explanation` forwards to it."""

    classes: Players  # [K]
    target: Hashable  # class that the games are about
    predicted: Hashable  # class of the instance
    p_target: float  # P(target) of the instance
    p_masked: float  # P(target) with everything masked
    predicted_masked: Hashable  # class predicted with everything masked
    main: GameResult  # the game that the instance starts with
    continuation: GameResult | None  # the other game, from the state that ended the first
    n_rows: int  # rows given to the model
    n_calls: int
    seconds: float
    display_values: Mapping[Hashable, tuple[str, str]] = field(
        default_factory=dict
    )  # player -> value, masked value
    partial: bool = False  # stopped by Ctrl-C or by a deadline
    # with baseline="nearest_unlike": the key sets towards each row that was tried, fewest changes first
    alternatives: tuple[Alternative, ...] = ()
    # where players were split: the key sets, coarsest first, among whose parts the next one was sought
    coarser: tuple[Players, ...] = ()
    noise: float = 0.0  # how far two answers of the model about the instance are apart; 0 up to rounding
    view: View | None = None  # shows the instance, where its space gives one

    @property
    def games(self) -> tuple[GameResult, ...]:
        """The games that were played."""
        return (self.main,) if self.continuation is None else (self.main, self.continuation)

    @property
    def flipped(self) -> bool:
        """Whether a set was found that ends the game."""
        return self.main.flipped

    @property
    def key_set(self) -> Players:
        """The smallest set found that ends the game, in an order in which only its last player ends it."""
        return self.main.best_set if self.main.flipped else ()

    @property
    def best_set(self) -> Players:
        """The key set; where nothing ended the game, the set that came nearest."""
        return self.main.best_set

    @property
    def probability_change(self) -> float:
        """How far the best set moves P(target)."""
        return self.main.probability_change

    def key_sets(self, k: int | None = None) -> tuple[Players, ...]:
        """Up to `k` minimal sets that end the game (None: all found), smallest first."""
        return self.main.flip_sets[:k]

    @property
    def best_path(self) -> Players:
        """The complete path with the largest win rate."""
        return self.main.best_path

    @property
    def opposition(self) -> Players:
        """What speaks against the target: the best set of the misclassification game."""
        if self.main.kind == "misclassification":
            return self.main.best_set
        return self.continuation.best_set if self.continuation is not None else ()

    @property
    def trail(self) -> tuple[float, ...]:
        """P(target) of the instance, with the best set masked, and with that of the continuation masked too."""
        return (self.p_target, *(game.p_best for game in self.games))

    @property
    def lower_bound(self) -> int:
        """No set with fewer players ends the game: all of them were tried."""
        return self.main.lower_bound

    @property
    def proven(self) -> bool:
        """Whether the key set is known to be a smallest one, or that there is none."""
        if not self.main.flipped:
            return self.main.lower_bound > len(self.main.players)
        return len(self.main.best_set) <= self.main.lower_bound

    @property
    def minimal(self) -> bool:
        """Whether it is known that no player of the key set can be spared."""
        return self.main.minimal

    @property
    def win_rates(self) -> dict[Hashable, float]:
        """Win rate of masking each player first in the main game, the paper's importance."""
        return dict(zip(self.main.players, self.main.win_rates.tolist(), strict=True))

    @property
    def n_visits(self) -> dict[Hashable, int]:
        """How often each player was masked first in the main game."""
        return dict(zip(self.main.players, self.main.n_visits.tolist(), strict=True))

    @property
    def tree(self) -> SearchTree:
        """The tree of the main game."""
        return self.main.tree

    def sets(self, max_size: int = 3) -> list[SetValue]:
        """Sets of up to `max_size` players of the main game, by win rate."""
        return self.main.sets(max_size)

    def relations(self) -> list[Relation]:
        """Pairs of players of the main game, the strongest relation first."""
        return self.main.relations()

    def role(self, player: Hashable) -> Mark | None:
        """What a player of the key set or the opposition does to the target, None for any other."""
        if player in self.key_set and self.main.kind == "classification":
            return "carries"
        return "opposes" if player in self.opposition else None

    def picture(self) -> str:
        """The instance, players marked that carry the target and those that oppose it; "" without a view."""
        if self.view is None:
            return ""
        marks = {player: mark for player in (*self.key_set, *self.opposition) if (mark := self.role(player))}
        return "\n".join(self.view.picture(marks))

    def text(self, top: int = 3) -> str:
        """The readouts of both games in words: top players, sets, relations, best path."""
        return "\n".join(line for game in self.games for line in game.readouts(self.target, top))


def _join(parts: Iterable[str]) -> str:
    return "; ".join(parts) or "none"


def _braced(players: Players) -> str:
    return "{" + ", ".join(map(str, players)) + "}"
