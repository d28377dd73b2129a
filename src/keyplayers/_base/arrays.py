"""Array aliases, so that signatures say what an array holds, and what NumPy lacks for ragged ones."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.integer]
Bools: TypeAlias = npt.NDArray[np.bool_]
Objects: TypeAlias = npt.NDArray[np.object_]


def spans(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """All numbers of the ranges begin .. end-1, one range after the other, and which range each is from."""
    lengths = np.asarray(ends) - begins
    owner = np.repeat(np.arange(len(lengths)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(len(owner)) - before[owner] + np.asarray(begins)[owner], owner
