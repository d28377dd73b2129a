"""Columns of days, times and durations."""

import datetime
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...._base.arrays import Floats
from ..entries import Entries, missing
from .protocol import (
    SPELLED_MISSING,
    Misfit,
    gaps,
    most_frequent_of,
    refuse_numbers,
    unequal,
)


@dataclass(frozen=True)
class Date:
    """Days, times and durations: masked with their mean, which is a day, a time or a duration again."""

    name: Hashable
    known: Entries | None = None  # of a background
    absent: Any = None
    is_worded: bool = True
    neutral: Any = None

    def typical(self, entries: Entries, strategy: str) -> Any:
        """See `Column.typical`. Times of a day have no mean: the median stands for it."""
        present = entries.present
        if present.dtype.kind in "mM":
            return _typical_tick(present, entries.first[0], strategy)
        if strategy == "most_frequent":
            return most_frequent_of(self, entries)
        listed = present.tolist()
        if strategy == "median" or isinstance(listed[0], datetime.time):
            return sorted(listed)[(len(listed) - 1) // 2]
        return listed[0] + sum((day - listed[0] for day in listed), datetime.timedelta()) / len(listed)

    def read(self, cell: Any) -> Any:
        """See `Column.read`: a text may spell a day or a time (ISO 8601)."""
        if not isinstance(cell, str):
            return cell
        if cell.strip() in SPELLED_MISSING:
            return self.absent
        try:
            return _spelled(cell.strip(), self.known.first[0] if self.known and self.known.first else None)
        except ValueError:
            raise Misfit("neither day nor time") from None

    def distances(self, entries: Entries, value: Any) -> Floats:
        """See `Column.distances`: of times of a day whether they are equal."""
        if entries.present.dtype.kind not in "mM":
            return unequal(entries, value)
        first = entries.first[0]
        since = np.array([np.nan if missing(day) else _seconds(day - first) for day in entries.listed()])
        return gaps(since, np.nan if missing(value) else _seconds(value - first))

    def fit(self, entries: list[Any]) -> list[Any]:
        """See `Column.fit`: a library would take 0 for a day."""
        refuse_numbers(entries)
        return entries


def _spelled(text: str, like: Any) -> Any:
    """A day or a time of the same type as `like`; of durations pandas' own spelling."""
    if isinstance(like, datetime.time):
        return datetime.time.fromisoformat(text)
    if isinstance(like, datetime.timedelta):
        return _duration(text, type(like))
    if isinstance(like, datetime.date) and not isinstance(like, datetime.datetime):
        return datetime.date.fromisoformat(text)
    spelled = datetime.datetime.fromisoformat(text)
    zone = getattr(like, "tzinfo", None)
    return spelled.replace(tzinfo=zone) if zone is not None and spelled.tzinfo is None else spelled


def _duration(text: str, kind: Any) -> Any:
    """A duration as pandas spells it; Python's own class reads none."""
    if kind is datetime.timedelta:
        raise ValueError("durations have no spelling")
    return kind(text)


def _typical_tick(present: npt.NDArray[Any], first: Any, strategy: str) -> Any:
    """The typical one of days counted in ticks of a unit; `first` is the first one in the table's own type."""
    since = present.view(np.int64) - present.view(np.int64)[0]
    if strategy == "most_frequent":
        ticks = Entries(since).most_frequent()
    else:
        ticks = round(float(np.mean(since) if strategy == "mean" else np.median(since)))
    return _later(first, np.int64(ticks).view(present.dtype.str.replace("M8", "m8")))


def _seconds(length: Any) -> float:
    if isinstance(length, np.timedelta64):
        return float(length / np.timedelta64(1, "s"))
    return float(length.total_seconds())


def _later(start: Any, by: np.timedelta64) -> Any:
    """A day, time or duration of the same type as `start`."""
    if isinstance(start, np.generic) or hasattr(start, "nanosecond") or hasattr(start, "nanoseconds"):
        return start + by  # NumPy's and pandas' own
    step = by.astype("m8[us]").item()
    if getattr(start, "tzinfo", None) is None:
        return start + step
    # what a clock on the wall shows may jump in between
    return (start.astimezone(datetime.UTC) + step).astimezone(start.tzinfo)
