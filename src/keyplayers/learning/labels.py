"""Labels of some variables, from whatever people bring."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Ints
from .._base.frames import is_frame, read_frame
from .._base.names import Names, plain_name
from ..errors import InputError, UnknownNameError
from ..mrf.build.columns import find_name_column, find_state_column

# how many labels a message shows
_SHOWN = 6


class Labels(NamedTuple):
    """What is known of some variables."""

    names: Names | None  # [n] None: entry i belongs to variable i
    given: list[Any]  # [n] a label, or None where it is unknown


def read_labels(labels: Any) -> Labels:
    """Labels by name, or one per variable.

    Parameters
    ----------
    labels
        ``{name: label}``; a data frame with a name column and one of labels; or a sequence [N], entry i of which
        belongs to variable i. None, NaN, an empty text and negative numbers stand for "unknown".

    Raises
    ------
    InputError
        They are none of these.
    """
    if isinstance(labels, Mapping):
        return Labels(Names(labels), [_known(label) for label in labels.values()])
    if is_frame(labels):
        frame = read_frame(labels)
        name = find_name_column(frame.columns)
        others = [column for column in frame.columns if column != name]
        if not others:
            raise InputError(f"a frame of labels needs a name column and one of labels, got {frame.columns}")
        column = find_state_column(others) or others[0]
        return Labels(Names(frame[name].to_list()), [_known(label) for label in frame[column].to_list()])
    if isinstance(labels, str) or not (isinstance(labels, Sequence) or hasattr(labels, "__array__")):
        raise InputError(
            f"labels must be {{name: label}}, a frame or one per variable, got {type(labels).__name__}"
        )
    listed = labels if isinstance(labels, Sequence) else np.asarray(labels).tolist()
    return Labels(None, [_known(label) for label in listed])


def states_of(labels: Labels, states: Sequence[Hashable] | None) -> tuple[Hashable, ...]:
    """The states: those given, else the labels in their order.

    Raises
    ------
    InputError
        All labels are the same, so that nothing can be learned.
    """
    if states is not None:
        return tuple(states)
    found = {label for label in labels.given if label is not None}
    if len(found) < 2:
        raise InputError(f"labels must show at least two states, got {sorted(map(str, found))}; or give states")
    try:
        return tuple(sorted(found))  # numbers as numbers, texts as texts
    except TypeError:
        return tuple(sorted(found, key=str))


def label_codes(labels: Labels, names: Names, states: Sequence[Hashable]) -> Ints:
    """[N] the position of each variable's label among the states, -1 where it is unknown.

    A label names a state, or (where none is called so) gives its number, as evidence does.

    Raises
    ------
    UnknownNameError
        A variable or a label is unknown.
    """
    numbers = {state: k for k, state in enumerate(states)}
    spelled = {str(state): k for k, state in enumerate(states)}
    codes = np.full(len(names), -1, dtype=np.int64)
    if labels.names is None and len(labels.given) != len(names):
        raise InputError(f"there must be one label per variable ({len(names)}), got {len(labels.given)}")
    for i, label in enumerate(labels.given):
        if label is None:
            continue
        code = numbers.get(label, spelled.get(str(label)))
        if code is None and type(label) is int and 0 <= label < len(states):
            code = label
        if code is None:
            shown = ", ".join(map(repr, states[:_SHOWN])) + (", ..." if len(states) > _SHOWN else "")
            raise UnknownNameError(f"there is no state {label!r}, which a label names; the states are {shown}")
        codes[i if labels.names is None else _position(names, labels.names[i])] = code
    return codes


def _position(names: Names, name: Hashable) -> int:
    """The position of a name, or of the one that is spelled so: files may differ in 7 and "7"."""
    return names.find(name if name in names else names.parse(str(name)))


def _known(label: Any) -> Any:
    """A label as a plain value; None where it says "unknown"."""
    label = plain_name(label)
    if label is None or label == "" or label != label:
        return None
    if isinstance(label, int | float) and not isinstance(label, bool) and label < 0:
        return None
    return int(label) if isinstance(label, float) and label.is_integer() else label
