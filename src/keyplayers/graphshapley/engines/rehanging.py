"""Gains of the target's neighbours, averaged over the edges by which their branches may hang on the target.

A neighbour v matters most where its own edge joins its branch to the target, which is rare. Two redraws that
leave the law of the coalitions alone are averaged over, as far as they hang v on the target by its own edge; where
they do not, the gain as drawn stands for the others.

- Take the target out, and each piece of what remains hangs on it by any of its d edges to it alike.
- Take v's branch off, and it hangs by any of v's n edges to what is left alike.
"""

from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from .chain import Core

# Gains are averaged over ways into the target where the core has so many variables per edge of the target: in
# smaller ones this costs more than it saves (standard error at equal time, balls of Cora and PubMed).
_ROOM_PER_WAY = 11


class Layout(NamedTuple):
    """Scratch: the rows of a coalition, numbered so that a branch is an interval."""

    begins: Ints  # [R]
    ends: Ints  # [R]
    free: Ints  # [R]
    row_of: Ints  # [n] of each variable, where it was seen last
    leads: Bools  # [R] whether a neighbour of the target is at or below the row
    tops: Ints  # [R] the row of the piece's edge to the target
    n_ways: Ints  # [R] of a piece: its edges to the target
    down: Floats  # [R, K] what the rest of the piece tells the row, in logarithms


class Hung(NamedTuple):
    """Contributions that are added to gains: `share` of what a branch changes, hung on the target by a row."""

    n_found: Ints  # [2] contributions, beliefs asked for
    rows: Ints  # [H]
    shares: Floats  # [H]
    branches: Ints  # [H] place of the belief without the branch
    with_prior: Ints  # [H] place of the belief with it
    flattened: Ints  # [H] ... the row's prior uniform
    replaces: Bools  # [H] whether the gain as drawn is dropped


class Ways(NamedTuple):
    """The edges into the target."""

    tables: Ints  # [n] directed table of the edge to the target, -1 where it has none in the core
    neighbours: Ints  # [2E]
    offsets: Ints  # [n+1] slots within the core
    slots: Ints
    layout: Layout
    hung: Hung


def tables_into_target(core: Core, slot_tables: Ints, *, linear: bool) -> Ints | None:
    """[n] directed table from each neighbour within the core to the target, else -1; None where that is dear."""
    own = core.slots[: core.offsets[1]]
    if not linear or len(own) < 2 or len(own) * _ROOM_PER_WAY > len(core.members):
        return None
    tables = np.full(len(core.log_weights), -1)
    tables[core.neighbours[own]] = slot_tables[core.reverse[own]]
    return tables


def make_ways(core: Core, tables: Ints, n_rows: int, n_states: int) -> Ways:
    """The edges into the target, with room for coalitions of so many rows."""
    rows = [np.zeros(n_rows, dtype=np.int64) for _ in range(5)]
    layout = Layout(
        *(rows[0], rows[1], rows[2], np.full(len(tables), -1), np.zeros(n_rows, dtype=bool), rows[3], rows[4]),
        down=np.zeros((n_rows, n_states)),
    )
    m = n_hung(n_rows)
    places = [np.zeros(m, dtype=np.int64) for _ in range(4)]
    hung = Hung(
        *(np.zeros(2, dtype=np.int64), places[0], np.zeros(m), places[1], places[2], places[3]),
        replaces=np.zeros(m, dtype=bool),
    )
    return Ways(tables, core.neighbours, core.offsets, core.slots, layout, hung)


def no_ways(n_states: int) -> Ways:
    """Nothing to be averaged."""
    nothing = np.zeros(0, dtype=np.int64)
    core = Core(nothing, nothing, np.zeros(0), nothing, nothing, nothing, nothing, nothing)
    return make_ways(core, nothing, 0, n_states)


def n_hung(n_rows: int) -> int:
    """Most contributions that so many rows add."""
    return 2 * n_rows
