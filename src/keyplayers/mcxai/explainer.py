"""`McXai`: why does a classifier say this of an instance? Two games of masking, searched and read."""

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from .._base.progress import Progress, Silent
from .._base.seeding import RandomState, generator
from .._base.settings import (
    ANYTHING,
    NOTHING,
    YES_OR_NO,
    Rule,
    Settings,
    exactly,
    one_of,
    real,
    registered,
    setting,
    whole,
)
from .._base.sharing import fingerprint
from ..errors import InputError, ModelError
from ..explanation import Explanation
from ..models.decisions import Prediction
from ..models.outputs import OUTPUTS, Output
from ..models.predictor import Predictor
from ..spaces.natural import natural_space
from ..spaces.protocol import FeatureSpace, MaskedInstance, Neighbours
from ..spaces.tabular import Tabular
from .budget import Budget
from .codec import write_name  # the module registers the forms of the structure, too
from .finer import finest
from .flip_sets.confirm import REPEATS
from .game.scorer import Scorer
from .game.state_cache import StateCache
from .nearest import Goal, choose, unlike_rows
from .readout import Told, build_explanation
from .result import GameTrees
from .shares import share_out
from .tree.surrogates import SURROGATES
from .two_games import SearchSettings, TwoGames

AUTO = exactly("auto")

# settings that say how the search is done
_SEARCH = tuple(field.name for field in fields(SearchSettings))
# settings that the explanation repeats
_TOLD = (*_SEARCH, "max_evals", "max_seconds", "batch_size", "output", "multilabel", "threshold")


def _is_widening(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and real(above=0).accepts(value[0])
        and real(0).accepts(value[1])
    )


_WIDENING = AUTO | NOTHING | Rule(lambda: "(c > 0, alpha >= 0)", _is_widening)
_SPACE = NOTHING | Rule(lambda: "a feature space such as Tabular()", lambda value: hasattr(value, "bind"))


@dataclass(frozen=True)
class _Call:
    """One call of `explain`."""

    target: Hashable
    random_state: RandomState
    rng: np.random.Generator
    progress: Progress
    started: float


@dataclass(frozen=True, eq=False, repr=False)
class McXai(Settings):
    """Explain a classifier by two games of masking.

    Parameters
    ----------
    predict
        A function of a batch of rows, or an estimator.
    space
        How an instance falls into players. Default: `Text` for a text, `Sparse` for a sparse row, else `Tabular`
        with the `baseline` and `background` given here.
    baseline, background
        What masking puts in, for tables; see `Tabular`. Not together with `space`.
    depth
        L, most players masked in one playout. "auto": twice the size of the smallest set found, at least 10.
    eta
        Weight of a short path against a large change of probability in the reward, in [0, 1].
    exploration
        λ of UCT.
    surrogate
        Q(x, a), what an edge is expected to win: "none", "drop", "regression", "auto".
    widening
        "auto"; (c, alpha): a node has at most ⌈c·n^alpha⌉ children; None: every action is tried once before
        any is tried twice (textbook).
    rollout
        "surrogate": players drawn by softmax(Q / T); "random": uniformly.
    parallel_leaves
        Playouts that go on at a time, with virtual loss; 1 is the textbook, "auto" 12.
    share_orders
        Let all orders of the same set share their statistics in the selection.
    find_sets
        Whether small sets are looked for before the tree search, and made minimal; False: the tree search is all.
    max_evals
        Rows given to the model. "auto": at most 600 for up to 64 players (4 more for each further player, and
        where more than four players are needed of more than 64, up to 20 more for every player), and fewer where
        the answer is settled before. A number is used up, unless everything has been seen. The
        instance and everything masked are shown in any case, with every background row.
    max_seconds
        Stop looking after so many seconds.
    batch_size
        Most rows of one model call. Never changes the answer.
    output
        What a function gives: "proba", "log_proba", "logits" or "label".
    class_names
        Names of the classes; default the estimator's.
    multilabel
        The columns are labels that are on or off independently; `target` names one.
    threshold
        The second of two classes is decided for, or a label is on, at or above this probability. Default: the
        model's own decision (its `predict`, where it has one), else the largest probability.
    contrast
        Why the target rather than this class? The classification game is over only where the model decides for it.

    Notes
    -----
    With ``widening=None, rollout="random", parallel_leaves=1, surrogate="none"`` the search is the textbook
    one: no sets are sought beforehand, nothing is shrunk.

    Examples
    --------
    >>> import numpy as np
    >>> def model(rows):
    ...     return 1 / (1 + np.exp(2 - 3 * rows[:, 0] * rows[:, 2]))
    >>> ex = McXai(model, baseline=0).explain(np.array([1.0, 1.0, 1.0]), random_state=0)
    >>> sorted(ex.key_set), ex.lower_bound
    ([0], 1)
    """

    predict: Any = setting(positional=True)
    space: FeatureSpace | None = setting(None, _SPACE, positional=True)
    baseline: Any = setting(None)
    background: Any = setting(None)
    depth: int | Literal["auto"] = setting("auto", AUTO | whole(1))
    eta: float = setting(0.5, real(0, at_most=1))
    exploration: float = setting(2**0.5, real(0))
    surrogate: str = setting("auto", registered(lambda: SURROGATES))
    widening: tuple[float, float] | Literal["auto"] | None = setting("auto", _WIDENING)
    rollout: Literal["surrogate", "random"] = setting("surrogate", one_of("surrogate", "random"))
    parallel_leaves: int | Literal["auto"] = setting("auto", AUTO | whole(1))
    share_orders: bool = setting(False, YES_OR_NO)
    find_sets: bool = setting(True, YES_OR_NO)
    max_evals: int | Literal["auto"] = setting("auto", AUTO | whole(2))
    max_seconds: float | None = setting(None, NOTHING | real(above=0))
    batch_size: int = setting(256, whole(1))
    output: Output = setting("proba", one_of(*OUTPUTS))
    class_names: Sequence[Hashable] | None = setting(None, ANYTHING)
    multilabel: bool = setting(False, YES_OR_NO)
    threshold: float | None = setting(None, NOTHING | real(0, at_most=1))
    contrast: Hashable = setting(None)

    _table: ClassVar[FeatureSpace]  # of an explainer without `space`: made once, since it may hold a background

    #: models in Python hold the GIL: many instances are spread over processes
    prefer = "processes"

    def __post_init__(self) -> None:
        if isinstance(self.widening, (tuple, list, np.ndarray)):
            object.__setattr__(self, "widening", tuple(map(_plain, self.widening)))
        super().__post_init__()
        if self.space is not None and not (self.baseline is None and self.background is None):
            raise InputError("give baseline and background to the space, or leave the space out")
        if self.space is None:
            object.__setattr__(self, "_table", Tabular(baseline=self.baseline, background=self.background))
        self._predictor()

    @classmethod
    def as_published(cls, predict: Any, space: FeatureSpace | None = None, **settings: Any) -> "McXai":
        """The paper to the letter: UCT with a trained surrogate and random roll-outs, no sets beside the tree.

        Settings given here go before the paper's: L = 10, eta = 0.5, every action tried once before any is tried
        twice, one playout at a time.
        """
        published: dict[str, Any] = {
            "depth": 10,
            "surrogate": "regression",
            "widening": None,
            "rollout": "random",
            "parallel_leaves": 1,
            "find_sets": False,
        }
        return cls(predict, space, **(published | settings))

    @property
    def textbook(self) -> bool:
        """Whether the tree search is all: no small sets are looked for beside it."""
        return self._search().textbook

    def identity(self) -> tuple[dict[str, Any], str | None]:
        """What decides the answer: settings, and a fingerprint of model and space where they can be pickled."""
        settings = {key: value for key, value in self._settings(None).items() if key != "random_state"}
        return settings, fingerprint((self.predict, self._feature_space()))

    def explain(
        self,
        instance: Any,
        /,
        target: Hashable = None,
        *,
        random_state: RandomState = None,
        progress: Progress | None = None,
    ) -> Explanation[GameTrees]:
        """Play both games about one instance.

        Parameters
        ----------
        instance
            What the space takes: for tables a row.
        target
            Class that the games are about, by name or index; default the predicted class. Where it is the
            predicted class the first game asks what carries it, else what stands in its way.
        random_state
            Seed of this call.
        progress
            Told how many rows the model was given. Ctrl-C gives what there is by then, marked ``partial``.

        Raises
        ------
        PredictorError
            The model raised. Its own exception is the cause; ``masked`` names the players masked at the time,
            ``partial`` is the explanation of what was found before (None where nothing was).
        PredictionError
            The model returned what is no prediction, such as NaN; with ``masked`` and ``partial`` as above where
            that came to light during the search.
        UnknownNameError
            There is no such class.
        """
        space: Any = self._space_of(instance)
        call = _Call(
            target=target,
            random_state=random_state,
            rng=generator(random_state),
            progress=progress or Silent(),
            started=time.perf_counter(),
        )
        if getattr(space, "seeks_neighbours", False):
            return self._explain_nearest(space.neighbours(instance), space.n_neighbours, call)
        return self._explain_finer(space.bind(instance), self._predictor(), call)

    def _explain_finer(self, bound: Any, predictor: Predictor, call: "_Call") -> Explanation[GameTrees]:
        """Explain, and once more among the parts of the key set, for as long as the space splits its players."""
        found: list[Explanation[GameTrees]] = []
        while bound is not None:
            spent = sum(each.structure.n_rows for each in found)
            found.append(self._explain(bound, predictor, call, self._rows_of_level(bound, spent)))
            last = found[-1].structure
            more = hasattr(bound, "split") and last.flipped and not last.partial
            bound = bound.split(last.key_set) if more else None
        return finest(found)

    def _rows_of_level(self, bound: Any, spent: int) -> int | Literal["auto"]:
        """Rows for a level of an explanation: half of what is left where finer ones may follow."""
        if self.max_evals == "auto":
            return "auto"
        left = max(2, self.max_evals - spent)
        return max(2, left // 2) if getattr(bound, "refine", False) else left

    def _explain_nearest(self, neighbours: Neighbours, n_neighbours: int, call: "_Call") -> Explanation[GameTrees]:
        """Explain towards each of the nearest rows that the model decides otherwise; the fewest changes win."""
        predictor, goal = self._predictor(), Goal(call.target, self.contrast, self.multilabel)
        rows = unlike_rows(neighbours, predictor, goal, n_neighbours, self.batch_size)
        explained = [
            self._explain(neighbours.towards(row), predictor, call, self.max_evals) for row in rows.chosen
        ]
        return choose(explained, [float(neighbours.distances[row]) for row in rows.chosen], rows.n_scanned)

    def _explain(
        self, bound: MaskedInstance, predictor: Predictor, call: "_Call", max_evals: int | Literal["auto"]
    ) -> Explanation[GameTrees]:
        """Both games about a bound instance."""
        scorer = Scorer(predictor, bound, np.flatnonzero(bound.maskable), self.batch_size)
        shares = share_out(max_evals, len(scorer.maskable), bound.n_backgrounds, self.textbook)
        cache = self._open_cache(scorer, call.target, Budget(shares.total, self._deadline(call.started)))
        cache.on_rows = call.progress.advance
        names = [bound.names[i] for i in scorer.maskable]
        games = TwoGames(cache, names, self._search(), shares, call.rng)

        def tell(partial: bool) -> Explanation[GameTrees]:
            told = Told(
                classes=scorer.predictor.classes,
                n_calls=scorer.predictor.n_calls,
                seconds=time.perf_counter() - call.started,
                partial=partial,
                settings=self._settings(call.random_state),
            )
            return build_explanation(games.results(), games.contributions(), cache, bound, told)

        call.progress.begin("masking", shares.total)
        try:
            games.play()
        except KeyboardInterrupt:
            return tell(partial=True)
        except ModelError as error:
            error.masked = scorer.masked_names()
            error.partial = tell(partial=True)
            raise
        finally:
            call.progress.end()
        return tell(partial=cache.budget.out_of_time())

    def _open_cache(self, scorer: Scorer, target: Hashable, budget: Budget) -> StateCache:
        """The cache with the instance itself and everything masked, which are shown in any case."""
        prediction, noise, n_rows = _ask_ends(scorer, budget)
        y = self._target(scorer, prediction, target)
        scorer.label = y if self.multilabel else None
        contrast = None if self.contrast is None else scorer.predictor.index(self.contrast)
        if contrast == y:
            raise InputError(f"contrast must be another class than the target, got {self.contrast!r} for both")
        ends = scorer.decided(prediction)
        missing = max(y, contrast or 0) + 1 - ends.probabilities.shape[1]
        if missing > 0:  # a class that a model of labels has not given yet
            ends = ends._replace(probabilities=np.pad(ends.probabilities, ((0, 0), (0, missing))))
        n = len(scorer.maskable)
        cache = StateCache(
            score=scorer,
            n_players=n,
            target=y,
            budget=budget,
            multilabel=self.multilabel,
            contrast=contrast,
            threshold=_threshold_of(scorer.predictor, y, self.multilabel),
            rows_per_state=scorer.bound.n_backgrounds,
            states_per_call=max(1, self.batch_size // scorer.bound.n_backgrounds),
            noise=noise,
        )
        masks = np.zeros((len(ends.decisions), n), dtype=bool)
        masks[1:] = True
        cache.insert(masks, ends)
        cache.n_rows = n_rows
        return cache

    def _target(self, scorer: Scorer, ends: Prediction, target: Hashable) -> int:
        """Index of the class that the games are about."""
        if target is not None:
            return scorer.predictor.index(target)
        if self.multilabel:
            raise InputError(
                f"with multilabel=True say which label the games are about: target= one of "
                f"{', '.join(map(repr, scorer.predictor.classes[:20]))}"
            )
        return int(scorer.decided(ends).decisions[0])

    def _deadline(self, started: float) -> float:
        return float("inf") if self.max_seconds is None else started + self.max_seconds

    def _feature_space(self) -> FeatureSpace:
        return self._table if self.space is None else self.space

    def _space_of(self, instance: Any) -> FeatureSpace:
        """The space given; without one that which the instance asks for by what it is."""
        natural = None if self.space is not None else natural_space(instance)
        if natural is None:
            return self._feature_space()
        if self.baseline is not None or self.background is not None:
            kind = type(natural).__name__
            raise InputError(
                f"baseline and background are for tables; {kind} says by itself what masking puts in: give "
                f"space={kind}(...)"
            )
        return natural

    def _predictor(self) -> Predictor:
        return Predictor(self.predict, self.output, self.class_names, self.multilabel, threshold=self.threshold)

    def _search(self) -> SearchSettings:
        return SearchSettings(**{name: getattr(self, name) for name in _SEARCH})

    def _settings(self, random_state: RandomState) -> dict[str, Any]:
        """What the explanation tells of how it was made; JSON can hold it."""
        told = {name: getattr(self, name) for name in _TOLD}
        if isinstance(self.widening, tuple):
            told["widening"] = list(self.widening)
        if self.contrast is not None:
            told["contrast"] = write_name(self.contrast)
        seed = int(random_state) if isinstance(random_state, (int, np.integer)) else None
        return told | {"random_state": seed}


def _ask_ends(scorer: Scorer, budget: Budget) -> tuple[Prediction, float, int]:
    """What the model says of the instance and of everything masked, how far off a second answer is, rows given.

    Where the answers differ both are asked several times, and the mean counts.
    """
    prediction = scorer.ends()
    once = len(prediction.probabilities) * scorer.bound.n_backgrounds
    if len(scorer.maskable) == 0 or budget.rows_left(once) <= once:
        return prediction, 0.0, once
    noise = scorer.noise(prediction)
    if noise and budget.rows_left(2 * once) >= REPEATS * once:
        return scorer.mean_ends(REPEATS), noise, (2 + REPEATS) * once
    return prediction, noise, 2 * once


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _threshold_of(predictor: Predictor, target: int, multilabel: bool) -> float | None:
    """Probability of the target at which the model decides for it; None: where it is the largest."""
    rule = predictor.rule
    if rule.threshold is None or multilabel or rule.positive == target:
        return rule.threshold
    return 1 - rule.threshold
