"""What `learn` and `evaluate` share: a model with labels beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

# files of edges alone, as tables and as graphs; all others hold a whole field
_EDGE_TABLES = (".csv", ".tsv", ".parquet", ".txt", ".edgelist", ".edges")
_GRAPHS = (".graphml", ".gexf", ".gml", ".mtx")

LabelFile = Annotated[
    Path, typer.Option("--labels", help="Table of labels: columns name, label; an empty label is unknown.")
]


@dataclass(frozen=True)
class LearningOptions:
    """How a potential is learned."""

    method: Annotated[str, typer.Option(help="counts (closed form) or pseudo_likelihood.")] = "counts"
    per_type: Annotated[bool, typer.Option("--per-type", help="One potential per edge type.")] = False
    by_weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The potential is a function of this (signed) weight.")
    ] = None
    directed: Annotated[bool, typer.Option("--directed", help="Source and target may play different parts.")] = (
        False
    )
    strength: Annotated[
        float | None, typer.Option(help="Power of the potential, 0 to 1; default: what held-out labels choose.")
    ] = None

    def keywords(self, model: Path, labels: Mapping[Any, Any]) -> dict[str, Any]:
        """Edges and keywords of `learn_potential`."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "by_weight"}
        return {"edges": _edges(model, states_of_labels(labels)), "edge_weights": self.by_weight, **given}


def read_label_table(path: Path) -> dict[Any, Any]:
    """Labels by name.

    Raises
    ------
    FileFormatError
        The table has no two columns.
    """
    from ..errors import FileFormatError
    from ..mrf.build.columns import find_name_column, find_state_column
    from ..readers.tables import names_from_text, read_table

    table = read_table(str(path))
    if table.num_columns < 2:
        raise FileFormatError(f"{path}: labels need columns name and label, found {', '.join(table.column_names)}")
    name = find_name_column(table.column_names)
    others = [column for column in table.column_names if column != name]
    label = find_state_column(others) or others[0]
    names = names_from_text(table.column(name), str(path), name)
    listed = names if isinstance(names, list) else names.to_pylist()
    return _once(path, listed, [_as_label(text) for text in table.column(label).to_pylist()])


def _once(path: Path, names: list[Any], labels: list[Any]) -> dict[Any, Any]:
    from ..errors import FileFormatError

    found: dict[Any, Any] = {}
    for row, (name, label) in enumerate(zip(names, labels, strict=True), 1):
        if found.setdefault(name, label) != label:
            raise FileFormatError(f"{path}: row {row}: {name!r} is {label!r} here, but {found[name]!r} above")
    return found


def _as_label(text: Any) -> Any:
    from ..readers.tables import is_integer

    return int(text) if isinstance(text, str) and is_integer(text) else text


def states_of_labels(labels: Mapping[Any, Any]) -> list[str]:
    """The labels as states, in their order as texts."""
    return sorted({str(label) for label in labels.values() if label not in (None, "")})


def _edges(model: Path, states: list[str]) -> Any:
    """An edge table with its types and weights; other files as the field that they hold."""
    from ..mrf.build.columns import find_edge_columns
    from ..readers import read_mrf
    from ..readers.edge_files import edge_heading
    from ..readers.paths import suffix
    from ..readers.tables import names_from_text, numbers_from_text, read_table

    kind = suffix(str(model))
    if kind in _GRAPHS:
        return read_mrf(model, homophily=0.5, states=states)  # a field needs a potential; none of it is used
    if kind not in _EDGE_TABLES:
        return read_mrf(model)
    import pyarrow as pa

    table = read_table(str(model), header=edge_heading)
    found = find_edge_columns(table.column_names)
    columns: Mapping[str, Any] = {name: table.column(name) for name in table.column_names}
    ends = {
        "source": names_from_text(columns[found.source], str(model), found.source),
        "target": names_from_text(columns[found.target], str(model), found.target),
    }
    others = {name: columns[name] for name in columns if name not in (found.source, found.target)}
    if found.type is not None:
        others["type"] = others[found.type]
    for name in list(others):
        try:
            others[name] = numbers_from_text(others[name], str(model), name) if name != "type" else others[name]
        except ValueError:
            others.pop(name)  # neither a type nor a weight
    return pa.table(ends | others)


def potential_to_json(potential: Any) -> Any:
    """A matrix, or matrices by type, as lists."""
    if isinstance(potential, Mapping):
        return {str(kind): matrix.tolist() for kind, matrix in potential.items()}
    return potential.tolist()
