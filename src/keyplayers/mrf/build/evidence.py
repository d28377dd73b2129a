"""Evidence from data frames and Series: hard (a state) or soft (a weight per state)."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from ..._base.frames import column_labels, is_frame, read_frame
from ..._base.names import plain_name
from ...errors import InputError
from .columns import find_name_column, find_state_column

StatesOf = Callable[[Hashable], Sequence[Hashable]]


def read_evidence(given: Any, states_of: StatesOf) -> Mapping[Hashable, Any]:
    """``{name: state or weights}`` from a mapping, a pandas Series or a frame.

    A Series has the names in its index. A frame has a column of names and one of states, or one of weights per
    state. Rows without a state say nothing.

    Parameters
    ----------
    states_of
        The states of a variable; empty where nobody knows the variable.

    Raises
    ------
    InputError
        It is none of these; a variable is said to be in two states; the columns do not fit its states.
    """
    if isinstance(given, Mapping):
        return given
    if nw.dependencies.is_pandas_series(given):
        return _hard(list(given.index), given.to_list())
    if not is_frame(given):
        raise InputError(
            "evidence must be {name: state or weights}, a frame of names and states or a pandas Series, "
            f"got {type(given).__name__}"
        )
    frame = read_frame(given)
    if len(frame.columns) < 2:
        raise InputError(f"a frame of evidence needs columns name and state, got {', '.join(frame.columns)}")
    name = find_name_column(frame.columns)
    others = [column for column in frame.columns if column != name]
    names = frame[name].to_list()
    state = find_state_column(others) or (others[0] if len(others) == 1 else None)
    if state is not None:
        return _hard(names, frame[state].to_list())
    labels = dict(zip(frame.columns, column_labels(given), strict=True))
    return _soft(names, frame, {column: labels[column] for column in others}, states_of)


def _hard(names: list[Any], states: list[Any]) -> dict[Hashable, Any]:
    evidence: dict[Hashable, Any] = {}
    for i, (given, state) in enumerate(zip(names, states, strict=True)):
        state = plain_name(state)
        if state is None or state != state:
            continue
        if isinstance(state, float) and state.is_integer():
            state = int(state)  # numbers beside missing ones are kept as floats
        name = plain_name(given)
        if evidence.setdefault(name, state) != state:
            raise InputError(
                f"row {i} of the evidence: variable {name!r} is {state!r} here, but {evidence[name]!r} above"
            )
    return evidence


def _soft(
    names: list[Any], frame: "nw.DataFrame[Any]", columns: Mapping[str, Hashable], states_of: StatesOf
) -> dict[Hashable, Any]:
    """Weights by the names of the states where columns are called so, else in the order of the columns."""
    try:
        weights = np.column_stack([frame[column].to_numpy().astype(np.float64) for column in columns])
    except (TypeError, ValueError) as error:
        raise InputError(f"a column of the evidence is not numeric: {error}") from None
    called = [str(label) for label in columns.values()]
    evidence: dict[Hashable, Any] = {}
    for i, given in enumerate(names):
        name = plain_name(given)
        states = [str(state) for state in states_of(name)]
        if name in evidence:
            raise InputError(f"row {i} of the evidence: variable {name!r} stands in a row above too")
        if sorted(states) == sorted(called):
            evidence[name] = weights[i, [called.index(state) for state in states]]
        elif not states or (len(called) == len(states) and not set(states) & set(called)):
            evidence[name] = weights[i]
        else:
            raise InputError(
                f"row {i} of the evidence: variable {name!r} has states {', '.join(states)}; the columns of "
                f"weights are {', '.join(called)}"
            )
    return evidence
