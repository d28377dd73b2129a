"""What masking puts in (τ): values that were given, or what a word makes of the background."""

from collections.abc import Collection, Mapping, Sequence, Sized
from typing import Any

from ...errors import InputError
from .columns.protocol import Column
from .entries import Entries, Table, looks_like_frame
from .groups import position

# words for what masking puts in; all but "missing" are about a background
OF_ROWS = ("background", "nearest_unlike")
OF_BACKGROUND = ("mean", "median", "most_frequent", *OF_ROWS)
STRATEGIES = (*OF_BACKGROUND, "missing")


def baseline_rows(
    columns: Sequence[Column], values: list[Any], baseline: Any, table: Table | None, fixed: Collection[int] = ()
) -> list[list[Any]]:
    """Baseline rows [R] of values [D].

    Parameters
    ----------
    columns, values
        Of the instance.
    baseline
        As in `Tabular`.
    table
        The background.
    fixed
        Columns whose baseline is what the instance holds.
    """
    rows = _rows(columns, values, baseline, table, fixed)
    for row in rows if fixed else ():
        for place in fixed:
            row[place] = values[place]
    return rows


def _rows(
    columns: Sequence[Column], values: list[Any], baseline: Any, table: Table | None, fixed: Collection[int]
) -> list[list[Any]]:
    if isinstance(baseline, str) and baseline == "background" and table is not None:
        return table.rows()
    if _is_single(baseline) or isinstance(baseline, Mapping):
        return [_row(columns, values, baseline, table, fixed)]
    return Table.read(baseline, [column.name for column in columns], "baseline").rows()


def _row(
    columns: Sequence[Column], values: list[Any], baseline: Any, table: Table | None, fixed: Collection[int]
) -> list[Any]:
    """One baseline row [D]: from a value or a word for all columns, or from a dict of them."""
    for_all = not isinstance(baseline, Mapping)
    asked = _asked(columns, baseline, for_all)
    if for_all and table is None and baseline is not None and not isinstance(baseline, str):
        return list(asked.values())  # also in place of texts, of which nothing better is known
    row = list(values)
    for place, column in enumerate(columns):
        if place not in fixed:
            entries = None if table is None else table.columns[place]
            row[place] = _tau(column, values[place], asked.get(place), entries, for_all)
    return row


def _asked(columns: Sequence[Column], baseline: Any, for_all: bool) -> dict[int, Any]:
    """What is asked for by place: one value or word for all columns, or those of a dict."""
    if for_all:
        return dict.fromkeys(range(len(columns)), baseline)
    names = [column.name for column in columns]
    return {position(names, name, "baseline"): value for name, value in baseline.items()}


def _is_single(baseline: Any) -> bool:
    """Whether one value or word is given for all columns."""
    if isinstance(baseline, (str, bytes)):
        return True
    return getattr(baseline, "ndim", 0) == 0 and not isinstance(baseline, Sized) and not looks_like_frame(baseline)


def _tau(column: Column, value: Any, asked: Any, entries: Entries | None, for_all: bool) -> Any:
    """What masking puts into one column of an instance that holds `value` there."""
    if isinstance(asked, str) and asked in STRATEGIES:
        return _by_word(column, asked, entries)
    known = entries is not None and bool(entries.first)
    # a number that is meant for all columns does not replace texts where the background knows better
    passed_over = for_all and column.is_worded and known and not isinstance(asked, str)
    if asked is not None and not passed_over:
        return asked
    return _default(column, value) if entries is None else _of_background(column, entries)


def _of_background(column: Column, entries: Entries) -> Any:
    """The mean, the only entry, or nothing where nothing is known."""
    if not entries.first:
        return column.absent
    return entries.first[0] if len(entries) == 1 else entries.typical(column, "mean")


def _default(column: Column, value: Any) -> Any:
    """What stands for "masked" where there is no background."""
    if column.neutral is None:
        raise InputError(
            f"column {column.name!r} holds {value!r}: no number stands for 'masked' there; "
            f"give baseline={{{column.name!r}: value}}, or background rows, whose most frequent value it then is"
        )
    return column.neutral


def _by_word(column: Column, word: str, entries: Entries | None) -> Any:
    """What a strategy makes of the background."""
    if word in OF_ROWS:
        raise InputError(f"baseline {word!r} is for all columns, not for column {column.name!r} alone")
    if word == "missing":
        return column.absent
    if entries is None:
        raise InputError(f"baseline {word!r} of column {column.name!r} needs background rows")
    return entries.typical(column, word) if entries.first else column.absent
