"""``keyplayers learn``: potential and priors from labels."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .labelled import LabelFile, LearningOptions, potential_to_json, read_label_table
from .options import Json, Model, Quiet, takes
from .output import check_output, emit, plural, print_json, print_table, say, write_columns

if TYPE_CHECKING:
    from ..learning.potential import LearnedPotential

# version of the JSON that the command prints
SCHEMA = 1


@takes(learning=LearningOptions)
def learn(
    model: Model,
    labels: LabelFile,
    learning: LearningOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the potential for --potential (.csv, .json), or the field (.npz)."
        ),
    ] = None,
    priors: Annotated[
        Path | None, typer.Option(help="Write the priors, for --priors: .csv, .tsv, .parquet.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn how neighbours' states go together from a graph of which some variables are labelled.

    One potential (or one per type) is written as a file that --potential reads. A field as .npz keeps what such a
    file cannot: a potential that depends on the weight of an edge, or on how many edges its ends have.
    """
    from ..errors import InputError
    from ..learning.potential import learn_potential

    check_output(output, ".csv", ".json", ".npz")
    check_output(priors, ".csv", ".tsv", ".parquet")
    whole = output is not None and output.suffix.lower() == ".npz"
    if learning.by_weight and output is not None and not whole:
        raise InputError("a potential that depends on the weight of an edge is kept as a field: -o FIELD.npz")
    if learning.per_type and output is not None and output.suffix.lower() == ".csv":
        raise InputError("potentials per type are kept as .json: -o POTENTIAL.json")
    known = read_label_table(labels)
    keywords: dict[str, Any] = learning.keywords(model, known)
    learned = learn_potential(keywords.pop("edges"), known, hubs=None if whole else False, **keywords)
    if output is not None:
        _write(learned, output)
    if priors is not None:
        _write_priors(learned, priors)
    if as_json:
        print_json(_as_data(learned))
        return
    for kind, matrix in _tables(learned).items():
        title = (
            f"Compatibility{f' of {kind}' if kind else ''}, rows = {'source' if learning.directed else 'one end'}"
        )
        rows = [[str(state), *row] for state, row in zip(learned.states, matrix, strict=True)]
        print_table(title, ["", *map(str, learned.states)], rows)
    emit(
        "Share of each state: "
        + ", ".join(f"{s} {p:.3f}" for s, p in zip(learned.states, learned.shares, strict=True))
    )
    if not quiet:
        for line in _summary(learned):
            say(line)


def _write(learned: "LearnedPotential", output: Path) -> None:
    from .._base.atomic import replacing
    from ..readers import write_mrf

    if output.suffix.lower() == ".npz":
        field = learned.field
        write_mrf(replace(field, log_priors=learned.log_priors.ravel()), output)
        return
    found = potential_to_json(learned.potential)
    with replacing(output) as part:
        if output.suffix.lower() == ".json":
            part.write_text(json.dumps(found), encoding="utf-8")
        else:
            part.write_text("".join(",".join(map(repr, row)) + "\n" for row in found), encoding="utf-8")


def _write_priors(learned: "LearnedPotential", path: Path) -> None:
    import numpy as np

    rows = np.array(list(learned.priors.values()))
    columns = {str(state): rows[:, i] for i, state in enumerate(learned.states)}
    write_columns({"name": [str(name) for name in learned.priors], **columns}, path)


def _tables(learned: "LearnedPotential") -> dict[str, list[list[float]]]:
    return {
        kind if isinstance(kind, str) else _named(kind): matrix.tolist()
        for kind, matrix in learned.compatibility.items()
    }


def _named(kind: Any) -> str:
    low, high = getattr(kind, "low", None), getattr(kind, "high", None)
    return str(kind) if low is None else f"weights {low:g} to {high:g}"


def _summary(learned: "LearnedPotential") -> list[str]:
    how = f"{learned.method}, strength {learned.strength:g}, criticality {learned.criticality:.3g}"
    counted = f"{plural(learned.n_labels, 'label')}, {plural(learned.n_pairs, 'labelled pair')}"
    return [f"{counted}; {how}", *learned.notes]


def _as_data(learned: "LearnedPotential") -> dict[str, Any]:
    from .._base.names import name_to_json

    by_edge = not isinstance(learned.potential, dict) and learned.potential.ndim == 3
    return {
        "schema": SCHEMA,
        "kind": "learned_potential",
        "states": [name_to_json(state) for state in learned.states],
        "potential": None if by_edge else potential_to_json(learned.potential),
        "compatibility": _tables(learned),
        "shares": learned.shares.tolist(),
        "method": learned.method,
        "strength": learned.strength,
        "criticality": learned.criticality,
        "n_labels": learned.n_labels,
        "n_pairs": learned.n_pairs,
        "held_out_loss": learned.trials[0].loss if learned.trials else None,
        "held_out_accuracy": learned.trials[0].accuracy if learned.trials else None,
        "notes": list(learned.notes),
    }
