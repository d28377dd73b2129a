"""The report of one belief as data: the ranking, the neighbourhood, what would be without a variable."""

import time
import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .._base.arrays import Floats
from .._base.printable import shortened
from ..errors import KeyPlayersError
from ..explanation import Explanation
from ..graphshapley.result import SubtreeGame
from ..mrf.what_if import REMOVED, what_ifs
from ..plots.network import Network, network
from .facts import field_facts
from .limits import Limits, probabilities, significant

_ROLES = {"for": 0, "against": 1, "connects": 2}


def field_data(found: Explanation[SubtreeGame], limits: Limits) -> dict[str, Any]:
    """What the page of a belief shows; JSON can hold it."""
    game = found.structure
    drawn = network(found, 0 if game.target_observed else limits.nodes)
    asked = game.worth_states[0] if game.worth_states else game.states[int(game.belief.argmax())]
    return {
        "kind": "field",
        "opening": "Why",
        "about": limits.name(found.target),
        "target": limits.name(found.target),
        "states": [limits.name(state) for state in game.states],
        "belief": probabilities(game.belief),
        "asked": game.states.index(asked),
        "unit": found.unit,
        "quantity": shortened(found.quantity, limits.letters),
        "sentence": shortened(found.sentence, limits.sentence),
        "facts": [list(fact) for fact in field_facts(found)],
        "n_players": len(found),
        "pull": limits.name(game.direction_state),
        "pull_unit": game.direction_unit,
        "nodes": _nodes(found, drawn, limits),
        "links": drawn.links.tolist(),
        "others": _others(drawn),
        "settings": limits.settings(found.settings),
        "without": _without(found, drawn, limits),
    }


def _nodes(found: Explanation[SubtreeGame], drawn: Network, limits: Limits) -> dict[str, Any]:
    """Columns, an entry per node."""
    game, players = found.structure, drawn.players
    with_target = np.round(drawn.positions[1:]).astype(int)
    return {
        "name": [limits.name(found.players[i]) for i in players.tolist()],
        "count": drawn.counts.tolist(),
        "value": significant(found.values[players]),
        "error": significant(game.uncertainties[players], 2),
        "prior": significant(game.probabilistic[players]),
        "edges": significant(game.topological[players]),
        "pull": significant(game.direction[players]),
        "role": [_ROLES[game.roles[i]] for i in players.tolist()],
        "hops": game.distances[players].tolist(),
        "parent": drawn.parents.tolist(),
        "x": with_target[:, 0].tolist(),
        "y": with_target[:, 1].tolist(),
        "r": np.round(drawn.radii[1:], 1).tolist(),
        "path": [_path(game.paths[i], limits) for i in players.tolist()],
    }


def _path(steps: Sequence[Hashable], limits: Limits) -> list[str]:
    """The steps between a player and the target, both left out."""
    return [limits.name(step) for step in steps[1:-1]]


def _others(drawn: Network) -> dict[str, Any] | None:
    if drawn.others_position is None:
        return None
    x, y = drawn.others_position
    return {"count": drawn.n_others, "value": significant(drawn.others_value), "x": round(x), "y": round(y)}


def _without(found: Explanation[SubtreeGame], drawn: Network, limits: Limits) -> dict[str, Any]:
    """Beliefs without each node, and without its evidence, as far as the seconds allow; of a group one player.

    {"removed": [..], "bare": [..]}, each an entry per node: the belief [K], or None where nobody asked.
    """
    game, names = found.structure, [found.players[i] for i in drawn.players.tolist()]
    unknown: list[Any] = [None] * len(names)
    answers = {"removed": list(unknown), "bare": list(unknown)}
    if game.beliefs is None or game.target_observed or not limits.seconds:
        return answers
    by_role = game.roles
    asked: list[tuple[str, int, dict[Hashable, Any]]] = []
    for node, name in enumerate(names):
        asked.append(("removed", node, {name: REMOVED}))
        if by_role[int(drawn.players[node])] != "connects":
            asked.append(("bare", node, {name: None}))
    for (which, node, _), belief in zip(
        asked, _beliefs(found, [a[2] for a in asked], limits.seconds), strict=False
    ):
        answers[which][node] = probabilities(belief)
    return answers


def _beliefs(
    found: Explanation[SubtreeGame], changes: list[dict[Hashable, Any]], seconds: float
) -> "list[Floats]":
    """Beliefs of the target after each change, the first ones as far as the seconds last."""
    beliefs = found.structure.beliefs
    assert beliefs is not None
    done: list[Floats] = []
    start, step = 0.0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page tells of what did not converge
        while len(done) < len(changes):
            try:
                block = what_ifs(beliefs.mrf, found.target, changes[len(done) : len(done) + step], beliefs=beliefs)
            except KeyPlayersError:  # a contradiction without that evidence, or a state that cannot be asked
                break
            done += [answer.after for answer in block]
            if not start:  # what is prepared once, and compiled, does not count
                start = time.monotonic()
                continue
            used = max(time.monotonic() - start, 1e-6)
            left = int(len(done) * (seconds - used) / used)
            if left < 1:
                break
            step = min(left, 4 * step)
    return done
