"""``keyplayers evaluate``: how well beliefs tell labels that were hidden."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .labelled import LabelFile, LearningOptions, read_label_table, states_of_labels
from .options import FieldOptions, Json, Model, Quiet, Seed, takes
from .output import TABLES, check_output, emit, print_json, print_table, say, write_columns

if TYPE_CHECKING:
    from ..learning.evaluation import Evaluation

# version of the JSON that the command prints
SCHEMA = 1
# the columns of the table, and what they are called
_COLUMNS = {
    "auc": "AUC",
    "average_precision": "av. precision",
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "calibration_error": "calib. error",
    "sure": "beyond .99",
    "sure_wrong": "of these wrong",
}


@takes(field=FieldOptions, learning=LearningOptions)
def evaluate(
    model: Model,
    labels: LabelFile,
    field: FieldOptions,
    learning: LearningOptions,
    splits: Annotated[int, typer.Option(min=1, help="How often labels are hidden anew.")] = 5,
    share: Annotated[float, typer.Option(help="Share of the labels that are seen, between 0 and 1.")] = 0.3,
    positive: Annotated[
        str | None, typer.Option(help="State that AUC is about; default: the rarer of two.")
    ] = None,
    algorithm: Annotated[str, typer.Option(help="How beliefs are found: bp, exact, trw, ...")] = "bp",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the table: .csv, .tsv, .parquet.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say how well beliefs tell labels that were hidden, and whether something simpler does as well.

    A potential is learned from the labels that are seen. With --potential or --homophily that field is tried too.
    """
    from ..learning.evaluation import evaluate as measure

    check_output(output, *TABLES)
    known = read_label_table(labels)
    keywords: dict[str, Any] = learning.keywords(model, known)
    edges = keywords.pop("edges")
    if field.potential or field.log_potential or field.homophily is not None:
        if not (field.states or field.priors or field.log_priors):
            field = replace(field, states=",".join(states_of_labels(known)))
        edges, keywords = field.load(model), {"strength": learning.strength, "method": learning.method}
    names = {str(label): label for label in known.values()}
    found = measure(
        edges,
        known,
        splits=splits,
        share=share,
        positive=None if positive is None else names.get(positive, positive),
        algorithm=algorithm,
        random_state=seed,
        **keywords,
    )
    if output is not None:
        _write(found, output)
    if as_json:
        print_json({"schema": SCHEMA, "kind": "evaluation", **found.to_dict()})
        return
    emit(found.sentence)
    print_table(
        f"On hidden labels ({share:.0%} of {found.n_labels:,} seen, {splits} splits, ± 95 %)",
        ["", *_COLUMNS.values()],
        [[row, *(_cell(found, row, measure) for measure in _COLUMNS)] for row in found.scores],
    )
    if not quiet:
        about = "each state against the others" if found.positive is None else f"state {found.positive!r}"
        say(f"AUC and average precision are about {about}")
        for note in found.notes:
            say(note)


def _cell(found: "Evaluation", row: str, measure: str) -> str:
    mean, doubt = found.mean(row, measure), found.half_width(row, measure)
    return f"{mean:.3f}" if doubt != doubt else f"{mean:.3f} ±{doubt:.3f}"


def _write(found: "Evaluation", path: Path) -> None:
    from ..learning.scores import Scores

    columns: dict[str, Any] = {"name": list(found.scores)}
    for measure in Scores._fields:
        columns[measure] = [found.mean(row, measure) for row in found.scores]
        columns[f"{measure}_half_width"] = [found.half_width(row, measure) for row in found.scores]
    write_columns(columns, path)
