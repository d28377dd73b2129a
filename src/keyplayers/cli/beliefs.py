"""``keyplayers beliefs``: what a field believes of its variables."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import FieldOptions, InferenceOptions, Jobs, Json, Model, Quiet, takes
from .output import (
    TABLES,
    TOP,
    check_output,
    plural,
    print_json,
    print_table,
    say,
    show_progress,
    write_columns,
)

if TYPE_CHECKING:
    from ..mrf.inference.beliefs import BeliefState

# version of the JSON that this command prints
SCHEMA = 1


@takes(field=FieldOptions, inference=InferenceOptions)
def beliefs(
    model: Model,
    field: FieldOptions,
    inference: InferenceOptions,
    max_product: Annotated[bool, typer.Option("--max-product", help="Max-marginals, not marginals.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Exact marginals, where feasible.")] = False,
    start: Annotated[
        Path | None, typer.Option("--beliefs", help="Start from a state saved with -o STATE.npz (warm start).")
    ] = None,
    state: Annotated[str | None, typer.Option(help="Rank the variables by the probability of this state.")] = None,
    top: Annotated[int | None, typer.Option(min=0, help=f"Rows to show (default {TOP}; with --json all).")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write all beliefs: .csv, .tsv, .parquet, .json; .npz for --beliefs."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Infer what a Markov random field believes of every variable."""
    from .._base.atomic import replacing
    from ..errors import InputError
    from ..mrf.inference.propagation import belief_propagation
    from ..mrf.storage import load_state, save_state

    suffix = output.suffix.lower() if output else ""
    check_output(output, *TABLES, ".json", ".npz")
    if exact and suffix == ".npz":
        raise InputError("exact marginals have no messages to go on from, so they are not kept as .npz")
    if exact and start:
        raise InputError("give --beliefs or --exact, not both")
    mrf = field.load(model)
    with show_progress(quiet) as progress:
        if exact:
            from ..mrf.inference.exact import exact_marginals

            found = exact_marginals(mrf)
        else:
            found = belief_propagation(
                mrf,
                max_product=max_product,
                start=load_state(start) if start else None,
                n_jobs=jobs,
                progress=progress,
                **inference.keywords(),
            )
    if output and suffix == ".npz":
        save_state(found, output)
    elif output and suffix == ".json":
        with replacing(output) as part:
            part.write_text(json.dumps(_as_data(found, None, state), ensure_ascii=False), encoding="utf-8")
    elif output:
        from ..mrf.inference.beliefs import belief_columns

        write_columns(belief_columns(found), output)
    if as_json:
        print_json(_as_data(found, top, state))
        return
    if not output or top:
        _print_top(found, TOP if top is None else top, state)
    if not quiet:
        for line in summary(found):
            say(line)


def summary(found: "BeliefState") -> list[str]:
    """The run in a few lines: the field, how its beliefs were found, how far to trust them."""
    mrf = found.mrf
    lines = [
        f"{plural(mrf.n_variables, 'variable')} ({int(mrf.observed.sum()):,} observed), "
        f"{plural(mrf.n_edges, 'edge')}, {plural(mrf.n_components, 'component')}"
    ]
    how = found.schedule + (f", damping {found.damping:g}" if found.damping else "")
    if found.n_sweeps:
        how += f", {plural(found.n_sweeps, 'sweep')}, last change {found.residuals[-1]:.1e}"
    lines.append(f"{how}: {'exact' if found.exact else found.caveat}")
    return lines


def _ranking(found: "BeliefState", state: str | None) -> Any:
    """Positions of the variables to show first: by one state's probability, else the surest not observed."""
    import numpy as np

    from ..errors import InputError, UnknownNameError
    from ..readers.evidence import parse_state

    mrf = found.mrf
    starts = mrf.offsets[:-1]
    if state is None:
        surest = np.maximum.reduceat(found.log_beliefs, starts) if mrf.n_variables else np.zeros(0)
        return np.lexsort((-surest, mrf.observed))
    columns = np.full(mrf.n_variables, -1)
    if not _same_states(found):
        for i, name in enumerate(mrf.names):
            if state in map(str, mrf.states(name)):
                columns[i] = mrf.state_index(name, parse_state(mrf, name, state))
    elif mrf.n_variables:
        try:
            columns[:] = mrf.state_index(mrf.names[0], parse_state(mrf, mrf.names[0], state))
        except UnknownNameError as error:
            raise InputError(str(error)) from None
    chosen = np.where(columns >= 0, found.log_beliefs[starts + np.maximum(columns, 0)], -np.inf)
    return np.argsort(-chosen, kind="stable")


def _print_top(found: "BeliefState", top: int, state: str | None) -> None:
    mrf = found.mrf
    order = _ranking(found, state)[:top]
    names = [mrf.names[int(i)] for i in order]
    if _same_states(found):
        columns = ["variable", *(str(given) for given in mrf.states_at(0))]
        rows = [[name, *found.belief(name).tolist()] for name in names]
    else:
        columns = ["variable", "most likely", "probability"]
        rows = []
        for name in names:
            belief = found.belief(name)
            rows.append([name, mrf.states(name)[int(belief.argmax())], float(belief.max())])
    shown = "" if len(order) == mrf.n_variables else f" (top {len(order)} of {mrf.n_variables:,})"
    print_table(("Max-marginals" if found.max_product else "Beliefs") + shown, columns, rows)


def _as_data(found: "BeliefState", top: int | None, state: str | None) -> dict[str, Any]:
    """The JSON of a run."""
    from .._base.names import name_to_json

    mrf = found.mrf
    order = range(mrf.n_variables) if top is None and state is None else _ranking(found, state)[:top]
    return {
        "schema": SCHEMA,
        "kind": "beliefs",
        "n_variables": mrf.n_variables,
        "n_edges": mrf.n_edges,
        "n_components": mrf.n_components,
        "n_observed": int(mrf.observed.sum()),
        "inference": {
            "schedule": found.schedule,
            "damping": found.damping,
            "max_product": found.max_product,
            "start": found.start,
            "sweeps": found.n_sweeps,
            "residual": float(found.residuals[-1]) if found.n_sweeps else 0.0,
            "converged": found.converged,
            "exact": found.exact,
            "caveat": found.caveat,
        },
        "log_partition": found.log_partition,
        "states": [name_to_json(given) for given in mrf.states_at(0)] if _same_states(found) else None,
        "beliefs": [_row(found, int(i)) for i in order],
    }


def _row(found: "BeliefState", position: int) -> dict[str, Any]:
    from .._base.names import name_to_json

    name = found.mrf.names[position]
    row = {"name": name_to_json(name), "belief": found.belief(name).tolist()}
    if not _same_states(found):
        row["states"] = [name_to_json(given) for given in found.mrf.states_at(position)]
    return row


def _same_states(found: "BeliefState") -> bool:
    """Whether all variables have the same states, so that beliefs are a table with one column per state."""
    mrf = found.mrf
    return mrf.uniform_n_states is not None and (mrf.state_names is None or isinstance(mrf.state_names, tuple))
