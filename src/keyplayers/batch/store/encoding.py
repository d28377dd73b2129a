"""Explanations as rows of two tables: one row per target, one per player of a target.

Both tables are plain Parquet for whoever reads them. The row of a target also holds the whole explanation in
its documented JSON, from which it is read back.
"""

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..._base.names import name_from_json, name_to_json
from ...archive import explanation_from_dict
from ...errors import FileFormatError, InputError
from ...explanation import Explanation, structure_columns

DONE, PARTIAL, FAILED = "done", "partial", "failed"

_TARGETS = pa.schema(
    [
        ("target", pa.string()),
        ("target_type", pa.string()),
        ("status", pa.string()),
        ("error_type", pa.string()),
        ("error", pa.string()),
        ("warnings", pa.list_(pa.string())),
        ("seconds", pa.float64()),
        ("sentence", pa.string()),
        ("kind", pa.string()),
        ("quantity", pa.string()),
        ("unit", pa.string()),
        ("n_evaluations", pa.int64()),
        ("n_players", pa.int64()),
        ("top_player", pa.string()),
        ("top_player_type", pa.string()),
        ("top_value", pa.float64()),
        ("explanation", pa.binary()),
    ]
)
_PLAYERS = pa.schema(
    [
        ("target", pa.string()),
        ("target_type", pa.string()),
        ("rank", pa.int64()),
        ("player", pa.string()),
        ("player_type", pa.string()),
        ("value", pa.float64()),
        ("std_error", pa.float64()),
    ]
)
# entries of an explanation's JSON that are no facts about its target
_NO_FACTS = {"schema", "version", "seed"}


@dataclass(frozen=True)
class Outcome:
    """What became of one target."""

    target: Hashable
    status: str  # DONE, PARTIAL or FAILED
    explanation: Explanation[Any] | None
    warnings: tuple[str, ...]
    seconds: float
    error_type: str | None = None
    error: str | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """Targets and their players as tables."""

    targets: pa.Table  # a row per target
    players: pa.Table  # a row per player of a target, most important first

    @property
    def n_targets(self) -> int:
        """Number of targets, failed ones included."""
        return int(self.targets.num_rows)

    @property
    def n_bytes(self) -> int:
        """Memory that the tables take."""
        return int(self.targets.nbytes + self.players.nbytes)


def encode(outcomes: Sequence[Outcome]) -> Rows:
    """The rows of some targets.

    Raises
    ------
    InputError
        A name is of a type that no file can hold.
    TypeError, ValueError
        An explanation has no JSON form, or one that JSON cannot hold.
    """
    return Rows(_target_table(outcomes), _player_table([o for o in outcomes if o.explanation is not None]))


def join_rows(several: Iterable[Rows]) -> Rows:
    """All rows of several, in order; columns that some lack are null there."""
    several = list(several)
    return Rows(
        join_tables([empty_targets(), *(rows.targets for rows in several)]),
        join_tables([empty_players(), *(rows.players for rows in several)]),
    )


def empty_targets() -> pa.Table:
    """The table of no targets."""
    return _TARGETS.empty_table()


def empty_players() -> pa.Table:
    """The table of no players."""
    return _PLAYERS.empty_table()


def join_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of one or several whose further columns may differ."""
    return pa.concat_tables(tables, promote_options="permissive")


def decode(document: bytes) -> Explanation[Any]:
    """The explanation that a target's row holds.

    Raises
    ------
    FileFormatError
        It holds none.
    """
    try:
        data = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"the row of a target holds no explanation: {error}") from None
    return explanation_from_dict(data)


def name_to_text(name: Hashable) -> tuple[str, str]:
    """A name as its text and its type, from which `text_to_name` gives it back.

    Raises
    ------
    InputError
        The name is of a type that could not be read back.
    """
    written = name_to_json(name)
    if isinstance(written, dict):
        return written["text"], written["type"]
    return (written if isinstance(written, str) else json.dumps(written)), type(written).__name__


def text_to_name(text: str, kind: str) -> Hashable:
    """The name that `name_to_text` wrote.

    Raises
    ------
    FileFormatError
        It wrote no such thing.
    """
    if kind == "str":
        return text
    try:
        if kind in ("int", "float", "bool") and (kind != "float" or math.isfinite(float(text))):
            return name_from_json(json.loads(text))
        return name_from_json({"type": kind, "text": text})
    except (InputError, ValueError):
        raise FileFormatError(f"cannot read the name {text!r} of type {kind!r}") from None


def names_of(texts: pa.ChunkedArray, kinds: pa.ChunkedArray) -> list[Hashable]:
    """Names of two columns; null where there is none."""
    return [
        None if text is None else text_to_name(text, kind)
        for text, kind in zip(texts.to_pylist(), kinds.to_pylist(), strict=True)
    ]


def with_names(table: pa.Table, *columns: str) -> dict[str, Any]:
    """Columns of a table for users: names as they were given, in place of their texts and types."""
    found: dict[str, Any] = {}
    for name in table.column_names:
        if name.endswith("_type") and name.removesuffix("_type") in columns:
            continue
        column = table[name]
        if name not in columns or set(table[f"{name}_type"].unique().to_pylist()) <= {"str", None}:
            found[name] = column
        else:
            found[name] = names_of(column, table[f"{name}_type"])
    return found


def _target_table(outcomes: Sequence[Outcome]) -> pa.Table:
    rows = [_target_row(outcome) for outcome in outcomes]
    facts = dict.fromkeys(name for _, own in rows for name in own)
    columns = {name: [row.get(name) for row, _ in rows] for name in _TARGETS.names}
    table = pa.table(columns, schema=_TARGETS)
    for name in facts:
        table = table.append_column(name, _scalars([own.get(name) for _, own in rows]))
    return table


def _target_row(outcome: Outcome) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns that every target has, and the facts that its method adds."""
    text, kind = name_to_text(outcome.target)
    row: dict[str, Any] = {
        "target": text,
        "target_type": kind,
        "status": outcome.status,
        "error_type": outcome.error_type,
        "error": outcome.error,
        "warnings": list(outcome.warnings),
        "seconds": outcome.seconds,
    }
    explanation = outcome.explanation
    if explanation is None:
        return row, {}
    written = explanation.to_dict()
    row |= {name: getattr(explanation, name) for name in ("sentence", "kind", "quantity", "unit", "n_evaluations")}
    row["n_players"] = len(explanation)
    row["explanation"] = json.dumps(written, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if len(explanation):
        row["top_player"], row["top_player_type"] = name_to_text(explanation.players[0])
        row["top_value"] = float(explanation.values[0])
    return row, _facts(written, row)


def _facts(written: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Single values of an explanation's JSON, and of the fields of a structure that is kept as a plain record."""
    structure = written.get("structure")
    fields = structure.get("fields", {}) if isinstance(structure, Mapping) else {}
    return {
        name: value
        for name, value in {**fields, **written}.items()
        if isinstance(value, str | bool | int | float) and name not in row and name not in _NO_FACTS
    }


def _scalars(values: list[Any]) -> pa.Array:
    """A column of facts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if len(kinds) < 2 and not any(isinstance(value, int) and abs(value) >= 2**63 for value in values):
        return pa.array(values)
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _player_table(outcomes: Sequence[Outcome]) -> pa.Table:
    explanations = [outcome.explanation for outcome in outcomes if outcome.explanation is not None]
    counts = [len(explanation) for explanation in explanations]
    if not sum(counts):
        return _PLAYERS.empty_table()
    owners = pa.array(np.repeat(np.arange(len(counts)), counts))
    targets, target_types = _name_columns(outcome.target for outcome in outcomes)
    players, player_types = _name_columns(player for own in explanations for player in own.players)
    columns = {
        "target": targets.take(owners),
        "target_type": target_types.take(owners),
        "rank": pa.array(np.concatenate([np.arange(1, count + 1) for count in counts])),
        "player": players,
        "player_type": player_types,
        "value": pa.array(np.concatenate([explanation.values for explanation in explanations])),
        "std_error": pa.array(np.concatenate([explanation.std_errors for explanation in explanations])),
    }
    return _with_further(pa.table(columns, schema=_PLAYERS), explanations, counts)


def _name_columns(names: Iterable[Hashable]) -> tuple[pa.Array, pa.Array]:
    """Names as a column of their texts and one of their types."""
    written = [name_to_text(name) for name in names]
    texts, kinds = [text for text, _ in written], [kind for _, kind in written]
    return pa.array(texts, pa.string()), pa.array(kinds, pa.string())


def _with_further(table: pa.Table, explanations: Sequence[Explanation[Any]], counts: list[int]) -> pa.Table:
    """The table of players with the columns that the explanations' methods add."""
    further = [structure_columns(explanation.structure, explanation) for explanation in explanations]
    for name in dict.fromkeys(name for own in further for name in own):
        column = _further_column([own.get(name) for own in further], counts)
        if name not in _PLAYERS.names and column is not None:
            table = table.append_column(name, column)
    return table


def _further_column(pieces: list[Any], counts: list[int]) -> pa.Array | None:
    """A column that a method adds, from a piece per explanation; None where it holds no plain values."""
    if all(isinstance(piece, np.ndarray) and piece.dtype.kind in "iufb" for piece in pieces):
        return pa.array(np.concatenate(pieces))
    values: list[Any] = []
    for piece, count in zip(pieces, counts, strict=True):
        plain = piece.tolist() if isinstance(piece, np.ndarray) else piece
        values.extend([None] * count if plain is None else plain)
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return pa.array(values, pa.float64())
    return pa.array(values) if kinds in ({bool}, {str}) else None
