"""Algorithms of inference by name: those of the package, and those that others register."""

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

from ...errors import InputError
from ..field import MarkovRandomField
from .beliefs import BeliefState

Inference: TypeAlias = Callable[..., BeliefState]  # (mrf, **options of its own)

# name -> the function, or "module:function" that is imported at first use
_ALGORITHMS: dict[str, Inference | str] = {
    "bp": "keyplayers.mrf.inference.propagation:belief_propagation",
    "trw": "keyplayers.mrf.inference.trw:tree_reweighted",
    "mean_field": "keyplayers.mrf.inference.mean_field:mean_field",
    "gibbs": "keyplayers.mrf.inference.gibbs:gibbs",
    "linbp": "keyplayers.mrf.inference.linbp:linearised_propagation",
    "exact": "keyplayers.mrf.inference.exact:exact_marginals",
}


def register_inference(name: str, function: Inference | str) -> None:
    """Make an algorithm known under a name, for `infer` and wherever an algorithm is chosen by name.

    Parameters
    ----------
    name
        What it is called; a name that is taken is given to the new one.
    function
        Takes a field and keywords of its own and returns a `BeliefState`
        (`BeliefState.from_marginals` makes one of probabilities); or ``"module:function"``, imported at first use.

    Examples
    --------
    >>> import keyplayers as kp
    >>> def priors_only(mrf):
    ...     return kp.BeliefState.from_marginals(mrf, mrf.priors, schedule="priors")
    >>> kp.register_inference("priors", priors_only)
    >>> field = kp.MarkovRandomField.from_edges([("a", "b")], {"a": [1, 3]}, homophily=0.9)
    >>> kp.infer(field, "priors").belief("a").tolist()
    [0.25, 0.75]
    """
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of an algorithm must be a text, got {name!r}")
    if not callable(function) and not (isinstance(function, str) and ":" in function):
        raise InputError(f"inference must be a function or 'module:function', got {function!r}")
    _ALGORITHMS[name] = function


def inference_algorithms() -> list[str]:
    """The names that `infer` knows, those of the package first."""
    return list(_ALGORITHMS)


def infer(mrf: MarkovRandomField, algorithm: str = "bp", **options: Any) -> BeliefState:
    """Beliefs by the algorithm of that name, which gets the options.

    Parameters
    ----------
    algorithm
        "bp" (`belief_propagation`), "trw" (`tree_reweighted`), "mean_field" (`mean_field`), "gibbs" (`gibbs`),
        "linbp" (`linearised_propagation`), "exact" (`exact_marginals`), or what `register_inference` made known.

    Raises
    ------
    InputError
        No algorithm is called so.
    """
    found = _ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else None
    if found is None:
        raise InputError(f"algorithm must be one of {', '.join(_ALGORITHMS)}, got {algorithm!r}")
    if isinstance(found, str):
        module, _, function = found.partition(":")
        found = _ALGORITHMS[algorithm] = getattr(importlib.import_module(module), function)
    return found(mrf, **options)
