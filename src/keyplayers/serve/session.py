"""What the page plays with: a field, the evidence that was switched, and what is believed with it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal

import numpy as np

from .._base.arrays import Floats
from ..errors import InputError, UnknownNameError
from ..explanation import Explanation
from ..graphshapley.explainer import GraphShapley
from ..mcxai.explainer import McXai
from ..mrf.balls import ball
from ..mrf.field import MarkovRandomField
from ..mrf.inference.beliefs import BeliefState
from ..mrf.inference.propagation import belief_propagation
from ..report.limits import ONE_PAGE, probabilities
from ..report.page import render_page
from ..spaces.evidence.predictor import FieldPredictor

# names that a search shows, and rows of evidence around a target: more than a person reads
_FOUND, _ROWS = 50, 100
# the page of an explanation waits so long for what would be without a player, in seconds
_QUICK = replace(ONE_PAGE, seconds=0.5)

#: what a variable's evidence may be made: as it was given, none, or an observed state, by its number
Choice = Literal["given", "none"] | int
#: what an explanation says: who made the belief, or which evidence it would flip without
About = Literal["players", "flip"]


@dataclass(frozen=True)
class _Now:
    """The choices that were made, and what is believed with them."""

    choices: dict[int, Choice]  # position -> its evidence; who is missing has it as given
    state: BeliefState


class Session:
    """A field whose evidence is switched, with beliefs that follow. Variables are called by their positions.

    Parameters
    ----------
    mrf
        The field with the evidence that it starts from.
    radius
        Hops from a target to the farthest player and to the farthest evidence shown; None: no limit.
    """

    def __init__(self, mrf: MarkovRandomField, *, radius: int | None = 2) -> None:
        self.mrf, self.radius = mrf, radius
        self._given = belief_propagation(mrf)
        self._now = _Now({}, self._given)
        self._lock = Lock()

    def search(self, text: str) -> dict[str, Any]:
        """The first variables whose names hold a text, in small or capital letters, and whether there are more."""
        wanted = text.casefold()
        found: list[dict[str, Any]] = []
        for v, spelled in self._spelled:
            if wanted in spelled:
                if len(found) == _FOUND:
                    return {"found": found, "more": True}
                found.append({"id": v, "name": self._name(v)})
        return {"found": found, "more": False}

    def account(self, position: int, also: Iterable[int] = ()) -> dict[str, Any]:
        """A variable: what is believed of it now and with the evidence as given, and the evidence around it.

        Parameters
        ----------
        also
            Variables whose evidence is shown wherever they are.

        Raises
        ------
        UnknownNameError
            There is no such variable.
        """
        name, now = self._known(position), self._now
        asked = [position, *also]
        for v in asked:
            self._known(v)
        before, after = (probabilities(state.belief(name)) for state in (self._given, now.state))
        rows = self._evidence_around(position, now, asked)
        states = [ONE_PAGE.name(state) for state in self.mrf.states_at(position)]
        return {
            "id": position,
            "name": self._name(position),
            "beliefs": [list(row) for row in zip(states, before, after, strict=True)],
            "caveat": "" if now.state.converged else now.state.caveat,
            "changes": len(now.choices),
            "evidence": rows[:_ROWS],
            "more": max(0, len(rows) - _ROWS),
        }

    def choose(self, position: int, choice: Choice) -> None:
        """Switch the evidence of a variable; beliefs are found from the messages of before.

        Raises
        ------
        UnknownNameError
            There is no such variable or state.
        ContradictionError
            The evidence excludes every assignment. It then stays as it was.
        """
        self._check_choice(position, choice)
        with self._lock:
            kept = {v: other for v, other in self._now.choices.items() if v != position}
            choices = kept if choice == "given" else kept | {position: choice}
            # of several fixed points the page goes back to the one that it began with
            self._now = _Now(choices, self._believe(choices) if choices else self._given)

    def reset(self) -> None:
        """All evidence as it was given."""
        with self._lock:
            self._now = _Now({}, self._given)

    def page(self, position: int, about: About, *, full: bool = False) -> str:
        """The page of an explanation; a full one also takes its time to say what would be without each player.

        Raises
        ------
        UnknownNameError
            There is no such variable.
        InputError
            Nothing could be explained: the variable is observed, or no evidence is around it.
        """
        name, state = self._known(position), self._now.state
        if state.mrf.observed[position]:
            raise InputError(f"{self._name(position)} is observed: there is no belief to explain")
        found: Explanation[Any] = self._players(name, state) if about == "players" else self._flip(name, state)
        return render_page(found, ONE_PAGE if full else _QUICK)

    def _players(self, name: Any, state: BeliefState) -> Explanation[Any]:
        return GraphShapley(state.mrf, radius=self.radius, beliefs=state).explain(name, random_state=0)

    def _flip(self, name: Any, state: BeliefState) -> Explanation[Any]:
        predictor = FieldPredictor(state.mrf, name, radius=self.radius, beliefs=state)
        if not predictor.players:
            raise InputError(f"there is no evidence around {ONE_PAGE.name(name)} that could be taken away")
        explainer = McXai(predictor, predictor.space, class_names=predictor.states)
        return explainer.explain(predictor.instance, random_state=0)

    def _believe(self, choices: dict[int, Choice]) -> BeliefState:
        log_priors, offsets = self.mrf.log_priors.copy(), self.mrf.offsets
        for v, choice in choices.items():
            log_priors[offsets[v] : offsets[v + 1]] = _log_prior(int(self.mrf.n_states[v]), choice)
        changed = self.mrf.with_log_priors(log_priors)
        return belief_propagation(changed, start=self._now.state)

    def _evidence_around(self, position: int, now: _Now, also: list[int]) -> list[dict[str, Any]]:
        """Rows of evidence, what was asked for first and then the nearest."""
        around = ball(self.mrf, self.mrf.names[position], self.radius)
        hops = dict(zip(around.members.tolist(), around.distances.tolist(), strict=True))
        nearest = [v for v in hops if self.mrf.real[v] and (v in now.choices or self._is_evidence(v))]
        return [self._row(v, hops.get(v), now) for v in dict.fromkeys([*also, *nearest])]

    def _row(self, v: int, hops: int | None, now: _Now) -> dict[str, Any]:
        return {
            "id": v,
            "name": self._name(v),
            "hops": hops,
            "given": self._in_words(v) if self._is_evidence(v) else "",
            "choice": now.choices.get(v, "given"),
            "states": [ONE_PAGE.name(state) for state in self.mrf.states_at(v)],
        }

    def _is_evidence(self, v: int) -> bool:
        return bool(np.ptp(self._log_prior(v)) != 0)

    def _in_words(self, v: int) -> str:
        log_prior = self._log_prior(v)
        best = int(log_prior.argmax())
        state = ONE_PAGE.name(self.mrf.states_at(v)[best])
        if self.mrf.observed[v]:
            return state
        return f"{state} with {1 / np.exp(log_prior - log_prior[best]).sum():.2g}"

    def _log_prior(self, v: int) -> Floats:
        return self.mrf.log_priors[self.mrf.offsets[v] : self.mrf.offsets[v + 1]]

    def _check_choice(self, position: int, choice: Choice) -> None:
        name = self._known(position)
        if isinstance(choice, int) and not 0 <= choice < self.mrf.n_states[position]:
            raise UnknownNameError(f"{ONE_PAGE.name(name)} has no state number {choice}")

    def _known(self, position: int) -> Any:
        if not (0 <= position < self.mrf.n_variables and self.mrf.real[position]):
            raise UnknownNameError(f"there is no variable number {position}")
        return self.mrf.names[position]

    def _name(self, v: int) -> str:
        return ONE_PAGE.name(self.mrf.names[v])

    @cached_property
    def _spelled(self) -> list[tuple[int, str]]:
        return [(v, str(self.mrf.names[v]).casefold()) for v in np.flatnonzero(self.mrf.real).tolist()]


def _log_prior(n_states: int, choice: Choice) -> Floats:
    if choice == "none":
        return np.zeros(n_states)
    log_prior = np.full(n_states, -np.inf)
    log_prior[choice] = 0.0
    return log_prior
