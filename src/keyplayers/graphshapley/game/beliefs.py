"""The target's belief on each of many coalitions, in the forms that worths read."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..._base.arrays import Bools, Floats

# Stands for the logarithm of an exact zero, and of nothing else; below the logarithm of the smallest double (-745)
# nothing would be left to tell apart.
LOG_ZERO = -700.0
# Beliefs that are priced at a time: columns of them stay in the processor's cache, and below the size (128 KiB)
# from which memory is asked of the system anew for every array, which would treble the time.
PRICED_AT_ONCE = 2**13


class Beliefs:
    """B beliefs over K states; each form is computed when a worth asks for it, and once.

    They are made of weights or of logarithms, normalised or not. A belief that excludes all states has zero (NaN)
    weights, or logarithms of -inf throughout; its worth is NaN.
    """

    def __init__(
        self, numbers: Floats, *, in_logs: bool, normalised: bool = False, has_zeros: bool | None = None
    ) -> None:
        self._numbers = numbers
        self._in_logs = in_logs
        self._normalised = normalised
        self._has_zeros = has_zeros
        self._found: dict[tuple[str, int, int], Floats] = {}

    @classmethod
    def from_weights(
        cls, weights: Floats, *, normalised: bool = False, has_zeros: bool | None = None
    ) -> "Beliefs":
        """Of numbers [B, K] in proportion to the probabilities, or of these."""
        return cls(weights, in_logs=False, normalised=normalised, has_zeros=has_zeros)

    @classmethod
    def from_logs(cls, logs: Floats, *, has_zeros: bool | None = None) -> "Beliefs":
        """Of logarithms [B, K] in nats, normalised or not."""
        return cls(logs, in_logs=True, has_zeros=has_zeros)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def n_states(self) -> int:
        """Number of states K."""
        return int(self._numbers.shape[1])

    @cached_property
    def is_zero(self) -> Bools:
        """[B, K] whether a probability is exactly 0."""
        return np.asarray(self._numbers == (-np.inf if self._in_logs else 0.0))

    @cached_property
    def has_zeros(self) -> bool:
        """Whether any probability is exactly 0."""
        return bool(self.is_zero.any()) if self._has_zeros is None else self._has_zeros

    @property
    def probabilities(self) -> Floats:
        """[B, K] normalised."""
        return np.stack([self.probability(state) for state in range(self.n_states)], axis=1)

    @property
    def logs(self) -> Floats:
        """[B, K] normalised log-probabilities in nats; `LOG_ZERO` for an exact zero."""
        return np.stack([self.log(state) for state in range(self.n_states)], axis=1)

    def probability(self, state: int) -> Floats:
        """[B] q(state)."""
        if self._normalised:
            return self._numbers[:, state]
        return self._once("probability", state, -1, lambda: self._weights[:, state] / self._total)

    def log(self, state: int) -> Floats:
        """[B] log q(state), `LOG_ZERO` for an exact zero."""
        return self._once("log", state, -1, lambda: self._floored(self._log(state), state))

    def log_ratio(self, state: int, rival: int) -> Floats:
        """[B] log q(state) − log q(rival), `LOG_ZERO` standing for the logarithm of an exact zero."""
        if state < rival:  # differences of two states' logarithms are then the same to the last bit
            return -self.log_ratio(rival, state)
        return self._once("log_ratio", state, rival, lambda: self._log_ratio(state, rival))

    def log_odds(self, state: int) -> Floats:
        """[B] log q(state) − log Σ_{x≠state} q(x), within ±`LOG_ZERO` where one of them is 0."""
        if self.n_states == 2:
            return self.log_ratio(state, 1 - state)
        return self._once("log_odds", state, -1, lambda: self._log_odds(state))

    @cached_property
    def impossible(self) -> Bools:
        """[B] whether all states are excluded."""
        if not self._in_logs:
            return np.asarray(np.isnan(self._total) | (self._total == 0.0))
        return np.asarray(self.is_zero.all(axis=1))

    def _log(self, state: int) -> Floats:
        numbers = self._numbers
        if self._in_logs:
            logs: Floats = numbers[:, state] - (self._top + np.log(self._total))
        elif self.n_states == 2:  # near certainty the other state's probability has the digits
            logs = -np.log1p(numbers[:, 1 - state] / numbers[:, state])
        else:
            logs = np.log(self.probability(state))
        return logs

    def _log_ratio(self, state: int, rival: int) -> Floats:
        own, other = self._numbers[:, state], self._numbers[:, rival]
        ratios: Floats = own - other if self._in_logs else np.log(own / other)
        if not self.has_zeros:
            return ratios
        return np.where(np.isfinite(ratios), ratios, self.log(state) - self.log(rival))

    def _log_odds(self, state: int) -> Floats:
        if self.n_states == 1:
            return np.zeros(len(self))  # what is certain anyway has no odds
        others = [self._numbers[:, x] for x in range(self.n_states) if x != state]
        own = self._numbers[:, state]
        odds: Floats = own - _log_sum(others) if self._in_logs else np.log(own / _sum(others))
        return np.where(np.isinf(odds), np.sign(odds) * -LOG_ZERO, odds) if self.has_zeros else odds

    def _floored(self, logs: Floats, state: int) -> Floats:
        return np.where(self.is_zero[:, state], LOG_ZERO, logs) if self.has_zeros else logs

    @cached_property
    def _top(self) -> Floats:
        top: Floats = self._numbers.max(axis=1)
        return np.where(np.isneginf(top), 0.0, top)

    @cached_property
    def _weights(self) -> Floats:
        """[B, K] in proportion to the probabilities."""
        return np.exp(self._numbers - self._top[:, None]) if self._in_logs else self._numbers

    @cached_property
    def _total(self) -> Floats:
        return _sum([self._weights[:, x] for x in range(self.n_states)])

    def _once(self, form: str, state: int, rival: int, make: Callable[[], Floats]) -> Floats:
        key = (form, state, rival)
        if key not in self._found:
            self._found[key] = make()
        return self._found[key]


def _sum(columns: list[Floats]) -> Floats:
    """Added up one after the other, as a loop would: the same number for any B."""
    if len(columns) == 1:
        return columns[0].copy()
    total: Floats = columns[0] + columns[1]
    for column in columns[2:]:
        total += column
    return total


def _log_sum(columns: list[Floats]) -> Floats:
    top = np.maximum.reduce(columns)
    shift = np.where(np.isneginf(top), 0.0, top)
    logs: Floats = shift + np.log(_sum([np.exp(column - shift) for column in columns]))
    return logs
