"""`FieldPredictor`: a field's belief in one variable as a classifier of the evidence around it.

So the games that are played with a classifier can be played with a field: which evidence carries the belief, the
smallest set of it whose removal flips the belief, and what opposed it.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..._base.arrays import Bools, Floats
from ...errors import InputError
from ...mrf.balls import ball
from ...mrf.field import MarkovRandomField
from ...mrf.inference.beliefs import BeliefState
from ...mrf.inference.propagation import belief_propagation
from ...mrf.what_if import TOLERANCE, Question, question_about
from .space import EvidenceSpace

# Pieces of evidence that take part unless told otherwise: a game with more of them is a long one.
MAX_PLAYERS = 100


@dataclass(frozen=True, eq=False)
class FieldPredictor:
    """What the field believes of a target, by what evidence is there.

    A call takes [B, n] which pieces of evidence are there and gives [B, K] the belief of the target: a variable
    whose evidence is not there has a uniform prior. Answers start from the messages of the field as it is, and in
    binary fields only the messages that change are sent anew (`what_if`).

    Parameters
    ----------
    mrf
        The field with all its evidence.
    target
        The variable in question.
    radius
        Hops from the target to the farthest evidence that is a player; None: all that is connected with it.
    max_players
        Of more evidence than that the pieces are players whose absence alone moves the belief most; the others
        stay where they are. None: all are players.
    beliefs
        What is believed now, of `belief_propagation` or `exact_marginals`; default: propagation.
    tolerance
        On the target's log-odds, in nats, where only the messages that change are sent anew.

    Raises
    ------
    UnknownNameError
        No variable is called so.
    InputError
        The target is a factor or observed, `max_players` is below 1, or the beliefs are another field's.

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges([("a", "x"), ("b", "x"), ("c", "x")], {"x": [2, 3]}, homophily=0.8)
    >>> predictor = kp.FieldPredictor(mrf.observe({"a": 1, "b": 1, "c": 0}), "x")
    >>> predictor.players
    ('a', 'b', 'c')
    >>> explainer = kp.McXai(predictor, predictor.space, class_names=predictor.states)
    >>> ex = explainer.explain(predictor.instance, random_state=0)
    >>> ex.key_set, ex.opposition
    (('a', 'b'), ('c',))
    """

    mrf: MarkovRandomField
    target: Hashable
    radius: int | None = None
    max_players: int | None = MAX_PLAYERS
    beliefs: BeliefState | None = None
    tolerance: float = TOLERANCE
    states: tuple[Hashable, ...] = field(init=False)  # [K] of the target

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", self.mrf.states(self.target))
        if self.mrf.observed[self.mrf.index(self.target)]:
            raise InputError(f"{self.target!r} is observed: no other evidence bears on what is believed of it")
        if self.max_players is not None and self.max_players < 1:
            raise InputError(f"max_players must be at least 1, got {self.max_players}")
        if self.beliefs is None:
            object.__setattr__(self, "beliefs", belief_propagation(self.mrf))

    @cached_property
    def evidence(self) -> tuple[Hashable, ...]:
        """The variables around the target with evidence, soft or hard, the nearest first."""
        around = ball(self.mrf, self.target, self.radius)
        return tuple(name for name in around.players if np.ptp(self.mrf.log_prior(name)) != 0)

    @cached_property
    def players(self) -> tuple[Hashable, ...]:
        """The evidence that takes part, the nearest first."""
        if self.max_players is None or len(self.evidence) <= self.max_players:
            return self.evidence
        shifts = np.array([abs(self._question.answer({name: None}).shift) for name in self.evidence])
        kept = np.sort(np.argsort(-shifts, kind="stable")[: self.max_players])
        return tuple(self.evidence[i] for i in kept.tolist())

    @property
    def instance(self) -> Bools:
        """[n] the field as it is: all evidence is there."""
        return np.ones(len(self.players), dtype=bool)

    @cached_property
    def space(self) -> EvidenceSpace:
        """The feature space for `McXai`; its players are the variables with evidence."""
        return EvidenceSpace(str(self.target), self.players, tuple(self._evidence(name) for name in self.players))

    def __call__(self, present: Bools) -> Floats:
        """[B, K] the belief of the target with the evidence that is there [B, n]."""
        there = np.asarray(present, dtype=bool)
        if there.ndim != 2 or there.shape[1] != len(self.players):
            raise InputError(f"evidence must be given as [B, {len(self.players)}], got shape {there.shape}")
        return np.array([self._belief(row) for row in there]).reshape(len(there), len(self.states))

    def _belief(self, there: Bools) -> Floats:
        gone = {self.players[i]: None for i in np.flatnonzero(~there).tolist()}
        if not gone:
            assert self.beliefs is not None
            return self.beliefs.belief(self.target)
        return self._question.answer(gone).after

    @cached_property
    def _question(self) -> Question:
        return question_about(self.mrf, self.target, self.beliefs, self.tolerance)

    def _evidence(self, name: Hashable) -> str:
        """A variable's evidence in words."""
        prior = np.exp(self.mrf.log_prior(name) - np.logaddexp.reduce(self.mrf.log_prior(name)))
        best = int(prior.argmax())
        state = str(self.mrf.states(name)[best])
        return state if prior[best] == 1.0 else f"{state} {prior[best]:.2f}"
