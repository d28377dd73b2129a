"""``keyplayers beliefs``: what a field believes of its variables."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import FieldOptions, InferenceOptions, Jobs, Json, Model, Quiet, Seed, takes
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
    from ..mrf.field import MarkovRandomField
    from ..mrf.inference.beliefs import BeliefState

# version of the JSON that this command prints
SCHEMA = 1
# what messages call an algorithm
_CALLED = {"exact": "exact inference"}


@takes(field=FieldOptions, inference=InferenceOptions)
def beliefs(
    model: Model,
    field: FieldOptions,
    inference: InferenceOptions,
    max_product: Annotated[bool, typer.Option("--max-product", help="Max-marginals, not marginals.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Exact marginals, where feasible.")] = False,
    algorithm: Annotated[str, typer.Option(help="bp, trw, mean_field, gibbs, linbp or exact.")] = "bp",
    seed: Seed = None,
    start: Annotated[
        Path | None, typer.Option("--beliefs", help="Start from a state saved with -o STATE.npz (warm start).")
    ] = None,
    state: Annotated[str | None, typer.Option(help="Rank the variables by the probability of this state.")] = None,
    top: Annotated[int | None, typer.Option(min=0, help=f"Rows to show (default {TOP}; with --json all).")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write all beliefs: .csv, .tsv, .parquet, .json, .MAR; .npz for --beliefs."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Infer what a Markov random field believes of every variable."""
    from .._base.atomic import replacing
    from ..errors import InputError
    from ..mrf.inference.propagation import belief_propagation
    from ..mrf.storage import load_state, save_state

    suffix = output.suffix.lower() if output else ""
    check_output(output, *TABLES, ".json", ".npz", ".mar")
    algorithm = "exact" if exact else algorithm
    if algorithm != "bp" and suffix == ".npz":
        raise InputError(f"{_CALLED.get(algorithm, algorithm)} has no messages to go on from: not kept as .npz")
    if algorithm != "bp" and (start or max_product):
        raise InputError("--beliefs and --max-product go with belief propagation (--algorithm bp) alone")
    mrf = field.load(model)
    with show_progress(quiet) as progress:
        if algorithm != "bp":
            from ..mrf.inference.registry import infer

            found = infer(mrf, algorithm, **({} if seed is None else {"random_state": seed}))
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
    elif output and suffix == ".mar":
        from ..readers.uai import write_marginals

        write_marginals(found, str(output))
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
    n_factors = len(mrf.factors)
    factors = f"{plural(n_factors, 'factor')} of three or more, " if n_factors else ""
    lines = [
        f"{plural(mrf.n_variables - n_factors, 'variable')} ({_n_observed(mrf):,} observed), {factors}"
        f"{plural(mrf.n_edges, 'edge')}, {plural(mrf.n_components, 'component')}"
    ]
    how = found.schedule + (f", damping {found.damping:g}" if found.damping else "")
    if found.n_sweeps:
        how += f", {plural(found.n_sweeps, 'sweep')}, last change {found.residuals[-1]:.1e}"
    lines.append(f"{how}: {'exact' if found.exact else found.caveat}")
    lower, upper = found.log_partition_bounds
    if lower < upper < float("inf"):
        lines.append(f"log Z is between {lower:.6g} and {upper:.6g}")
    return lines


def _ranking(found: "BeliefState", state: str | None) -> Any:
    """Positions of the variables to show first: by one state's probability, else the surest not observed."""
    import numpy as np

    from ..errors import InputError, UnknownNameError
    from ..mrf.inference.beliefs import common_states
    from ..readers.evidence import parse_state

    mrf = found.mrf
    starts = mrf.offsets[:-1]
    if state is None:
        surest = np.maximum.reduceat(found.log_beliefs, starts) if mrf.n_variables else np.zeros(0)
        ranked = np.lexsort((-surest, mrf.observed))
        return ranked[mrf.real[ranked]]
    columns = np.full(mrf.n_variables, -1)
    if common_states(mrf) is None:
        for i, name in enumerate(mrf.names):
            if state in map(str, mrf.states(name)):
                columns[i] = mrf.state_index(name, parse_state(mrf, name, state))
    elif mrf.n_variables:
        try:
            columns[:] = mrf.state_index(mrf.names[0], parse_state(mrf, mrf.names[0], state))
        except UnknownNameError as error:
            raise InputError(str(error)) from None
    columns[~mrf.real] = -1
    chosen = np.where(columns >= 0, found.log_beliefs[starts + np.maximum(columns, 0)], -np.inf)
    ranked = np.argsort(-chosen, kind="stable")
    return ranked[mrf.real[ranked]]


def _print_top(found: "BeliefState", top: int, state: str | None) -> None:
    from ..mrf.inference.beliefs import common_states

    mrf = found.mrf
    order = _ranking(found, state)[:top]
    names = [mrf.names[int(i)] for i in order]
    common = common_states(mrf)
    if common is not None:
        columns = ["variable", *map(str, common)]
        rows = [[name, *found.belief(name).tolist()] for name in names]
    else:
        columns = ["variable", "most likely", "probability"]
        rows = []
        for name in names:
            belief = found.belief(name)
            rows.append([name, mrf.states(name)[int(belief.argmax())], float(belief.max())])
    n_variables = int(mrf.real.sum())
    shown = "" if len(order) == n_variables else f" (top {len(order)} of {n_variables:,})"
    print_table(("Max-marginals" if found.max_product else "Beliefs") + shown, columns, rows)


def _as_data(found: "BeliefState", top: int | None, state: str | None) -> dict[str, Any]:
    """The JSON of a run."""
    import numpy as np

    from .._base.names import name_to_json
    from ..mrf.inference.beliefs import common_states

    mrf = found.mrf
    listed = np.flatnonzero(mrf.real)
    order = listed if top is None and state is None else _ranking(found, state)[:top]
    common = common_states(mrf)
    return {
        "schema": SCHEMA,
        "kind": "beliefs",
        "n_variables": len(listed),
        "n_factors": len(mrf.factors),
        "n_edges": mrf.n_edges,
        "n_components": mrf.n_components,
        "n_observed": _n_observed(mrf),
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
        "log_partition": _or_none(found.log_partition),
        "log_partition_bounds": [_or_none(bound) for bound in found.log_partition_bounds],
        "states": None if common is None else [name_to_json(given) for given in common],
        "beliefs": [_row(found, int(i), common is None) for i in order],
    }


def _n_observed(mrf: "MarkovRandomField") -> int:
    return int((mrf.observed & mrf.real).sum())


def _row(found: "BeliefState", position: int, own_states: bool) -> dict[str, Any]:
    from .._base.names import name_to_json

    name = found.mrf.names[position]
    row = {"name": name_to_json(name), "belief": found.belief(name).tolist()}
    mine = found.std_errors[found.mrf.offsets[position] : found.mrf.offsets[position + 1]]
    if mine.any() and mine[0] == mine[0]:
        row["std_errors"] = mine.tolist()
    if own_states:
        row["states"] = [name_to_json(given) for given in found.mrf.states_at(position)]
    return row


def _or_none(number: float) -> float | None:
    """JSON has no infinity and no NaN."""
    return number if abs(number) < float("inf") else None
