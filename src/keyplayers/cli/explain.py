"""``keyplayers explain`` and ``keyplayers ball``: who made a belief, and how large that question is."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .batch import BatchOptions, explain_batch, read_targets
from .flip import explain_flip
from .options import FieldOptions, Html, InferenceOptions, Jobs, Json, Model, Quiet, Seed, Top, takes
from .output import (
    EXPLANATIONS,
    FOR_PEOPLE,
    TABLES,
    TOP,
    check_output,
    check_page,
    emit,
    plural,
    print_json,
    print_table,
    say,
    show_progress,
    tell_explanation,
    write_columns,
)

if TYPE_CHECKING:
    from ..explanation import Explanation
    from ..graphshapley.result import SubtreeGame
    from ..mrf.balls import Ball
    from ..mrf.field import MarkovRandomField
    from ..mrf.inference.beliefs import BeliefState

# version of the JSON that `keyplayers ball` prints; explanations carry their own
BALL_SCHEMA = 1

Target = Annotated[
    str, typer.Option("--target", metavar="NAME", help="The variable in question.", show_default=False)
]
Radius = Annotated[int, typer.Option(help="Hops from the target to the farthest player; -1: no limit.")]


@takes(field=FieldOptions, inference=InferenceOptions, batch=BatchOptions)
def explain(
    model: Model,
    field: FieldOptions,
    inference: InferenceOptions,
    batch: BatchOptions,
    target: Annotated[
        str | None, typer.Option("--target", metavar="NAME", help="The variable in question.")
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|all",
            help="Many variables: a table (column target or name), a .txt with one per line, or all not observed.",
        ),
    ] = None,
    radius: Radius = 2,
    coalitions: Annotated[
        str | None,
        typer.Option(help="walks from the target (default), or subtrees of the graph around it, as in the paper."),
    ] = None,
    boundary: Annotated[
        str | None,
        typer.Option(help="What walks are told from where they do not go: messages (default) or nothing (cut)."),
    ] = None,
    law: Annotated[
        str | None,
        typer.Option(help="How coalitions of walks count: uniform (default) or shapley (values sum up)."),
    ] = None,
    worth: Annotated[
        str | None,
        typer.Option(
            help="log_odds (default; does not saturate), probability, symmetric_kl or neg_cross_entropy."
        ),
    ] = None,
    state: Annotated[
        str | None, typer.Option(help="State that log_odds and probability speak of; default: the likeliest.")
    ] = None,
    contrast: Annotated[str | None, typer.Option(metavar="A,B", help="Why state A rather than B?")] = None,
    order: Annotated[
        str | None, typer.Option(help="Players by the size of their values (size) or largest first (value).")
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="The paper to the letter: subtrees, symmetric KL, by value."),
    ] = False,
    flip: Annotated[
        bool,
        typer.Option("--flip", help="Instead: the smallest set of evidence without which the belief would flip."),
    ] = False,
    method: Annotated[str, typer.Option(help="auto, enumeration, convolution or sampling.")] = "auto",
    max_evals: Annotated[
        int | None, typer.Option(help="Most coalitions whose worth may be computed; default: a second or two.")
    ] = None,
    std_error_goal: Annotated[
        float | None, typer.Option(help="Standard error at which sampling may stop, in the worth's unit.")
    ] = None,
    max_ball: Annotated[
        int | None, typer.Option(help="Most variables of the ball; of a larger one the likeliest to matter stay.")
    ] = None,
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if",
            help="Also what would be believed without a player's evidence, without it, or if it were otherwise.",
        ),
    ] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Explain exact marginals, where feasible.")] = False,
    beliefs: Annotated[
        Path | None, typer.Option(help="Beliefs saved by `keyplayers beliefs -o STATE.npz`, of the same field.")
    ] = None,
    top: Top = None,
    list_coalitions: Annotated[
        Path | None, typer.Option(help="Write all coalitions with their worths: .csv, .tsv or .parquet.")
    ] = None,
    seed: Seed = None,
    jobs: Jobs = None,
    as_json: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the explanation: .json, .json.gz, .npz; its players as .csv, .tsv, .parquet; or for "
            "people .html, .md, .png, .svg, .pdf, .graphml.",
        ),
    ] = None,
    html: Html = None,
    quiet: Quiet = False,
) -> None:
    """Explain what a field believes of one variable, or of many: which others made it so."""
    from ..graphshapley.explainer import GraphShapley
    from ..graphshapley.present import notes
    from ..readers.evidence import parse_state

    if (target is None) == (targets is None):
        raise typer.BadParameter("give --target NAME, or --targets FILE for many")
    if targets is not None and list_coalitions is not None:
        raise typer.BadParameter("--list-coalitions is for a single target (--target)")
    if flip and targets is not None:
        raise typer.BadParameter("--flip is for a single target (--target)")
    batch.check(many=targets is not None)
    check_output(output, *TABLES, *(() if targets else (*EXPLANATIONS, *FOR_PEOPLE)))
    check_output(list_coalitions, *TABLES)
    check_page(html, many=targets is not None)
    words: dict[str, Any] = {"coalitions": coalitions, "boundary": boundary, "law": law, "worth": worth}
    words["order"] = order
    if flip:
        others = words | {"state": state, "contrast": contrast, "as-published": as_published or None}
        others |= {"std-error-goal": std_error_goal, "max-ball": max_ball, "list-coalitions": list_coalitions}
        _refuse_beside_flip(others | {"method": None if method == "auto" else method})
    mrf = field.load(model)
    if flip:
        name = mrf.names.parse(str(target))
        with show_progress(quiet) as progress:
            believed = find_beliefs(mrf, beliefs, exact, inference, jobs, progress)
        explain_flip(
            mrf,
            name,
            believed,
            radius=None if radius < 0 else radius,
            max_evals=max_evals,
            seed=seed,
            top=top,
            as_json=as_json,
            output=output,
            html=html,
            quiet=quiet,
        )
        return
    chosen = read_targets(mrf, targets) if targets is not None else [mrf.names.parse(str(target))]
    # states are called the same for all, or each target would need its own question
    name = next((given for given in chosen if given in mrf.names), mrf.names[0])
    contrasted: Any = None
    if contrast is not None:
        contrasted = tuple(parse_state(mrf, name, given) for given in contrast.split(","))
    with show_progress(quiet) as progress:
        chosen_words: dict[str, Any] = {key: given for key, given in words.items() if given is not None}
        explainer = (GraphShapley.as_published if as_published else GraphShapley)(
            mrf,
            radius=None if radius < 0 else radius,
            **chosen_words,
            state=None if state is None else parse_state(mrf, name, state),
            contrast=contrasted,
            method=method,
            max_evals=max_evals,
            std_error_goal=std_error_goal,
            max_ball=max_ball,
            beliefs=find_beliefs(mrf, beliefs, exact, inference, jobs, progress),
            keep_coalitions=list_coalitions is not None,
            what_if=what_if,
        )
        found = None if targets else explainer.explain(name, random_state=seed, progress=progress)
    if found is None:
        explain_batch(
            explainer,
            chosen,
            batch,
            seed=seed,
            jobs=jobs,
            top=TOP if top is None else top,
            as_json=as_json,
            output=output,
            quiet=quiet,
        )
        return
    if list_coalitions:
        write_columns(_coalition_columns(found), list_coalitions)
    tell_explanation(found, print_players, notes, top=top, as_json=as_json, output=output, html=html, quiet=quiet)


def _refuse_beside_flip(others: dict[str, Any]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise typer.BadParameter(f"--flip plays another game, which --{given[0]} says nothing of")


def find_beliefs(
    mrf: "MarkovRandomField",
    path: Path | None,
    exact: bool,
    inference: InferenceOptions,
    jobs: int | None,
    progress: Any,
) -> "BeliefState":
    """Beliefs from a file, exact ones, or those of propagation."""
    from ..errors import InputError
    from ..mrf.inference.exact import exact_marginals
    from ..mrf.inference.propagation import belief_propagation
    from ..mrf.storage import load_state

    if path is not None and exact:
        raise InputError("give --beliefs or --exact, not both")
    if path is not None:
        return load_state(path)
    if exact:
        return exact_marginals(mrf)
    return belief_propagation(mrf, n_jobs=jobs, progress=progress, **inference.keywords())


def print_players(found: "Explanation[SubtreeGame]", top: int) -> None:
    """The most important players as a table."""
    from ..graphshapley.present import player_table

    table = player_table(found, top)
    if table is not None:
        print_table(*table)


def _coalition_columns(found: "Explanation[SubtreeGame]") -> dict[str, Any]:
    listed = found.structure.coalitions()
    parts_are = "walks" if found.structure.coalitions_of == "walks" else "edges"
    return {
        parts_are: ["; ".join(" - ".join(map(str, part)) for part in parts) for parts, _ in listed],
        f"n_{parts_are}": [len(parts) for parts, _ in listed],
        "worth": [worth for _, worth in listed],
    }


@takes(field=FieldOptions)
def ball(
    model: Model,
    field: FieldOptions,
    target: Target,
    radius: Radius = 2,
    top: Annotated[int, typer.Option(min=0, help="Variables to list.")] = 0,
    as_json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the members: .csv, .tsv or .parquet.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Measure the ball around a variable: how large is the question who made its belief?"""
    import numpy as np

    from ..graphshapley.engines.registry import MAX_ENUMERATED
    from ..graphshapley.engines.search import count_coalitions
    from ..graphshapley.present import coalition_count
    from ..mrf.balls import ball as find_ball

    check_output(output, *TABLES)
    mrf = field.load(model)
    found = find_ball(mrf, mrf.names.parse(target), None if radius < 0 else radius)
    bounds = found.log10_coalition_bounds
    count = count_coalitions(found, MAX_ENUMERATED)
    fits = count <= MAX_ENUMERATED
    if fits and count:
        bounds = (math.log10(count),) * 2
    if output:
        columns = {"name": list(found.field.names), "distance": found.distances}
        write_columns(columns | ({"factor": ~found.field.real} if found.n_factors else {}), output)
    if as_json:
        print_json(_ball_data(found, None if radius < 0 else radius, bounds))
        return
    print_table(
        f"The ball around {found.target}",
        ["hops", "variables"],
        [[hops, n] for hops, n in enumerate(found.n_variables_at)],
    )
    if top:
        rows = [[found.field.names[i], int(found.distances[i])] for i in np.flatnonzero(found.field.real)[:top]]
        print_table("Nearest variables", ["variable", "hops"], rows)
    cycles = f"{found.n_cycles:,} independent cycle" + "s" * (found.n_cycles > 1)
    shape = "a tree" if found.is_tree else cycles
    size = f"{plural(found.n_variables - found.n_factors, 'variable')}, "
    size += f"{plural(found.n_factors, 'factor')}, " * bool(found.n_factors) + plural(found.n_edges, "edge")
    emit(f"{size}, {shape}; {coalition_count(bounds)}")
    if not quiet:
        say(f"enumeration {'fits' if fits else 'does not fit'} (it takes up to {MAX_ENUMERATED:,} coalitions)")


def _ball_data(found: "Ball", radius: int | None, bounds: tuple[float, float]) -> dict[str, Any]:
    """The JSON of a ball."""
    from .._base.names import name_to_json

    finite = [bound if math.isfinite(bound) else None for bound in bounds]
    return {
        "schema": BALL_SCHEMA,
        "kind": "ball",
        "target": name_to_json(found.target),
        "radius": radius,
        "n_variables": found.n_variables - found.n_factors,
        "n_factors": found.n_factors,
        "n_edges": found.n_edges,
        "n_cycles": found.n_cycles,
        "is_tree": found.is_tree,
        "log10_coalitions": finite[0] if bounds[0] == bounds[1] else None,
        "log10_coalitions_at_least": finite[0],
        "log10_coalitions_at_most": finite[1],
        "n_variables_at": found.n_variables_at,
        "variables": [
            {"name": name_to_json(name), "distance": int(distance)}
            for name, distance, real in zip(found.field.names, found.distances, found.field.real, strict=True)
            if real
        ],
    }
