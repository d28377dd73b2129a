"""Many targets from the command line: what commands that explain one share when they explain many."""

import math
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import print_json, print_table, say, show_progress, write_columns

if TYPE_CHECKING:
    from ..batch.store.reader import Store
    from ..mrf.field import MarkovRandomField

# version of the JSON of a batch
SCHEMA = 1
ALL = "all"


@dataclass(frozen=True)
class BatchOptions:
    """How many targets are explained."""

    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="With many targets: keep explanations in this folder; a run that died goes on."
        ),
    ] = None
    max_seconds_per_target: Annotated[
        float | None, typer.Option(help="With many targets: after this time a target gives a partial result.")
    ] = None
    retry: Annotated[
        list[str] | None,
        typer.Option(metavar="STATUS", help="With --store: do failed or partial targets again; may be repeated."),
    ] = None
    prefer: Annotated[
        str | None, typer.Option(help="With many targets: threads or processes; default: what suits them.")
    ] = None

    def check(self, many: bool) -> None:
        """Refuse, as wrong usage, what only makes sense with many targets where there is one."""
        if self.prefer not in (None, "threads", "processes"):
            raise typer.BadParameter(f"--prefer must be threads or processes, got {self.prefer!r}")
        given = [
            name
            for name, value in (
                ("--store", self.store),
                ("--max-seconds-per-target", self.max_seconds_per_target),
                ("--retry", self.retry),
                ("--prefer", self.prefer),
            )
            if value
        ]
        if given and not many:
            raise typer.BadParameter(f"{given[0]} is for many targets (--targets)")


def read_targets(mrf: "MarkovRandomField", given: str) -> list[Hashable]:
    """The variables that ``--targets`` means: all that are not observed, or those of a file.

    A file is a table with a column target or name (else its first one), or a text with a name per line. Names
    that the field does not have are kept: they fail, each by itself.
    """
    from ..errors import UnknownNameError

    if given == ALL:
        return [name for name, observed in zip(mrf.names, mrf.observed, strict=True) if not observed]
    targets: list[Hashable] = []
    for name in _names_in(given):
        try:
            targets.append(mrf.names.parse(name) if isinstance(name, str) else name)
        except UnknownNameError:
            targets.append(name)
    return targets


def _names_in(path: str) -> list[Hashable]:
    from ..errors import FileFormatError
    from ..readers.tables import names_from_text, read_table

    if Path(path).suffix.lower() == ".txt":
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
        names: list[Hashable] = [line.strip() for line in lines if line.strip()]
    else:
        table = read_table(path, header=True)
        columns = table.column_names
        column = next((name for name in ("target", "name") if name in columns), columns[0])
        found = names_from_text(table.column(column), path, column)
        names = found if isinstance(found, list) else found.to_pylist()
    if not names:
        raise FileFormatError(f"{path} holds no targets")
    return names


def explain_batch(
    explainer: Any,
    targets: Any,
    options: BatchOptions,
    *,
    seed: int | None,
    jobs: int | None,
    top: int,
    as_json: bool,
    output: Path | None,
    quiet: bool,
) -> None:
    """Explain many targets and tell; exit status 1 where some failed.

    Parameters
    ----------
    targets
        As `explain_many` takes them: names, or the rows of a table.
    """
    from ..batch.run import explain_many

    prefer: Any = options.prefer
    with _folder(options.store) as folder:
        try:
            with show_progress(quiet) as progress:
                store = explain_many(
                    explainer,
                    targets,
                    random_state=seed,
                    n_jobs=jobs,
                    store=folder,
                    max_seconds_per_target=options.max_seconds_per_target,
                    retry=options.retry or (),
                    prefer=prefer,
                    progress=progress,
                )
        except KeyboardInterrupt:
            if options.store:
                say(f"keyplayers: interrupted; what was done is in {folder}, and the same command goes on")
            raise typer.Exit(130) from None
        if output:
            write_players(store, output)
        if as_json:
            print_json(store_data(store, str(options.store) if options.store else None))
        elif not output or options.store:
            print_targets(store, top)
        if not quiet:
            say(count_line(store))
        failed = store.counts["failed"]
    if failed:
        raise typer.Exit(1)


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    """The folder of the store, or one that lasts as long as the command."""
    if given is not None:
        yield given
        return
    with TemporaryDirectory(prefix="keyplayers-") as folder:
        yield Path(folder)


def count_line(store: "Store") -> str:
    """How many targets there are, and what became of them."""
    counts = store.counts
    line = f"{counts.total():,} targets: {len(store):,} explained"
    if counts["partial"]:
        line += f" ({counts['partial']:,} stopped early, so partial)"
    if counts["failed"]:
        name, error = next(iter(store.failures.items()))
        line += f", {counts['failed']:,} FAILED (the first, {name}: {error})"
    return line


def print_targets(store: "Store", top: int) -> None:
    """The first targets with their most important players."""
    summary = store.summary("dict")
    shown = ("target", "status", "top_player", "top_value", "sentence", "error_type", "error")
    rows = []
    for target, status, player, value, sentence, kind, error in zip(
        *(summary[c][:top] for c in shown), strict=True
    ):
        said = sentence if error is None else f"{kind}: {error}"
        rows.append([target, status, *("" if entry is None else entry for entry in (player, value)), said])
    n = len(summary["target"])
    more = "" if len(rows) == n else f" (first {len(rows)} of {n:,})"
    columns = ["target", "status", "most important", "value", "in words"]
    print_table(f"Targets{more}", columns, rows)


def store_data(store: "Store", path: str | None) -> dict[str, Any]:
    """The JSON of a batch: what it was made with and a row per target."""
    manifest = store.manifest
    return {
        "schema": SCHEMA,
        "kind": "batch",
        "store": path,
        "version": manifest["version"],
        "explainer": manifest["explainer"],
        "settings": manifest["settings"],
        "seed": manifest["seed"],
        "n_targets": store.counts.total(),
        "n_done": store.counts["done"],
        "n_partial": store.counts["partial"],
        "n_failed": store.counts["failed"],
        "targets": rows_of(store.summary("dict")),
    }


def rows_of(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Columns as rows that JSON can hold: names as they are where JSON can, no NaN."""
    return [dict(zip(columns, map(_plain, row), strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(value: Any) -> Any:
    from .._base.names import name_to_json

    if value is None or isinstance(value, list) or (isinstance(value, float) and not math.isfinite(value)):
        return value if isinstance(value, list) else None
    return name_to_json(value)


def write_players(store: "Store", path: Path, top: int | None = None) -> None:
    """The table of players to a file: .csv, .tsv or .parquet."""
    write_columns(columns_of(store.to_frame("pyarrow", top=top)), path)


def columns_of(frame: Any) -> dict[str, Any]:
    """A frame's columns as any file can hold them: lists become texts."""
    import pyarrow as pa

    return {
        name: ["; ".join(texts) for texts in frame[name].to_pylist()]
        if pa.types.is_list(frame[name].type)
        else frame[name]
        for name in frame.column_names
    }
