"""Small explainers for tests of batches: quick, picklable, random by their seed alone."""

import os
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyplayers import archive
from keyplayers._base.interrupts import deferred_interrupt
from keyplayers.explanation import Explanation, structure_columns, structure_to_dict

archive.register("toy", "tests.toy_explainers:from_dict")
PLAYERS = ("ann", "bob", "cy", 7)


@dataclass(frozen=True, eq=False)
class Toy:
    """What only this method knows."""

    partial: bool
    worker: str  # process and thread that did it
    halves: Any  # [n] a further column


@structure_columns.register
def _columns(toy: Toy, explanation: Explanation[Any]) -> dict[str, Any]:
    return {"half": toy.halves}


@structure_to_dict.register
def _to_dict(toy: Toy, explanation: Explanation[Any]) -> dict[str, Any]:
    return {
        "schema": 1,
        "kind": "toy",
        "target": explanation.target,
        "partial": toy.partial,
        "worker": toy.worker,
        "players": list(explanation.players),
        "values": [None if np.isnan(value) else value for value in explanation.values.tolist()],
        "seed": explanation.settings["seed"],
    }


def from_dict(data: dict[str, Any]) -> Explanation[Toy]:
    return toy(
        data["target"], np.array(data["values"], dtype=float), data["seed"], data["partial"], data["worker"]
    )


def toy(target: Any, values: Any, seed: Any, partial: bool = False, worker: str | None = None) -> Explanation[Toy]:
    worker = worker or f"{os.getpid()}/{threading.get_ident()}"
    return Explanation(
        kind="toy",
        target=target,
        players=PLAYERS[: len(values)],
        values=values,
        std_errors=np.zeros(len(values)),
        quantity="noise",
        unit="bits",
        n_evaluations=len(values),
        sentence=f"About {target}.",
        structure=Toy(partial, worker, values / 2),
        settings={"seed": seed},
    )


class Noisy:
    """Values drawn from the seed; tells progress once per step."""

    def __init__(self, n_steps: int = 1, seconds: float = 0.0) -> None:
        self.n_steps = n_steps
        self._seconds = seconds  # per step; decides no number
        self._table = np.arange(100_000.0)

    def explain(self, target, /, *, random_state=None, progress=None):
        if target == "bad":
            raise ValueError("bad target")
        rng = np.random.default_rng(random_state)
        values = np.zeros(len(PLAYERS))
        partial = False
        try:
            with deferred_interrupt() as pressed:  # as engines do
                for _ in range(self.n_steps):
                    values += rng.normal(size=len(PLAYERS)) + self._table[-1] * 0
                    time.sleep(self._seconds)
                    progress.advance()
                    if pressed():
                        raise KeyboardInterrupt
        except KeyboardInterrupt:
            partial = True
        return toy(target, np.sort(values)[::-1], random_state, partial)


class Choosy(Noisy):
    """Prefers processes, and says what decides its numbers."""

    prefer = "processes"

    def __init__(self, fingerprint: str = "a") -> None:
        super().__init__()
        self._fingerprint = fingerprint

    def identity(self):
        return {"n_steps": self.n_steps}, self._fingerprint
