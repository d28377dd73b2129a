"""The files of a store: pairs of Parquet files, each pair committed by one rename.

```
manifest.json                           what is explained, how, by which version
writer.lock                             who writes
players/part-00000001-89abcdef.parquet  a row per player of a target
targets/part-00000001-89abcdef.parquet  a row per target
damaged/                                parts that could not be read, set aside by a later run
```

The name ends with the checksum of the file of targets, whose metadata hold that of the file of players.

The file of players is written first, that of targets last: a part exists when its file of targets does. Files
appear under their names complete and on disk, or not at all. A merged part names those that it replaces, so
that at every moment each target stands in exactly one part.
"""

import json
import os
import re
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..._base.atomic import new_beside
from ...errors import FileFormatError, KeyPlayersWarning
from .encoding import Rows

TARGETS, PLAYERS, DAMAGED = "targets", "players", "damaged"
MANIFEST, LOCK = "manifest.json", "writer.lock"
TEMPORARY = ".tmp-"  # what a killed writer may leave
_NAME = re.compile(r"part-(\d{8})-([0-9a-f]{8})\.parquet")
# Targets per row group: reading one explanation reads its group, writing costs some bytes per group.
_GROUP = 256


@dataclass(frozen=True)
class Part:
    """One committed pair of files."""

    folder: Path
    name: str  # of both files
    n_targets: int
    n_players: int
    n_bytes: int  # of both files
    players_size: int  # bytes of the file of players, as its writer saw it
    players_checksum: str
    replaces: tuple[str, ...]  # parts whose targets stand in this one
    target_columns: tuple[str, ...]

    @property
    def targets_path(self) -> Path:
        return self.folder / TARGETS / self.name

    @property
    def players_path(self) -> Path:
        return self.folder / PLAYERS / self.name

    def read_targets(self, columns: list[str] | None = None) -> pa.Table:
        """Its rows of targets, all or some columns; those that it lacks are left out.

        Raises
        ------
        FileFormatError
            The file is damaged.
        FileNotFoundError
            It was replaced meanwhile.
        """
        return _read(self.targets_path, columns)

    def read_players(self, columns: list[str] | None = None) -> pa.Table:
        """Its rows of players; as `read_targets`."""
        return _read(self.players_path, columns)

    def read_target(self, row: int, columns: list[str]) -> dict[str, Any]:
        """Some columns of one target."""
        group, place = divmod(row, _GROUP)
        read: dict[str, Any] = _read(self.targets_path, columns, group).slice(place, 1).to_pylist()[0]
        return read

    def read_rows(self) -> Rows:
        """All of it."""
        return Rows(self.read_targets(), self.read_players())

    def is_whole(self) -> bool:
        """Whether every byte is as it was written."""
        try:
            return _checksum(self.targets_path.read_bytes()) == self.name[-16:-8] and (
                _checksum(self.players_path.read_bytes()) == self.players_checksum
            )
        except OSError:
            return False


def part_number(name: str) -> int:
    """The number in a part's name; 0 for other names."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else 0


def open_part(folder: Path, name: str) -> Part | None:
    """The part of that name; None where it is torn or not ours.

    Raises
    ------
    FileNotFoundError
        There is none (any more).
    """
    path = folder / TARGETS / name
    try:
        metadata = pq.read_metadata(path)
        ours = json.loads((metadata.metadata or {})[b"keyplayers"])
        size = (folder / PLAYERS / name).stat().st_size
        if size != ours["players_size"]:
            return None
        return Part(
            folder=folder,
            name=name,
            n_targets=metadata.num_rows,
            n_players=ours["n_players"],
            n_bytes=size + path.stat().st_size,
            players_size=ours["players_size"],
            players_checksum=ours["players_checksum"],
            replaces=tuple(ours["replaces"]),
            target_columns=tuple(metadata.schema.to_arrow_schema().names),
        )
    except FileNotFoundError:
        if not path.exists():
            raise
        return None
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError):
        return None


def list_parts(folder: Path, known: Iterable[Part] = ()) -> tuple[list[Part], list[str]]:
    """The committed parts in order, and the names under targets/ that cannot be used.

    Parameters
    ----------
    known
        Parts seen before, which need not be opened again: files never change.
    """
    seen = {part.name: part for part in known}
    while True:
        parts, bad = [], []
        names = sorted(name for name in os.listdir(folder / TARGETS) if not name.startswith(TEMPORARY))
        try:
            for name in names:
                part = seen.get(name) or (open_part(folder, name) if part_number(name) else None)
                if part is None:
                    bad.append(name)
                else:
                    seen[name] = part
                    parts.append(part)
        except FileNotFoundError:
            continue  # merged into another part between listing and opening: list again
        # a part can only replace earlier ones; whatever else it says of others does not hide them
        replaced = {name for part in parts for name in part.replaces if part_number(name) < part_number(part.name)}
        return [part for part in parts if part.name not in replaced], [n for n in bad if n not in replaced]


def warn_of_bad_parts(folder: Path, bad: Iterable[str]) -> None:
    """One warning for all files that cannot be used."""
    bad = list(bad)
    if bad:
        named = ", ".join(bad[:3]) + (", ..." if len(bad) > 3 else "")
        warnings.warn(
            f"{folder}: left out {len(bad)} file(s) under {TARGETS}/ that are damaged or not of this store "
            f"({named}); explaining into the store again redoes their targets",
            KeyPlayersWarning,
            stacklevel=3,
        )


def write_part(folder: Path, number: int, rows: Rows, replaces: Iterable[str] = ()) -> Part:
    """Commit rows as a part.

    Raises
    ------
    OSError
        The disk is full, or the like; then nothing has changed.
    """
    replaces = tuple(replaces)
    players = _to_parquet(rows.players)
    ours = {
        "n_players": rows.players.num_rows,
        "players_size": players.size,
        "players_checksum": _checksum(players),
        "replaces": replaces,
    }
    metadata = (rows.targets.schema.metadata or {}) | {b"keyplayers": json.dumps(ours).encode()}
    targets = _to_parquet(rows.targets.replace_schema_metadata(metadata), row_group_size=_GROUP)
    name = f"part-{number:08d}-{_checksum(targets)}.parquet"
    write_atomically(folder / PLAYERS / name, players)
    try:
        write_atomically(folder / TARGETS / name, targets)
    except BaseException:
        (folder / PLAYERS / name).unlink(missing_ok=True)
        raise
    return Part(
        folder=folder,
        name=name,
        n_targets=rows.n_targets,
        n_bytes=players.size + targets.size,
        replaces=replaces,
        target_columns=tuple(rows.targets.column_names),
        n_players=ours["n_players"],
        players_size=ours["players_size"],
        players_checksum=ours["players_checksum"],
    )


def write_atomically(path: Path, data: Any) -> None:
    """A file that is there with all its bytes, on disk, or not at all."""
    temporary = new_beside(path, TEMPORARY)
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk, where the system can say so."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    except OSError:  # nor do some network file systems
        pass
    finally:
        os.close(descriptor)


def _checksum(data: Any) -> str:
    return f"{zlib.crc32(data):08x}"


def _to_parquet(table: pa.Table, **options: Any) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True, **options)
    return sink.getvalue()


def _read(path: Path, columns: list[str] | None, group: int | None = None) -> pa.Table:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            wanted = columns if columns is None else [c for c in columns if c in file.schema_arrow.names]
            table = file.read(columns=wanted) if group is None else file.read_row_group(group, columns=wanted)
            # what vouches for the part belongs to the file, not to the rows
            return table.replace_schema_metadata(None)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise FileFormatError(
            f"{path} is damaged ({error}); explaining into the store again redoes its targets"
        ) from None
