"""What is read off the two games: the structure of a McXai explanation."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from .._base.names import name_from_json, name_to_json
from ..errors import InputError
from ..explanation import Explanation, structure_columns, structure_to_dict
from .tree.tree import SearchTree


class SetValue(NamedTuple):
    """A set of players and how playouts through it fared."""

    players: tuple[Hashable, ...]
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


@dataclass(frozen=True, eq=False)
class GameReading:
    """One finished game: what ended it, and the tree it was searched with."""

    kind: str  # "classification" or "misclassification"
    players: tuple[Hashable, ...]  # [n] players of this game; the tree's numbers point here
    flipped: bool
    flip_sets: tuple[tuple[Hashable, ...], ...]  # minimal sets that end the game, smallest first, in replay order
    best_set: tuple[Hashable, ...]  # the key set; where nothing ends the game, the set that came nearest
    drop: float  # how far the best set moves P(target), in the direction of the game
    p_best: float  # P(target) with the best set masked
    becomes: Hashable  # class predicted with the best set masked
    best_path: tuple[Hashable, ...]  # complete path with the largest win rate
    best_path_win_rate: float
    lower_bound: int  # every set that ends the game has at least so many players (all smaller ones were tried)
    win_rates: Floats  # [n] of the players as first moves; the surrogate's estimate where n_visits is 0
    n_visits: Ints  # [n]
    contributions: Floats  # [n] mean change of P(target) as a player is masked in random order, NaN where unknown
    interactions: Floats  # [m, 3]: local players a < b, what masking both adds to P beyond each alone
    tree: SearchTree
    n_rows: int
    n_playouts: int

    def relations(self) -> list[Relation]:
        """Pairs of players, the strongest relation first."""
        rates, visits = self._second_moves()
        found = []
        for a, b, change in self.interactions.tolist():
            a, b = int(a), int(b)
            if self.win_rates[a] > self.win_rates[b]:
                a, b = b, a
            found.append(
                Relation(
                    self.players[a],
                    self.players[b],
                    "competing" if change < 0 else "conditional",
                    change,
                    float(self.win_rates[a]),
                    rates.get((b, a), float("nan")),
                    int(self.n_visits[a]),
                    visits.get((b, a), 0),
                )
            )
        return sorted(found, key=lambda r: -abs(r.change))

    def sets(self, max_size: int = 3) -> list[SetValue]:
        """Sets of up to `max_size` players by win rate, all orders of a set taken together."""
        totals: dict[frozenset[int], list[Any]] = {}
        for node in range(1, len(self.tree)):
            path = self.tree.path(node)
            if len(path) <= max_size:
                entry = totals.setdefault(frozenset(path), [path, 0, 0.0])
                entry[1] += int(self.tree.n_visits[node])
                entry[2] += float(self.tree.rewards[node])
        found = [
            SetValue(tuple(self.players[p] for p in path), gained / n, n)
            for path, n, gained in totals.values()
            if n
        ]
        return sorted(found, key=lambda s: (-s.win_rate, len(s.players)))

    def text(self, max_depth: int = 3, max_children: int = 5) -> str:
        """The tree as indented lines."""
        return self.tree.text(self.players, max_depth, max_children)

    def to_networkx(self) -> Any:
        """The tree as a ``networkx.DiGraph``."""
        return self.tree.to_networkx(self.players)

    def _second_moves(self) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], int]]:
        tree = self.tree
        rates = tree.win_rates()
        second = [t for t in range(1, len(tree)) if tree.parents[t] > 0 and tree.parents[tree.parents[t]] == 0]
        keys = [(int(tree.players[tree.parents[t]]), int(tree.players[t])) for t in second]
        return (
            {key: float(rates[t]) for key, t in zip(keys, second, strict=True)},
            {key: int(tree.n_visits[t]) for key, t in zip(keys, second, strict=True)},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `from_dict` reads it back without loss."""
        tree = self.tree
        return {
            "game": self.kind,
            "players": _plain(self.players),
            "flipped": self.flipped,
            "flip_sets": [_plain(players) for players in self.flip_sets],
            "best_set": _plain(self.best_set),
            "drop": self.drop,
            "p_best": self.p_best,
            "becomes": _name(self.becomes),
            "best_path": _plain(self.best_path),
            "best_path_win_rate": _number(self.best_path_win_rate),
            "lower_bound": self.lower_bound,
            "win_rates": [_number(v) for v in self.win_rates.tolist()],
            "n_visits": self.n_visits.tolist(),
            "contributions": [_number(v) for v in self.contributions.tolist()],
            "interactions": self.interactions.tolist(),
            "tree": {
                name: getattr(tree, name).tolist()
                for name in ("parents", "players", "n_visits", "rewards", "n_starts", "ended")
            },
            "n_rows": self.n_rows,
            "n_playouts": self.n_playouts,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "GameReading":
        tree = data["tree"]
        return cls(
            data["game"],
            _tuple(data["players"]),
            data["flipped"],
            tuple(_tuple(s) for s in data["flip_sets"]),
            _tuple(data["best_set"]),
            data["drop"],
            data["p_best"],
            _value(data["becomes"]),
            _tuple(data["best_path"]),
            _float(data["best_path_win_rate"]),
            data["lower_bound"],
            np.array([_float(v) for v in data["win_rates"]], dtype=np.float64),
            np.array(data["n_visits"], dtype=np.int64),
            np.array([_float(v) for v in data["contributions"]], dtype=np.float64),
            np.array(data["interactions"], dtype=np.float64).reshape(-1, 3),
            SearchTree(
                np.array(tree["parents"], dtype=np.int64),
                np.array(tree["players"], dtype=np.int64),
                np.array(tree["n_visits"], dtype=np.int64),
                np.array(tree["rewards"], dtype=np.float64),
                np.array(tree["n_starts"], dtype=np.int64),
                np.array(tree["ended"], dtype=bool),
            ),
            data["n_rows"],
            data["n_playouts"],
        )


@dataclass(frozen=True, eq=False)
class GameTrees:
    """Both games about one instance. `Explanation` forwards to it."""

    classes: tuple[Hashable, ...]  # [K]
    target: Hashable  # class that the games are about
    predicted: Hashable  # class of the instance
    p_target: float  # P(target) of the instance
    p_masked: float  # P(target) with everything masked
    predicted_masked: Hashable  # class predicted with everything masked
    main: GameReading  # the game that the instance starts with
    continuation: GameReading | None  # the other game, from the state that ended the first
    n_rows: int  # rows given to the model
    n_calls: int
    seconds: float
    shown: Mapping[Hashable, tuple[str, str]] = field(default_factory=dict)  # player -> value, masked value
    partial: bool = False  # stopped by Ctrl-C or by a deadline

    @property
    def flipped(self) -> bool:
        """Whether a set was found that ends the game."""
        return self.main.flipped

    @property
    def key_set(self) -> tuple[Hashable, ...]:
        """The smallest set found that ends the game, in an order in which only its last player ends it."""
        return self.main.best_set if self.main.flipped else ()

    @property
    def best_set(self) -> tuple[Hashable, ...]:
        """The key set; where nothing ended the game, the set that came nearest."""
        return self.main.best_set

    @property
    def drop(self) -> float:
        """How far the best set moves P(target)."""
        return self.main.drop

    def key_sets(self, k: int | None = None) -> tuple[tuple[Hashable, ...], ...]:
        """Up to `k` minimal sets that end the game (None: all found), smallest first."""
        return self.main.flip_sets[:k]

    @property
    def best_path(self) -> tuple[Hashable, ...]:
        """The complete path with the largest win rate."""
        return self.main.best_path

    @property
    def opposition(self) -> tuple[Hashable, ...]:
        """What speaks against the target: the best set of the misclassification game."""
        if self.main.kind == "misclassification":
            return self.main.best_set
        return self.continuation.best_set if self.continuation is not None else ()

    @property
    def trail(self) -> tuple[float, ...]:
        """P(target) of the instance, with the best set masked, and with that of the continuation masked too."""
        start = (self.p_target, self.main.p_best)
        return start if self.continuation is None else (*start, self.continuation.p_best)

    @property
    def lower_bound(self) -> int:
        """No set with fewer players ends the game: all of them were tried."""
        return self.main.lower_bound

    @property
    def proven(self) -> bool:
        """Whether the key set is known to be a smallest one."""
        return self.main.flipped and len(self.main.best_set) <= self.main.lower_bound

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

    def text(self, top: int = 3) -> str:
        """The readouts of both games in words: top players, sets, relations, best path."""
        lines = []
        for game in (self.main, self.continuation):
            if game is None:
                continue
            say = "carry" if game.kind == "classification" else "oppose"
            lines.append(f"{game.kind} game: players that {say} {self.target!r}")
            order = np.argsort(-game.win_rates, kind="stable")[:top]
            lines.append("  players: " + _join(f"{game.players[i]} {game.win_rates[i]:.3f}" for i in order))
            several = [s for s in game.sets() if len(s.players) > 1][:top]
            lines.append("  sets: " + _join(f"{_names(s.players)} {s.win_rate:.3f}" for s in several))
            lines.append(
                "  relations: "
                + _join(f"{r.player} given {r.given} {r.kind} {r.change:+.3f}" for r in game.relations()[:top])
            )
            path = " -> ".join(map(str, game.best_path)) or "none"
            lines.append(f"  best path: {path}")
            over = "ends the game" if game.flipped else "does not end it"
            lines.append(f"  best set: {_names(game.best_set)} ({over}; at least {game.lower_bound} are needed)")
        return "\n".join(lines)


def _join(parts: Any) -> str:
    return "; ".join(parts) or "none"


def _names(players: Sequence[Hashable]) -> str:
    return "{" + ", ".join(map(str, players)) + "}"


@structure_columns.register
def _columns(structure: GameTrees, explanation: Explanation[Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "instance": [structure.shown.get(p, ("", ""))[0] for p in explanation.players],
        "masked": [structure.shown.get(p, ("", ""))[1] for p in explanation.players],
    }
    games = [structure.main, structure.continuation]
    for kind in ("classification", "misclassification"):
        game = next((g for g in games if g is not None and g.kind == kind), None)
        at = {} if game is None else {p: i for i, p in enumerate(game.players)}
        held = [at.get(p) for p in explanation.players]
        columns[f"{kind}_win_rate"] = [
            float("nan") if i is None or game is None else float(game.win_rates[i]) for i in held
        ]
        columns[f"{kind}_contribution"] = [
            float("nan") if i is None or game is None else float(game.contributions[i]) for i in held
        ]
        columns[f"{kind}_visits"] = [0 if i is None or game is None else int(game.n_visits[i]) for i in held]
    columns["in_key_set"] = [p in structure.key_set for p in explanation.players]
    columns["in_opposition"] = [p in structure.opposition for p in explanation.players]
    return columns


@structure_to_dict.register
def _to_dict(structure: GameTrees, explanation: Explanation[Any]) -> dict[str, Any]:
    from .._version import __version__

    return {
        "schema": 1,
        "kind": "mcxai",
        "target": _name(structure.target),
        "predicted": _name(structure.predicted),
        "classes": _plain(structure.classes),
        "p_target": structure.p_target,
        "p_masked": structure.p_masked,
        "predicted_masked": _name(structure.predicted_masked),
        "flipped": structure.flipped,
        "partial": structure.partial,
        "key_set": _plain(structure.key_set),
        "opposition": _plain(structure.opposition),
        "trail": list(structure.trail),
        "lower_bound": structure.lower_bound,
        "proven": structure.proven,
        "n_evaluations": explanation.n_evaluations,
        "n_rows": structure.n_rows,
        "n_calls": structure.n_calls,
        "seconds": structure.seconds,
        "quantity": explanation.quantity,
        "unit": explanation.unit,
        "sentence": explanation.sentence,
        "players": [
            {
                "name": _name(player),
                "value": _number(value),
                "std_error": _number(error),
                "instance": structure.shown.get(player, ("", ""))[0],
                "masked": structure.shown.get(player, ("", ""))[1],
            }
            for player, value, error in zip(
                explanation.players, explanation.values.tolist(), explanation.std_errors.tolist(), strict=True
            )
        ],
        "games": [g.to_dict() for g in (structure.main, structure.continuation) if g is not None],
        "settings": dict(explanation.settings),
        "seed": explanation.settings.get("random_state"),
        "version": __version__,
    }


def explanation_from_dict(data: Mapping[str, Any]) -> Explanation[GameTrees]:
    """The explanation that ``to_dict`` wrote.

    Raises
    ------
    InputError
        The data is of another kind or of a later schema.
    """
    if data.get("kind") != "mcxai" or data.get("schema") != 1:
        raise InputError(
            f"expected kind 'mcxai' of schema 1, got kind {data.get('kind')!r} of schema {data.get('schema')!r}"
        )
    games = [GameReading.from_dict(game) for game in data["games"]]
    players = data["players"]
    names = _tuple([p["name"] for p in players])
    structure = GameTrees(
        _tuple(data["classes"]),
        _value(data["target"]),
        _value(data["predicted"]),
        data["p_target"],
        data["p_masked"],
        _value(data["predicted_masked"]),
        games[0],
        games[1] if len(games) > 1 else None,
        data["n_rows"],
        data["n_calls"],
        data["seconds"],
        {name: (p["instance"], p["masked"]) for name, p in zip(names, players, strict=True)},
        data.get("partial", False),
    )
    return Explanation(
        "mcxai",
        structure.target,
        names,
        np.array([_float(p["value"]) for p in players], dtype=np.float64),
        np.array([_float(p["std_error"]) for p in players], dtype=np.float64),
        data["quantity"],
        data["unit"],
        data["n_evaluations"],
        data["sentence"],
        structure,
        data["settings"],
    )


def _number(value: float) -> float | None:
    return None if value != value else value


def _float(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _plain(names: Sequence[Hashable]) -> list[Any]:
    """Several names as JSON holds them."""
    return [_name(name) for name in names]


def _name(name: Any) -> Any:
    """A name as JSON holds it; what could not be read back goes as text with its type."""
    if name is None:
        return None
    try:
        return name_to_json(name)
    except InputError:
        if isinstance(name, tuple):
            return {"type": "tuple", "value": _plain(name)}
        return {"type": type(name).__name__, "text": str(name)}


def _value(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    if "value" in data:
        return _tuple(data["value"])
    try:
        return name_from_json(data)
    except InputError:
        return data["text"]


def _tuple(data: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_value(v) for v in data)
