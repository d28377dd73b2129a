"""`McXai`: why does a classifier say this of an instance? Two games of masking, searched and read."""

import math
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._base.arrays import Floats, Ints
from .._base.progress import Progress, Silent
from .._base.seeding import RandomState, generator
from .._base.sharing import fingerprint
from ..errors import InputError, ModelError
from ..explanation import Explanation
from ..models.outputs import Output
from ..models.predictor import Predictor
from ..spaces.protocol import FeatureSpace, MaskedInstance
from ..spaces.tabular import Tabular
from .flip_sets.find import seek_sets
from .flip_sets.sets import Seek, in_order
from .game.game import Board, Game
from .game.scorer import Scorer
from .readout import MAX_SETS, read_game, tell
from .result import GameReading, GameTrees
from .tree.search import Playouts, Rules, graft, play, replay, survey
from .tree.surrogates import SURROGATES, Surrogate, make_quality

# Rows that "auto" allows: enough for the smallest sets on every problem of the benchmark, most use far fewer
ROWS, ROWS_PER_PLAYER, FEW_PLAYERS = 600, 4, 64
# rows without a smaller set after which the search for sets stops, in the first game and in its continuation
PATIENCE, PATIENCE_AFTER = 100, 30
# widening "auto": (c, alpha); see docs/search.md
WIDENING = (1.0, 0.5)
# rows for the tree search with max_evals "auto", in the first game and in its continuation
PLAY, PLAY_AFTER = 48, 24
# playouts that run at a time with parallel_leaves "auto"
LEAVES = 12


@dataclass(frozen=True)
class _Share:
    """Rows for the parts of one game."""

    seek: int  # the search for sets
    patience: int  # of these, rows without a smaller set after which it stops
    play: int  # the tree search
    survey: int  # playouts of all first moves alike
    reserve: int = 0  # left for the other game


class McXai:
    """Explain a classifier by two games of masking.

    Parameters
    ----------
    predict
        A function of a batch of rows, or an estimator.
    space
        How an instance falls into players; default `Tabular` with the `baseline` and `background` given here.
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
    max_evals
        Rows given to the model. "auto": at most 600 for up to 64 players (4 more for each further player), and
        fewer where the answer is settled before. A number is used up, unless everything has been seen. The
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
        The columns are labels that are on or off independently (threshold 0.5); `target` names one.

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

    #: models in Python hold the GIL: many instances are spread over processes
    prefer = "processes"

    def __init__(
        self,
        predict: Any,
        space: FeatureSpace | None = None,
        baseline: Any = None,
        *,
        background: Any = None,
        depth: int | Literal["auto"] = "auto",
        eta: float = 0.5,
        exploration: float = 2**0.5,
        surrogate: Surrogate = "auto",
        widening: tuple[float, float] | Literal["auto"] | None = "auto",
        rollout: Literal["surrogate", "random"] = "surrogate",
        parallel_leaves: int | Literal["auto"] = "auto",
        share_orders: bool = False,
        max_evals: int | Literal["auto"] = "auto",
        max_seconds: float | None = None,
        batch_size: int = 256,
        output: Output = "proba",
        class_names: Sequence[Hashable] | None = None,
        multilabel: bool = False,
    ) -> None:
        if space is not None and not (baseline is None and background is None):
            raise InputError("give baseline and background to the space, or leave the space out")
        # scalars of NumPy as plain numbers, which JSON can hold
        depth, eta, exploration = _plain(depth), _plain(eta), _plain(exploration)
        parallel_leaves, max_evals, batch_size = _plain(parallel_leaves), _plain(max_evals), _plain(batch_size)
        max_seconds, share_orders, multilabel = _plain(max_seconds), _plain(share_orders), _plain(multilabel)
        if isinstance(widening, (tuple, list, np.ndarray)):
            widening = tuple(map(_plain, widening))
        _check(space is None or hasattr(space, "bind"), "space", "a feature space such as Tabular()", space)
        _check(depth == "auto" or (_whole(depth) and depth >= 1), "depth", "'auto' or at least 1", depth)
        _check(_real(eta) and 0 <= eta <= 1, "eta", "between 0 and 1", eta)
        _check(_real(exploration) and exploration >= 0, "exploration", "a number of at least 0", exploration)
        _check(surrogate in SURROGATES, "surrogate", f"one of {', '.join(SURROGATES)}", surrogate)
        _check(rollout in ("surrogate", "random"), "rollout", "'surrogate' or 'random'", rollout)
        _check(
            widening is None
            or widening == "auto"
            or (
                isinstance(widening, tuple)
                and [_real(part) for part in widening] == [True, True]
                and widening[0] > 0
                and widening[1] >= 0
            ),
            "widening", "'auto', None or (c > 0, alpha >= 0)", widening,
        )  # fmt: skip
        _check(
            parallel_leaves == "auto" or (_whole(parallel_leaves) and parallel_leaves >= 1),
            "parallel_leaves", "'auto' or at least 1", parallel_leaves,
        )  # fmt: skip
        _check(
            max_evals == "auto" or (_whole(max_evals) and max_evals >= 2),
            "max_evals",
            "'auto' or at least 2",
            max_evals,
        )
        _check(
            max_seconds is None or (_real(max_seconds) and max_seconds > 0),
            "max_seconds",
            "None or a number above 0",
            max_seconds,
        )
        _check(_whole(batch_size) and batch_size >= 1, "batch_size", "at least 1", batch_size)
        self.predict = predict
        self.space: FeatureSpace = Tabular(baseline=baseline, background=background) if space is None else space
        self.depth, self.eta, self.exploration = depth, eta, exploration
        self.surrogate, self.widening, self.rollout = surrogate, widening, rollout
        self.parallel_leaves, self.share_orders = parallel_leaves, share_orders
        self.max_evals, self.max_seconds, self.batch_size = max_evals, max_seconds, batch_size
        self.output, self.class_names, self.multilabel = output, class_names, multilabel
        Predictor(predict, output, class_names, multilabel)

    @property
    def textbook(self) -> bool:
        """Whether the settings ask for the search as the textbook has it."""
        return (
            self.widening is None
            and self.rollout == "random"
            and self.parallel_leaves == 1
            and self.surrogate == "none"
        )

    def identity(self) -> tuple[dict[str, Any], str | None]:
        """What decides the answer: settings, and a fingerprint of model and space where they can be pickled."""
        settings = {key: value for key, value in self._settings(None).items() if key != "random_state"}
        return settings, fingerprint((self.predict, self.space))

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
        progress = progress or Silent()
        started = time.perf_counter()
        rng = generator(random_state)
        bound = self.space.bind(instance)
        maskable = np.flatnonzero(bound.maskable)
        scorer = Scorer(
            Predictor(self.predict, self.output, self.class_names, self.multilabel),
            bound,
            maskable,
            self.batch_size,
        )
        total, shares = self._budget(len(maskable), bound.n_backgrounds)
        ends = scorer.ends()
        y = self._target(scorer, ends, target)
        if y >= ends.shape[1]:  # a class that a model of labels has not given yet
            ends = np.pad(ends, ((0, 0), (0, y + 1 - ends.shape[1])))
        board = Board(
            scorer, len(maskable), y, self.multilabel, bound.n_backgrounds, total,
            float("inf") if self.max_seconds is None else started + self.max_seconds,
        )  # fmt: skip
        states = np.zeros((len(ends), len(maskable)), dtype=bool)
        states[1:] = True
        board.remember(states, ends)
        board.n_rows = len(ends) * bound.n_backgrounds
        board.on_rows = progress.advance
        games: list[GameReading] = []
        settings = self._settings(random_state)
        progress.begin("masking", total)
        partial = False
        try:
            self._play_games(board, bound, maskable, rng, shares, games, scorer)
        except KeyboardInterrupt:
            if not games:
                raise
            partial = True
        except ModelError as error:
            error.partial = tell(games, board, bound, scorer, started, settings) if games else None
            raise
        finally:
            progress.end()
        return tell(games, board, bound, scorer, started, settings, partial)

    def _play_games(
        self,
        board: Board,
        bound: MaskedInstance,
        maskable: Ints,
        rng: np.random.Generator,
        shares: tuple[_Share, _Share],
        games: list[GameReading],
        scorer: "Scorer",
    ) -> None:
        """The first game, then the other one from the state in which the first one's key set is masked."""
        names = [bound.names[i] for i in maskable]
        start = int(board.look(np.zeros((1, len(maskable)), dtype=bool))[0])
        sign = 1 if board.predicted[start] == board.target else -1
        base = np.zeros(len(maskable), dtype=bool)
        for share in shares:
            game = Game(board, sign, base)
            games.append(self._play_one(game, names, rng, share, games, scorer))
            if not games[-1].flipped or board.rows_left() < board.rows_per_state:
                return
            masked = set(games[-1].best_set)
            base = base | np.array([name in masked for name in names])
            sign = -sign

    def _play_one(
        self,
        game: Game,
        names: list[Hashable],
        rng: np.random.Generator,
        share: "_Share",
        games: list[GameReading],
        scorer: "Scorer",
    ) -> GameReading:
        """Seek small sets, graft them onto a tree, let the tree search go on from there."""
        before = game.board.n_rows
        seek = Seek(game, rng)
        playouts: Playouts | None = None
        contributions = np.full(game.n, np.nan)
        try:
            if not self.textbook:
                seek_sets(seek, share.seek, share.patience)
            playouts = self._sow(seek)
            if not self.textbook:
                for order, index in in_order(seek, list(seek.found))[:MAX_SETS]:
                    graft(playouts, order, index)
            play(playouts, rng, share.play, shrinking=None if self.textbook else seek)
            if not self.textbook:
                survey(playouts, rng, min(share.survey, game.board.rows_left() - share.reserve))
                contributions = replay(playouts, rng)
        except (ModelError, KeyboardInterrupt) as error:
            if isinstance(error, ModelError):
                error.masked = scorer.masked_names()
            games.append(
                read_game(
                    game,
                    seek,
                    playouts or self._sow(seek),
                    names,
                    contributions,
                    game.board.n_rows - before,
                    self.textbook,
                )
            )
            raise
        return read_game(game, seek, playouts, names, contributions, game.board.n_rows - before, self.textbook)

    def _sow(self, seek: Seek) -> Playouts:
        """A tree of only a root, with a surrogate that starts from what single players do."""
        game = seek.game
        margin = game.sign * float(game.board.margins(np.array([game.start]))[0])
        quality = make_quality(self.surrogate, seek.gains, margin)
        return Playouts(game, self._rules(game, seek.best_size()), quality)

    def _rules(self, game: Game, best_size: int | None) -> Rules:
        depth = self.depth if self.depth != "auto" else max(10, 2 * (best_size or 0))
        return Rules(
            max(1, min(depth, game.n)),
            self.eta,
            self.exploration,
            WIDENING if self.widening == "auto" else self.widening,
            self.rollout,
            LEAVES if self.parallel_leaves == "auto" else self.parallel_leaves,
            self.share_orders,
        )

    def _budget(self, n: int, rows_per_state: int) -> tuple[int, tuple[_Share, _Share]]:
        """Rows in all, and the shares of the two games."""
        r = rows_per_state
        if self.max_evals == "auto":
            total = ROWS + ROWS_PER_PLAYER * max(0, n - FEW_PLAYERS)
            after = 2 * n + 2 * PATIENCE_AFTER
            first = _Share((total - after // 2) * r, max(PATIENCE, n // 2) * r, PLAY * r, 0)
            return total * r, (first, _Share(after * r, PATIENCE_AFTER * r, PLAY_AFTER * r, 0))
        total = self.max_evals
        if self.textbook:
            return total, (_Share(0, 0, total * 3 // 4, 0), _Share(0, 0, total, 0))
        if total <= 4 * n * r:  # hardly enough to find a set at all
            return total, (_Share(total, total, total, 0), _Share(total, PATIENCE_AFTER * r, total, 0))
        patience = max(PATIENCE * r, total // 8)
        first = _Share(total * 3 // 5, patience, total // 8, total, reserve=total // 8)
        return total, (first, _Share(total // 8, patience // 4, total // 16, total))

    def _target(self, scorer: "Scorer", ends: Floats, target: Hashable) -> int:
        if target is not None:
            return scorer.predictor.index(target)
        if self.multilabel:
            raise InputError(
                f"with multilabel=True say which label the games are about: target= one of "
                f"{', '.join(map(repr, scorer.predictor.classes[:20]))}"
            )
        return int(ends[0].argmax())

    def _settings(self, random_state: RandomState) -> dict[str, Any]:
        names = (
            "depth", "eta", "exploration", "surrogate", "rollout", "parallel_leaves", "share_orders", "max_evals",
            "max_seconds", "batch_size", "output", "multilabel",
        )  # fmt: skip
        widening = list(self.widening) if isinstance(self.widening, tuple) else self.widening
        seed = int(random_state) if isinstance(random_state, (int, np.integer)) else None
        return {name: getattr(self, name) for name in names} | {"widening": widening, "random_state": seed}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _check(right: bool, name: str, allowed: str, given: Any) -> None:
    if not right:
        raise InputError(f"{name} must be {allowed}, got {given!r}")
