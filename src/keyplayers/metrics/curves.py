"""Does a ranking name the evidence that makes a belief? Keep the first ones only, or take them away."""

import warnings
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from .._base.arrays import Floats
from ..errors import ConvergenceWarning, InputError
from ..graphshapley.game.beliefs import LOG_ZERO
from ..mrf.field import MarkovRandomField
from ..mrf.inference.beliefs import BeliefState
from ..mrf.inference.propagation import belief_propagation
from ..mrf.storage import same_field

#: how many of the first players are kept, or taken away
KS = (1, 2, 3, 5, 10)


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """The two curves of one ranking of one target's evidence."""

    ks: tuple[int, ...]
    keep: Floats  # [len(ks)] symmetric KL divergence from the belief, with the first k alone; 1: as with nobody
    delete: Floats  # [len(ks)] share of the log-odds lost without the first k; NaN where evidence moves nothing
    converged: bool  # whether all runs of propagation did

    @property
    def keep_area(self) -> float:
        """Mean over k; lower is better."""
        return float(self.keep.mean())

    @property
    def delete_share(self) -> float:
        """Mean over k; higher is better."""
        return float(self.delete.mean())


def faithfulness(
    mrf: MarkovRandomField,
    target: Hashable,
    ranking: Sequence[Hashable],
    *,
    ks: Sequence[int] = KS,
    beliefs: BeliefState | None = None,
) -> Faithfulness:
    """Two curves of a ranking, by propagation on the whole field.

    Keep: the priors of the target and of the first k stay, every other becomes uniform; the symmetric KL
    divergence of the target's belief from the original one, divided by what it is with no player at all.
    Delete: the priors of the first k become uniform; the share lost of the log-odds above the belief without any
    evidence.

    Parameters
    ----------
    ranking
        Names, most important first, such as the players of an explanation. Players without a prior of their own
        change nothing here: compare rankings of evidence.
    beliefs
        What is believed now; default: propagation.

    Raises
    ------
    UnknownNameError
        The field has no such variable.
    InputError
        A name stands twice, the target is among them, ks are none, or the beliefs are another field's.

    References
    ----------
    "Rigorous Explanation of Inference on Probabilistic Graphical Models", arXiv:2004.10066, section 5 (keep).

    Examples
    --------
    >>> import keyplayers as kp
    >>> mrf = kp.MarkovRandomField.from_edges([("a", "x"), ("b", "x"), ("c", "x")], homophily=0.8)
    >>> mrf = mrf.observe({"a": 1, "b": 1}).observe({"c": [0.4, 0.6]})
    >>> good, bad = (faithfulness(mrf, "x", order, ks=[1, 2]) for order in (["a", "b", "c"], ["c", "b", "a"]))
    >>> good.keep_area < bad.keep_area, good.delete_share > bad.delete_share
    (True, True)
    """
    names = list(ranking)
    if len(set(names)) < len(names) or target in names:
        raise InputError("a ranking names each variable once, and not the target")
    for name in (target, *names):
        mrf.index(name)
    if not ks or min(ks) < 1:
        raise InputError(f"ks must be whole numbers from 1 on, got {list(ks)}")
    state = belief_propagation(mrf) if beliefs is None else beliefs
    if not (state.mrf is mrf or same_field(state.mrf, mrf)):
        raise InputError("beliefs must come from this field with this evidence")
    twins = _Twins(mrf, target, state)
    others = [name for name in mrf.names if name != target]
    whole, empty = state.log_belief(target), twins.log_belief(others)
    best = int(whole.argmax())
    scale, gap = _divergence(whole, empty), _log_odds(whole, best) - _log_odds(empty, best)
    keep, delete = [], []
    for k in ks:
        first = set(names[:k])
        kept = twins.log_belief([name for name in others if name not in first])
        keep.append(_divergence(whole, kept) / scale if scale > 0 else 0.0)
        left = _log_odds(twins.log_belief(names[:k]), best) - _log_odds(empty, best)
        delete.append(1.0 - left / gap if gap else np.nan)
    return Faithfulness(tuple(ks), np.array(keep), np.array(delete), twins.converged)


class _Twins:
    """The field with some priors made uniform."""

    def __init__(self, mrf: MarkovRandomField, target: Hashable, state: BeliefState) -> None:
        self.mrf, self.target, self.converged = mrf, target, state.converged

    def log_belief(self, uniform: Collection[Hashable]) -> Floats:
        """[K] of the target, nats."""
        log_priors = self.mrf.log_priors.copy()
        for name in uniform:
            v = self.mrf.index(name)
            log_priors[self.mrf.offsets[v] : self.mrf.offsets[v + 1]] = 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # told in the result
            state = belief_propagation(self.mrf.with_log_priors(log_priors))
        self.converged &= state.converged
        return state.log_belief(self.target)


def _divergence(log_p: Floats, log_q: Floats) -> float:
    """KL(p ‖ q) + KL(q ‖ p), nats."""
    p, q = np.exp(log_p), np.exp(log_q)
    apart = np.maximum(log_p, LOG_ZERO) - np.maximum(log_q, LOG_ZERO)
    return float(((p - q) * apart).sum())


def _log_odds(log_belief: Floats, state: int) -> float:
    others = np.delete(np.maximum(log_belief, LOG_ZERO), state)
    return float(max(log_belief[state], LOG_ZERO) - np.logaddexp.reduce(others)) if len(others) else 0.0
