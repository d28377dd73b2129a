"""``keyplayers what-if``: what would be believed of the target if the evidence were otherwise?"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .explain import Radius, Target, find_beliefs
from .options import FieldOptions, InferenceOptions, Jobs, Json, Model, Quiet, parse_assignments, takes
from .output import (
    TABLES,
    TOP,
    check_output,
    print_json,
    print_table,
    printable,
    say,
    show_progress,
    write_columns,
)

if TYPE_CHECKING:
    from ..mrf.field import MarkovRandomField
    from ..mrf.inference.beliefs import BeliefState

# version of the JSON that the command prints
SCHEMA = 1


@takes(field=FieldOptions, inference=InferenceOptions)
def what_if(
    model: Model,
    target: Target,
    field: FieldOptions,
    inference: InferenceOptions,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=STATE", help="If NAME were observed in STATE; may be repeated."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Without the evidence of NAME; may be repeated.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Without NAME and its edges; may be repeated.")
    ] = None,
    radius: Radius = 2,
    connectors: Annotated[
        bool, typer.Option("--connectors", help="In the table, also variables without evidence.")
    ] = False,
    exact: Annotated[bool, typer.Option("--exact", help="By exact marginals, where feasible.")] = False,
    beliefs: Annotated[
        Path | None, typer.Option(help="Beliefs saved by `keyplayers beliefs -o STATE.npz`, of the same field.")
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="Rows of the table to show.")] = TOP,
    jobs: Jobs = None,
    as_json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the table: .csv, .tsv or .parquet.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Say what the field would believe of one variable if other evidence were otherwise, or not there.

    With --set, --without or --remove: all of these changes at once. With none of them: a table of what each
    piece of evidence around the target does.
    """
    asked = bool(change or without or remove)
    if asked and output is not None:
        raise typer.BadParameter("--output writes the table: leave --set, --without and --remove out")
    check_output(output, *TABLES)
    mrf = field.load(model)
    name = mrf.names.parse(target)
    with show_progress(quiet) as progress:
        question = _Question(mrf, name, find_beliefs(mrf, beliefs, exact, inference, jobs, progress))
        if asked:
            question.answer(_changes(mrf, change, without, remove), as_json)
            return
        from ..mrf.what_if import evidence_table

        table = evidence_table(
            mrf,
            name,
            radius=None if radius < 0 else radius,
            connectors=connectors,
            beliefs=question.state,
            progress=progress,
        )
    if output is not None:
        write_columns({**table, "name": [str(entry) for entry in table["name"]]}, output)
    if as_json:
        print_json(question.table_data(table))
    elif output is None:
        question.print_table(table, top)
        if len(table["name"]) > top and not quiet:
            say(f"{len(table['name']) - top:,} more; --top shows them")


def _changes(
    mrf: "MarkovRandomField", change: list[str] | None, without: list[str] | None, remove: list[str] | None
) -> dict[Any, Any]:
    from ..errors import InputError
    from ..mrf.what_if import REMOVED

    changes: dict[Any, Any] = dict(parse_assignments(mrf, change or [], "--set"))
    for option, names, to in (("--without", without, None), ("--remove", remove, REMOVED)):
        for text in names or []:
            name = mrf.names.parse(text)
            if name in changes:
                raise InputError(f"{option} {text}: it is changed already")
            changes[name] = to
    return changes


@dataclass(frozen=True)
class _Question:
    """A target, what is believed of it, and how answers are printed."""

    mrf: "MarkovRandomField"
    target: Any
    state: "BeliefState"

    def answer(self, changes: dict[Any, Any], as_json: bool) -> None:
        """One question, as a sentence or as JSON."""
        from ..mrf.what_if import what_if as ask

        answer = ask(self.mrf, self.target, changes, beliefs=self.state)
        if as_json:
            print_json({"schema": SCHEMA, "kind": "what_if", **answer.to_dict()})
        else:
            typer.echo(printable(answer.sentence))

    def print_table(self, table: dict[str, list[Any]], top: int) -> None:
        """What each piece of evidence does, row by row."""
        believed, now = self._most_believed
        typer.echo(f"The field believes that {printable(f'{self.target} is {believed}')} ({now:.3f}).")
        if not table["name"]:
            typer.echo("There is no evidence around it.")
            return
        columns = [
            "variable", "hops", "evidence", "without evidence", "without it", "if it were", "then", "log-odds",
        ]  # fmt: skip
        keys = (
            "name", "distance", "evidence", "without_evidence", "without", "otherwise_state", "otherwise", "shift",
        )  # fmt: skip
        rows = [
            ["-" if table[key][i] is None else table[key][i] for key in keys] for i in range(len(table["name"]))
        ]
        print_table(f"P({self.target} is {believed}) if the evidence were otherwise", columns, rows[:top])

    def table_data(self, table: dict[str, list[Any]]) -> dict[str, Any]:
        """The JSON of the table."""
        from .._base.names import name_to_json

        believed, now = self._most_believed
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        for row in rows:
            for key in ("name", "evidence", "otherwise_state"):
                row[key] = None if row[key] is None else name_to_json(row[key])
            row["shift"] = row["shift"] if math.isfinite(row["shift"]) else None
        return {
            "schema": SCHEMA,
            "kind": "what_if_table",
            "target": name_to_json(self.target),
            "state": name_to_json(believed),
            "belief": now,
            "variables": rows,
        }

    @property
    def _most_believed(self) -> tuple[Any, float]:
        belief = self.state.belief(self.target)
        best = int(belief.argmax())
        return self.mrf.states(self.target)[best], float(belief[best])
