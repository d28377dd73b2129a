"""How much a page holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from .._base.arrays import Floats
from .._base.printable import shortened


@dataclass(frozen=True)
class Limits:
    """How much one page may hold."""

    nodes: int  # groups of equal players, besides those on their paths
    letters: int  # of a name
    sentence: int  # letters of the sentence
    seconds: float  # for what-ifs; 0: none
    text: int  # letters of a text that is explained
    pixels: int  # on the longer side of an image

    def name(self, name: Any) -> str:
        """A name as it is shown."""
        return shortened(str(name), self.letters)

    def settings(self, settings: Mapping[str, Any]) -> list[list[str]]:
        """Settings in words; those that were not given are left out."""
        return [[key, self.name(value)] for key, value in settings.items() if value is not None]


#: a page of its own
ONE_PAGE = Limits(nodes=100, letters=300, sentence=3_000, seconds=4.0, text=50_000, pixels=128)
#: one page of thousands
ONE_OF_MANY = Limits(nodes=30, letters=80, sentence=700, seconds=0.0, text=1_500, pixels=40)


@overload
def significant(values: float, digits: int = 4) -> float | None: ...
@overload
def significant(values: Floats, digits: int = 4) -> list[float | None]: ...
def significant(values: float | Floats, digits: int = 4) -> float | list[float | None] | None:
    """Numbers with so many significant digits; None where there is none."""
    if isinstance(values, np.ndarray):
        return [significant(float(value), digits) for value in values]
    return float(f"{values:.{digits - 1}e}") if np.isfinite(values) else None


def probabilities(values: Floats) -> list[float | None]:
    """Probabilities short enough for a page, with the digits that tell them from 0 and from 1."""
    return [_probability(float(value)) for value in values]


def _probability(p: float) -> float | None:
    if not np.isfinite(p):
        return None
    if p <= 0.5:
        return significant(p)
    return round(p, int(min(15, 3 + np.ceil(-np.log10(max(1 - p, 1e-15))))))
