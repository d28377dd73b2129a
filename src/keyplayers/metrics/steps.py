"""Number of steps (NoS): how many players have to be masked, in an explainer's order, until the class changes."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..spaces.protocol import FeatureSpace


def steps_until_flip(
    predict: Callable[[Any], Any], space: FeatureSpace, instance: Any, order: Sequence[Hashable]
) -> int | None:
    """How many players of `order` are masked, one after the other, until the predicted class changes.

    Players that masking would not change are passed over and not counted. None where the class does not change.
    With several background rows the probabilities are their mean.

    Parameters
    ----------
    predict
        Gives class probabilities [B, K] of a batch.
    order
        Names of players, most important first.

    Raises
    ------
    InputError
        The instance has no such player, or one stands twice.

    References
    ----------
    "Local model-agnostic explanation as two games", arXiv:2201.01044, section 4.

    Examples
    --------
    >>> import keyplayers as kp
    >>> def predict(rows):
    ...     p = (rows[:, 0] + rows[:, 2] >= 1).astype(float)
    ...     return np.stack([1 - p, p], axis=1)
    >>> steps_until_flip(predict, kp.Tabular(baseline=0), np.array([1.0, 1.0, 1.0]), [1, 0, 2])
    3
    """
    bound = space.bind(instance)
    places = {name: i for i, name in enumerate(bound.names)}
    unknown = next((name for name in order if name not in places), None)
    if unknown is not None or len(set(order)) < len(order):
        what = "one of them stands twice" if unknown is None else f"there is no player {unknown!r}"
        raise InputError(f"an order names players of the instance, each once: {what}")
    steps = [places[name] for name in order if bound.maskable[places[name]]]
    masked = np.zeros((len(steps) + 1, len(bound.names)), dtype=bool)
    for k, player in enumerate(steps, start=1):
        masked[k:, player] = True
    r = bound.n_backgrounds
    rows = bound.rows(np.repeat(masked, r, axis=0), np.tile(np.arange(r), len(masked)))
    found = np.asarray(predict(rows), dtype=np.float64)
    classes = found.reshape(len(masked), r, -1).mean(axis=1).argmax(axis=1)
    changed = np.flatnonzero(classes != classes[0])
    return int(changed[0]) if len(changed) else None
