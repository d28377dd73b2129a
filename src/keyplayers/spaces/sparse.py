"""`Sparse`: the stored entries of a sparse row as players."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Bools, Ints
from .._base.settings import NOTHING, Rule, Settings, setting
from ..errors import InputError

_NAMES = Rule(
    lambda: "a sequence of names, one per column",
    lambda value: (
        not isinstance(value, str | bytes) and hasattr(value, "__len__") and hasattr(value, "__getitem__")
    ),
)


@dataclass(frozen=True, eq=False)
class SparseInstance:
    """A sparse row; see `MaskedInstance`. A masked player is an entry that is not stored."""

    names: tuple[Hashable, ...]
    maskable: Bools
    display_values: tuple[str, ...]
    display_masked: tuple[str, ...]
    row: Any  # [1, D] matrix or array, in rows (csr)
    format: str  # of the instance
    n_backgrounds: int = 1

    def rows(self, masked: Bools, backgrounds: Ints) -> Any:
        """A sparse batch [B, D] of the instance's kind, format and dtypes, that stores what is not masked."""
        kept = ~(masked & self.maskable)  # a zero that is stored stays
        ends = np.zeros(len(masked) + 1, dtype=self.row.indptr.dtype)
        np.cumsum(kept.sum(axis=1), out=ends[1:])
        data, columns = (np.broadcast_to(of, kept.shape)[kept] for of in (self.row.data, self.row.indices))
        batch = type(self.row)((data, columns, ends), shape=(len(masked), self.row.shape[1]))
        return batch if self.format == "csr" else batch.asformat(self.format)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sparse(Settings):
    """Stored entries of a sparse row as players; a masked one is 0.

    Parameters
    ----------
    feature_names
        Names of all columns, such as ``vectorizer.get_feature_names_out()``; default 0 .. D - 1.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> bound = Sparse(feature_names=["a", "b", "c", "d"]).bind(csr_array([[0, 2.0, 0, 1.0]]))
    >>> bound.names
    ('b', 'd')
    >>> bound.rows(np.array([[True, False]]), np.zeros(1, dtype=int)).toarray()
    array([[0., 0., 0., 1.]])
    """

    feature_names: Sequence[Hashable] | None = setting(None, NOTHING | _NAMES)

    def bind(self, instance: Any) -> SparseInstance:
        """The players of one sparse row: a matrix or an array of SciPy, of any format, [1, D] or [D].

        Raises
        ------
        InputError
            It is no sparse row, or names are too few or not distinct.
        """
        row = _read(instance)
        values = row.data.tolist()
        return SparseInstance(
            names=self._names(row.indices, row.shape[1]),
            maskable=row.data != 0,
            display_values=tuple(f"{v:.4g}" if isinstance(v, float) else str(v) for v in values),
            display_masked=("0",) * len(values),
            row=row,
            format="csr" if instance.ndim == 1 else instance.format,
        )

    def _names(self, columns: Ints, n_columns: int) -> tuple[Hashable, ...]:
        """Names of the columns that are stored."""
        if self.feature_names is None:
            return tuple(columns.tolist())
        if len(self.feature_names) != n_columns:
            raise InputError(
                f"feature_names must name all {n_columns:,} columns of the row, got {len(self.feature_names):,}"
            )
        names = tuple(_plain(self.feature_names[column]) for column in columns.tolist())
        if len(set(names)) < len(names):
            repeated = next(name for at, name in enumerate(names) if name in names[:at])
            raise InputError(f"feature_names must be distinct, but {repeated!r} stands more than once")
        return names


def is_sparse(instance: Any) -> bool:
    """Whether this is a matrix or an array of SciPy's; SciPy is not imported for it."""
    return type(instance).__module__.partition(".")[0] == "scipy" and hasattr(instance, "nnz")


def _read(instance: Any) -> Any:
    """The row in csr, its entries each stored once."""
    if not is_sparse(instance):
        raise InputError(
            f"Sparse takes a sparse row of SciPy, got {type(instance).__name__}; dense rows are for Tabular"
        )
    if instance.ndim == 1:
        instance = instance.reshape((1, -1))
    if instance.ndim != 2 or instance.shape[0] != 1:
        raise InputError(f"Sparse takes one row, [1, D] or [D], got shape {instance.shape}; pick one: X[[0]]")
    row = instance.tocsr()
    if len(np.unique(row.indices)) < len(row.indices):
        row = row.copy()
        row.sum_duplicates()
    return row


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name
