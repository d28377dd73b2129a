"""One row of a table, bound: a palette of the instance and its baseline rows, of which batches are cut."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._base.arrays import Bools, Ints
from .layouts import library_of


@dataclass(frozen=True, eq=False)
class TabularInstance:
    """One row of a table and what masking its players gives; see `MaskedInstance`."""

    names: tuple[Hashable, ...]
    maskable: Bools
    n_backgrounds: int
    display_values: tuple[str, ...]
    display_masked: tuple[str, ...]
    owner: Ints  # [D] player of each column
    palette: Any  # instance on top of the baseline rows: array [1 + R, D] or a native frame

    @cached_property
    def _in_order(self) -> bool:
        return bool(np.array_equal(self.owner, np.arange(len(self.names))))

    def rows(self, masked: Bools, backgrounds: Ints) -> Any:
        """What the model is given; see `MaskedInstance.rows`."""
        if not isinstance(self.palette, np.ndarray):
            return self._frame(masked[:, self.owner].T, backgrounds)
        tau = self.palette[1] if self.n_backgrounds == 1 else self.palette[1 + backgrounds]
        # where players are the columns in their order, no copy of the mask is needed
        wide = masked if self._in_order else masked[:, self.owner]
        return np.where(wide, tau, self.palette[0])

    def _frame(self, wide: Bools, backgrounds: Ints) -> Any:
        """The batch as a frame; `wide` [D, B] says which cells are masked."""
        library = library_of(self.palette)
        columns: list[Any] = [None] * len(wide)
        blocks, others = self._parts
        for places, values in blocks:
            tau = values[:, 1:2] if self.n_backgrounds == 1 else values[:, 1 + backgrounds]
            filled = np.where(wide[places], tau, values[:, :1])
            if len(places) == len(columns):
                return library.block(library.names(self.palette), filled)
            for place, column in zip(places, filled, strict=True):
                columns[place] = column
        for place, take in others:
            columns[place] = take(np.where(wide[place], 1 + backgrounds, 0))
        return library.frame(library.names(self.palette), columns)

    @cached_property
    def _parts(self) -> tuple[list[tuple[list[int], Any]], list[tuple[int, Callable[[Ints], Any]]]]:
        """The palette's columns: those of a NumPy dtype as one array [C, 1 + R] for each dtype, and the others."""
        by_dtype: dict[Any, list[int]] = {}
        arrays: list[Any] = []
        others: list[tuple[int, Callable[[Ints], Any]]] = []
        for place, (array, take) in enumerate(library_of(self.palette).columns(self.palette)):
            arrays.append(array)
            if array is None:
                others.append((place, take))
            else:
                by_dtype.setdefault(array.dtype, []).append(place)
        return [(places, np.stack([arrays[c] for c in places])) for places in by_dtype.values()], others
