"""Options that several commands share, under the names that they have in Python."""

import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from .._base.messages import silence

if TYPE_CHECKING:
    from ..mrf.field import MarkovRandomField

Options = TypeVar("Options")

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="Edge table (.csv, .tsv, .parquet: columns source, target[, type]), .npz, a graph (.graphml, .gexf, "
        ".gml, .mtx) or a model (.uai, .bif, .xmlbif, .fg); text files also as .gz.",
        show_default=False,
    ),
]
Seed = Annotated[int | None, typer.Option(help="Seed of all randomness; the same seed gives the same numbers.")]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Workers or threads; -1: all cores.")]
Top = Annotated[int | None, typer.Option(min=0, help="Players to show (default 10; with --json all).")]
Html = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a page that a browser shows, and that can be sent: one .html file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def _be_quiet(asked: bool) -> bool:
    silence(asked)
    return asked


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_be_quiet, help="No progress, no summary, no notes.")
]


@dataclass(frozen=True)
class FieldOptions:
    """What makes a field of a table of edges."""

    priors: Annotated[
        Path | None, typer.Option(help="Table: a name column and one column per state; missing: uniform.")
    ] = None
    log_priors: Annotated[Path | None, typer.Option(help="The same in logarithms (nats).")] = None
    potential: Annotated[
        Path | None,
        typer.Option(help="Potential: JSON [[..], ..] or {type: [[..], ..]}, or a matrix as .csv; rows = source."),
    ] = None
    log_potential: Annotated[Path | None, typer.Option(help="The same in logarithms (nats).")] = None
    homophily: Annotated[
        float | None,
        typer.Option(metavar="P", help="Instead of a potential: neighbours agree with probability P."),
    ] = None
    edge_weights: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that says how often an edge counts (homophily).")
    ] = None
    source_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of one end, where it has no usual name.")
    ] = None
    target_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the other end.")] = None
    no_header: Annotated[bool, typer.Option("--no-header", help="The first line of MODEL is an edge.")] = False
    states: Annotated[str | None, typer.Option(metavar="A,B,..", help="Names of the states.")] = None
    observe: Annotated[
        list[str] | None, typer.Option(metavar="NAME=STATE", help="Hard evidence; may be repeated.")
    ] = None
    evidence: Annotated[
        Path | None,
        typer.Option(
            help="Evidence: columns name, state; or name and one weight per state (soft); or a UAI .evid."
        ),
    ] = None
    duplicates: Annotated[
        str, typer.Option(help="Several edges between two variables: error, merge (equal ones) or multiply.")
    ] = "error"
    self_loops: Annotated[str, typer.Option(help="Edges from a variable to itself: error or drop.")] = "error"
    missing_priors: Annotated[str, typer.Option(help="Variables without a prior: uniform or error.")] = "uniform"
    unknown: Annotated[
        str, typer.Option(help="Names in --evidence that MODEL lacks: error, or skip, which counts them.")
    ] = "error"

    def load(self, model: Path) -> "MarkovRandomField":
        """The field, with its evidence."""
        from .._base.messages import tell
        from ..readers import read_mrf
        from ..readers.edge_files import read_potential, read_priors
        from ..readers.evidence import read_evidence
        from .output import printable

        given = {
            "priors": read_priors(str(self.priors)) if self.priors else None,
            "log_priors": read_priors(str(self.log_priors), log_domain=True) if self.log_priors else None,
            "potential": read_potential(str(self.potential)) if self.potential else None,
            "log_potential": read_potential(str(self.log_potential)) if self.log_potential else None,
            "homophily": self.homophily,
            "edge_weights": self.edge_weights,
            "states": self.states.split(",") if self.states else None,
            "source": self.source_column,
            "target": self.target_column,
            "header": False if self.no_header else None,
        }
        policies = {name: getattr(self, name) for name in ("duplicates", "self_loops", "missing_priors")}
        # only what was said: a file that is a whole field takes no options
        options = {name: value for name, value in given.items() if value is not None}
        options |= {name: value for name, value in policies.items() if value != _DEFAULTS[name]}
        mrf = read_mrf(model, **options)
        notes = mrf.notes
        if self.evidence:
            evidence = read_evidence(str(self.evidence), mrf, unknown=self.unknown)  # type: ignore[arg-type]
            mrf = mrf.observe(evidence.found)
            notes += evidence.notes
        for note in notes:
            tell(f"note: {printable(note)}")
        observed = parse_assignments(mrf, self.observe or [], "--observe")
        return mrf.observe(observed) if observed else mrf


def parse_assignments(mrf: "MarkovRandomField", texts: list[str], option: str) -> dict[Hashable, Hashable]:
    """``NAME=STATE`` as often as an option was given.

    Raises
    ------
    InputError
        A text is no such thing, or two of them contradict each other.
    UnknownNameError
        There is no such variable or state.
    """
    from ..errors import InputError
    from ..readers.evidence import parse_state

    found: dict[Hashable, Hashable] = {}
    for text in texts:
        name, equals, state = text.rpartition("=")
        if not equals:
            raise InputError(f"{option} must be NAME=STATE, got {text!r}")
        variable = mrf.names.parse(name)
        known = parse_state(mrf, variable, state)
        if found.setdefault(variable, known) != known:
            raise InputError(f"{option} says that {variable!r} is {known!r} and that it is {found[variable]!r}")
    return found


@dataclass(frozen=True)
class InferenceOptions:
    """How beliefs are found."""

    schedule: Annotated[str, typer.Option(help="auto, flooding, sequential or residual.")] = "auto"
    max_sweeps: Annotated[int | None, typer.Option(help="Sweeps after which propagation stops.")] = None
    tolerance: Annotated[
        float | None, typer.Option(help="Converged when a sweep changes no log ratio by more (nats).")
    ] = None
    damping: Annotated[float, typer.Option(help="Share of the old message in the new one, in [0, 1).")] = 0.0

    def keywords(self) -> dict[str, Any]:
        """As keywords of `belief_propagation`."""
        said = {"max_sweeps": self.max_sweeps, "tolerance": self.tolerance}
        return {
            "schedule": self.schedule,
            "damping": self.damping,
            **{name: value for name, value in said.items() if value is not None},
        }


_DEFAULTS = {field.name: field.default for field in fields(FieldOptions)}


def takes(**groups: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of dataclasses: ``@takes(field=FieldOptions)`` fills its argument `field`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = [p for p in inspect.signature(command).parameters.values() if p.name not in groups]
        own = [p.replace(annotation=hints[p.name]) for p in own]
        shared = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=hints_of[field.name],
            )
            for group in groups.values()
            for hints_of in [get_type_hints(group, include_extras=True)]
            for field in fields(group)
        ]
        positional = [p for p in own if p.default is inspect.Parameter.empty]
        optional = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own if p not in positional]

        @wraps(command)
        def run(*arguments: Any, **options: Any) -> None:
            filled = {
                name: group(**{field.name: options.pop(field.name) for field in fields(group)})
                for name, group in groups.items()
            }
            command(*arguments, **options, **filled)

        parameters = positional + shared + optional
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate
