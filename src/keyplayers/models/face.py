"""What of a model is called, what it gives, and how it decides."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from .decisions import LARGEST, Rule
from .outputs import Output


@dataclass(frozen=True)
class Face:
    """How a model is asked."""

    scores: Callable[[Any], Any]  # rows -> what `output` says
    output: Output
    classes: tuple[Hashable, ...] = ()  # none: not known before the first call
    rule: Rule | None = LARGEST  # None: `labels` is asked
    labels: Callable[[Any], Any] | None = None  # rows -> the model's own decisions
