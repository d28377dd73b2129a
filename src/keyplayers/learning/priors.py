"""`learn_priors`: priors from any classifier's probabilities, calibrated on labels."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Floats, Ints
from .._base.names import Names
from ..errors import InputError
from ..mrf.build.priors import read_priors
from .labels import label_codes, read_labels, states_of

# A probability of 0 or 1 says less than that: a classifier has seen no more examples than about the inverse.
_LEAST = 1e-6
# So many labels' worth of trust in the probabilities as they are.
_PENALTY = 1.0
# L-BFGS: convex, with a handful of unknowns.
_MAX_ITERATIONS = 200


@dataclass(frozen=True, eq=False, repr=False)
class LearnedPriors(Mapping[Hashable, list[float]]):
    """Calibrated priors by name, as `MarkovRandomField.from_edges` takes them."""

    names: Names  # [N]
    probabilities: Floats  # [N, K]
    states: tuple[Hashable, ...]
    slope: float  # power to which probabilities were taken: below 1 they were too sure
    offsets: Floats  # [K] nats added to the log-probabilities
    n_labels: int
    loss_before: float  # mean -log probability of the labels as given, nats
    loss_after: float

    def __getitem__(self, name: Hashable) -> list[float]:
        if name not in self.names:
            raise KeyError(name)
        return list(map(float, self.probabilities[self.names.find(name)]))

    def __iter__(self) -> Any:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return (
            f"<LearnedPriors of {len(self):,} variables: slope {self.slope:.3g}, "
            f"log loss {self.loss_before:.3g} -> {self.loss_after:.3g} nats on {self.n_labels:,} labels>"
        )


def learn_priors(scores: Any, labels: Any, *, states: Sequence[Hashable] | None = None) -> LearnedPriors:
    """Priors from a classifier's probabilities, calibrated on the labels that are known.

    log prior = slope · log probability + offset of the state, by maximum likelihood with a mild pull towards slope
    1 and offset 0 (Platt's scaling, in its form for several states). Give probabilities that the classifier did
    not learn from these very labels, such as those of cross-validation: else they look better than they are.

    Parameters
    ----------
    scores
        Probabilities: ``{name: row}``, [N, K], or a frame of names and one column per state; or one number per
        variable, the probability of the last of two states.
    labels
        As of `learn_potential`.
    states
        All states, in the order of the columns; default: the labels, or the names of a frame's columns.

    Raises
    ------
    InputError
        Scores are no probabilities, or do not fit the states.

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines", 1999; Guo, Pleiss, Sun and Weinberger, ICML 2017,
    arXiv:1706.04599 (several states).

    Examples
    --------
    >>> import keyplayers as kp
    >>> scores = {name: p for name, p in zip("abcdefgh", [0.9, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1])}
    >>> labels = dict(a=1, b=1, c=1, d=0, e=0, f=0, g=0, h=1)
    >>> priors = kp.learn_priors(scores, labels)
    >>> priors.slope < 1, round(priors["a"][1], 1)
    (True, 0.8)
    """
    known = read_labels(labels)
    table = read_priors(_as_rows(scores), log_domain=False)
    if table is None:
        raise InputError("scores must be probabilities by name or per variable, got None")
    own = states_of(known, states if states is not None else table.state_names)
    if (table.n_states != len(own)).any():
        raise InputError(f"scores have {int(table.n_states[0])} columns, but there are {len(own)} states: {own}")
    names = Names(range(len(table))) if table.names is None else table.names
    logs = np.log(np.maximum(_probabilities(table.log_rows.reshape(len(names), -1)), _LEAST))
    codes = label_codes(known, names, own)
    seen = codes >= 0
    slope, offsets = _fit(logs[seen], codes[seen])
    calibrated = _probabilities(slope * logs + offsets)
    return LearnedPriors(
        names,
        calibrated,
        own,
        slope,
        offsets,
        int(seen.sum()),
        _loss(_probabilities(logs)[seen], codes[seen]),
        _loss(calibrated[seen], codes[seen]),
    )


def _fit(logs: Floats, codes: Ints) -> tuple[float, Floats]:
    """Slope and offsets [K] that make the labels likely."""
    from scipy.optimize import minimize

    n, k = logs.shape
    ones = np.arange(n), codes

    def loss(point: Floats) -> tuple[float, Floats]:
        logits = point[0] * logs + point[1:]
        logits = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        off = point - np.eye(1, k + 1)[0]
        slopes = np.exp(logits)
        slopes[ones] -= 1
        gradient = np.concatenate([[(slopes * logs).sum()], slopes.sum(axis=0)]) + _PENALTY * off
        return float(-logits[ones].sum() + _PENALTY * (off**2).sum() / 2), gradient

    bounds = [(0.0, None)] + [(None, None)] * k  # a classifier is not turned around
    start = np.eye(1, k + 1)[0]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _MAX_ITERATIONS})
    return float(found.x[0]), found.x[1:]


def _as_rows(scores: Any) -> Any:
    """Numbers by themselves as rows of two probabilities."""
    if isinstance(scores, Mapping) and all(np.ndim(score) == 0 for score in scores.values()):
        return {name: [score] for name, score in scores.items()}
    if not isinstance(scores, Mapping) and (hasattr(scores, "__array__") or isinstance(scores, list)):
        array = np.asarray(scores)
        if array.ndim == 1 and array.dtype.kind in "fiu":
            if not ((array >= 0) & (array <= 1)).all():
                raise InputError("scores of one number per variable must be probabilities from 0 to 1")
            return np.column_stack([1 - array, array])
    return scores


def _probabilities(logits: Floats) -> Floats:
    probabilities: Floats = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    return probabilities


def _loss(probabilities: Floats, codes: Ints) -> float:
    if not len(codes):
        return float("nan")
    return float(-np.log(probabilities[np.arange(len(codes)), codes]).mean())
