"""What a model returns, read as class probabilities [B, K]."""

from typing import Any, Literal

import numpy as np

from .._base.arrays import Floats
from ..errors import PredictionError
from . import _output_kernels as kernels

Output = Literal["proba", "log_proba", "logits", "label"]
OUTPUTS = ("proba", "log_proba", "logits", "label")

# how far a row of probabilities may be from 1; float16 and rounded outputs stay within it
SUM_TOLERANCE = 1e-2
# how far rounding may carry a probability beyond 0 or 1, and a log-probability above 0
ROUNDING = 1e-6


def as_array(raw: Any, n_rows: int, *, several: bool = False) -> Any:
    """What the model returned, as an array with one entry per row; sparse ones and tensors become dense arrays.

    Parameters
    ----------
    several
        A list of [B, 2] is one label's probabilities to be off and on, for each of several outputs.

    Raises
    ------
    PredictionError
        It is no array, or has another length.
    """
    if isinstance(raw, list) and raw and all(getattr(part, "ndim", 0) == 2 for part in raw):
        raw = _of_several(raw, several)
    try:
        given = np.asarray(_dense(raw))
    except Exception as error:
        raise PredictionError(f"what the model returned, {type(raw).__name__}, is no array: {error}") from error
    if given.ndim == 0 or len(given) != n_rows:
        raise PredictionError(
            f"the model was given {n_rows} rows and returned shape {given.shape}; wanted is ({n_rows}, K), "
            f"({n_rows},) or ({n_rows}, 1)"
        )
    return given


def _dense(raw: Any) -> Any:
    """A sparse matrix or a tensor as NumPy takes it."""
    if hasattr(raw, "toarray"):
        return raw.toarray()
    if hasattr(raw, "detach"):  # a tensor may be on another device, and remember how it came about
        raw = raw.detach().cpu()
    return raw.numpy() if hasattr(raw, "numpy") and not isinstance(raw, np.generic) else raw


def _of_several(parts: list[Any], several: bool) -> Any:
    """Probabilities [B, L] of L labels from those of each to be off and on."""
    shapes = ", ".join(str(part.shape) for part in parts[:5])
    if not several:
        raise PredictionError(
            f"the model has {len(parts)} outputs ({shapes}): say multilabel=True if each is a label that is on or "
            "off, or give a function that returns one of them"
        )
    if any(part.shape[1] != 2 for part in parts):
        raise PredictionError(f"labels that are on or off have two probabilities each, got shapes {shapes}")
    return np.column_stack([_dense(part)[:, 1] for part in parts])


def looks_like_labels(given: Any) -> bool:
    """Whether one entry per row [B] or [B, 1] is no float: the name of a class and no probability."""
    return given.dtype.kind not in "fc" and (given.ndim == 1 or given.shape[1] == 1)


def read_probabilities(given: Any, output: Output, multilabel: bool) -> Floats:
    """Probabilities [B, K] from "proba", "log_proba" or "logits" [B, K], [B] or [B, 1].

    Raises
    ------
    PredictionError
        It is not what `output` says; the message says what it looks like instead.
    """
    if given.ndim > 2 or given.size == 0 or given.dtype.kind not in "fiub":
        raise PredictionError(
            f"the model returned shape {given.shape} of {given.dtype}; wanted are numbers of shape "
            f"{_wanted(given)}"
        )
    p: Floats = np.array(given, dtype=np.float64, order="C")
    single = p.ndim == 1 or p.shape[1] == 1
    p = p.reshape(len(p), -1)
    if output == "log_proba":
        _check_logarithms(p, given)
    if output != "proba":
        with np.errstate(invalid="ignore"):
            p = _from_scores(p, output, independent=single or multilabel)
    farthest = _check_range(p, given, output)
    if multilabel:
        return p
    if single:
        return np.column_stack([1 - p[:, 0], p[:, 0]])
    _check_sum(p[farthest].sum(), given)
    return p


def _from_scores(scores: Floats, output: Output, independent: bool) -> Floats:
    """What log-probabilities or logits [B, K] stand for; independent columns are each on or off."""
    p: Floats
    if output == "log_proba":
        p = np.exp(scores)
    elif independent:
        p = np.exp(-np.logaddexp(0, -scores))
    else:
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
    return p


def _check_logarithms(p: Floats, given: Any) -> None:
    if p.max() > ROUNDING:
        raise PredictionError(
            f"the model returned values from {p.min():.4g} to {p.max():.4g} in shape {given.shape}; "
            "log-probabilities are at most 0. For scores say output='logits'"
        )


def _check_range(p: Floats, given: Any, output: Output) -> int:
    """Refuse NaN and what is not between 0 and 1; the row whose sum is farthest from 1."""
    low, high, farthest = kernels.value_range(p)
    if np.isnan(low):
        missing = int(np.isnan(p).any(axis=1).sum())
        infinite = "" if output == "proba" else " or infinite scores"
        raise PredictionError(f"the model returned NaN{infinite} in {missing} of {len(p)} rows")
    if low < -ROUNDING or high > 1 + ROUNDING:
        raise PredictionError(
            f"the model returned values from {low:.4g} to {high:.4g} in shape {given.shape}; "
            f"probabilities of shape {_wanted(given)} are wanted. For scores say "
            "output='logits', for log-probabilities output='log_proba', for labels output='label'"
        )
    return int(farthest)


def _check_sum(total: float, given: Any) -> None:
    if abs(total - 1) > SUM_TOLERANCE:
        raise PredictionError(
            f"rows of the model's output (shape {given.shape}) add up to {total:.4g}, not 1. If its "
            "columns are labels that are on or off independently say multilabel=True, if they are scores "
            "output='logits'"
        )


def _wanted(given: Any) -> str:
    n_rows = len(given)
    return f"({n_rows}, K), ({n_rows},) or ({n_rows}, 1)"
