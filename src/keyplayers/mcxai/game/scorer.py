"""States of masked players to what the model says: rows built by the space, shown to the model, averaged."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from ..._base.arrays import Bools, Ints
from ...errors import ModelError, PredictorError
from ...models.decisions import Prediction, average
from ...models.predictor import Predictor, difference
from ...spaces.protocol import MaskedInstance
from .state_cache import Scored

# players that are tried one by one, at most, where a model refuses everything masked
MAX_BLAMED = 256


@dataclass(eq=False)
class Scorer:
    """Masked players -> probabilities and decisions, in calls of at most `batch_size` rows.

    Background rows are averaged.
    """

    predictor: Predictor
    bound: MaskedInstance
    maskable: Ints
    batch_size: int
    label: int | None = None  # with several labels, the one that is asked for
    latest: Bools | None = None  # the states of the call that is under way

    def __call__(self, states: Bools, n_times: int = 1) -> Scored:
        return self.decided(self._predict(states, n_times))

    def decided(self, prediction: Prediction) -> Scored:
        """With the class that the model decides for."""
        return Scored(prediction.probabilities, self.predictor.decide(prediction, self.label))

    def _predict(self, states: Bools, n_times: int = 1) -> Prediction:
        return average(self._parts(states, n_times), n_times * self.bound.n_backgrounds)

    def _parts(self, states: Bools, n_times: int) -> list[Prediction]:
        """What the model says of each row, call by call; each state is asked `n_times`."""
        r, masked = n_times * self.bound.n_backgrounds, states
        if len(self.maskable) < len(self.bound.names):
            masked = np.zeros((len(states), len(self.bound.names)), dtype=bool)
            masked[:, self.maskable] = states
        if r == 1 and len(states) <= self.batch_size:
            return [self._ask(masked, np.zeros(len(states), dtype=np.int64))]
        parts = []
        for start in range(0, len(states) * r, self.batch_size):
            rows = np.arange(start, min(start + self.batch_size, len(states) * r))
            parts.append(self._ask(masked[rows // r], rows % self.bound.n_backgrounds))
        return parts

    def _ask(self, masked: Bools, backgrounds: Ints) -> Prediction:
        self.latest = masked
        return self.predictor.predict(self.bound.rows(masked, backgrounds), len(masked))

    def noise(self, ends: Prediction) -> float:
        """How far the model's answers are from these `ends`, asked once more; 0 for rounding."""
        return difference(ends.probabilities, self.mean_ends(1).probabilities)

    def mean_ends(self, n_times: int) -> Prediction:
        """`ends`, each asked so many times."""
        n = len(self.maskable)
        return self._predict(np.arange(2 if n else 1)[:, None] * np.ones((1, n)) > 0, n_times)

    def ends(self) -> Prediction:
        """What the model says of the instance and, unless nothing can be masked, of everything masked.

        Raises
        ------
        PredictorError
            The model cannot take one of the two; the message says which players' masked values it refuses.
        """
        n = len(self.maskable)
        if n:
            try:
                return self._predict(np.arange(2)[:, None] * np.ones((2, n)) > 0)
            except PredictorError:
                pass  # which of the two it is, and of which players, is found out below
        try:
            first = self._predict(np.zeros((1, n), dtype=bool))
        except PredictorError as error:
            raise PredictorError(f"{error} (on the instance itself, nothing masked)") from error.__cause__
        if n == 0:
            return first
        try:
            return average([first, self._predict(np.ones((1, n), dtype=bool))], 1)
        except PredictorError as error:
            raise self._refused_baseline(error) from error.__cause__

    def _refused_baseline(self, error: PredictorError) -> PredictorError:
        """The error for a model that cannot take everything masked: it names the players that are to blame."""
        refused = [
            self.bound.names[self.maskable[i]]
            for i in range(min(len(self.maskable), MAX_BLAMED))
            if self._refuses(i)
        ]
        blame = "masked one by one all players are accepted"
        if refused:
            named = ", ".join(map(repr, refused[:10]))
            blame = f"the baseline of {named} is unlike what the model was trained on"
        return PredictorError(
            f"{error} (with every player masked; {blame}). Give another baseline, or background rows",
            masked=tuple(refused) or self.masked_names(),
        )

    def _refuses(self, player: int) -> bool:
        state = np.zeros((1, len(self.maskable)), dtype=bool)
        state[0, player] = True
        try:
            self(state)
        except PredictorError:
            return True
        return False

    def masked_names(self) -> tuple[Hashable, ...]:
        """Players masked in the first row that the model refuses among those it was given last."""
        states = self.latest
        if states is None:
            return ()
        for state in states:
            try:
                self._ask(state[None], np.zeros(1, dtype=np.int64))
            except ModelError:
                return tuple(name for name, gone in zip(self.bound.names, state, strict=True) if gone)
        return ()
