"""Explanations as data for a page: one function per kind of structure; of an unknown one ranking and table."""

from functools import singledispatch
from typing import Any

import numpy as np

from .._base.printable import shortened
from ..explanation import Explanation
from ..graphshapley.result import SubtreeGame
from ..mcxai.result import GameTrees
from .classifier import classifier_data
from .facts import Fact
from .field import field_data
from .limits import Limits, significant


@singledispatch
def page_data(structure: Any, found: Explanation[Any], limits: Limits) -> dict[str, Any]:
    """What a page shows of an explanation; register a function for a structure of your own."""
    n = min(len(found), limits.nodes)
    facts = [
        Fact("What the values mean", f"Values are {found.quantity}, in {found.unit}."),
        Fact("No picture", f"Of explanations of the kind {found.kind!r} only ranking and table are known."),
    ]
    rest = np.nan_to_num(found.values[n:])
    return {
        "kind": "plain",
        "opening": "What makes",
        "about": limits.name(found.target),
        "target": limits.name(found.target),
        "unit": found.unit,
        "quantity": shortened(found.quantity, limits.letters),
        "sentence": shortened(found.sentence, limits.sentence),
        "facts": [list(fact) for fact in facts],
        "n_players": len(found),
        "nodes": {
            "name": [limits.name(player) for player in found.players[:n]],
            "value": significant(found.values[:n]),
            "error": significant(found.std_errors[:n], 2),
        },
        "others": {"count": len(rest), "value": significant(float(rest.sum()))} if len(rest) else None,
        "settings": limits.settings(found.settings),
    }


@page_data.register
def _field(structure: SubtreeGame, found: Explanation[Any], limits: Limits) -> dict[str, Any]:
    return field_data(found, limits)


@page_data.register
def _classifier(structure: GameTrees, found: Explanation[Any], limits: Limits) -> dict[str, Any]:
    return classifier_data(found, limits)
