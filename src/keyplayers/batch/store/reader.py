"""`Store`: the explanations of many targets, read when they are asked for."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ..._base.frames import make_frame
from ..._base.markup import table_html
from ...errors import FileFormatError, UnknownNameError
from ...explanation import Explanation
from . import views
from .encoding import FAILED, PARTIAL, decode, empty_players, empty_targets, join_tables, names_of, with_names
from .parts import Part, list_parts, warn_of_bad_parts
from .writer import read_manifest

Answer = TypeVar("Answer")

# a writer may merge parts while they are read; so often in a row it does not
_ATTEMPTS = 20
_EXPLANATION = "explanation"


def open_store(path: "str | PathLike[str]") -> "Store":
    """The store in a folder, as `explain_many` writes it; a writer may be at work.

    Raises
    ------
    FileFormatError
        The folder is no store.

    Warns
    -----
    KeyPlayersWarning
        Some files are damaged; their targets are missing.
    """
    return Store(Path(path))


class Store(Mapping[Hashable, Explanation[Any]]):
    """Explanations by target: ``store["acct_17"]``; iteration gives the targets that have one.

    What is seen is the store as it was when it was opened, or last refreshed. Nothing is read before it is asked
    for, and no table is kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = read_manifest(path)  # settings, fingerprint, seed, version
        self._parts: list[Part] = []
        self._index: dict[Hashable, tuple[Part, int]] | None = None
        self._statuses: dict[Hashable, str] = {}
        self.refresh()

    def refresh(self) -> "Store":
        """See what was written since."""
        self._parts, bad = list_parts(self.path, self._parts)
        warn_of_bad_parts(self.path, bad)
        self._index = None
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """How the explanations were made."""
        return dict(self.manifest["settings"])

    def __getitem__(self, target: Hashable) -> Explanation[Any]:
        """The explanation of a target.

        Raises
        ------
        UnknownNameError
            The store has none: the target failed (the message says why), or was never explained.
        """

        def read() -> dict[str, Any]:
            part, row = self._find(target)
            return part.read_target(row, [_EXPLANATION, "error_type", "error"])

        row = self._retried(read)
        if row[_EXPLANATION] is None:
            raise UnknownNameError(f"{target!r} could not be explained: {row['error_type']}: {row['error']}")
        return decode(row[_EXPLANATION])

    def __iter__(self) -> Iterator[Hashable]:
        index = self._targets()
        return (target for target in index if self._statuses[target] != FAILED)

    def __len__(self) -> int:
        self._targets()
        return sum(status != FAILED for status in self._statuses.values())

    def __contains__(self, target: object) -> bool:
        self._targets()
        return isinstance(target, Hashable) and self._statuses.get(target, FAILED) != FAILED

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store) and self.path == other.path and self._parts == other._parts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = self.counts
        more = "".join(f", {counts[status]:,} {status}" for status in (PARTIAL, FAILED) if counts[status])
        return f"<Store {self.path}: {len(self):,} explanations{more}>"

    def _repr_html_(self) -> str:
        summary = self.summary("dict")
        shown = [summary[name][:10] for name in ("target", "status", "top_player", "top_value", "sentence")]
        rows = zip(*shown, strict=True)
        return table_html(repr(self)[1:-1], ["target", "status", "most important", "value", "in words"], rows)

    def names(self) -> list[Hashable]:
        """All targets, failed ones included."""
        return list(self._targets())

    @property
    def counts(self) -> Counter[str]:
        """How many targets are "done", "partial" and "failed"."""
        self._targets()
        return Counter(self._statuses.values())

    @property
    def failures(self) -> dict[Hashable, str]:
        """Why targets failed."""
        table = self._read_targets(["target", "target_type", "status", "error_type", "error"])
        table = table.filter(pc.equal(table["status"], FAILED))
        reasons = zip(table["error_type"].to_pylist(), table["error"].to_pylist(), strict=True)
        texts = [f"{kind}: {error}" for kind, error in reasons]
        return dict(zip(names_of(table["target"], table["target_type"]), texts, strict=True))

    @property
    def warnings(self) -> dict[Hashable, list[str]]:
        """What the library warned of, for targets where it did."""
        table = self._read_targets(["target", "target_type", "warnings"])
        table = table.filter(pc.greater(pc.list_value_length(table["warnings"]), 0))
        return dict(
            zip(names_of(table["target"], table["target_type"]), table["warnings"].to_pylist(), strict=True)
        )

    def summary(self, backend: str = "pandas") -> Any:
        """A frame with one row per target: status, error, most important player, sentence and the method's facts.

        Parameters
        ----------
        backend
            "pandas", "polars", "pyarrow", or "dict": columns as lists, names of all types as they are.
        """
        return _frame(with_names(self._read_targets(None), "target", "top_player"), backend)

    @property
    def players(self) -> ds.Dataset:
        """The table of players, lazily: a row per player of a target, with its rank, value and standard error.

        A ``pyarrow.dataset.Dataset``, which polars (``scan_pyarrow_dataset``) and DuckDB take as it is. Names are
        texts here, with their types beside them. While a writer merges parts it may lose its files: refresh.
        """
        if not self._parts:
            return ds.dataset(empty_players())
        files = [ds.dataset(part.players_path, format=views.FORMAT) for part in self._parts]
        schema = pa.unify_schemas([file.schema.remove_metadata() for file in files], promote_options="permissive")
        return ds.dataset([part.players_path for part in self._parts], schema=schema, format=views.FORMAT)

    def to_frame(self, backend: str = "pandas", *, top: int | None = None) -> Any:
        """The table of players in memory.

        Parameters
        ----------
        backend
            As for `summary`.
        top
            The most important players of each target only.
        """
        chosen = None if top is None else ds.field("rank") <= top
        table = self._retried(lambda: self.players.to_table(filter=chosen))
        return _frame(with_names(table, "target", "player"), backend)

    def recurring(self, backend: str = "pandas", *, top: int | None = None) -> Any:
        """Which players recur: a frame, first those who make a difference to most targets.

        Columns: player, n_targets, total, mean and mean_absolute of its values other than 0 over these targets.

        Parameters
        ----------
        top
            Count a player for a target only where it is among the target's `top` most important ones.
        """
        return _frame(self._retried(lambda: views.recurring(self.players, top)), backend)

    def similar(
        self, target: Hashable | None = None, *, k: int = 10, at_least: float = 0.0, backend: str = "pandas"
    ) -> Any:
        """Which explanations resemble each other: the `k` most similar pairs, or those most similar to `target`.

        Two explanations resemble each other as far as the same players have the same values in them: the cosine
        between their vectors of values. Columns: target, other, similarity in [-1, 1].

        Parameters
        ----------
        at_least
            Leave out pairs that are less similar.

        Raises
        ------
        UnknownNameError
            There is no explanation of `target`.
        """
        if target is not None and target not in self:
            raise UnknownNameError(f"there is no explanation of {target!r} in {self.path}")
        return _frame(self._retried(lambda: views.similar(self.players, target, k, at_least)), backend)

    def _read_targets(self, columns: list[str] | None) -> pa.Table:
        """The table of targets, without the explanations themselves."""

        def read() -> pa.Table:
            tables = []
            for part in self._parts:
                names = part.target_columns if columns is None else columns
                tables.append(part.read_targets([name for name in names if name != _EXPLANATION]))
            return join_tables(tables) if tables else empty_targets().drop_columns([_EXPLANATION])

        return self._retried(read)

    def _targets(self) -> dict[Hashable, tuple[Part, int]]:
        """Where each target stands; read at the first use."""
        if self._index is None:
            self._index = self._retried(self._read_index)
        return self._index

    def _read_index(self) -> dict[Hashable, tuple[Part, int]]:
        index: dict[Hashable, tuple[Part, int]] = {}
        self._statuses = {}
        for part in self._parts:
            table = part.read_targets(["target", "target_type", "status"])
            names = names_of(table["target"], table["target_type"])
            index.update((name, (part, row)) for row, name in enumerate(names))
            self._statuses.update(zip(names, table["status"].to_pylist(), strict=True))
        return index

    def _find(self, target: Hashable) -> tuple[Part, int]:
        try:
            return self._targets()[target]
        except (KeyError, TypeError):
            raise UnknownNameError(
                f"{self.path} has no target {target!r} among its {len(self._statuses):,}"
            ) from None

    def _retried(self, read: Callable[[], Answer]) -> Answer:
        """Read; where a writer has merged the parts meanwhile, look again."""
        for _ in range(_ATTEMPTS):
            try:
                return read()
            except FileNotFoundError:
                self.refresh()
        raise FileFormatError(f"{self.path}: its files keep disappearing")


def _frame(columns: Mapping[str, Any], backend: str) -> Any:
    if backend != "dict":
        return make_frame(columns, backend)
    lists: dict[str, list[Any]] = {}
    for name, column in columns.items():
        if isinstance(column, list):
            lists[name] = column
        else:
            lists[name] = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return lists
