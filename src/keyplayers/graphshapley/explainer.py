"""`GraphShapley`: why does the field believe this of the target?"""

import hashlib
import warnings
from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Floats, Ints
from .._base.progress import Progress, Silent
from .._base.seeding import RandomState
from .._version import __version__
from ..errors import (
    ContradictionError,
    ConvergenceWarning,
    InputError,
    KeyPlayersWarning,
    PrecisionWarning,
    TooLargeError,
)
from ..explanation import Explanation
from ..mrf.balls import Ball, ball
from ..mrf.field import MarkovRandomField
from ..mrf.inference.beliefs import BeliefState
from ..mrf.inference.exact import exact_marginals
from ..mrf.inference.propagation import belief_propagation
from .codec import make_sentence, show_probability
from .engines.choose import choose_engine
from .engines.registry import Request, methods
from .game.game import EngineResult, Game, Inference, SubtreeGame
from .game.paths import best_paths
from .game.symmetry import player_groups
from .game.trimming import trim
from .game.worth import Worth, direction_worth, make_worth, worth_of

# A worth that varies by less over all coalitions, in its own unit, while the belief is nearer to certainty than
# the second number, is saturated: probabilities agree to rounding, and so do values, their differences.
SATURATED = 1e-9
CERTAIN = 1e-6
# Beliefs of propagation and of exact inference that differ by more are worth a warning (a probability).
DISAGREEMENT = 0.01
# A belief is checked against exact inference where that fills tables of at most so many numbers, and where the
# field has at most so many edges (the order of elimination is searched over all of them).
_CHEAP_ENTRIES = 2**20
_CHEAP_EDGES = 5_000


class GraphShapley:
    """Explain beliefs of a Markov random field by the variables around their target.

    The game: a coalition is a subtree of the ball around the target that holds the target and at least one
    edge, its worth how well the target's belief on it alone agrees with the belief in the whole field. A
    player's value is its mean marginal contribution over all coalitions that hold it.

    Parameters
    ----------
    mrf
        The field, with its evidence.
    radius
        Hops from the target to the farthest player; None: all variables connected with it.
    worth
        "symmetric_kl": minus the symmetric Kullback-Leibler divergence from the belief in the whole field;
        "neg_cross_entropy"; or, of one state, "log_odds" (does not saturate) or "probability", whose values
        have a sign: for the state or against it.
    state
        The state that "log_odds" and "probability" speak of; default: the target's most believed one.
    contrast
        Two states (a, b): why a rather than b? The worth is log b(a)/b(b), in place of `worth`.
    method
        The engine, or "auto": the first that fits.
    max_evals
        Most coalitions whose worth may be computed; None: as many as take the engine a second or two.
    std_error_goal
        Where values are sampled: the standard error at which to stop, in the unit of the worth.
    max_ball
        Most variables of a ball, the target included; of a larger one those are kept that can matter most
        (strong potentials on the way, a telling prior), and a warning says what was dropped. None: all.
    beliefs
        A state of `belief_propagation` or `exact_marginals` on this field; default: propagation, run once for
        all targets.
    keep_coalitions
        Whether explanations keep the list of all coalitions (enumeration only): ``ex.coalitions()``.

    References
    ----------
    "Rigorous Explanation of Inference on Probabilistic Graphical Models", arXiv:2004.10066.

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges(
    ...     [("X", "A"), ("X", "B"), ("B", "C")], {"A": [0.1, 0.9], "C": [0.7, 0.3]}, homophily=0.9
    ... )
    >>> kp.GraphShapley(mrf, worth="log_odds").explain("X").top(2)
    [('A', 1.516...), ('C', -0.523...)]
    """

    #: kernels release the GIL: many targets are spread over threads
    prefer = "threads"

    def __init__(
        self,
        mrf: MarkovRandomField,
        *,
        radius: int | None = 2,
        worth: str = "symmetric_kl",
        state: Hashable | None = None,
        contrast: tuple[Hashable, Hashable] | None = None,
        method: str = "auto",
        max_evals: int | None = None,
        std_error_goal: float | None = None,
        beliefs: BeliefState | None = None,
        max_ball: int | None = None,
        keep_coalitions: bool = False,
    ) -> None:
        if not isinstance(mrf, MarkovRandomField):
            raise InputError(f"GraphShapley explains a MarkovRandomField, got {type(mrf).__name__}")
        if method not in methods():
            raise InputError(f"method must be one of {', '.join(methods())}, got {method!r}")
        if max_evals is not None and max_evals < 1:
            raise InputError(f"max_evals must be at least 1, got {max_evals}")
        if std_error_goal is not None and not std_error_goal > 0:
            raise InputError(f"std_error_goal must be positive, got {std_error_goal}")
        if max_ball is not None and max_ball < 1:
            raise InputError(f"max_ball must be at least 1, got {max_ball}")
        if contrast is not None and (isinstance(contrast, str) or len(contrast) != 2):
            raise InputError(f"contrast must be two states (a, b), got {contrast!r}")
        if beliefs is not None:
            _check_beliefs(beliefs, mrf)
        self.mrf = mrf
        self.radius = radius
        self.worth = worth
        self.state = state
        self.contrast = contrast
        self.method = method
        self.max_ball = max_ball
        self.request = Request(max_evals, std_error_goal, keep_coalitions)
        self._given = beliefs

    @cached_property
    def beliefs(self) -> BeliefState:
        """The beliefs that are explained: those given, else of propagation, which runs at the first use."""
        return self._given or belief_propagation(self.mrf)

    def explain(
        self, target: Hashable, /, *, random_state: RandomState = None, progress: Progress | None = None
    ) -> Explanation[SubtreeGame]:
        """Why the field believes what it believes of `target`.

        Parameters
        ----------
        target
            Name of a variable.
        random_state
            Seed, for engines that sample.
        progress
            Told how many coalitions are done. Ctrl-C gives what there is by then, marked ``partial``.

        Returns
        -------
        Explanation
            Players are the other variables of the ball, most important first. Besides what every explanation
            has: ``belief``, ``probabilistic``, ``topological``, ``direction``, ``distances``, ``paths``,
            ``error_bounds``, ``engine``, ``saturated``, ``worth_alone``, ``worth_ball``, ``inference``, ``ball``:
            see `SubtreeGame`.

        Raises
        ------
        UnknownNameError
            No variable, or no state of it, is called so.
        TooLargeError
            No engine can play a game of that size; the message says how large it is and what to change.

        Warns
        -----
        KeyPlayersWarning
            The target is observed: nothing can change what is believed of it.
        PrecisionWarning
            The worth is saturated, or exact inference believes something else than propagation.
        """
        progress = progress or Silent()
        around, n_dropped = self._ball(target)
        game = self._game(around)
        observed = bool(self.mrf.observed[self.mrf.index(target)])
        if observed:
            result = EngineResult.zeros(around.n_variables - 1)
            engine, reason = "none", "the target is observed: no coalition can change its belief"
        else:
            chosen, reason = choose_engine(game, self.method, self.request, progress)
            result, engine = chosen.play(game, self.request, random_state, progress), chosen.name
        return self._tell(game, result, engine, reason, observed, n_dropped, random_state)

    def _ball(self, target: Hashable) -> tuple[Ball, int]:
        """The ball, cut down to `max_ball`, and how many of its variables were dropped."""
        around = ball(self.mrf, target, self.radius)
        if self.max_ball is None:
            return around, 0
        trimmed, cut = trim(around, self.max_ball)
        if cut is None:
            return around, 0
        _warn(
            f"the ball around {target!r} has {around.n_variables:,} variables; {cut.n_dropped:,} of them were "
            f"dropped (max_ball={self.max_ball:,}). Those kept have {cut.share_kept:.0%} of what priors and "
            "potentials on the way let all of them say",
            PrecisionWarning,
        )
        return trimmed, cut.n_dropped

    def prepare(self) -> None:
        """Infer what all targets need, before workers ask for it at the same time."""
        _ = self.beliefs, self._exact

    def identity(self) -> tuple[dict[str, Any], str]:
        """Settings, and a fingerprint of the field and of beliefs that were given: what decides the numbers."""
        from ..mrf.storage import field_fingerprint

        given = self._given
        beliefs = b"" if given is None else np.ascontiguousarray(given.log_beliefs).tobytes()
        fingerprint = hashlib.blake2b(field_fingerprint(self.mrf).encode() + beliefs, digest_size=16)
        settings = {key: value for key, value in self._settings(None).items() if key not in ("seed", "version")}
        return settings, fingerprint.hexdigest()

    def _game(self, around: Ball) -> Game:
        target = around.target
        states = self.mrf.states(target)
        log_belief = self.beliefs.log_belief(target)
        contrast = None
        if self.contrast is not None:
            first, second = (self.mrf.state_index(target, state) for state in self.contrast)
            contrast = first, second
        worth = make_worth(
            self.worth,
            log_belief,
            states,
            state=None if self.state is None else self.mrf.state_index(target, self.state),
            contrast=contrast,
        )
        return Game(around, worth, direction_worth(log_belief, states))

    def _tell(
        self,
        game: Game,
        result: EngineResult,
        engine: str,
        reason: str,
        observed: bool,
        n_dropped: int,
        random_state: RandomState,
    ) -> Explanation[SubtreeGame]:
        """The engine's answer in the record that users see, most important players first."""
        around, worth = game.ball, game.worth
        states = self.mrf.states(around.target)
        names = list(around.field.names)
        order = np.argsort(-(np.abs(result.values) if worth.signed else result.values), kind="stable")
        paths = best_paths(around, worth)
        log_ball = _log_belief_of_ball(around)
        lower, upper = around.log10_coalition_bounds
        count = around.log10_coalitions
        if result.n_coalitions is not None and not around.is_tree:
            count = lower = upper = _log10(np.array(result.n_coalitions)).item()
        per_player = around.log10_coalitions_per_player
        if per_player is None:
            unknown = np.full(len(order), np.nan)
            per_player = unknown if result.player_counts is None else _log10(result.player_counts)
        inference = self._inference(around)
        saturated = not observed and _is_saturated(result, game, log_ball)
        structure = SubtreeGame(
            states=states,
            belief=np.exp(worth.log_belief),
            log_belief=worth.log_belief,
            worth=worth.name,
            worth_states=tuple(states[s] for s in worth.states),
            unit=worth.unit,
            probabilistic=result.probabilistic[order],
            topological=result.topological[order],
            direction=result.direction[order],
            direction_unit=game.direction.unit,
            direction_state=states[game.direction.question.state],
            error_bounds=result.error_bounds[order],
            distances=around.distances[1:][order],
            paths=tuple(tuple(names[v] for v in paths[i]) for i in order),
            log10_player_coalitions=per_player[order],
            engine=engine,
            engine_reason=reason,
            radius=self.radius,
            ball=around,
            n_variables=around.n_variables,
            n_edges=around.n_edges,
            log10_coalitions=count,
            log10_coalition_bounds=(lower, upper),
            saturated=saturated,
            meets_zero=result.meets_zero,
            partial=result.partial,
            target_observed=observed,
            worth_alone=_worth_at(worth, _log_prior(around)),
            worth_ball=None if log_ball is None else _worth_at(worth, log_ball),
            inference=inference,
            groups=_renumber(player_groups(around.field)[order]),
            n_dropped=n_dropped,
            diagnostics=result.diagnostics,
            table=result.table,
            field_names=self.mrf.names,
        )
        players = tuple(names[1 + i] for i in order)
        values = result.values[order]
        self._warn(around.target, structure)
        return Explanation(
            kind="graphshapley",
            target=around.target,
            players=players,
            values=values,
            std_errors=result.std_errors[order],
            quantity=_quantity(structure),
            unit=worth.unit,
            n_evaluations=result.n_evaluations,
            sentence=make_sentence(around.target, players, values, structure),
            structure=structure,
            settings=self._settings(random_state),
        )

    def _inference(self, around: Ball) -> Inference:
        """How the target's belief was inferred, checked against exact inference where that is cheap."""
        beliefs = self.beliefs
        component = self.mrf.components[self.mrf.index(around.target)]
        n_variables, n_edges = (int(sizes[component]) for sizes in self._component_sizes)
        exact = beliefs.exact or (beliefs.converged and n_edges < n_variables)  # its own part is a tree
        truth = None
        if not exact and self._exact is not None:
            truth = self._exact
        elif not exact and n_edges <= _CHEAP_EDGES:
            truth = _cheap_marginals(ball(self.mrf, around.target, None).field)
        return Inference(
            schedule=beliefs.schedule,
            converged=beliefs.converged,
            exact=exact,
            sweeps=beliefs.n_sweeps,
            exact_belief=None if truth is None else truth.belief(around.target),
        )

    @cached_property
    def _component_sizes(self) -> tuple[Ints, Ints]:
        """Variables and edges of each connected component."""
        components = self.mrf.components
        n = self.mrf.n_components
        ends = components[self.mrf.edges[:, 0]]
        return np.bincount(components, minlength=n), np.bincount(ends, minlength=n)

    @cached_property
    def _exact(self) -> BeliefState | None:
        """Exact marginals of the whole field, None where they are not cheap."""
        return _cheap_marginals(self.mrf)

    def _settings(self, random_state: RandomState) -> dict[str, Any]:
        """Only what JSON can hold."""
        from .._base.names import name_to_json

        seed = int(random_state) if isinstance(random_state, int | np.integer) else None
        return {
            "radius": self.radius,
            "worth": self.worth,
            "state": None if self.state is None else name_to_json(self.state),
            "contrast": None if self.contrast is None else [name_to_json(state) for state in self.contrast],
            "method": self.method,
            "max_evals": self.request.max_evals,
            "std_error_goal": self.request.std_error_goal,
            "max_ball": self.max_ball,
            "seed": seed,
            "version": __version__,
        }

    def _warn(self, target: Hashable, game: SubtreeGame) -> None:
        if game.target_observed:
            _warn(
                f"{target!r} is observed, so nothing else can change what is believed of it: all values are 0",
                KeyPlayersWarning,
            )
        if game.saturated:
            belief = show_probability(game.belief.max())
            _warn(
                f"the worth {game.worth!r} is saturated: it varies by less than {SATURATED:g} over all coalitions "
                f"of {target!r}, whose belief is {belief}; worth='log_odds' does not saturate",
                PrecisionWarning,
            )
        if game.diagnostics.get("chains_agree") is False:
            _warn(
                f"the chains that sampled the coalitions of {target!r} disagree by more than chance: its values "
                "are less sure than they look; raise max_evals",
                PrecisionWarning,
            )
        if game.partial:
            _warn(f"stopped early: the values of {target!r} rest on the coalitions seen so far", PrecisionWarning)
        gap = game.inference.disagreement(game.belief)
        if gap is not None and gap > DISAGREEMENT:
            state = int(game.belief.argmax())
            exact = game.inference.exact_belief
            assert exact is not None
            _warn(
                f"what is explained is belief propagation on a graph with cycles, which believes {target!r} to be "
                f"{game.states[state]!r} with {game.belief[state]:.4f}; exact inference says {exact[state]:.4f}. "
                "beliefs=exact_marginals(mrf) explains that instead",
                PrecisionWarning,
            )


def _warn(message: str, category: type[Warning]) -> None:
    warnings.warn(message, category, stacklevel=5)


def _check_beliefs(beliefs: BeliefState, mrf: MarkovRandomField) -> None:
    if not isinstance(beliefs, BeliefState):
        raise InputError(
            f"beliefs must be a state of belief_propagation or exact_marginals, got {type(beliefs).__name__}"
        )
    if beliefs.max_product:
        raise InputError("beliefs must come from sum-product; max-marginals are no beliefs of a coalition")
    if beliefs.mrf is mrf:
        return
    from ..mrf.storage import same_field

    if not same_field(beliefs.mrf, mrf):
        raise InputError(f"beliefs belong to another field ({beliefs.mrf!r}), or to other evidence, than {mrf!r}")


def _cheap_marginals(mrf: MarkovRandomField) -> BeliefState | None:
    if mrf.n_edges > _CHEAP_EDGES:
        return None
    try:
        return exact_marginals(mrf, max_entries=_CHEAP_ENTRIES)
    except TooLargeError:
        return None


def _log_belief_of_ball(around: Ball) -> Floats | None:
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


def _log_prior(around: Ball) -> Floats:
    """[K] the target's normalised log-prior: its belief alone."""
    log_prior = around.field.log_prior(around.target)
    alone: Floats = log_prior - np.logaddexp.reduce(log_prior)
    return alone


def _worth_at(worth: Worth, log_belief: Floats) -> float:
    return float(worth_of(worth, log_belief[None])[0]) + 0.0  # no -0.0


def _is_saturated(result: EngineResult, game: Game, log_ball: Floats | None) -> bool:
    """Whether the worth hides what coalitions do: it hardly varies though they move the target's log-odds."""
    worth = game.worth
    if not worth.kind.saturates or not result.n_evaluations:
        return False
    alone = _log_prior(game.ball)
    # a single coalition can only be compared with the target alone
    single = result.n_coalitions == 1
    spread = abs(result.worth_max - _worth_at(worth, alone)) if single else result.spread
    if spread >= SATURATED or -np.expm1(worth.log_belief.max()) > CERTAIN:
        return False
    if log_ball is None:
        return True
    with np.errstate(invalid="ignore"):
        moved = np.nan_to_num(np.abs(log_ball - alone), nan=0.0)
    return bool(moved.max() > SATURATED)


def _renumber(groups: Ints) -> Ints:
    """The same groups as numbers 0, 1, ... in the order of their first members."""
    _, firsts, inverse = np.unique(groups, return_index=True, return_inverse=True)
    numbers: Ints = np.argsort(np.argsort(firsts))[inverse.ravel()]
    return numbers


def _log10(counts: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logs: Floats = np.log10(counts)
    return logs


def _quantity(game: SubtreeGame) -> str:
    what = {
        "symmetric_kl": "agreement with the belief in the whole field",
        "neg_cross_entropy": "agreement with the belief in the whole field",
        "log_odds": "log-odds of {}",
        "probability": "probability of {}",
        "contrast": "log ratio of {} to {}",
    }[game.worth]
    return "mean contribution to the " + what.format(*(repr(state) for state in game.worth_states))
