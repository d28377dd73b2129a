"""`SubtreeGame` as a table and as JSON."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from .._base.arrays import Floats
from .._base.names import name_from_json, name_to_json
from ..errors import UnknownNameError
from ..explanation import Explanation, structure_columns, structure_to_dict, structure_value
from .result import Inference, SubtreeGame
from .what_ifs import what_ifs_from_json

# version of the JSON of one explanation
SCHEMA = 1


@structure_columns.register
def _columns(game: SubtreeGame, explanation: Explanation[Any]) -> dict[str, Any]:
    return {
        "probabilistic": game.probabilistic,
        "topological": game.topological,
        "direction": game.direction,
        "error_bound": game.error_bounds,
        "uncertainty": game.uncertainties,
        "role": list(game.roles),
        "distance": game.distances,
        "log10_coalitions": game.log10_player_coalitions,
        "path": [" - ".join(str(name) for name in path) for path in game.paths],
        "group": game.groups,
        **({} if game.what_ifs is None else game.what_ifs.columns),
    }


@structure_value.register
def _value(game: SubtreeGame, explanation: Explanation[Any], name: Hashable) -> float:
    """A variable outside the ball belongs to no coalition; the target is no player."""
    if game.field_names is not None and name in game.field_names and name != explanation.target:
        return 0.0
    raise UnknownNameError(f"no player {name!r} among the {len(explanation)} of this explanation")


@structure_to_dict.register
def to_dict(game: SubtreeGame, explanation: Explanation[Any]) -> dict[str, Any]:
    """JSON of one field explanation, see docs/json.md."""
    columns = {
        "name": [name_to_json(name) for name in explanation.players],
        "value": _numbers(explanation.values),
        "std_error": _numbers(explanation.std_errors),
        "error_bound": _numbers(game.error_bounds),
        "uncertainty": _numbers(game.uncertainties),
        "role": list(game.roles),
        "probabilistic": _numbers(game.probabilistic),
        "topological": _numbers(game.topological),
        "direction": _numbers(game.direction),
        "distance": game.distances.tolist(),
        "log10_coalitions": _numbers(game.log10_player_coalitions),
        "path": [[name_to_json(step) for step in path] for path in game.paths],
        "group": game.groups.tolist(),
        **({} if game.what_ifs is None else game.what_ifs.json_columns),
    }
    lower, upper = game.log10_coalition_bounds
    return {
        "schema": SCHEMA,
        "kind": "graphshapley",
        "target": name_to_json(explanation.target),
        "states": [name_to_json(state) for state in game.states],
        "belief": game.belief.tolist(),
        "log_belief": _numbers(game.log_belief),
        "worth": game.worth,
        "worth_states": [name_to_json(state) for state in game.worth_states],
        "unit": game.unit,
        "quantity": explanation.quantity,
        "direction_unit": game.direction_unit,
        "direction_state": name_to_json(game.direction_state),
        "engine": game.engine,
        "engine_reason": game.engine_reason,
        "inference": {
            "schedule": game.inference.schedule,
            "converged": game.inference.converged,
            "exact": game.inference.exact,
            "sweeps": game.inference.sweeps,
            "exact_belief": None if game.inference.exact_belief is None else game.inference.exact_belief.tolist(),
            "messages_belief": _list_or_none(game.inference.messages_belief),
        },
        "ball": {
            "radius": game.radius,
            "n_variables": game.n_variables,
            "n_factors": len(game.factors),
            "n_edges": game.n_edges,
            "n_dropped": game.n_dropped,
            "log10_coalitions": None if game.log10_coalitions is None else _number(game.log10_coalitions),
            "log10_coalitions_at_least": _number(lower),
            "log10_coalitions_at_most": _number(upper),
        },
        "saturated": game.saturated,
        "meets_zero": game.meets_zero,
        "partial": game.partial,
        "target_observed": game.target_observed,
        "worth_alone": game.worth_alone,
        "worth_ball": game.worth_ball,
        "coalitions": game.coalitions_of,
        "boundary": game.boundary,
        "law": game.law,
        "n_copies": game.n_copies,
        "coverage": game.coverage,
        "n_evaluations": explanation.n_evaluations,
        "sentence": explanation.sentence,
        "players": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "factors": [
            {"name": name_to_json(name), "value": _number(value)}
            for name, value in zip(game.factors, game.factor_values.tolist(), strict=True)
        ],
        "diagnostics": game.diagnostics,
        "settings": dict(explanation.settings),
        "seed": explanation.settings.get("seed"),
        "version": explanation.settings.get("version"),
    }


def from_dict(data: Mapping[str, Any]) -> Explanation[SubtreeGame]:
    """The explanation that `to_dict` wrote. It has no ball, no table of coalitions and no field any more."""
    players = data["players"]

    def column(key: str) -> Floats:
        return np.array([np.nan if row[key] is None else row[key] for row in players], dtype=np.float64)

    how, around = data["inference"], data["ball"]
    log_belief = [-np.inf if value is None else value for value in data["log_belief"]]
    exact, other = how["exact_belief"], how.get("messages_belief")
    bounds = [-np.inf if around[key] is None else around[key] for key in _BOUNDS]
    game = SubtreeGame(
        states=tuple(name_from_json(state) for state in data["states"]),
        belief=np.array(data["belief"], dtype=np.float64),
        log_belief=np.array(log_belief, dtype=np.float64),
        worth=data["worth"],
        worth_states=tuple(name_from_json(state) for state in data["worth_states"]),
        unit=data["unit"],
        probabilistic=column("probabilistic"),
        topological=column("topological"),
        direction=column("direction"),
        direction_unit=data["direction_unit"],
        direction_state=name_from_json(data["direction_state"]),
        std_errors=column("std_error"),
        error_bounds=column("error_bound"),
        distances=np.array([row["distance"] for row in players], dtype=np.int64),
        paths=tuple(tuple(name_from_json(step) for step in row["path"]) for row in players),
        log10_player_coalitions=column("log10_coalitions"),
        engine=data["engine"],
        engine_reason=data["engine_reason"],
        radius=around["radius"],
        ball=None,
        n_variables=around["n_variables"],
        n_edges=around["n_edges"],
        log10_coalitions=bounds[0] if bounds[0] == bounds[1] else None,
        log10_coalition_bounds=(bounds[0], bounds[1]),
        saturated=data["saturated"],
        meets_zero=data["meets_zero"],
        partial=data["partial"],
        target_observed=data["target_observed"],
        worth_alone=data["worth_alone"],
        worth_ball=data["worth_ball"],
        inference=Inference(
            schedule=how["schedule"],
            converged=how["converged"],
            exact=how["exact"],
            sweeps=how["sweeps"],
            exact_belief=None if exact is None else np.array(exact, dtype=np.float64),
            messages_belief=None if other is None else np.array(other, dtype=np.float64),
        ),
        groups=np.array([row.get("group", i) for i, row in enumerate(players)], dtype=np.int64),
        n_dropped=around.get("n_dropped", 0),
        coalitions_of=data.get("coalitions", "subtrees"),
        boundary=data.get("boundary", "cut"),
        law=data.get("law", "uniform"),
        n_copies=data.get("n_copies"),
        coverage=data.get("coverage"),
        factors=tuple(name_from_json(row["name"]) for row in data.get("factors", ())),
        factor_values=np.array(
            [np.nan if row["value"] is None else row["value"] for row in data.get("factors", ())], dtype=np.float64
        ),
        diagnostics=data["diagnostics"],
        what_ifs=what_ifs_from_json(players),
    )
    return Explanation(
        kind="graphshapley",
        target=name_from_json(data["target"]),
        players=tuple(name_from_json(row["name"]) for row in players),
        values=column("value"),
        std_errors=column("std_error"),
        quantity=data["quantity"],
        unit=data["unit"],
        n_evaluations=data["n_evaluations"],
        sentence=data["sentence"],
        structure=game,
        settings=data["settings"],
    )


_BOUNDS = ("log10_coalitions_at_least", "log10_coalitions_at_most")


def _list_or_none(numbers: Floats | None) -> list[float] | None:
    return None if numbers is None else numbers.tolist()


def _numbers(values: Floats) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: Any) -> float | None:
    """A number as JSON can hold it: null where it is not known, or the logarithm of zero."""
    number = float(value)
    return number if math.isfinite(number) else None
