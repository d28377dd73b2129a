"""A block of drawn coalitions as one run of rows, and the beliefs of the target on them."""

from typing import NamedTuple

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..game.beliefs import Beliefs
from ..game.packing import PackedField
from . import _forest_kernels as kernels

# Rows that a block has room for at least: what its beliefs take stays in the processor's cache.
_ROWS = 2**11


class Forest(NamedTuple):
    """Drawn coalitions: each a run of rows, the target's first, parents before children."""

    starts: Ints  # [D+1] first row of each coalition
    variables: Ints  # [R]
    parents: Ints  # [R] row on which each hangs, -1 for the target's
    tables: Ints  # [R] directed table by which it hangs
    slot_tables: Ints  # [2E] directed table of each slot
    first: Ints  # [n] scratch: first child of each variable
    following: Ints  # [n] scratch: the next child of the same parent

    @classmethod
    def empty(cls, n: int, slot_tables: Ints) -> "Forest":
        """Room for coalitions of a ball with n variables."""
        n_rows = max(n, _ROWS)
        starts = np.zeros(n_rows + 1, dtype=np.int64)
        variables, parents, tables = (np.full(n_rows, -1) for _ in range(3))
        return cls(starts, variables, parents, tables, slot_tables, np.full(n, -1), np.full(n, -1))


class Work(NamedTuple):
    """What the passes leave behind for each row, and scratch."""

    sums: Floats  # [R, K] of the messages received, in logarithms, their finite parts
    zeros: Ints  # [R, K] how many of them were -inf
    messages: Floats  # [R, K] sent
    informative: Bools  # [R] whether what the row sends is no constant
    rests: Floats  # [R, K target, K]
    without: Floats  # [R, K target]
    terms: Floats  # [K]
    product: Floats  # [K]
    weights: Floats  # [K]
    linear: bool  # whether potentials are multiplied as they are

    @classmethod
    def empty(cls, n_rows: int, packed: PackedField, *, linear: bool) -> "Work":
        """Room for so many rows."""
        k, k_target = packed.log_priors.shape[1], int(packed.n_states[0])
        return cls(
            np.zeros((n_rows, k)),
            np.zeros((n_rows, k), dtype=np.int64),
            np.zeros((n_rows, k)),
            np.zeros(n_rows, dtype=bool),
            np.zeros((n_rows, k_target, k)),
            np.zeros((n_rows, k_target)),
            np.zeros(k),
            np.zeros(k),
            np.zeros(k),
            linear,
        )


class AskedRows(NamedTuple):
    """Beliefs to be priced, and for each row where its own stand among them."""

    beliefs: Floats  # [K target, A] logarithms, unnormalised
    without: Ints  # [R] the belief without the row; a target's row: of the coalition itself
    flattened: Ints  # [R] the belief with the row's prior uniform

    @classmethod
    def empty(cls, n_rows: int, n_beliefs: int, n_states: int) -> "AskedRows":
        """Room for so many."""
        return cls(np.zeros((n_states, n_beliefs)), np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64))


def sweep(forest: Forest, n_draws: int, packed: PackedField, work: Work, asked: AskedRows) -> int | None:
    """The beliefs of all coalitions of a forest: how many were asked for; None where one contradicts itself."""
    n_rows = int(forest.starts[n_draws])
    if not kernels.up_pass(n_rows, forest, packed, work):
        return None
    kernels.down_pass(n_rows, forest, packed, work)
    return int(kernels.ask(n_rows, forest, packed, work, asked))


def beliefs_of(asked: AskedRows, n_asked: int) -> Beliefs:
    """The first beliefs that were asked for."""
    return Beliefs.from_logs(asked.beliefs[:, :n_asked].T)
