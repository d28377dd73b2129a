"""``keyplayers store``: look into a folder of explanations."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import commands
from .batch import columns_of, count_line, print_targets, rows_of, store_data, write_players
from .options import Json, Quiet
from .output import TOP, print_json, print_table, say, write_columns

if TYPE_CHECKING:
    from ..batch.store.reader import Store

store = typer.Typer(help="Look into a folder of explanations.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the store.", show_default=False)]
Top = Annotated[int, typer.Option(help="Rows to show.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the table: .csv, .tsv or .parquet.")]


def summary(
    folder: Folder, top: Top = TOP, as_json: Json = False, output: Output = None, quiet: Quiet = False
) -> None:
    """What became of every target."""
    found = _open(folder)
    if output:
        write_columns(columns_of(found.summary("pyarrow")), output)
    if as_json:
        print_json(store_data(found, str(folder)))
        return
    if not output:
        print_targets(found, top)
    if not quiet:
        settings = ", ".join(f"{name}={value}" for name, value in found.settings.items() if value is not None)
        kind = found.manifest["explainer"].rpartition(".")[2]
        say(f"{kind}({settings}), version {found.manifest['version']}")
        say(count_line(found))


def top(
    folder: Folder,
    within: Annotated[
        int | None, typer.Option(metavar="K", help="Count a player only among the K most important of a target.")
    ] = None,
    top: Top = TOP,
    as_json: Json = False,
    output: Output = None,
) -> None:
    """Which players recur, for how many targets, with what total and mean value."""
    found = _open(folder)

    def view(backend: str) -> Any:
        return found.recurring(backend, top=within)

    _tell("Recurring players", view, found, top, as_json, output)


def similar(
    folder: Folder,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Those most similar to this one; default: all pairs.")
    ] = None,
    top: Top = TOP,
    as_json: Json = False,
    output: Output = None,
) -> None:
    """Which explanations resemble each other: the same players with the same values."""
    found = _open(folder)
    name = None if target is None else _target(found, target)

    def view(backend: str) -> Any:
        return found.similar(name, k=top, backend=backend)

    _tell("Similar explanations", view, found, top, as_json, output)


def export(
    folder: Folder,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Players as .csv, .tsv or .parquet; one explanation as .json, .json.gz or .npz."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="The explanation of this target only.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Players per target; default: all.")] = None,
    as_json: Json = False,
) -> None:
    """Write all players of all targets, or one whole explanation."""
    from ..errors import InputError

    found = _open(folder)
    if target is not None:
        explanation = found[_target(found, target)]
        if output:
            explanation.save(output)
        if as_json or not output:
            print_json(explanation.to_dict())
        return
    if output:
        write_players(found, output, top)
    if as_json:
        print_json({"kind": "players", "players": rows_of(found.to_frame("dict", top=top))})
    elif not output:
        raise InputError("say where to: -o players.parquet, or --json")


for _command in (summary, top, similar, export):
    commands.add(store, _command)


def _open(folder: Path) -> "Store":
    from ..batch.store.reader import open_store

    return open_store(folder)


def _target(found: "Store", text: str) -> Any:
    """The target that a text means: itself, else the number it spells."""
    from .._base.names import Names

    return Names(found.names()).parse(text)


def _tell(
    title: str, view: Callable[[str], Any], found: "Store", top: int, as_json: bool, output: Path | None
) -> None:
    if output:
        write_columns(columns_of(view("pyarrow")), output)
    if as_json:
        print_json({"kind": title.lower(), "store": str(found.path), "rows": rows_of(view("dict"))})
    elif not output:
        columns = view("dict")
        print_table(title, list(columns), list(zip(*columns.values(), strict=True))[:top])
