"""Priors from arrays, mappings and data frames."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.frames import column_labels, is_frame, read_frame
from ..._base.names import Names
from ...errors import InputError
from .columns import find_name_column


@dataclass(frozen=True)
class PriorTable:
    """Log-priors of the variables that have one."""

    names: Names | None  # [n] None: the rows belong to variables 0 .. n-1
    n_states: Ints  # [n]
    log_rows: Floats  # [sum of n_states] nats, row after row
    state_names: tuple[Hashable, ...] | None  # the columns of a data frame
    notes: tuple[str, ...] = ()  # what was taken by guess

    def __len__(self) -> int:
        return len(self.n_states)


def read_priors(priors: Any, *, log_domain: bool) -> PriorTable | None:
    """The table of priors, checked; None where none were given.

    Raises
    ------
    InputError
        Naming the variable whose prior is negative, NaN, infinite or all zero.
    """
    if priors is None or isinstance(priors, PriorTable):
        return priors
    state_names = None
    names: Names | None
    rows: Any
    if isinstance(priors, Mapping):
        names, rows = Names(priors), list(priors.values())
    elif is_frame(priors):
        frame = read_frame(priors)
        name_column = find_name_column(frame.columns)
        columns = [column for column in frame.columns if column != name_column]
        if not columns:
            raise InputError("a frame of priors needs a name column and one column per state")
        labels = dict(zip(frame.columns, column_labels(priors), strict=True))
        names, state_names = Names(frame[name_column].to_list()), tuple(labels[column] for column in columns)
        try:
            rows = np.column_stack([frame[column].to_numpy().astype(np.float64) for column in columns])
        except (TypeError, ValueError) as error:
            raise InputError(f"a column of the priors is not numeric: {error}") from None
    else:
        names, rows = None, priors
    return prior_table(names, rows, state_names, log_domain=log_domain)


def prior_table(
    names: Names | None, rows: Any, state_names: tuple[Hashable, ...] | None, *, log_domain: bool
) -> PriorTable:
    """A checked table from rows of weights, or of their logarithms."""

    def whose(i: int) -> str:
        return f"the prior of variable {(i if names is None else names[i])!r}"

    as_array = _regular(rows)
    if as_array is not None and as_array.shape[1] == 1 and names is not None and not log_domain:
        return _from_scores(names, as_array[:, 0], state_names)
    if as_array is not None:
        log_rows = log_weights(as_array, whose, log_domain=log_domain)
        n, k = as_array.shape
        return PriorTable(names, np.full(n, k, dtype=np.int32), log_rows.ravel(), state_names)
    checked = [log_weights(row, whose(i), log_domain=log_domain) for i, row in enumerate(rows)]
    counts = np.array([len(row) for row in checked], dtype=np.int32)
    return PriorTable(names, counts, np.concatenate(checked) if checked else np.zeros(0), state_names)


def _from_scores(names: Names, scores: Floats, columns: tuple[Hashable, ...] | None) -> PriorTable:
    """One number per variable: the probability of the last of two states."""
    what = "one number per name" if columns is None else f"the column {str(columns[0])!r}"
    outside = ~((scores >= 0) & (scores <= 1))
    if outside.any():
        i = int(outside.argmax())
        raise InputError(
            f"the prior of variable {names[i]!r} is a single number, {scores[i]:g}: {what} is read as the "
            "probability of the last of two states, from 0 to 1; else give a number per state"
        )
    log_rows = log_weights(np.column_stack([1 - scores, scores]), lambda i: f"the prior of variable {names[i]!r}")
    note = f"{what} of the priors is taken as the probability of the last of two states"
    return PriorTable(names, np.full(len(names), 2, dtype=np.int32), log_rows.ravel(), None, (note,))


def in_state_order(table: PriorTable, states: Any) -> PriorTable:
    """The table with its columns in the order of `states`, where they are called so.

    Raises
    ------
    InputError
        Only some of the columns are called like states, so that nobody knows what the others mean.
    """
    if table.state_names is None or isinstance(states, str):
        return table
    columns = [str(column) for column in table.state_names]
    for given in states.values() if isinstance(states, Mapping) else (states,):
        wanted = [str(state) for state in given]
        if columns == wanted or not set(columns) & set(wanted):
            continue
        if isinstance(states, Mapping) or sorted(columns) != sorted(wanted):
            raise InputError(
                f"the columns of the priors are {', '.join(columns)}, but the states {', '.join(wanted)}"
            )
        order = [columns.index(state) for state in wanted]
        rows = table.log_rows.reshape(-1, len(columns))[:, order]
        return replace(table, log_rows=rows.ravel(), state_names=tuple(given))
    return table


def log_weights(weights: Any, whose: str | Callable[[int], str], *, log_domain: bool = False) -> Floats:
    """Logarithms of weights that need not be normalised, in nats.

    Parameters
    ----------
    weights
        [K] or [n, K], not negative, or any logarithms below infinity if `log_domain`.
    whose
        What the weights are, for the message; with [n, K] a function of the row.

    Raises
    ------
    InputError
        A weight is NaN, negative or infinite, or a row is all zero.
    """
    try:
        array = real_numbers(weights)
    except (TypeError, ValueError):
        raise InputError(f"{_row(whose, 0)} must be numbers, got {weights!r}") from None
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise InputError(f"{_row(whose, 0)} must be one number per state, got shape {array.shape}")
    bad = np.isnan(array) | (array == np.inf)
    if not log_domain:
        bad |= array < 0
    zero = -np.inf if log_domain else 0.0
    empty = (array == zero).all(axis=-1)
    if bad.any() or empty.any():
        wrong = np.atleast_1d(bad.any(axis=-1) | empty)
        i = int(wrong.argmax())
        row = np.atleast_2d(array)[i]
        if np.atleast_2d(bad)[i].any():
            allowed = "logarithms below infinity" if log_domain else "finite numbers ≥ 0"
            raise InputError(f"{_row(whose, i)} must be {allowed}, got {row.tolist()}")
        raise InputError(f"{_row(whose, i)} excludes every state: {row.tolist()}; one must be possible")
    if log_domain:
        return array.copy()
    with np.errstate(divide="ignore"):
        return np.log(array)


def real_numbers(given: Any) -> Floats:
    """An array of doubles; what is complex or no number raises TypeError or ValueError."""
    if np.iscomplexobj(given):
        raise TypeError("complex numbers")
    return np.asarray(given, dtype=np.float64)


def _regular(rows: Any) -> Floats | None:
    """Rows of one length as an array [n, K]; None where lengths differ."""
    if isinstance(rows, np.ndarray) and rows.dtype != object:
        if rows.ndim != 2:
            raise InputError(f"priors must have shape [N, K], got {rows.shape}")
        return rows.astype(np.float64)
    try:
        rows = list(rows)
        lengths = {len(row) for row in rows}
    except TypeError:
        raise InputError(
            "priors must be an array [N, K], a list of rows, {name: row} or a data frame, "
            f"got {type(rows).__name__}"
        ) from None
    if len(lengths) != 1 or 0 in lengths:
        return None
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _row(whose: str | Callable[[int], str], i: int) -> str:
    return whose if isinstance(whose, str) else whose(i)
