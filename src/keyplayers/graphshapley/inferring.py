"""The belief that is explained: how it was inferred, and how far exact inference is from it."""

import warnings
from functools import cached_property

import numpy as np

from .._base.arrays import Floats, Ints
from ..errors import ContradictionError, ConvergenceWarning, TooLargeError
from ..mrf.balls import Ball, ball
from ..mrf.field import MarkovRandomField
from ..mrf.inference.beliefs import BeliefState
from ..mrf.inference.exact import exact_marginals
from ..mrf.inference.propagation import MessageOrigin, belief_propagation
from .game.walk_tree import BoundaryMessages
from .result import Inference

# A belief is checked against exact inference where that fills tables of at most so many numbers, and where the
# field has at most so many edges (the order of elimination is searched over all of them).
_CHEAP_ENTRIES = 2**20
_CHEAP_EDGES = 5_000


class Inferred:
    """The beliefs of a field, and exact ones where they are cheap; each found once, for all targets."""

    def __init__(self, mrf: MarkovRandomField, beliefs: BeliefState | None) -> None:
        self.mrf = mrf
        self._given = beliefs

    @cached_property
    def beliefs(self) -> BeliefState:
        """Those given, else of propagation."""
        return self._given or belief_propagation(self.mrf)

    @cached_property
    def exact(self) -> BeliefState | None:
        """Exact marginals of the whole field, None where they are not cheap."""
        return _cheap_marginals(self.mrf)

    @cached_property
    def propagated(self) -> BeliefState:
        """Beliefs of propagation, whose messages walks are told: those explained, or of a run of its own."""
        beliefs = self.beliefs
        return beliefs if isinstance(beliefs.origin, MessageOrigin) else belief_propagation(self.mrf)

    @property
    def asked(self) -> BeliefState:
        """Beliefs that what-ifs start from: those explained, or propagation's where those cannot be found anew."""
        return self.beliefs if self.beliefs.schedule == "exact" else self.propagated

    @cached_property
    def messages(self) -> BoundaryMessages:
        """What walks are told by those to whom they do not go on; the same for all targets."""
        return BoundaryMessages.of(self.propagated)

    def check(self, around: Ball, *, messages: bool = False) -> Inference:
        """How the target's belief was inferred, checked against exact inference where that is cheap.

        `messages` says whether those of propagation were taken.
        """
        beliefs = self.beliefs
        component = self.mrf.components[self.mrf.index(around.target)]
        n_variables, n_edges = (int(sizes[component]) for sizes in self._component_sizes)
        exact = beliefs.exact or (beliefs.converged and n_edges < n_variables)  # its own part is a tree
        truth = None
        if not exact and self.exact is not None:
            truth = self.exact
        elif not exact and n_edges <= _CHEAP_EDGES:
            truth = _cheap_marginals(ball(self.mrf, around.target, None).field)
        return Inference(
            schedule=beliefs.schedule,
            converged=beliefs.converged,
            exact=exact,
            sweeps=beliefs.n_sweeps,
            exact_belief=None if truth is None else truth.belief(around.target),
            messages_belief=self.propagated.belief(around.target)
            if messages and self.propagated is not beliefs
            else None,
        )

    @cached_property
    def _component_sizes(self) -> tuple[Ints, Ints]:
        """Variables and edges of each connected component."""
        components = self.mrf.components
        n = self.mrf.n_components
        ends = components[self.mrf.edges[:, 0]]
        return np.bincount(components, minlength=n), np.bincount(ends, minlength=n)


def log_belief_of_ball(around: Ball) -> Floats | None:
    """[K] log belief of the target when the field is the ball; None where nobody knows it."""
    target = around.target
    if not around.is_tree:
        exact = _cheap_marginals(around.field)
        if exact is not None:
            return exact.log_belief(target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            state = belief_propagation(around.field)
        except ContradictionError:
            return None
    return state.log_belief(target) if state.converged else None


def log_prior_of_target(around: Ball) -> Floats:
    """[K] the target's normalised log-prior: its belief alone."""
    log_prior = around.field.log_prior(around.target)
    alone: Floats = log_prior - np.logaddexp.reduce(log_prior)
    return alone


def _cheap_marginals(mrf: MarkovRandomField) -> BeliefState | None:
    if mrf.n_edges > _CHEAP_EDGES:
        return None
    try:
        return exact_marginals(mrf, max_entries=_CHEAP_ENTRIES)
    except TooLargeError:
        return None
