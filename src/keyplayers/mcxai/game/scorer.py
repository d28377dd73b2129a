"""States of masked players to class probabilities: rows built by the space, shown to the model, averaged."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...errors import ModelError, PredictorError
from ...models.predictor import Predictor
from ...spaces.protocol import MaskedInstance


@dataclass(eq=False)
class Scorer:
    """Masked players -> probabilities, in calls of at most `batch_size` rows; background rows are averaged."""

    predictor: Predictor
    bound: MaskedInstance
    maskable: Ints
    batch_size: int
    latest: Bools | None = None  # the states of the call that is under way

    def __call__(self, states: Bools) -> Floats:
        r = self.bound.n_backgrounds
        masked = states
        if len(self.maskable) < len(self.bound.names):
            masked = np.zeros((len(states), len(self.bound.names)), dtype=bool)
            masked[:, self.maskable] = states
        if r == 1 and len(states) <= self.batch_size:
            self.latest = masked
            return self._ask(masked, np.zeros(len(states), dtype=np.int64))
        parts = []
        for start in range(0, len(states) * r, self.batch_size):
            rows = np.arange(start, min(start + self.batch_size, len(states) * r))
            self.latest = masked[rows // r] if r > 1 else masked[start : start + self.batch_size]
            parts.append(self._ask(self.latest, rows % r))
        width = parts[-1].shape[1]
        p = (
            np.concatenate([np.pad(q, ((0, 0), (0, width - q.shape[1]))) for q in parts])
            if len(parts) > 1
            else parts[0]
        )
        return p if r == 1 else p.reshape(len(states), r, width).mean(axis=1)

    def _ask(self, masked: Bools, backgrounds: Ints) -> Floats:
        return self.predictor(self.bound.rows(masked, backgrounds), len(masked))

    def ends(self) -> Floats:
        """Probabilities of the instance and, unless nothing can be masked, of everything masked [1 or 2, K].

        Raises
        ------
        PredictorError
            The model cannot take one of the two; the message says which players' masked values it refuses.
        """
        n = len(self.maskable)
        if n:
            try:
                return self(np.arange(2)[:, None] * np.ones((2, n)) > 0)
            except PredictorError:
                pass  # which of the two it is, and of which players, is found out below
        try:
            first = self(np.zeros((1, n), dtype=bool))
        except PredictorError as error:
            raise PredictorError(f"{error} (on the instance itself, nothing masked)") from error.__cause__
        if n == 0:
            return first
        try:
            last = self(np.ones((1, n), dtype=bool))
        except PredictorError as error:
            refused = [self.bound.names[self.maskable[i]] for i in range(min(n, 256)) if self._refuses(i)]
            blame = (
                f"the baseline of {', '.join(map(repr, refused[:10]))} is unlike what the model was trained on"
                if refused
                else "masked one by one all players are accepted"
            )
            raise PredictorError(
                f"{error} (with every player masked; {blame}). Give another baseline, or background rows",
                masked=tuple(refused) or self.masked_names(),
            ) from error.__cause__
        if last.shape[1] > first.shape[1]:
            first = np.pad(first, ((0, 0), (0, last.shape[1] - first.shape[1])))
        return np.concatenate([first, last])

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
