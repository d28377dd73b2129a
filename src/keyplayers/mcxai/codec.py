"""A McXai explanation as JSON and back, derived from the fields of its records. docs/json.md has the schema."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from .._base.arrays import Bools, Floats, Ints
from .._base.names import name_from_json, name_to_json
from .._version import __version__
from ..errors import InputError
from ..explanation import Explanation, structure_columns, structure_to_dict
from ..spaces.views import view_from_json, view_to_json
from .result import Alternative, GameResult, GameTrees, Kind, PairChanges, Players
from .tree.tree import SearchTree

SCHEMA = 1

# fields that schema 1 calls otherwise
_KEYS = {"kind": "game", "probability_change": "drop", "new_class": "becomes"}


class _Codec(NamedTuple):
    """How a value of a type is written and read."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


def _write_number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _read_number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _write_floats(values: Floats) -> list[Any]:
    return [_write_number(value) for value in values.tolist()]


def _read_floats(values: list[Any]) -> Floats:
    return np.array([_read_number(value) for value in values], dtype=np.float64)


def write_name(name: Any) -> Any:
    """A name as JSON holds it; what could not be read back goes as text with its type."""
    if name is None:
        return None
    try:
        return name_to_json(name)
    except InputError:
        if isinstance(name, tuple):
            return {"type": "tuple", "value": _write_names(name)}
        return {"type": type(name).__name__, "text": str(name)}


def _read_name(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    if "value" in data:
        return _read_names(data["value"])
    try:
        return name_from_json(data)
    except InputError:
        return data["text"]


def _write_names(names: Players) -> list[Any]:
    return [write_name(name) for name in names]


def _read_names(data: list[Any]) -> Players:
    return tuple(_read_name(name) for name in data)


# type of a field -> its codec
_CODECS: dict[Any, _Codec] = {
    bool: _Codec(_same, bool),
    int: _Codec(_same, int),
    float: _Codec(_write_number, _read_number),
    Kind: _Codec(_same, _same),
    Hashable: _Codec(write_name, _read_name),
    Players: _Codec(_write_names, _read_names),
    tuple[Players, ...]: _Codec(
        lambda sets: [_write_names(players) for players in sets],
        lambda data: tuple(_read_names(players) for players in data),
    ),
    Floats: _Codec(_write_floats, _read_floats),
    PairChanges: _Codec(lambda a: a.tolist(), lambda data: np.array(data, dtype=np.float64).reshape(-1, 3)),
    Ints: _Codec(lambda a: a.tolist(), lambda data: np.array(data, dtype=np.int64)),
    Bools: _Codec(lambda a: a.tolist(), lambda data: np.array(data, dtype=bool)),
    SearchTree: _Codec(lambda tree: write_record(tree), lambda data: read_record(SearchTree, data)),
}


def write_record(record: Any) -> dict[str, Any]:
    """A frozen record as plain data, field by field; `read_record` reads it back without loss."""
    types = get_type_hints(type(record))
    return {
        _KEYS.get(field.name, field.name): _CODECS[types[field.name]].write(getattr(record, field.name))
        for field in fields(record)
    }


def read_record(kind: type, data: Mapping[str, Any]) -> Any:
    """The record of this kind that `write_record` wrote."""
    types = get_type_hints(kind)
    return kind(
        **{
            field.name: _CODECS[types[field.name]].read(data[_KEYS.get(field.name, field.name)])
            for field in fields(kind)
        }
    )


@structure_to_dict.register
def _to_dict(structure: GameTrees, explanation: Explanation[Any]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "kind": "mcxai",
        "target": write_name(structure.target),
        "predicted": write_name(structure.predicted),
        "classes": _write_names(structure.classes),
        "p_target": structure.p_target,
        "p_masked": structure.p_masked,
        "predicted_masked": write_name(structure.predicted_masked),
        "flipped": structure.flipped,
        "partial": structure.partial,
        "key_set": _write_names(structure.key_set),
        "opposition": _write_names(structure.opposition),
        "trail": list(structure.trail),
        "lower_bound": structure.lower_bound,
        "proven": structure.proven,
        "minimal": structure.minimal,
        "noise": structure.noise,
        "n_evaluations": explanation.n_evaluations,
        "n_rows": structure.n_rows,
        "n_calls": structure.n_calls,
        "seconds": structure.seconds,
        "quantity": explanation.quantity,
        "unit": explanation.unit,
        "sentence": explanation.sentence,
        "players": _write_players(structure, explanation),
        "view": None if structure.view is None else view_to_json(structure.view),
        "coarser": [_write_names(players) for players in structure.coarser],
        "alternatives": [_write_alternative(each) for each in structure.alternatives],
        "games": [write_record(game) for game in structure.games],
        "settings": dict(explanation.settings),
        "seed": explanation.settings.get("random_state"),
        "version": __version__,
    }


def _write_players(structure: GameTrees, explanation: Explanation[Any]) -> list[dict[str, Any]]:
    rows = zip(explanation.players, explanation.values.tolist(), explanation.std_errors.tolist(), strict=True)
    players = []
    for player, value, error in rows:
        instance, masked = structure.display_values.get(player, ("", ""))
        players.append(
            {
                "name": write_name(player),
                "value": _write_number(value),
                "std_error": _write_number(error),
                "instance": instance,
                "masked": masked,
            }
        )
    return players


def _write_alternative(alternative: Alternative) -> dict[str, Any]:
    return {
        "changes": [[write_name(player), *words] for player, words in alternative.changes.items()],
        "becomes": write_name(alternative.new_class),
        "p_target": alternative.p_target,
        "distance": alternative.distance,
    }


def _read_alternative(data: Mapping[str, Any]) -> Alternative:
    changes = {_read_name(player): (own, put_in) for player, own, put_in in data["changes"]}
    return Alternative(changes, _read_name(data["becomes"]), data["p_target"], data["distance"])


def explanation_from_dict(data: Mapping[str, Any]) -> Explanation[GameTrees]:
    """The explanation that ``to_dict`` wrote.

    Raises
    ------
    InputError
        The data is of another kind or of a later schema.
    """
    if data.get("kind") != "mcxai" or data.get("schema") != SCHEMA:
        raise InputError(
            f"expected kind 'mcxai' of schema {SCHEMA}, got kind {data.get('kind')!r} of schema "
            f"{data.get('schema')!r}"
        )
    games = [read_record(GameResult, game) for game in data["games"]]
    players = data["players"]
    names = _read_names([row["name"] for row in players])
    structure = GameTrees(
        classes=_read_names(data["classes"]),
        target=_read_name(data["target"]),
        predicted=_read_name(data["predicted"]),
        p_target=data["p_target"],
        p_masked=data["p_masked"],
        predicted_masked=_read_name(data["predicted_masked"]),
        main=games[0],
        continuation=games[1] if len(games) > 1 else None,
        n_rows=data["n_rows"],
        n_calls=data["n_calls"],
        seconds=data["seconds"],
        display_values={name: (row["instance"], row["masked"]) for name, row in zip(names, players, strict=True)},
        partial=data.get("partial", False),
        noise=data.get("noise", 0.0),
        alternatives=tuple(_read_alternative(each) for each in data.get("alternatives", ())),
        coarser=tuple(_read_names(players) for players in data.get("coarser", ())),
        view=view_from_json(data["view"]) if data.get("view") else None,
    )
    return Explanation(
        kind="mcxai",
        target=structure.target,
        players=names,
        values=_read_floats([row["value"] for row in players]),
        std_errors=_read_floats([row["std_error"] for row in players]),
        quantity=data["quantity"],
        unit=data["unit"],
        n_evaluations=data["n_evaluations"],
        sentence=data["sentence"],
        structure=structure,
        settings=data["settings"],
    )


@structure_columns.register
def _columns(structure: GameTrees, explanation: Explanation[Any]) -> dict[str, Any]:
    """What McXai adds to ``to_frame``: the values in words, and what each game says of a player."""
    shown = [structure.display_values.get(player, ("", "")) for player in explanation.players]
    columns: dict[str, Any] = {"instance": [a for a, _ in shown], "masked": [b for _, b in shown]}
    games = {game.kind: game for game in structure.games}
    for kind in ("classification", "misclassification"):
        columns |= _game_columns(kind, games.get(kind), explanation.players)
    columns["in_key_set"] = [player in structure.key_set for player in explanation.players]
    columns["in_opposition"] = [player in structure.opposition for player in explanation.players]
    return columns


def _game_columns(kind: str, game: GameResult | None, players: Players) -> dict[str, Any]:
    """Columns of one game, NaN and 0 for players that do not take part in it."""
    places = {} if game is None else {player: place for place, player in enumerate(game.players)}

    def column(values: Any, missing: Any) -> list[Any]:
        return [values[places[player]].item() if player in places else missing for player in players]

    return {
        f"{kind}_win_rate": column(game and game.win_rates, math.nan),
        f"{kind}_visits": column(game and game.n_visits, 0),
    }
