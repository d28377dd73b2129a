"""The report of one prediction as data: the row, key set and opposition, the trail, relations, alternatives."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .._base.printable import shortened
from ..explanation import Explanation
from ..mcxai.result import GameTrees, Players, Relation
from .facts import Fact
from .limits import Limits, probabilities, significant
from .shown import shown as instance_shown

# a change of a probability that is shown as 0
_NOTHING = 5e-4
# relations that the matrix shows, the strongest first, and sets beside the key set
_RELATIONS, _SETS, _ALTERNATIVES = 30, 6, 3


def classifier_data(found: Explanation[GameTrees], limits: Limits) -> dict[str, Any]:
    """What the page of a prediction shows; JSON can hold it."""
    game = found.structure
    shown = list(found.players[: limits.nodes])
    return {
        "kind": "classifier",
        "opening": "Why the model says",
        "about": limits.name(game.predicted),
        "target": limits.name(game.target),
        "predicted": limits.name(game.predicted),
        "unit": found.unit,
        "quantity": shortened(found.quantity, limits.letters),
        "sentence": shortened(found.sentence, limits.sentence),
        "facts": [list(fact) for fact in classifier_facts(found)],
        "n_players": len(found),
        "shown": instance_shown(game, limits),
        "nodes": _nodes(found, shown, limits),
        "others": _others(found, shown),
        "trail": _trail(game, limits),
        "sets": [_listed(players, limits) for players in game.key_sets(_SETS)],
        "relations": _relations(game.relations(), limits),
        "alternatives": _alternatives(game, limits),
        "settings": limits.settings(found.settings),
    }


def _nodes(found: Explanation[GameTrees], shown: list[Hashable], limits: Limits) -> dict[str, Any]:
    """Columns, an entry per player: what it is, what it is masked to, what it does."""
    game, n = found.structure, len(shown)
    words = [game.display_values.get(player, ("", "")) for player in shown]
    rates = game.win_rates
    return {
        "name": [limits.name(player) for player in shown],
        "instance": [shortened(own, limits.letters) for own, _ in words],
        "masked": [shortened(masked, limits.letters) for _, masked in words],
        "value": significant(found.values[:n]),
        "error": significant(found.std_errors[:n], 2),
        "role": [0 if player in game.key_set else 1 if player in game.opposition else 2 for player in shown],
        "rate": significant(np.array([rates.get(player, np.nan) for player in shown])),
    }


def _others(found: Explanation[GameTrees], shown: list[Hashable]) -> dict[str, Any] | None:
    n = len(found) - len(shown)
    rest = np.nan_to_num(found.values[len(shown) :])
    return {"count": n, "value": significant(float(rest.sum()))} if n else None


def _trail(game: GameTrees, limits: Limits) -> list[dict[str, Any]]:
    """P(target) as it is, with the best set masked, with that of the other game too, and with everything."""
    steps: list[tuple[str, Players, float, Hashable]] = [("as it is", (), game.p_target, game.predicted)]
    for played in game.games:
        what = "key set masked" if played is game.main else "and the other set"
        if not played.flipped:
            what = "nearest set masked" if played is game.main else "and the nearest other set"
        steps.append((what, played.best_set, played.p_best, played.new_class))
    steps.append(("everything masked", (), game.p_masked, game.predicted_masked))
    return [
        {
            "what": what,
            "players": _listed(players, limits),
            "p": probabilities(np.array([p]))[0],
            "says": limits.name(says),
        }
        for what, players, p, says in steps
    ]


def _listed(players: Players, limits: Limits) -> list[str]:
    return [limits.name(player) for player in players]


def _relations(relations: Sequence[Relation], limits: Limits) -> list[list[Any]]:
    return [
        [limits.name(each.player), limits.name(each.given), each.kind, significant(each.change)]
        for each in relations[:_RELATIONS]
        if abs(each.change) >= _NOTHING
    ]


def _alternatives(game: GameTrees, limits: Limits) -> list[dict[str, Any]]:
    """Rows that would be decided otherwise, side by side: what would be put in where."""
    return [
        {
            "changes": [
                [limits.name(player), *(shortened(word, limits.letters) for word in words)]
                for player, words in each.changes.items()
            ],
            "says": limits.name(each.new_class),
            "p": probabilities(np.array([each.p_target]))[0],
            "distance": significant(each.distance, 2),
        }
        for each in game.alternatives[:_ALTERNATIVES]
    ]


def classifier_facts(found: Explanation[GameTrees]) -> list[Fact]:
    """What values mean and how sure the answer is, in plain words; warnings first."""
    game = found.structure
    target = shortened(str(game.target), 60)
    facts = []
    if game.partial:
        facts.append(Fact("Stopped early", "The search was stopped: smaller sets may exist.", "warning"))
    if game.flipped and not game.minimal:
        text = "The rows allowed did not tell whether every player of the key set is needed."
        facts.append(Fact("Perhaps not all are needed", text, "warning"))
    if game.p_masked >= game.p_target and found.players and not game.flipped:
        text = f"With everything masked the model says {target} no less: the masked row looks like that class."
        facts.append(Fact("The baseline speaks for the class", text, "warning"))
    return [*facts, *_reading(target), _size(game), _cost(game)]


def _reading(target: str) -> list[Fact]:
    return [
        Fact(
            "What the values mean",
            f"A contribution is how much P({target}) falls, on average, when the player is masked after others in "
            "random order. Above 0 it carries the decision, below 0 it speaks against it. Thin lines are standard "
            "errors.",
        ),
        Fact(
            "Key set and opposition",
            "The key set (blue) is the smallest set found whose masking changes the decision. The opposition "
            "(red) is what stood against it: masking that as well turns the decision back, or brings it nearest.",
        ),
    ]


def _size(game: GameTrees) -> Fact:
    n, bound = len(game.key_set), game.lower_bound
    if game.noise:
        text = f"Nobody knows: two answers of the model about the same row differ by {game.noise:.2g}."
    elif game.flipped and game.proven:
        text = f"No set of fewer than {n} does it: all were tried." if n > 1 else "One player alone does it."
    elif game.flipped:
        text = f"A set of {n} was found; any set that does it has at least {bound} players."
    elif game.proven:
        text = "No set of players changes the decision: all were tried."
    else:
        text = f"No set was found that changes the decision; any that does has at least {bound} players."
    return Fact("Is there a smaller set?", text)


def _cost(game: GameTrees) -> Fact:
    text = f"{game.n_rows:,} rows were given to the model in {game.n_calls:,} calls, {game.seconds:.2f} s."
    return Fact("How it was found", f"{text} Two games were played on what the model says of masked rows.")
