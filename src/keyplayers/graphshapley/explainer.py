"""`GraphShapley`: why does the field believe this of the target?"""

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from .._base.progress import Progress, Silent
from .._base.seeding import RandomState
from .._base.settings import (
    NOTHING,
    YES_OR_NO,
    Rule,
    Settings,
    instance_of,
    one_of,
    real,
    registered,
    setting,
    whole,
)
from .._version import __version__
from ..errors import InputError, PrecisionWarning
from ..explanation import Explanation
from ..mrf.balls import Ball, ball
from ..mrf.field import MarkovRandomField
from ..mrf.inference.beliefs import BeliefState
from . import codec as _codec  # noqa: F401  (registers columns, JSON and values of a SubtreeGame)
from .engines.choose import choose_engine
from .engines.registry import Request, methods
from .engines.walks import play_walks
from .game import worths
from .game.game import EngineResult, Game
from .game.trimming import trim
from .game.walk_game import LAWS, Boundary, Law, WalkGame, list_coalitions, walks_within
from .game.worth import direction_worth, make_worth
from .inferring import Inferred
from .result import SubtreeGame
from .telling import Played, tell, warn
from .what_ifs import ask_what_ifs

# what comes with the package; others may be registered
WorthName: TypeAlias = Literal["log_odds", "probability", "symmetric_kl", "neg_cross_entropy"] | str
Method: TypeAlias = Literal["auto", "enumeration", "convolution", "sampling"] | str


def _is_contrast(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and value[0] != value[1]


_PUBLISHED = {"coalitions": "subtrees", "boundary": "cut", "worth": "symmetric_kl", "order": "value"}
_CONTRAST = NOTHING | Rule(lambda: "two different states (a, b)", _is_contrast)
_BELIEFS = NOTHING | instance_of(BeliefState, "a state of belief_propagation or exact_marginals")


@dataclass(frozen=True, eq=False, repr=False)
class GraphShapley(Settings):
    """Explain beliefs of a Markov random field by the variables around their target.

    The game: every walk of at most `radius` steps from the target that meets no variable twice stands for its
    last variable. A coalition is a set of walks that holds with each walk also the shorter one that it continues;
    its worth is what is believed of the target on these walks alone. A walk's contribution is what a coalition
    is worth with it less what it is worth without it and all that continue it; a player's value is the sum, over
    its walks, of the mean contribution.

    Parameters
    ----------
    mrf
        The field, with its evidence.
    radius
        Hops from the target to the farthest player; None: all variables connected with it.
    coalitions
        "walks", as above: the trees on which propagation works; or "subtrees": coalitions are the subtrees of the
        graph around the target, the game of the paper.
    boundary
        What variables say that a walk does not go on to: "messages", what propagation lets them say, so that the
        belief on all walks is the belief that is explained; or "cut", nothing. Subtrees are always cut.
    law
        Which coalitions of walks count how much: "uniform", all the same; "shapley": so that values sum to what
        all players together add to the worth (Shapley's law for the walks).
    worth
        "log_odds" of one state, which adds up on a star and does not saturate; "probability" of it; or, of the
        whole belief, "symmetric_kl": minus the symmetric Kullback-Leibler divergence from the belief in the whole
        field, or "neg_cross_entropy"; or one that `worths.register` made known.
    state
        The state that "log_odds" and "probability" speak of; default: the target's most believed one.
    contrast
        Two states (a, b): why a rather than b? The worth is log b(a)/b(b), in place of `worth`.
    method
        The engine, or "auto": the first that fits.
    order
        Players by the "size" of their values, or by "value", largest first, as in the paper.
    max_evals
        Most coalitions whose worth may be computed, or draws of them; None: as many as take a second or two.
    std_error_goal
        Where values are sampled: the standard error at which to stop, in the unit of the worth.
    max_ball
        Most variables of a ball, the target included; of a larger one those are kept that can matter most
        (strong potentials on the way, a telling prior), and a warning says what was dropped. None: all.
    beliefs
        A state of `belief_propagation` or `exact_marginals` on this field; default: propagation, run once for
        all targets.
    keep_coalitions
        Whether explanations keep the list of all coalitions, where there are not too many: ``ex.coalitions()``.
    what_if
        Whether explanations also say what would be believed without each player's evidence, without the player,
        and if its evidence were otherwise (see `kp.what_if`): ``ex.what_ifs`` and columns of all tables.

    References
    ----------
    "Rigorous Explanation of Inference on Probabilistic Graphical Models", arXiv:2004.10066.

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges(
    ...     [("X", "A"), ("X", "B"), ("B", "C")], {"A": [0.1, 0.9], "C": [0.7, 0.3]}, homophily=0.9
    ... )
    >>> kp.GraphShapley(mrf).explain("X").top(2)
    [('A', 1.516...), ('C', -0.523...)]
    """

    mrf: MarkovRandomField = setting(rule=instance_of(MarkovRandomField, "a MarkovRandomField"), positional=True)
    radius: int | None = setting(2, NOTHING | whole(0))
    coalitions: Literal["walks", "subtrees"] = setting("walks", one_of("walks", "subtrees"))
    boundary: Boundary = setting("messages", one_of("messages", "cut"))
    law: Law = setting("uniform", one_of(*LAWS))
    worth: WorthName = setting("log_odds", registered(worths.names))
    state: Hashable | None = setting(None)
    contrast: tuple[Hashable, Hashable] | None = setting(None, _CONTRAST)
    method: Method = setting("auto", registered(methods))
    max_evals: int | None = setting(None, NOTHING | whole(1))
    std_error_goal: float | None = setting(None, NOTHING | real(above=0))
    beliefs: BeliefState | None = setting(None, _BELIEFS)
    max_ball: int | None = setting(None, NOTHING | whole(1))
    keep_coalitions: bool = setting(False, YES_OR_NO)
    what_if: bool = setting(False, YES_OR_NO)
    order: Literal["size", "value"] = setting("size", one_of("size", "value"))

    #: kernels release the GIL: many targets are spread over threads
    prefer = "threads"

    def __post_init__(self) -> None:
        if isinstance(self.contrast, list):
            object.__setattr__(self, "contrast", tuple(self.contrast))
        super().__post_init__()
        if self.coalitions == "subtrees" and self.law != "uniform":
            raise InputError(f"subtrees all count the same: law={self.law!r} is for coalitions='walks'")
        for state in (self.state, *(self.contrast or ())):
            if state is not None:
                _check_state(self.mrf, state)
        if self.beliefs is not None:
            _check_beliefs(self.beliefs, self.mrf)

    @classmethod
    def as_published(cls, mrf: MarkovRandomField, **settings: Any) -> "GraphShapley":
        """The paper to the letter: coalitions are subtrees, the symmetric KL divergence, players by value."""
        return cls(mrf, **_PUBLISHED | settings)

    @cached_property
    def inferred(self) -> Inferred:
        """The beliefs that are explained: those given, else of propagation, which runs at the first use."""
        return Inferred(self.mrf, self.beliefs)

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
            ``error_bounds``, ``engine``, ``saturated``, ``worth_alone``, ``worth_ball``, ``inference``, ``ball``,
            ``what_ifs``: see `SubtreeGame`.

        Raises
        ------
        UnknownNameError
            No variable, or no state of it, is called so.
        InputError
            The target is a factor, not a variable.
        TooLargeError
            No engine can play a game of that size; the message says how large it is and what to change.

        Warns
        -----
        KeyPlayersWarning
            The target is observed: nothing can change what is believed of it.
        PrecisionWarning
            The worth is saturated, or exact inference believes something else than propagation.
        """
        if not self.mrf.real[self.mrf.index(target)]:
            raise InputError(f"{target!r} is a factor: beliefs of variables are explained, not of factors")
        progress = progress or Silent()
        around, n_dropped = self._ball(target)
        game = self._game(around, trimmed=n_dropped > 0)
        played = self._play(game, n_dropped, random_state, progress)
        inference = self.inferred.check(around, messages=self._takes_messages)
        settings = self._settings(random_state)
        found = tell(
            self.inferred.beliefs,
            game,
            played,
            inference,
            order=self.order,
            radius=self.radius,
            settings=settings,
        )
        return self._with_what_ifs(found, progress) if self.what_if else found

    def _with_what_ifs(self, found: Explanation[SubtreeGame], progress: Progress) -> Explanation[SubtreeGame]:
        players = found.players
        state = int(found.structure.log_belief.argmax())
        answers, n_asked = ask_what_ifs(self.inferred.asked, found.target, state, players, progress)
        if n_asked < len(players):
            warn(
                f"stopped early: what-ifs of {n_asked:,} of the {len(players):,} players of {found.target!r}",
                PrecisionWarning,
                below=2,
            )
        partial = found.structure.partial or n_asked < len(players)
        return replace(found, structure=replace(found.structure, what_ifs=answers, partial=partial))

    def _ball(self, target: Hashable) -> tuple[Ball, int]:
        """The ball, cut down to `max_ball`, and how many of its variables were dropped."""
        around = ball(self.mrf, target, self.radius)
        if self.max_ball is None:
            return around, 0
        trimmed, cut = trim(around, self.max_ball, n_steps=self._n_steps(around))
        if cut is None:
            return around, 0
        warn(
            f"the ball around {target!r} has {around.n_variables:,} variables; {cut.n_dropped:,} of them were "
            f"dropped (max_ball={self.max_ball:,}). Those kept have {cut.share_kept:.0%} of what priors and "
            "potentials on the way let all of them say",
            PrecisionWarning,
            below=2,
        )
        return trimmed, cut.n_dropped

    @property
    def _takes_messages(self) -> bool:
        return self.coalitions == "walks" and self.boundary == "messages"

    def _n_steps(self, around: Ball) -> int | None:
        """Steps of the longest walks; None where subtrees are played."""
        if self.coalitions == "subtrees":
            return None
        steps = int(around.distances.max(initial=0)) if self.radius is None else self.radius
        return steps if self.mrf.auxiliary is None else 2 * steps  # a hop through a factor is two steps

    def _game(self, around: Ball, *, trimmed: bool) -> Game | WalkGame:
        target = around.target
        states = self.mrf.states(target)
        log_belief = self.inferred.beliefs.log_belief(target)
        contrast = None
        if self.contrast is not None:
            first, second = (self.mrf.state_index(target, state) for state in self.contrast)
            contrast = first, second
        state = None if self.state is None else self.mrf.state_index(target, self.state)
        worth = make_worth(self.worth, log_belief, states, state=state, contrast=contrast)
        direction = direction_worth(log_belief, states)
        if self.coalitions == "subtrees":
            return Game(around, worth, direction)
        messages = self.inferred.messages if self._takes_messages else None
        tree = walks_within(around, self.mrf, self.radius, messages, trimmed=trimmed)
        return WalkGame(around, worth, direction, tree, self.law, self.boundary)

    def _play(
        self, game: Game | WalkGame, n_dropped: int, random_state: RandomState, progress: Progress
    ) -> Played:
        """Who plays, and the answer."""
        if self.mrf.observed[self.mrf.index(game.ball.target)]:
            nothing = EngineResult.zeros(game.ball.n_variables - 1)
            reason = "the target is observed: no coalition can change its belief"
            return Played(nothing, "none", reason, True, n_dropped)
        request = Request(self.max_evals, self.std_error_goal, self.keep_coalitions)
        if isinstance(game, WalkGame):
            result, name, reason = play_walks(game, self.method, request, random_state, progress)
            table = list_coalitions(game, request.enumeration_limit) if self.keep_coalitions else None
            return Played(result, name, reason, False, n_dropped, table)
        engine, reason = choose_engine(game, self.method, request, progress)
        result = engine.play(game, request, random_state, progress)
        return Played(result, engine.name, reason, False, n_dropped, result.table)

    def prepare(self) -> None:
        """Infer what all targets need, before workers ask for it at the same time."""
        _ = self.inferred.beliefs, self.inferred.exact
        if self._takes_messages:
            _ = self.inferred.messages

    def identity(self) -> tuple[dict[str, Any], str]:
        """Settings, and a fingerprint of the field and of beliefs that were given: what decides the numbers."""
        from ..mrf.storage import field_fingerprint

        beliefs = b"" if self.beliefs is None else np.ascontiguousarray(self.beliefs.log_beliefs).tobytes()
        fingerprint = hashlib.blake2b(field_fingerprint(self.mrf).encode() + beliefs, digest_size=16)
        settings = {key: value for key, value in self._settings(None).items() if key not in ("seed", "version")}
        return settings, fingerprint.hexdigest()

    def _settings(self, random_state: RandomState) -> dict[str, Any]:
        """Only what JSON can hold."""
        from .._base.names import name_to_json

        seed = int(random_state) if isinstance(random_state, int | np.integer) else None
        return {
            "radius": self.radius,
            "coalitions": self.coalitions,
            "boundary": self.boundary if self.coalitions == "walks" else "cut",
            "law": self.law,
            "worth": self.worth,
            "state": None if self.state is None else name_to_json(self.state),
            "contrast": None if self.contrast is None else [name_to_json(state) for state in self.contrast],
            "method": self.method,
            "max_evals": self.max_evals,
            "std_error_goal": self.std_error_goal,
            "max_ball": self.max_ball,
            "order": self.order,
            "what_if": self.what_if,
            "seed": seed,
            "version": __version__,
        }


def _check_state(mrf: MarkovRandomField, state: Hashable) -> None:
    """Refuse a state that no variable has, by its name or its number."""
    if isinstance(mrf.state_names, tuple):
        names: set[Hashable] = set(mrf.state_names)
    else:
        names = {own for some in (mrf.state_names or {}).values() for own in some}
    most = int(mrf.n_states.max(initial=0))
    if state in names or (isinstance(state, int) and not isinstance(state, bool) and 0 <= state < most):
        return
    shown = ", ".join(repr(name) for name in sorted(names, key=str)[:10]) or f"0 .. {most - 1}"
    raise InputError(f"no variable has a state {state!r}; states are {shown}")


def _check_beliefs(beliefs: BeliefState, mrf: MarkovRandomField) -> None:
    if beliefs.max_product:
        raise InputError("beliefs must come from sum-product; max-marginals are no beliefs of a coalition")
    if beliefs.mrf is mrf:
        return
    from ..mrf.storage import same_field

    if not same_field(beliefs.mrf, mrf):
        raise InputError(f"beliefs belong to another field ({beliefs.mrf!r}), or to other evidence, than {mrf!r}")
