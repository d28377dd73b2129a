"""What would change the decision: masking towards real rows that the model decides otherwise."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Ints
from ..errors import InputError
from ..explanation import Explanation
from ..models.decisions import Prediction
from ..models.predictor import Predictor
from ..spaces.protocol import Neighbours
from .present import sentence
from .result import Alternative, GameTrees


@dataclass(frozen=True)
class Goal:
    """What the games are about, as the caller says it."""

    target: Hashable  # None: the class that the instance is decided for
    contrast: Hashable  # None: any other class
    multilabel: bool


class UnlikeRows(NamedTuple):
    """Background rows that the model decides otherwise."""

    chosen: list[int]  # the nearest first
    n_scanned: int  # rows that the model was given to find them


def unlike_rows(
    neighbours: Neighbours, predictor: Predictor, goal: Goal, n_rows: int, batch_size: int
) -> UnlikeRows:
    """The nearest background rows that the model decides otherwise, at most `n_rows` of them.

    Raises
    ------
    InputError
        There is none.
    """
    itself = _itself(neighbours, predictor)
    label = predictor.index(goal.target) if goal.multilabel else None
    own = int(predictor.decide(itself, label)[0])
    target = own if goal.target is None else predictor.index(goal.target)
    contrast = None if goal.contrast is None else predictor.index(goal.contrast)
    found: list[int] = []
    n_scanned = 1
    for start in range(0, len(neighbours.order), batch_size):
        picks = neighbours.order[start : start + batch_size]
        decisions = predictor.decide(predictor.predict(neighbours.rows(picks), len(picks)), label)
        n_scanned += len(picks)
        found += picks[_is_otherwise(decisions, own, target, contrast)].tolist()
        if len(found) >= n_rows:
            break
    if not found:
        raise InputError(
            f"the model decides none of the {len(neighbours.order):,} background rows otherwise than the row, "
            "so there is nothing to mask towards; give more rows, or another baseline"
        )
    return UnlikeRows(found[:n_rows], n_scanned)


def _itself(neighbours: Neighbours, predictor: Predictor) -> Prediction:
    """What the model says of the instance, which is the same whatever it would be masked with."""
    bound = neighbours.towards(int(neighbours.order[0]))
    nothing = np.zeros((1, len(bound.names)), dtype=bool)
    return predictor.predict(bound.rows(nothing, np.zeros(1, dtype=np.int64)), 1)


def _is_otherwise(decisions: Ints, own: int, target: int, contrast: int | None) -> Any:
    """Which of these decisions [B] end the game of an instance that the model decides for `own`."""
    if own != target:
        return decisions == target
    return decisions != target if contrast is None else decisions == contrast


def choose(
    explained: list[Explanation[GameTrees]], distances: list[float], n_scanned: int
) -> Explanation[GameTrees]:
    """Of explanations towards several rows that of the fewest changes (ties: the nearest row); it tells of all.

    Its lower bound and what it cost speak of all of them.
    """
    pairs = zip(explained, distances, strict=True)
    ranked = sorted(pairs, key=lambda each: (not each[0].flipped, len(each[0].best_set), each[1]))
    best = ranked[0][0]
    structure, main = best.structure, best.structure.main
    n_rows = n_scanned + sum(each.structure.n_rows for each in explained)
    bound = min(each.structure.lower_bound for each in explained)
    told = replace(
        structure,
        main=replace(main, lower_bound=min(bound, main.lower_bound)),
        n_rows=n_rows,
        n_calls=max(each.structure.n_calls for each in explained),
        seconds=sum(each.structure.seconds for each in explained),
        partial=any(each.structure.partial for each in explained),
        alternatives=_alternatives([(found.structure, distance) for found, distance in ranked if found.flipped]),
    )
    return replace(best, structure=told, n_evaluations=n_rows, sentence=sentence(told))


def _alternatives(ranked: list[tuple[GameTrees, float]]) -> tuple[Alternative, ...]:
    """The key set towards each row; one that holds the changes of another is left out."""
    found: list[Alternative] = []
    for structure, distance in ranked:
        changes = {player: structure.display_values[player] for player in structure.key_set}
        if not any(known.changes.items() <= changes.items() for known in found):
            found.append(Alternative(changes, structure.main.new_class, structure.main.p_best, distance))
    return tuple(found)
