"""What would be believed of the target if single players were otherwise: columns beside their values."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Floats
from .._base.names import name_from_json, name_to_json
from .._base.progress import Progress
from ..mrf.inference.beliefs import BeliefState
from ..mrf.what_if import ask_about

_NAMES = ("evidence", "otherwise_state")
_NUMBERS = ("without_evidence", "without", "otherwise", "shift")


@dataclass(frozen=True, eq=False)
class WhatIfs:
    """What the whole field would believe of the target; all but the names [n] follow `Explanation.players`.

    Found as the belief was, by elimination or propagation; where it comes from another inference, by propagation.
    Probabilities are those of the state that is most believed now (`direction_state`). NaN, and None of names:
    the question has no sense (nobody observed the player), no answer (the field excludes it), or was not asked
    (stopped early).
    """

    evidence: tuple[Hashable | None, ...]  # [n] state in which the player was observed
    without_evidence: Floats  # [n] probability with a uniform prior in the place of the player's own
    without: Floats  # [n] probability without the player and its edges
    otherwise_state: tuple[Hashable | None, ...]  # [n] other state of its evidence that lowers the belief most
    otherwise: Floats  # [n] probability if it had been observed in that
    shift: Floats  # [n] nats: change of the log-odds without its evidence, or without it where there is none

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "WhatIfs":
        """From one row per player."""
        names = {key: tuple(row.get(key) for row in rows) for key in _NAMES}
        numbers = {key: _numbers([row.get(key) for row in rows]) for key in _NUMBERS}
        return cls(**names, **numbers)  # type: ignore[arg-type]

    @property
    def columns(self) -> dict[str, Any]:
        """As columns of a table."""
        return {key: list(getattr(self, key)) for key in _NAMES} | {key: getattr(self, key) for key in _NUMBERS}

    @property
    def json_columns(self) -> dict[str, list[Any]]:
        """As columns that JSON can hold."""
        names = {
            key: [None if name is None else name_to_json(name) for name in getattr(self, key)] for key in _NAMES
        }
        return names | {
            key: [number if np.isfinite(number) else None for number in getattr(self, key).tolist()]
            for key in _NUMBERS
        }


def what_ifs_from_json(players: Sequence[Mapping[str, Any]]) -> WhatIfs | None:
    """The record that `json_columns` were made of, row by row; None where nobody had asked."""
    if not players or "without" not in players[0]:
        return None
    rows: list[dict[str, Any]] = [dict(row) for row in players]
    for row in rows:
        row |= {key: None if row[key] is None else name_from_json(row[key]) for key in _NAMES}
    return WhatIfs.of(rows)


def ask_what_ifs(
    beliefs: BeliefState, target: Hashable, state: int, players: Sequence[Hashable], progress: Progress
) -> tuple[WhatIfs, int]:
    """What there is to say of each player and the target's `state`, and of how many it is said: Ctrl-C ends it."""
    rows: list[dict[str, Any]] = []
    try:
        for row in ask_about(beliefs.mrf, target, players, state=state, beliefs=beliefs, progress=progress):
            rows.append(row)  # one by one: what is there when it is stopped is kept
    except KeyboardInterrupt:
        pass
    return WhatIfs.of([*rows, *[{}] * (len(players) - len(rows))]), len(rows)


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
