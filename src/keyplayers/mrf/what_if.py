"""`what_if`: what would the field believe of the target if this evidence were otherwise, or not there?"""

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from .._base.arrays import Floats
from .._base.names import name_to_json
from .._base.progress import Progress, Silent
from ..errors import ContradictionError, ConvergenceWarning, InputError
from .balls import ball
from .build.priors import log_weights
from .field import MarkovRandomField
from .inference.beliefs import BeliefState
from .inference.exact import exact_marginals
from .inference.propagation import belief_propagation
from .inference.response import LocalResponse, can_respond
from .storage import same_field

# On the target's log-odds, in nats: four digits of a probability near one half.
TOLERANCE = 1e-4


class Removed:
    """What `REMOVED` is."""

    def __repr__(self) -> str:
        return "keyplayers.REMOVED"


#: in the place of a state: the variable and its edges are gone
REMOVED: Final = Removed()


@dataclass(frozen=True, eq=False)
class WhatIf:
    """What the field would believe of a target if something were otherwise."""

    target: Hashable
    change: Mapping[Hashable, Any]  # as it was asked
    states: tuple[Hashable, ...]  # [K] of the target
    before: Floats  # [K] belief of the target as things are
    after: Floats  # [K] ... as they would be
    log_before: Floats  # [K] nats
    log_after: Floats  # [K] nats
    how: str  # "local propagation", "propagation", "exact"
    converged: bool

    @property
    def shift(self) -> float:
        """Change of the log-odds of the state that is most believed now, in nats."""
        return self.shift_of(self._most_believed)

    def shift_of(self, state: int) -> float:
        """Change of the log-odds of one state, by its number, in nats."""
        before, after = _log_odds(self.log_before, state), _log_odds(self.log_after, state)
        return 0.0 if before == after else after - before  # both may be infinite

    @property
    def flips(self) -> bool:
        """Whether another state would be the most believed one."""
        return int(self.after.argmax()) != self._most_believed

    @property
    def sentence(self) -> str:
        """The answer in one plain sentence."""
        best = self._most_believed
        changed = " and ".join(_in_words(name, given) for name, given in self.change.items())
        doubt = "" if self.converged else " (propagation did not converge: do not rely on this)"
        return (
            f"If {changed}, {self.target} would be {self.states[best]} with {self.after[best]:.3f} "
            f"instead of {self.before[best]:.3f}{doubt}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold; weights and states as they were given."""
        return {
            "target": name_to_json(self.target),
            "change": [{"name": name_to_json(name), "to": _to_json(given)} for name, given in self.change.items()],
            "states": [name_to_json(state) for state in self.states],
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "shift": self.shift if np.isfinite(self.shift) else None,
            "flips": self.flips,
            "how": self.how,
            "converged": self.converged,
        }

    @cached_property
    def _most_believed(self) -> int:
        return int(self.before.argmax())


def _log_odds(log_belief: Floats, state: int) -> float:
    others = np.delete(log_belief, state)
    with np.errstate(divide="ignore"):
        return float(log_belief[state] - np.logaddexp.reduce(others)) if len(others) else 0.0


def what_if(
    mrf: MarkovRandomField,
    target: Hashable,
    change: Mapping[Hashable, Any],
    *,
    beliefs: BeliefState | None = None,
    tolerance: float = TOLERANCE,
) -> WhatIf:
    """What would be believed of `target` if other variables' evidence were otherwise, or not there?

    Parameters
    ----------
    change
        ``{name: None}`` without its evidence (a uniform prior in the place of its own); ``{name: state}`` if it
        were observed in that state, whatever it is now; ``{name: weights [K]}`` with this prior;
        ``{name: REMOVED}`` without the variable and its edges. Several names: all at once.
    beliefs
        What is believed now, of `belief_propagation` or `exact_marginals`; default: propagation. The answer is
        found in the same way.
    tolerance
        On the target's log-odds, in nats, where only the messages that change are sent anew.

    Raises
    ------
    UnknownNameError
        No variable or state is called so.
    InputError
        Nothing is to change, the target is to be removed, or weights are none.
    ContradictionError
        The new evidence excludes every assignment.

    Warns
    -----
    ConvergenceWarning
        Propagation did not converge with the change, or had not before.

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "c")], homophily=0.8).observe({"a": 1, "c": 1})
    >>> print(kp.what_if(mrf, "b", {"c": None}).sentence)
    If the evidence of c were not there, b would be 1 with 0.800 instead of 0.941.
    """
    return what_ifs(mrf, target, [change], beliefs=beliefs, tolerance=tolerance)[0]


def what_ifs(
    mrf: MarkovRandomField,
    target: Hashable,
    changes: Iterable[Mapping[Hashable, Any]],
    *,
    beliefs: BeliefState | None = None,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> list[WhatIf]:
    """Several `what_if` questions about one target, each by itself; a thousand cost less than a thousand runs."""
    question = question_about(mrf, target, beliefs, tolerance)
    asked = list(changes)
    progress = progress or Silent()
    progress.begin("what if", len(asked))
    found = []
    for change in asked:
        found.append(question.answer(change))
        progress.advance(1)
    progress.end()
    _warn_of_unsure(sum(not answer.converged for answer in found), len(found))
    return found


def evidence_table(
    mrf: MarkovRandomField,
    target: Hashable,
    *,
    radius: int | None = 2,
    connectors: bool = False,
    beliefs: BeliefState | None = None,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> dict[str, list[Any]]:
    """What each piece of evidence around a target does to its belief, as columns; largest shift first.

    Columns: name; distance (hops); evidence (the observed state, None where the prior is soft or uniform);
    without_evidence, without (the variable and its edges), otherwise (the other state that lowers the belief most,
    named in otherwise_state): probability of the state that is most believed now, None where the question has no
    sense; shift: change of its log-odds without the evidence, or without the variable where there is none (nats).

    Parameters
    ----------
    radius
        Hops from the target to the farthest variable asked about; None: all connected with it.
    connectors
        Whether variables without evidence are asked about too.
    """
    around = ball(mrf, target, radius)
    hops = dict(zip(around.players, around.distances[1:][around.is_player].tolist(), strict=True))
    names = [name for name in hops if connectors or _Evidence(mrf, name).has_evidence]
    answers = ask_about(mrf, target, names, beliefs=beliefs, tolerance=tolerance, progress=progress)
    rows = [{"name": name, "distance": hops[name], **answer} for name, answer in zip(names, answers, strict=True)]
    rows.sort(key=lambda row: -abs(row["shift"]))
    return {column: [row[column] for row in rows] for column in _COLUMNS}


def ask_about(
    mrf: MarkovRandomField,
    target: Hashable,
    names: Sequence[Hashable],
    *,
    state: int | None = None,
    beliefs: BeliefState | None = None,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> Iterator[dict[str, Any]]:
    """The row of `evidence_table` about each variable named, one after the other: name and distance apart.

    Probabilities and shifts are those of the target's `state`, by its number; None: the most believed one. A state
    in which a variable cannot be, because the field then excludes every assignment, is no answer.
    """
    question = question_about(mrf, target, beliefs, tolerance)
    players = [_Evidence(mrf, name) for name in names]
    of = int(question.state.log_belief(target).argmax()) if state is None else state
    n_asked = sum(len(player.changes) for player in players)
    progress = progress or Silent()
    progress.begin("what if", n_asked)
    n_unsure = 0
    for player in players:
        answers = [question.answer_if_possible(change) for change in player.changes]
        n_unsure += sum(answer is not None and not answer.converged for answer in answers)
        yield player.row(answers, of)
        progress.advance(len(answers))
    progress.end()
    _warn_of_unsure(n_unsure, n_asked)


def _warn_of_unsure(n_unsure: int, n_asked: int) -> None:
    if n_unsure:
        warnings.warn(
            f"propagation did not converge for {n_unsure} of {n_asked} what-ifs: do not rely on those "
            "(converged=False)",
            ConvergenceWarning,
            stacklevel=3,
        )


_COLUMNS = (
    "name", "distance", "evidence", "without_evidence", "without", "otherwise_state", "otherwise", "shift",
)  # fmt: skip


class _Evidence:
    """What can be asked about one variable."""

    def __init__(self, mrf: MarkovRandomField, name: Hashable) -> None:
        self.name = name
        log_prior = mrf.log_prior(name)
        states = mrf.states(name)
        self.has_evidence = bool(np.ptp(log_prior) != 0)
        self.state = states[int(log_prior.argmax())] if mrf.observed[mrf.index(name)] else None
        self.others = [state for state in states if state != self.state] if self.state is not None else []

    @property
    def changes(self) -> list[dict[Hashable, Any]]:
        """The questions, in the order in which `row` takes the answers."""
        given = [REMOVED, *([None] if self.has_evidence else []), *self.others]
        return [{self.name: value} for value in given]

    def row(self, answers: Sequence[WhatIf | None], of: int) -> dict[str, Any]:
        """What they say; None among them is the impossible, which leaving something out never is."""
        removed, *rest = answers
        bare = rest.pop(0) if self.has_evidence else None
        assert removed is not None
        possible = [(state, answer) for state, answer in zip(self.others, rest, strict=True) if answer is not None]
        lowest = min(possible, key=lambda other: float(other[1].log_after[of]), default=None)
        return {
            "evidence": self.state,
            "without_evidence": None if bare is None else float(bare.after[of]),
            "without": float(removed.after[of]),
            "otherwise_state": None if lowest is None else lowest[0],
            "otherwise": None if lowest is None else float(lowest[1].after[of]),
            "shift": (bare or removed).shift_of(of),
        }


def question_about(
    mrf: MarkovRandomField, target: Hashable, beliefs: BeliefState | None, tolerance: float
) -> "Question":
    """What every answer starts from, checked."""
    if not tolerance > 0:
        raise InputError(f"tolerance must be above 0, got {tolerance}")
    state = belief_propagation(mrf) if beliefs is None else beliefs
    if state.max_product or not (state.mrf is mrf or same_field(state.mrf, mrf)):
        raise InputError("beliefs must come from sum-product on this field with this evidence")
    return Question(mrf, target, state, tolerance)


class Question:
    """One target, and the beliefs that every answer starts from."""

    def __init__(self, mrf: MarkovRandomField, target: Hashable, state: BeliefState, tolerance: float) -> None:
        self.mrf, self.target, self.state, self.tolerance = mrf, target, state, tolerance
        self.position = mrf.index(target)
        if not mrf.real[self.position]:
            raise InputError(f"{target!r} is a factor; ask about a variable")

    @cached_property
    def _local(self) -> LocalResponse | None:
        if not can_respond(self.state):
            return None
        local = LocalResponse(self.state, self.position)
        return local if local.converged else None

    def answer(self, change: Mapping[Hashable, Any]) -> WhatIf:
        priors = self._new_priors(change)
        log_after, how, converged = self._respond(priors) or self._infer(priors)
        log_before = self.state.log_belief(self.target)
        return WhatIf(
            target=self.target,
            change=dict(change),
            states=self.mrf.states(self.target),
            before=np.exp(log_before),
            after=np.exp(log_after),
            log_before=log_before,
            log_after=log_after,
            how=how,
            converged=converged,
        )

    def answer_if_possible(self, change: Mapping[Hashable, Any]) -> WhatIf | None:
        """None where the change excludes every assignment."""
        try:
            return self.answer(change)
        except ContradictionError:
            return None

    def _new_priors(self, change: Mapping[Hashable, Any]) -> dict[int, Floats | None]:
        """Position to log-prior in nats, None: the variable is gone."""
        if not isinstance(change, Mapping) or not change:
            raise InputError(
                f"say what is to change, as {{name: state, weights, None or REMOVED}}, got {change!r}"
            )
        priors: dict[int, Floats | None] = {}
        for name, given in change.items():
            v = self.mrf.index(name)
            if given is REMOVED and v == self.position:
                raise InputError(f"{name!r} is the target: without it there is nothing to believe")
            priors[v] = None if given is REMOVED else _log_prior(self.mrf, name, given)
        return priors

    def _respond(self, priors: Mapping[int, Floats | None]) -> tuple[Floats, str, bool] | None:
        found = None if self._local is None else self._local.after(priors, self.tolerance)
        if found is None:
            return None
        log_odds = found.log_odds
        return -np.logaddexp(0.0, [log_odds, -log_odds]), "local propagation", True

    def _infer(self, priors: Mapping[int, Floats | None]) -> tuple[Floats, str, bool]:
        """By a run on the whole field, from the messages there are."""
        changed = _changed_field(self.mrf, priors)
        if self.state.schedule == "exact":
            return exact_marginals(changed).log_belief(self.target), "exact", True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # told once, for all
            state = belief_propagation(changed, start=self.state)
        return state.log_belief(self.target), "propagation", state.converged and self.state.converged


def _log_prior(mrf: MarkovRandomField, name: Hashable, given: Any) -> Floats:
    k = len(mrf.states(name))
    if given is None:
        return np.zeros(k)
    if isinstance(given, Hashable) and (given in mrf.states(name) or isinstance(given, str | int)):
        log_prior = np.full(k, -np.inf)
        log_prior[mrf.state_index(name, given)] = 0.0
        return log_prior
    weights = log_weights(given, f"the evidence of variable {name!r}")
    if weights.shape != (k,):
        raise InputError(f"the evidence of variable {name!r} has shape {weights.shape}, but it has {k} states")
    return weights


def _changed_field(mrf: MarkovRandomField, priors: Mapping[int, Floats | None]) -> MarkovRandomField:
    """The field with other priors; edges of whoever is gone say nothing, so that messages keep their places."""
    log_priors = mrf.log_priors.copy()
    gone = np.zeros(mrf.n_variables, dtype=bool)
    for v, log_prior in priors.items():
        gone[v] = log_prior is None
        log_priors[mrf.offsets[v] : mrf.offsets[v + 1]] = 0.0 if log_prior is None else log_prior
    changed = mrf.with_log_priors(log_priors)
    if not gone.any():
        return changed
    silent = gone[mrf.edges].any(axis=1)
    shapes, index = np.unique(mrf.potential_shapes[mrf.potential_index[silent]], axis=0, return_inverse=True)
    potential_index = mrf.potential_index.copy()
    potential_index[silent] = len(mrf.potential_shapes) + index.reshape(-1)
    return replace(
        changed,
        potential_index=potential_index,
        potential_shapes=np.concatenate([mrf.potential_shapes, shapes]),
        log_potentials=np.concatenate([mrf.log_potentials, np.zeros(int(shapes.prod(axis=1).sum()))]),
    )


def _in_words(name: Hashable, given: Any) -> str:
    if given is None:
        return f"the evidence of {name} were not there"
    if given is REMOVED:
        return f"{name} were not there"
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        return f"the prior of {name} were {np.asarray(given).tolist()}"
    return f"{name} were {given}"


def _to_json(given: Any) -> Any:
    if given is REMOVED:
        return {"removed": True}
    if given is None:
        return None
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        return np.asarray(given).tolist()
    return name_to_json(given)
