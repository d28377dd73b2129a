"""The one writer of a store: takes the lock, mends what a killed writer left, commits, merges small parts."""

import json
import secrets
import shutil
import warnings
from collections.abc import Collection, Hashable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..._base.atomic import refuse_link
from ..._base.interrupts import deferred_interrupt
from ..._version import __version__
from ...errors import FileFormatError, InputError, KeyPlayersWarning
from .encoding import Rows, join_rows, names_of
from .lock import WriterLock
from .parts import (
    DAMAGED,
    LOCK,
    MANIFEST,
    PLAYERS,
    TARGETS,
    TEMPORARY,
    Part,
    list_parts,
    part_number,
    warn_of_bad_parts,
    write_atomically,
    write_part,
)

# version of the layout
FORMAT = 1
# bits of a fresh seed: a number that can be given again as ``random_state``, and that any reader of JSON keeps
_SEED_BITS = 52
# Parts below this size are small; so many of them are merged. A night of rounds of a few seconds makes thousands
# of parts, and every reader opens each.
_SMALL_BYTES = 2**23
_MANY = 32
# entries of a manifest that readers rely on
_ENTRIES = {"version": str, "explainer": str, "settings": dict, "seed": dict}
# what a store must have been made with to be continued
_MUST_AGREE = ("explainer", "settings", "fingerprint", "table", "seed")

# how those are said to differ whose values say nothing to a reader
_DIFFERENT = {
    "fingerprint": "the field, model or data is not the same",
    "table": "the rows are those of another table (give them names to add some: {name: row})",
}


class Writer:
    """Writes into a store, new or begun. Use it in a ``with`` block.

    Parameters
    ----------
    path
        A folder; made where it is missing.
    made_with
        What decides the numbers: explainer, settings, fingerprint, seed; JSON can hold it. A `seed` of None
        takes that of the store.

    Raises
    ------
    StoreLockedError
        On entering: another process is writing.
    InputError
        On entering: the store was made with something else, or the folder holds other things.
    """

    def __init__(self, path: Path, made_with: Mapping[str, Any]) -> None:
        self.path = path
        self.made_with = dict(made_with)
        self._exits = ExitStack()
        self._parts: list[Part] = []
        self._number = 0

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True, exist_ok=True)
        for name in (MANIFEST, LOCK, TARGETS, PLAYERS, DAMAGED):
            refuse_link(self.path / name)
        if not (self.path / MANIFEST).exists():
            _refuse_foreign(self.path)
        with ExitStack() as exits:
            exits.enter_context(WriterLock(self.path / LOCK))
            self._open()
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def statuses(self) -> dict[Hashable, str]:
        """What became of every target so far."""
        found: dict[Hashable, str] = {}
        for part in self._parts:
            table = part.read_targets(["target", "target_type", "status"])
            names = names_of(table["target"], table["target_type"])
            found.update(zip(names, table["status"].to_pylist(), strict=True))
        return found

    def commit(self, rows: Rows) -> None:
        """Add targets that the store does not have yet. Ctrl-C waits until they are written whole.

        Raises
        ------
        OSError
            The disk is full, or the like; what was committed before is safe.
        """
        if not rows.n_targets:
            return
        with deferred_interrupt() as pressed:
            try:
                self._number += 1
                self._parts.append(write_part(self.path, self._number, rows))
                self._merge_small()
            except OSError as error:
                safe = sum(part.n_targets for part in self._parts)
                text = (
                    f"{error.strerror or error}; {safe:,} targets are safe, and the same call goes on from there"
                )
                raise OSError(error.errno, text, str(self.path)) from error
        if pressed():
            raise KeyboardInterrupt

    def forget(self, statuses: Collection[str]) -> None:
        """Drop the targets of these statuses, so that they are done again."""
        for part in list(self._parts):
            rows = part.read_rows()
            gone = pc.is_in(rows.targets["status"], pa.array(list(statuses), pa.string()))
            if not pc.any(gone).as_py():
                continue
            kept = rows.targets.filter(pc.invert(gone))
            theirs = pc.is_in(_keys(rows.players), pc.unique(_keys(kept)))
            self._replace([part], Rows(kept, rows.players.filter(theirs)))

    def merge(self) -> None:
        """Merge all small parts."""
        self._merge([part for part in self._parts if part.n_bytes < _SMALL_BYTES])

    def _merge_small(self) -> None:
        small = [part for part in self._parts if part.n_bytes < _SMALL_BYTES]
        if len(small) >= _MANY:
            self._merge(small)

    def _merge(self, small: list[Part]) -> None:
        while len(small) > 1:
            together = [small.pop(0), small.pop(0)]
            while small and sum(part.n_bytes for part in together) < _SMALL_BYTES:
                together.append(small.pop(0))
            self._replace(together, join_rows(part.read_rows() for part in together))

    def _replace(self, old: list[Part], rows: Rows) -> None:
        self._number += 1
        merged = write_part(self.path, self._number, rows, [part.name for part in old])
        names = {part.name for part in old}
        self._parts = [part for part in self._parts if part.name not in names]
        if rows.n_targets:
            self._parts.append(merged)
        _remove(self.path, names)

    def _open(self) -> None:
        """Take over what there is."""
        for name in (TARGETS, PLAYERS):
            (self.path / name).mkdir(exist_ok=True)
        manifest = self.path / MANIFEST
        if manifest.exists():
            self._check(read_manifest(self.path))
        else:
            if self.made_with["seed"] is None:
                self.made_with["seed"] = seed_to_json(np.random.SeedSequence(secrets.randbits(_SEED_BITS)))
            written = {"format": FORMAT, "version": __version__, "created": _now(), **self.made_with}
            write_atomically(manifest, json.dumps(written, indent=1, ensure_ascii=False).encode())
        self._mend()

    def _check(self, manifest: Mapping[str, Any]) -> None:
        if self.made_with["seed"] is None:
            self.made_with["seed"] = manifest["seed"]
        ours = json.loads(json.dumps(self.made_with))
        differences = [
            text for name in _MUST_AGREE for text in _differences(name, manifest.get(name), ours.get(name))
        ]
        if differences:
            raise InputError(
                f"{self.path} was made with something else, so its numbers would not fit: "
                f"{'; '.join(differences)}. Give another folder, or the same settings and data"
            )
        if manifest.get("version") != __version__:
            warnings.warn(
                f"{self.path} was begun by version {manifest.get('version')}, this is {__version__}: "
                "numbers may differ where the method was improved",
                KeyPlayersWarning,
                stacklevel=2,
            )

    def _mend(self) -> None:
        """Finish or undo what a killed writer had begun; set aside what cannot be read."""
        self._remove_temporaries()
        self._number = max(map(part_number, _part_files(self.path)), default=0)
        parts, bad = list_parts(self.path)
        torn = [part.name for part in parts if not part.is_whole()]
        warn_of_bad_parts(self.path, [*bad, *torn])
        for name in filter(part_number, [*bad, *torn]):
            self._set_aside(name)
        self._parts = [part for part in parts if part.name not in torn]
        good = {part.name for part in self._parts}
        # replaced, or players without targets
        _remove(self.path, set(filter(part_number, _part_files(self.path) - good)))

    def _remove_temporaries(self) -> None:
        for folder in (self.path, self.path / TARGETS, self.path / PLAYERS):
            for entry in folder.iterdir():
                if entry.name.startswith(TEMPORARY) and (entry.is_symlink() or not entry.is_dir()):
                    entry.unlink(missing_ok=True)
                elif folder == self.path and entry.name.startswith(".shared-") and not entry.is_symlink():
                    shutil.rmtree(entry, ignore_errors=True)

    def _set_aside(self, name: str) -> None:
        (self.path / DAMAGED).mkdir(exist_ok=True)
        for folder in (TARGETS, PLAYERS):
            path = self.path / folder / name
            if path.exists():
                path.replace(self.path / DAMAGED / f"{path.stem}-{folder}{path.suffix}")


def seed_to_json(root: np.random.SeedSequence) -> dict[str, Any]:
    """A root of random streams as the manifest holds it."""
    return {"entropy": root.entropy, "spawn_key": list(root.spawn_key)}


def seed_from_json(seed: Mapping[str, Any]) -> np.random.SeedSequence:
    """The root that `seed_to_json` wrote."""
    return np.random.SeedSequence(seed["entropy"], spawn_key=tuple(seed["spawn_key"]))


def read_manifest(path: Path) -> dict[str, Any]:
    """What a store says of itself.

    Raises
    ------
    FileFormatError
        The folder is no store, or one of another layout.
    """
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        written = manifest["format"]
    except FileNotFoundError:
        raise FileFormatError(f"{path} is no store: it has no {MANIFEST}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise FileFormatError(f"{path / MANIFEST} is not the manifest of a store") from None
    if written != FORMAT:
        raise FileFormatError(f"{path} has layout {written!r}; this version reads layout {FORMAT}")
    for name, kind in _ENTRIES.items():
        if not isinstance(manifest.get(name), kind):
            raise FileFormatError(f"{path / MANIFEST} is not the manifest of a store: {name} is missing or wrong")
    found: dict[str, Any] = manifest
    return found


def _refuse_foreign(path: Path) -> None:
    ours = {TARGETS, PLAYERS, LOCK}
    others = [e.name for e in path.iterdir() if e.name not in ours and not e.name.startswith(TEMPORARY)]
    if others:
        raise InputError(f"{path} is no store and not empty (it holds {others[0]!r}); give a new folder")


def _differences(name: str, theirs: Any, ours: Any) -> list[str]:
    if theirs == ours:
        return []
    if isinstance(theirs, dict) and isinstance(ours, dict) and name == "settings":
        keys = [*theirs, *(key for key in ours if key not in theirs)]
        return [t for key in keys for t in _differences(key, theirs.get(key), ours.get(key))]
    if name in _DIFFERENT:
        return [_DIFFERENT[name]]
    return [f"{name} was {_short(theirs)} and is now {_short(ours)}"]


def _keys(table: pa.Table) -> Any:
    """Targets with their types in one column."""
    return pc.binary_join_element_wise(table["target_type"], table["target"], " ")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _remove(path: Path, names: Collection[str]) -> None:
    # targets first: a part is gone when its file of targets is
    for folder in (TARGETS, PLAYERS):
        for name in names:
            (path / folder / name).unlink(missing_ok=True)


def _part_files(path: Path) -> set[str]:
    """Names of the files in the folders of targets and players."""
    return {entry.name for folder in (TARGETS, PLAYERS) for entry in _entries(path / folder)}


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
