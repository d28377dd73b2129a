"""`Tabular`: the columns of a table as players.

Arrays in, arrays out; data frames in, data frames of the same library, columns and dtypes out.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._base.arrays import Bools, Ints
from ..._base.settings import NOTHING, Rule, Settings, setting, whole
from ...errors import InputError
from .baselines import OF_BACKGROUND, baseline_rows
from .entries import same
from .groups import Groups, fixed_columns, players_of
from .instance import TabularInstance
from .layouts import ArrayLayout
from .neighbours import Neighbours
from .reading import Row, RowReader
from .words import column_words, player_words


def _names(value: Any) -> bool:
    """Whether this is a sequence of names, and no single text."""
    return not isinstance(value, (str, bytes, Mapping)) and isinstance(value, Iterable)


_NAMES = Rule(lambda: "a sequence of names", _names)
_GROUPS = Rule(
    lambda: "{name: [columns]} or a list of lists",
    lambda value: (
        all(map(_names, value.values() if isinstance(value, Mapping) else value))
        if isinstance(value, Iterable) and not isinstance(value, (str, bytes))
        else False
    ),
)
_WORDS = Rule(lambda: "{column: [names]}", lambda value: isinstance(value, Mapping))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Tabular(Settings):
    """Columns of a table as players.

    Parameters
    ----------
    baseline
        What masking puts in (τ). A value for all columns; one per column, as a sequence, a dict by column
        or a one-row frame; several rows (2-D), over which the prediction is averaged; or a word: "mean",
        "median", "most_frequent" (of the background), "missing" (NaN or None), "background" (its rows as they
        are), "nearest_unlike" (its rows that the model decides otherwise, see `n_neighbours`). In a dict the first
        four may stand for a column. Text and categories take their most frequent value where a mean or median is
        asked for. Default: with a background its mean, or its only row; else 0 for numbers and False for booleans,
        while text and categories need a baseline.
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
    fixed
        Columns, or groups of them, that are never masked.
    n_neighbours
        With ``baseline="nearest_unlike"``: rows that the model decides otherwise and that are tried, the nearest
        ones by the mean over columns of a distance between 0 and 1 (numbers: in units of the range that nine in
        ten keep to; all else: equal or not). Each is a baseline of its own.

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

    baseline: Any = setting(None)
    background: Any = setting(None)
    groups: Groups | None = setting(None, NOTHING | _GROUPS)
    feature_names: Sequence[Hashable] | None = setting(None, NOTHING | _NAMES)
    categorical: Sequence[Any] | None = setting(None, NOTHING | _NAMES)
    category_names: Mapping[Any, Sequence[str]] | None = setting(None, NOTHING | _WORDS)

    fixed: Sequence[Any] | None = setting(None, NOTHING | _NAMES)
    n_neighbours: int = setting(5, whole(at_least=1))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.background is None and isinstance(self.baseline, str) and self.baseline in OF_BACKGROUND:
            raise InputError(f"baseline={self.baseline!r} needs background rows")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_read", "_taus")}

    def bind(self, instance: Any) -> TabularInstance:
        """The players of one row: an array [D] or [1, D], a list, a dict, a pandas Series, or a frame of one row.

        Columns are in the order and of the dtypes of the background, where that is a frame of the same library: a
        dict, a row of JSON or a row of a text table is read like the background's rows.
        """
        if self.seeks_neighbours:
            raise InputError(
                "baseline='nearest_unlike' depends on the model's decisions: ask it of the rows of `neighbours`"
            )
        row = self._read(instance)
        return self._bound(row, self._baseline_rows(row))

    def _baseline_rows(self, row: Row) -> list[list[Any]]:
        """Baseline rows [R, D]; those of arrays of numbers depend on nothing of the instance."""
        layout = row.layout
        settled = isinstance(layout, ArrayLayout) and layout.dtype.kind in "biuf" and not self.fixed
        if settled and id(layout) in self._taus:
            return self._taus[id(layout)]
        taus = baseline_rows(layout.columns, row.values, self.baseline, row.table, self._fixed(row.names))
        if settled:
            self._taus[id(layout)] = taus
        return taus

    def _fixed(self, names: list[Any]) -> frozenset[int]:
        """Places of the columns that are never masked."""
        return fixed_columns(names, self.fixed or (), *players_of(names, self.groups))

    @property
    def seeks_neighbours(self) -> bool:
        """Whether what masking puts in comes from the nearest rows that the model decides otherwise."""
        return isinstance(self.baseline, str) and self.baseline == "nearest_unlike"

    def neighbours(self, instance: Any) -> Neighbours:
        """The background rows as seen from one row, the nearest first.

        Raises
        ------
        InputError
            There is no background.
        """
        if self.background is None:
            raise InputError("neighbours come from background rows, and none were given")
        row = self._read(instance)
        return Neighbours(row, self._fixed(row.names), self._bound)

    @cached_property
    def _read(self) -> RowReader:
        return RowReader(self.background, self.feature_names, self.categorical or ())

    @cached_property
    def _taus(self) -> dict[int, list[list[Any]]]:
        """Baseline rows by the layout of `_read` that they are for."""
        return {}

    def _bound(self, row: Row, taus: list[list[Any]]) -> TabularInstance:
        """An instance whose masked values come from these rows [R, D]."""
        palette = row.layout.palette(row.values, taus)
        players, owner = players_of(row.names, self.groups)
        maskable = np.zeros(len(players), dtype=bool)
        np.logical_or.at(maskable, owner, _changed(row.values, taus, palette))
        return TabularInstance(
            tuple(players),
            maskable,
            len(taus),
            *self._in_words(row, taus, palette, owner, len(players)),
            owner,
            palette,
        )

    def _in_words(
        self, row: Row, taus: list[list[Any]], palette: Any, owner: Ints, n_players: int
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Each player's own value, and what masking puts in [n, n]."""
        values = row.values
        if _of_numbers(palette):
            values, *taus = palette.tolist()
        words = [
            column_words(row.names, list(zip(*rows, strict=True)), self.category_names or {})
            for rows in ([values], taus)
        ]
        own, put = (player_words(column, owner, n_players) for column in words)
        return own, put


def _of_numbers(palette: Any) -> bool:
    """Whether the palette is an array of numbers or booleans."""
    return isinstance(palette, np.ndarray) and palette.dtype.kind in "biuf"


def _changed(values: list[Any], taus: list[list[Any]], palette: Any) -> Bools:
    """Whether masking a column [D] changes it."""
    if _of_numbers(palette):
        there, put = palette[0], palette[1:]
        equal = (there == put) | ((there != there) & (put != put))
        return np.asarray(~equal.all(axis=0))
    return np.array([any(not same(v, tau[c]) for tau in taus) for c, v in enumerate(values)], dtype=bool)
