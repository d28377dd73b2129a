"""Rows of tables: a player is a column or a group of columns.

Arrays in, arrays out; data frames in, data frames of the same library, columns and dtypes out.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .._base.arrays import Bools, Ints, Objects
from .._base.frames import column_labels, is_frame, read_frame
from ..errors import InputError
from .columns import frame_like, held_columns, missing, stack, with_dtypes

STRATEGIES = ("mean", "median", "most_frequent", "missing", "background")


@dataclass(frozen=True, eq=False, kw_only=True)
class Tabular:
    """Columns of a table as players.

    Parameters
    ----------
    baseline
        What masking puts in (τ). A value for all columns; one per column, as a sequence, a dict by column
        or a one-row frame; several rows (2-D), over which the prediction is averaged; or a word: "mean",
        "median", "most_frequent" (of the background), "missing" (NaN or None), "background" (its rows as they
        are). In a dict these words, too, may stand for a column. Text and categories take their most frequent
        value where a mean or median is asked for. Default: with a background its mean, or its only row; else 0
        for numbers and False for booleans, while text and categories need a baseline.
    background
        Rows of the training data, in the layout of the instance.
    groups
        Columns that are masked together, as ``{name: [columns]}`` or a list of lists. Columns in no group
        are players of their own.
    feature_names
        Names of the columns of an array; default 0 .. n - 1.
    categorical
        Columns of an array that hold codes: their dtype is kept, so their baseline must be an integer too,
        and by default it is the most frequent code of the background.
    category_names
        ``{column: names}`` to put codes into words.

    Examples
    --------
    >>> import numpy as np
    >>> bound = Tabular(baseline=0).bind(np.array([3.0, 0.0]))
    >>> bound.maskable.tolist()
    [True, False]
    >>> bound.rows(np.array([[False, False], [True, False]]), np.zeros(2, dtype=int))
    array([[3., 0.],
           [0., 0.]])
    """

    baseline: Any = None
    background: Any = None
    groups: Mapping[Hashable, Sequence[Any]] | Sequence[Sequence[Any]] | None = None
    feature_names: Sequence[Hashable] | None = None
    categorical: Sequence[Any] | None = None
    category_names: Mapping[Any, Sequence[str]] | None = None
    # the background, by the names of the instance's columns; it is read when the first instance comes
    _read: dict[tuple[Any, ...], "_Table"] = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_read": {}}

    def bind(self, instance: Any) -> "TabularInstance":
        """The players of one row: an array [D] or [1, D], a list, a pandas Series, or a frame of one row."""
        row = _Row.read(instance, self.background, self.feature_names)
        codes = {_position(row.names, column, "categorical") for column in self.categorical or ()}
        taus = _baselines(row, self.baseline, self._background(row.names), codes)
        values, taus = row.fit(taus, codes)
        players, owner = _players(row.names, self.groups)
        if row.is_numeric:
            there, put = np.array(values), np.array(taus)
            changed = ~((there == put) | ((there != there) & (put != put))).all(axis=0)
            words = [there.tolist()], put.tolist()
        else:
            changed = np.array([any(not _same(v, tau[c]) for tau in taus) for c, v in enumerate(values)], bool)
            words = [values], taus
        maskable = np.zeros(len(players), dtype=bool)
        np.logical_or.at(maskable, owner, changed)
        display_values, display_masked = (
            self._in_words(row.names, players, owner, list(zip(*entries, strict=True))) for entries in words
        )
        return TabularInstance(
            tuple(players), maskable, len(taus), display_values, display_masked, owner, row.palette(values, taus)
        )

    def _background(self, names: list[Any]) -> "_Table | None":
        if self.background is None:
            return None
        key = tuple(names)
        if key not in self._read:
            self._read[key] = _Table.read(self.background, names, "background")
        return self._read[key]

    def _in_words(
        self, names: list[Any], players: list[Any], owner: Ints, entries: Sequence[Sequence[Any]]
    ) -> tuple[str, ...]:
        of_codes = self.category_names or {}
        words: list[str] = []
        if of_codes or any(len(values) > 1 for values in entries):
            for column, values in enumerate(entries):
                if all(_same(v, values[0]) for v in values):
                    words.append(_word(values[0], tuple(of_codes.get(names[column]) or ())))
                else:
                    words.append(f"one of {len(values)}")
        else:
            words = [_word(value, ()) for (value,) in entries]
        if self.groups is None:
            return tuple(words)
        parts: list[list[str]] = [[] for _ in players]
        for player, word in zip(owner.tolist(), words, strict=True):
            parts[player].append(word)
        return tuple(", ".join(part) if len(part) < 5 else f"{len(part)} values" for part in parts)


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
        if isinstance(self.palette, np.ndarray):
            tau = self.palette[1] if self.n_backgrounds == 1 else self.palette[1 + backgrounds]
            # where players are the columns in their order, no copy of the mask is needed
            wide = masked if self._in_order else masked[:, self.owner]
            return np.where(wide, tau, self.palette[0])
        wide = masked[:, self.owner].T
        columns: list[Any] = [None] * len(wide)
        blocks, others = self._parts
        for places, values in blocks:
            tau = values[:, 1:2] if self.n_backgrounds == 1 else values[:, 1 + backgrounds]
            filled = np.where(wide[places], tau, values[:, :1])
            if len(places) == len(columns) and nw.dependencies.is_pandas_dataframe(self.palette):
                import pandas as pd

                return pd.DataFrame(filled.T, columns=self.palette.columns, copy=False)
            for place, column in zip(places, filled, strict=True):
                columns[place] = column
        for place, take in others:
            columns[place] = take(np.where(wide[place], 1 + backgrounds, 0))
        return frame_like(self.palette, columns)

    @cached_property
    def _parts(self) -> tuple[list[tuple[list[int], Any]], list[tuple[int, Callable[[Ints], Any]]]]:
        """The palette's columns: those of a NumPy dtype as one array [C, 1 + R] for each dtype, and the others."""
        by_dtype: dict[Any, list[int]] = {}
        arrays: list[Any] = []
        others: list[tuple[int, Callable[[Ints], Any]]] = []
        for place, (array, take) in enumerate(held_columns(self.palette)):
            arrays.append(array)
            if array is None:
                others.append((place, take))
            else:
                by_dtype.setdefault(array.dtype, []).append(place)
        return [(places, np.stack([arrays[c] for c in places])) for places in by_dtype.values()], others


@dataclass(frozen=True, eq=False)
class _Row:
    """An instance as a list of values with names, and the frame it came in, if any."""

    names: list[Any]
    values: list[Any]
    frame: Any  # native frame of one row, None for arrays
    dtype: Any  # of the array

    @classmethod
    def read(cls, instance: Any, background: Any, feature_names: Sequence[Hashable] | None) -> "_Row":
        if nw.dependencies.is_pandas_series(instance):
            frame = instance.to_frame().T.infer_objects().reset_index(drop=True)
            if nw.dependencies.is_pandas_dataframe(background):
                frame = with_dtypes(frame, background)
            instance = frame
        if _is_frame(instance):
            frame = read_frame(instance)
            if len(frame) != 1:
                raise InputError(f"one row is explained at a time; the frame given has {len(frame)} rows")
            if feature_names is not None and list(feature_names) != column_labels(instance):
                raise InputError("feature_names are for arrays: a frame has names of its own")
            if nw.dependencies.is_pandas_dataframe(instance):
                native = instance.reset_index(drop=True)  # its columns may have other names than texts
                names = native.columns.tolist()
                values = [native[name].array[0] for name in names]
            else:
                native = frame.to_native()
                names = frame.columns
                values = [frame[name][0] for name in names]
            return cls(names, values, native, None)
        array = _as_array(instance)
        if array.ndim == 2 and array.shape[0] == 1:
            array = array[0]
        if array.ndim != 1:
            raise InputError(
                "a row is an array of shape (n,) or (1, n), a list, or a frame of one row; "
                f"got shape {array.shape}"
            )
        names = list(feature_names) if feature_names is not None else list(range(len(array)))
        if len(names) != len(array):
            raise InputError(f"the row has {len(array)} columns, but {len(names)} feature_names were given")
        if len(set(names)) != len(names):
            raise InputError("feature_names must be unique")
        return cls(names, array.tolist() if array.dtype.kind in "Obiuf" else list(array), None, array.dtype)

    @cached_property
    def categories(self) -> frozenset[Any]:
        """Columns of the frame that hold categories."""
        if self.frame is None:
            return frozenset()
        if nw.dependencies.is_pandas_dataframe(self.frame):
            import pandas as pd

            dtypes = self.frame.dtypes.items()
            return frozenset(name for name, dtype in dtypes if isinstance(dtype, pd.CategoricalDtype))
        schema = nw.from_native(self.frame, eager_only=True).schema
        return frozenset(name for name, dtype in schema.items() if dtype in (nw.Categorical, nw.Enum))

    @property
    def is_numeric(self) -> bool:
        """Whether the row is an array of numbers or booleans."""
        return self.frame is None and self.dtype.kind in "biuf"

    def fit(self, taus: list[list[Any]], codes: set[int]) -> tuple[list[Any], list[list[Any]]]:
        """Values and baselines in dtypes that hold both."""
        if self.frame is not None or self.dtype == object:
            return self.values, taus
        try:
            table = np.array([list(tau) for tau in taus])
            if table.dtype.kind not in ("biufc" if self.dtype.kind == "c" else "biuf") and self.is_numeric:
                raise ValueError
            common = np.result_type(self.dtype, table.dtype)
        except (TypeError, ValueError):
            odd = [
                name
                for c, name in enumerate(self.names)
                if any(not isinstance(t[c], (int, float, np.number, np.bool_)) for t in taus)
            ]
            raise InputError(
                f"the row holds numbers ({self.dtype}), but the baseline of {odd[:5]} does not: "
                "give numbers, or the row as an object array"
            ) from None
        if self.dtype.kind in "biu":
            for column in codes:
                bad = [t[column] for t in taus if not float(t[column]).is_integer()]
                if bad:
                    raise InputError(
                        f"column {self.names[column]!r} holds codes, so its baseline must be an integer, "
                        f"got {bad[0]!r}"
                    )
            dtype = self.dtype
            with np.errstate(invalid="ignore"):  # what does not fit is not equal
                whole = table.astype(dtype) if np.isfinite(table.astype(float)).all() else None
            if whole is None or not (whole == table).all():
                if codes and self.dtype.kind in "iu":
                    fractional = [
                        n for c, n in enumerate(self.names) if (table[:, c] != np.round(table[:, c])).any()
                    ]
                    raise InputError(
                        f"the row is an array of codes ({self.dtype}), and the baseline of {fractional[:5]} is no "
                        "integer: give an integer there, or the row as floats or a frame"
                    )
                dtype = np.dtype(np.float64)
                large = [(n, v) for n, v in zip(self.names, self.values, strict=True) if abs(v) > 2**53]
                rounded = [n for n, v in large if int(float(v)) != v]
                if rounded:
                    raise InputError(
                        f"the row is an array of integers ({self.dtype}), and fractions in the baseline would "
                        f"round those of {rounded[:5]}: give integers there, or the row as a frame"
                    )
        else:
            dtype = self.dtype if self.dtype.kind == "f" else common
        with np.errstate(over="ignore"):
            fitted = table.astype(dtype)
        if dtype.kind == "f" and (np.isinf(fitted) & np.isfinite(table)).any():
            raise InputError(f"the row is an array of {self.dtype}, in which the baseline would be infinite")
        return list(np.array(self.values).astype(dtype)), [list(row) for row in fitted]

    def palette(self, values: list[Any], taus: list[list[Any]]) -> Any:
        """The instance on top of the baseline rows, as an array or in the frame's own library and dtypes."""
        if self.frame is None:
            if self.dtype == object:
                made = np.empty((1 + len(taus), len(values)), dtype=object)
                for r, row in enumerate([values, *taus]):
                    made[r] = row
                return made
            return np.array([values, *taus])
        return stack(self.frame, self.names, values, taus)


def _players(names: list[Any], groups: Any) -> tuple[list[Hashable], Ints]:
    """Names of the players and the player of each column."""
    if groups is None:
        return list(names), np.arange(len(names))
    if not isinstance(groups, Mapping):
        groups = {" + ".join(map(str, columns)): columns for columns in groups}
    owner = np.full(len(names), -1)
    players: list[Hashable] = []
    for player, columns in groups.items():
        for column in columns:
            at = _position(names, column, "groups")
            if owner[at] >= 0:
                raise InputError(f"column {column!r} stands in two groups")
            owner[at] = len(players)
        players.append(player)
    for at in np.flatnonzero(owner < 0).tolist():
        owner[at] = len(players)
        players.append(names[at])
    if len(set(players)) != len(players):
        raise InputError("names of groups and of columns outside groups must be unique")
    return players, owner


def _position(names: list[Any], column: Any, where: str) -> int:
    """A column by name or, where no name fits, by position."""
    if column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
        return int(column)
    raise InputError(f"{where}: no column {column!r}; the columns are {', '.join(map(repr, names[:20]))}")


def _baselines(row: _Row, baseline: Any, table: "_Table | None", codes: set[int]) -> list[list[Any]]:
    """Baseline rows [R] of values [D]."""
    names = row.names
    if isinstance(baseline, str) and baseline == "background":
        if table is None:
            raise InputError("baseline='background' needs background rows")
        return table.rows()
    if _is_single(baseline):
        if table is None and baseline is not None and not isinstance(baseline, str):
            return [[baseline] * len(names)]
        return [[_tau(row, c, baseline, table, codes, for_all=True) for c in range(len(names))]]
    if isinstance(baseline, Mapping):
        asked = {_position(names, column, "baseline"): value for column, value in baseline.items()}
        return [[_tau(row, c, asked.get(c), table, codes) for c in range(len(names))]]
    return _Table.read(baseline, names, "baseline").rows()


def _is_single(baseline: Any) -> bool:
    """Whether one value or word is given for all columns."""
    if isinstance(baseline, (str, bytes)):
        return True
    return getattr(baseline, "ndim", 0) == 0 and not isinstance(baseline, Sized) and not _is_frame(baseline)


def _tau(
    row: _Row, column: int, asked: Any, table: "_Table | None", codes: set[int], for_all: bool = False
) -> Any:
    """Baseline of one column: a value, or what a strategy makes of the background.

    A number that is meant for all columns does not replace texts where the background knows better.
    """
    value, name = row.values[column], row.names[column]
    known = [] if table is None else table.known(column)
    wordy = name in row.categories or _is_text(value, known)
    if isinstance(asked, str) and asked in STRATEGIES:
        if asked == "missing":
            return None if wordy or row.dtype == object else np.nan
        if table is None:
            raise InputError(f"baseline {asked!r} of column {name!r} needs background rows")
        if not known:
            return None if wordy else np.nan
        if wordy or column in codes or asked == "most_frequent" or isinstance(value, (bool, np.bool_)):
            try:
                return table.statistic(column, "most_frequent")
            except TypeError as error:
                raise InputError(
                    f"column {name!r} holds {type(known[0]).__name__}, of which none is the most frequent: "
                    f"give baseline={{{name!r}: value}}"
                ) from error
        try:
            middle: float = table.statistic(column, asked if asked == "mean" else "median")
        except (TypeError, ValueError) as error:
            raise InputError(
                f"column {name!r} is {value!r} in the instance, but holds no numbers in the background"
            ) from error
        # among integers that a float cannot tell apart, such as identifiers, no fraction is needed
        return round(middle) if isinstance(value, (int, np.integer)) and abs(int(value)) > 2**53 else middle
    if asked is not None and not (for_all and wordy and known and not isinstance(asked, str)):
        return asked
    if table is not None and known:
        if table.n_rows == 1:
            return known[0]
        return _tau(row, column, "mean", table, codes)
    if table is not None and missing(value):
        return value  # nothing but missing values anywhere
    if wordy:
        raise InputError(
            f"column {name!r} holds {value!r}: no number stands for 'masked' there; "
            f"give baseline={{{name!r}: value}}, or background rows, whose most frequent value it then is"
        )
    if row.dtype == object and isinstance(value, bool):
        return False
    return 0


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows in the columns of an instance; what is asked of a column is computed once."""

    columns: list[Any]  # [D] anything with tolist() or to_list()
    n_rows: int
    _known: dict[int, list[Any]] = field(default_factory=dict)
    _statistics: dict[tuple[int, str], Any] = field(default_factory=dict)

    @classmethod
    def read(cls, table: Any, names: list[Any], what: str) -> "_Table":
        """A table's columns in the order of `names`."""
        if nw.dependencies.is_pandas_series(table):
            table = table.to_frame().T
        if _is_frame(table):
            frame = read_frame(table)
            has, wanted = column_labels(table), names
            lacking = [name for name in names if name not in has]
            if lacking and len(has) == len(names) and names == list(range(len(names))):
                lacking, wanted = [], has
            if lacking:
                raise InputError(f"the {what} lacks the columns {', '.join(map(repr, lacking[:10]))}")
            if not len(frame):
                raise InputError(f"the {what} must have at least one row")
            held: Any = table if nw.dependencies.is_pandas_dataframe(table) else frame
            return cls([held[name] for name in wanted], len(frame))
        array = _as_array(table)
        if array.ndim == 1:
            array = array[None]
        if array.ndim != 2 or array.shape[1] != len(names) or len(array) == 0:
            raise InputError(
                f"the {what} must have {len(names)} columns and at least one row, got shape {array.shape}"
            )
        return cls(list(array.T), len(array))

    def entries(self, column: int) -> list[Any]:
        held = self.columns[column]
        entries: list[Any] = held.to_list() if hasattr(held, "to_list") else held.tolist()
        return entries

    def rows(self) -> list[list[Any]]:
        return [list(row) for row in zip(*map(self.entries, range(len(self.columns))), strict=True)]

    def known(self, column: int) -> list[Any]:
        """The first values of a column that are not missing, at most 50."""
        if column not in self._known:
            self._known[column] = [e for e in self.entries(column) if not missing(e)][:50]
        return self._known[column]

    def statistic(self, column: int, name: str) -> Any:
        """Mean, median or most frequent value of a column, of what is not missing."""
        key = (column, name)
        if key not in self._statistics:
            values = [e for e in self.entries(column) if not missing(e)]
            if name == "most_frequent":
                self._statistics[key] = _most_frequent(values)
            else:
                self._statistics[key] = float(np.mean(values) if name == "mean" else np.median(values))
        return self._statistics[key]


def _is_frame(data: Any) -> bool:
    # narwhals takes its time to recognise what is no frame
    return not isinstance(data, (np.ndarray, list, tuple, dict, str, int, float)) and is_frame(data)


def _as_array(data: Any) -> "Objects":
    """An array that keeps mixed values as they are, instead of turning them all into text."""
    if isinstance(data, np.ndarray):
        return data
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise InputError(f"rows of different lengths make no table: {error}") from error
    if array.dtype.kind in "US":
        return np.array(data, dtype=object)
    return array


def _is_text(value: Any, known: list[Any]) -> bool:
    if missing(value):
        return any(isinstance(e, str) for e in known)
    return not isinstance(value, (int, float, complex, np.number, np.bool_))


def _same(a: Any, b: Any) -> bool:
    """Whether masking would put in what is there already; NaN equals NaN."""
    if a is b or (missing(a) and missing(b)):
        return True
    if missing(a) or missing(b) or isinstance(a, str) != isinstance(b, str):
        return False
    return bool(np.all(a == b))  # a cell may hold an array


def _most_frequent(values: list[Any]) -> Any:
    counts: dict[Any, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return max(counts, key=lambda v: counts[v])


def _word(value: Any, listed: Sequence[str]) -> str:
    """A value in words: the name of its code where it has one, else as it is."""
    if type(value) is float and not listed:  # by far the most frequent case
        return f"{value:.4g}" if value == value else "missing"
    if missing(value):
        return "missing"
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= value < len(listed):
        return str(listed[int(value)])
    if isinstance(value, (float, np.floating)):
        whole = float(value).is_integer() and 0 <= value < len(listed)
        return str(listed[int(value)]) if whole else f"{value:.4g}"
    return str(value)
