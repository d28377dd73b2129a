"""Rankings of the evidence around a variable of a field. Players are the variables with a prior of their own."""

import hashlib
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from .._base.arrays import Bools, Floats
from .._base.progress import Progress
from .._base.seeding import RandomState, generator
from ..errors import InputError
from ..explanation import Explainer, Explanation, Identity
from ..games import sample_shapley_values
from ..graphshapley.game.beliefs import LOG_ZERO
from ..mrf.balls import ball
from ..mrf.field import MarkovRandomField
from ..mrf.inference.beliefs import BeliefState
from ..mrf.inference.propagation import belief_propagation
from ..mrf.storage import field_fingerprint
from ..mrf.what_if import REMOVED, TOLERANCE, question_about, what_ifs


@dataclass(frozen=True, eq=False)
class Ranking:
    """What a baseline knows beside its values."""

    method: str
    belief: Floats  # [K] of the target
    states: tuple[Hashable, ...]  # [K]
    distances: Floats  # [n] hops from the target


class Asked(NamedTuple):
    """One target and the players to rank."""

    target: Hashable
    players: list[Hashable]
    distances: Floats  # [n] hops from the target
    random_state: RandomState
    progress: Progress | None


class Found(NamedTuple):
    """What a baseline says of the players of one target."""

    values: Floats  # [n]
    std_errors: Floats  # [n]
    n_evaluations: int


@dataclass(frozen=True, eq=False)
class FieldBaseline(Explainer[Explanation[Ranking]]):
    """A ranking of the evidence within some hops of a target.

    Parameters
    ----------
    mrf
        The field.
    radius
        Hops from the target to the farthest player; None: all connected with it.
    beliefs
        What is believed, of `belief_propagation`; default: found once, when it is first needed.
    """

    mrf: MarkovRandomField
    radius: int | None = 2
    beliefs: BeliefState | None = None
    name: ClassVar[str]
    quantity: ClassVar[str]
    unit: ClassVar[str] = "log-odds"

    def explain(
        self, target: Hashable, /, *, random_state: RandomState = None, progress: Progress | None = None
    ) -> Explanation[Ranking]:
        """The players of one target, most important first.

        Raises
        ------
        UnknownNameError
            The field has no such variable.
        """
        around = ball(self.mrf, target, self.radius)
        hops = dict(zip(around.players, around.distances[1:][around.is_player].tolist(), strict=True))
        players = [name for name in around.players if np.ptp(self.mrf.log_prior(name)) != 0]
        distances = np.array([hops[name] for name in players], dtype=np.float64)
        if players:
            found = self._values(Asked(target, players, distances, random_state, progress))
        else:
            found = Found(np.zeros(0), np.zeros(0), 0)
        order = np.argsort(-np.abs(found.values), kind="stable")
        ranked = tuple(players[i] for i in order.tolist())
        belief = self._state.belief(target)
        states = self.mrf.states(target)
        says = f"The field believes that {target} is {states[int(belief.argmax())]} ({belief.max():.2f})"
        seed = int(random_state) if isinstance(random_state, int | np.integer) else None
        first = ", ".join(str(name) for name in ranked[:3]) or "nothing"
        return Explanation(
            kind=f"baseline {self.name}",
            target=target,
            players=ranked,
            values=found.values[order],
            std_errors=found.std_errors[order],
            quantity=self.quantity,
            unit=self.unit,
            n_evaluations=found.n_evaluations,
            sentence=f"{says}. By {self.quantity} come first: {first}.",
            structure=Ranking(self.name, belief, states, distances[order]),
            settings=dict(self.identity().settings) | {"seed": seed},
        )

    def identity(self) -> Identity:
        """The method, its settings and a fingerprint of the field."""
        beliefs = b"" if self.beliefs is None else np.ascontiguousarray(self.beliefs.log_beliefs).tobytes()
        fingerprint = hashlib.blake2b(field_fingerprint(self.mrf).encode() + beliefs, digest_size=16).hexdigest()
        return Identity({"method": self.name, "radius": self.radius} | self._settings(), fingerprint)

    def prepare(self) -> None:
        """Find the beliefs."""
        self._state  # noqa: B018

    @cached_property
    def _state(self) -> BeliefState:
        return belief_propagation(self.mrf) if self.beliefs is None else self.beliefs

    def _settings(self) -> dict[str, Any]:
        return {}

    @abstractmethod
    def _values(self, asked: Asked) -> Found:
        """Values [n] of the players."""


class RandomOrder(FieldBaseline):
    """A random order: what every method has to beat."""

    name = "random"
    quantity = "chance"
    unit = "chance"

    def _values(self, asked: Asked) -> Found:
        n = len(asked.players)
        return Found(generator(asked.random_state).random(n), np.zeros(n), 0)


class HopDistance(FieldBaseline):
    """The nearest evidence first: 1 / hops."""

    name = "hop distance"
    quantity = "nearness"
    unit = "1 / hops"

    def _values(self, asked: Asked) -> Found:
        return Found(1.0 / asked.distances, np.zeros(len(asked.players)), 0)


@dataclass(frozen=True, eq=False)
class LeaveOneOut(FieldBaseline):
    """The log-odds of the believed state that the target loses without a player.

    Parameters
    ----------
    what
        "prior": without its evidence; "variable": without it and its edges.

    References
    ----------
    Robnik-Sikonja and Kononenko, "Explaining classifications for individual instances", TKDE 2008,
    doi:10.1109/TKDE.2007.190734 (leaving one input out).
    """

    what: Literal["prior", "variable"] = "prior"
    name = "leave one out"
    quantity = "what its absence alone changes"

    def __post_init__(self) -> None:
        if self.what not in ("prior", "variable"):
            raise InputError(f"what must be prior or variable, got {self.what!r}")

    def _settings(self) -> dict[str, Any]:
        return {"what": self.what}

    def _values(self, asked: Asked) -> Found:
        change = None if self.what == "prior" else REMOVED
        changes = [{player: change} for player in asked.players]
        answers = what_ifs(self.mrf, asked.target, changes, beliefs=self._state, progress=asked.progress)
        return Found(np.array([-answer.shift for answer in answers]), np.zeros(len(answers)), len(answers))


@dataclass(frozen=True, eq=False)
class PriorShapley(FieldBaseline):
    """Shapley values of the game in which a player outside the coalition has a uniform prior.

    The worth of a coalition is the target's log-odds of the believed state, by propagation on the whole field;
    values come from random orders, with standard errors.

    Parameters
    ----------
    max_evals
        Coalitions to evaluate at most.

    References
    ----------
    Castro, Gomez and Tejada, "Polynomial calculation of the Shapley value based on sampling", Computers and
    Operations Research 2009, doi:10.1016/j.cor.2008.04.004.
    """

    max_evals: int = 2_000
    name = "prior Shapley"
    quantity = "mean contribution of its prior"

    def _settings(self) -> dict[str, Any]:
        return {"max_evals": self.max_evals}

    def _values(self, asked: Asked) -> Found:
        target, players = asked.target, asked.players
        if self.mrf.observed[self.mrf.index(target)]:
            return Found(np.zeros(len(players)), np.zeros(len(players)), 0)
        question = question_about(self.mrf, target, self._state, TOLERANCE)
        whole = self._state.log_belief(target)
        best = int(whole.argmax())

        def log_belief(there: Bools) -> Floats:
            gone = {players[i]: None for i in np.flatnonzero(~there).tolist()}
            return question.answer(gone).log_after if gone else whole

        def worth(coalitions: Bools, /) -> Floats:
            # of logarithms: near certainty a probability has no digits left to tell coalitions apart
            logs = np.maximum([log_belief(there) for there in coalitions], LOG_ZERO)
            odds: Floats = logs[:, best] - np.logaddexp.reduce(np.delete(logs, best, axis=1), axis=1)
            return odds

        found = sample_shapley_values(
            worth, len(players), max_evals=self.max_evals, random_state=asked.random_state, progress=asked.progress
        )
        return Found(found.values, found.std_errors, found.n_evaluations)
