"""Rows of the background as what masking puts in: the nearest that a model decides otherwise."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._base.arrays import Floats, Ints
from .instance import TabularInstance
from .reading import Row


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The background rows as seen from one instance; see `spaces.protocol.Neighbours`."""

    row: Row
    fixed: frozenset[int]  # places of columns that stay as they are
    bound: Callable[[Row, list[list[Any]]], TabularInstance]  # the instance with these baseline rows

    @cached_property
    def distances(self) -> Floats:
        """Of each background row [N]: the mean over the columns that are not fixed, between 0 and 1."""
        assert self.row.table is not None
        free = [place for place in range(len(self.row.names)) if place not in self.fixed]
        total = np.zeros(self.row.table.n_rows)
        for place in free:
            column, entries = self.row.layout.columns[place], self.row.table.columns[place]
            total += column.distances(entries, self.row.values[place])
        return total / max(1, len(free))

    @cached_property
    def order(self) -> Ints:
        """Background rows [N], the nearest first; of equally near ones the earlier."""
        return np.argsort(self.distances, kind="stable")

    def rows(self, picks: Ints) -> Any:
        """What the model is given with everything masked towards each of these rows [B]."""
        bound = self._towards(picks)
        return bound.rows(np.ones((len(picks), len(bound.names)), dtype=bool), np.arange(len(picks)))

    def towards(self, pick: int) -> TabularInstance:
        """The instance, masked with the values of one background row."""
        return self._towards(np.array([pick]))

    def _towards(self, picks: Ints) -> TabularInstance:
        assert self.row.table is not None
        taus = self.row.table.picked(picks)
        for row in taus:
            for place in self.fixed:
                row[place] = self.row.values[place]
        return self.bound(self.row, taus)
