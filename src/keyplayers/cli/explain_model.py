"""``keyplayers explain-model``: which features carry what a classifier says of one row, and which oppose it."""

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .batch import BatchOptions, explain_batch
from .frames import read_frame
from .media import Given, MediaOptions
from .options import Html, Jobs, Json, Quiet, Seed, Top, takes
from .output import (
    EXPLANATIONS,
    FOR_PEOPLE,
    TABLES,
    TOP,
    check_output,
    check_page,
    emit,
    print_table,
    show_progress,
    tell_explanation,
)

if TYPE_CHECKING:
    from ..explanation import Explanation
    from ..mcxai.explainer import McXai
    from ..mcxai.result import GameTrees


@dataclass(frozen=True)
class GameOptions:
    """What the games are about, and what may be masked."""

    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the true class, about which the games are; the model is not given it.",
        ),
    ] = None
    contrast: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Why not this class? The game ends only where it is decided."),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(
            help="The second of two classes is decided for from this probability on; default: the model's own."
        ),
    ] = None
    class_names: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Names of the classes, in the order of the model's columns."),
    ] = None
    fixed: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Never mask this column; may be repeated.")
    ] = None
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column of codes, no numbers; may be repeated.")
    ] = None
    groups: Annotated[
        str | None, typer.Option(metavar="JSON", help='Columns masked as one: {"name": ["column", ...], ...}.')
    ] = None
    as_published: Annotated[
        bool, typer.Option("--as-published", help="The paper's search to the letter: no sets beside the tree.")
    ] = False

    def names_of_classes(self) -> list[str] | None:
        """The names given."""
        return None if self.class_names is None else [name.strip() for name in self.class_names.split(",")]

    def columns_of_groups(self) -> dict[Hashable, list[Any]] | None:
        """The groups given."""
        from ..errors import InputError

        try:
            read = None if self.groups is None else json.loads(self.groups)
        except ValueError:
            read = self.groups
        if read is not None and not (isinstance(read, dict) and all(isinstance(c, list) for c in read.values())):
            raise InputError(f'--groups must be JSON {{"name": ["column", ...], ...}}, got {self.groups!r}')
        return read


@takes(media=MediaOptions, batch=BatchOptions, games=GameOptions)
def explain_model(
    predictor: Annotated[
        str,
        typer.Argument(
            metavar="PREDICTOR",
            help="module:function (rows in, probabilities out), or a model in an .onnx, .skops or pickle file.",
            show_default=False,
        ),
    ],
    media: MediaOptions,
    batch: BatchOptions,
    games: GameOptions,
    *,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="Table of instances: .csv, .tsv or .parquet.", show_default=False),
    ] = None,
    row: Annotated[int | None, typer.Option(help="Which row of DATA to explain; the first is 0.")] = None,
    rows: Annotated[
        str | None, typer.Option(metavar="all|A:B", help="Many rows: all, or those from A up to before B.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Class that the games are about; default: the predicted one.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="What masking puts in: a number, mean, median, most_frequent, missing, background, "
            "nearest_unlike (what would change the decision), or JSON "
            '{"column": value}. Default: mean with a background, else 0.'
        ),
    ] = None,
    background: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table of training rows for the baseline.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out (the label); may be repeated.")
    ] = None,
    array: Annotated[bool, typer.Option("--array", help="Give the model arrays instead of data frames.")] = False,
    output_kind: Annotated[
        str, typer.Option("--model-output", help="What a function gives: proba, log_proba, logits or label.")
    ] = "proba",
    max_evals: Annotated[
        int | None, typer.Option(help="Rows that the model may be given; default: some hundreds, as needed.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Most rows of one call of the model.")] = 256,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load a pickled predictor, which runs the code it holds.")
    ] = False,
    trust: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="Type that a .skops file may hold; may be repeated.")
    ] = None,
    top: Top = None,
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
    """Explain what a classifier says of a row, a text, an image or a series: what carries it, what opposes it."""
    from ..mcxai.explainer import McXai
    from ..models.loading import load_predictor

    many = _is_many(media, data, row, rows)
    check_output(output, *TABLES, *(() if many else (*EXPLANATIONS, *FOR_PEOPLE)))
    batch.check(many=many)
    check_page(html, many=many)
    if games.label is not None and target is not None:
        raise typer.BadParameter("give --label or --target: both say which class the games are about")
    model = load_predictor(predictor, trust_pickle=trust_pickle, trusted=trust or ())
    if data is None:
        given = media.read()
    else:
        chosen = _Chosen(data, row, rows, drop or [], games)
        given = chosen.texts(media) if media.text else chosen.rows_of_table(model, baseline, background, array)
    explainer = (McXai.as_published if games.as_published else McXai)(
        model,
        given.space,
        max_evals="auto" if max_evals is None else max_evals,
        batch_size=batch_size,
        output=output_kind,  # type: ignore[arg-type]
        class_names=games.names_of_classes(),
        threshold=games.threshold,
        contrast=_class(model, games.contrast),
    )
    if many:
        explain_batch(
            _About(explainer, _class(model, target)),
            _labelled(given.several, model, given.labels),
            batch,
            seed=seed,
            jobs=jobs,
            top=TOP if top is None else top,
            as_json=as_json,
            output=output,
            quiet=quiet,
        )
        return
    with show_progress(quiet) as progress:
        found = explainer.explain(
            given.instance,
            target=_class(model, target if given.label is None else given.label),
            random_state=seed,
            progress=progress,
        )
    tell_explanation(found, print_features, cost, top=top, as_json=as_json, output=output, html=html, quiet=quiet)


def _is_many(media: MediaOptions, data: Path | None, row: int | None, rows: str | None) -> bool:
    """Whether many instances are explained; refuses, as wrong usage, what does not go together."""
    asked = media.asked()
    if asked in ("image", "series"):
        if data is not None or row is not None or rows is not None:
            raise typer.BadParameter(f"--{asked} is explained itself: leave out DATA, --row and --rows")
        return media.is_many()
    if data is None:
        raise typer.BadParameter("give DATA, a table of instances, or --image or --series")
    if (row is None) == (rows is None):
        raise typer.BadParameter("give --row N, or --rows all or A:B for many")
    return rows is not None


@dataclass(frozen=True)
class _Chosen:
    """The rows of a table that are explained."""

    data: Path
    row: int | None
    rows: str | None
    dropped: list[str]
    games: GameOptions

    def rows_of_table(self, model: Any, baseline: str | None, background: Path | None, array: bool) -> Given:
        """The rows as they are, with their space."""
        from ..spaces.tabular import Tabular

        label, dropped = self.games.label, self.dropped
        table, labels = _read(self.data, model, dropped, label)
        self._check(len(table), labels)
        known = None if background is None else _read(background, model, dropped, label, may_lack=True)[0]
        as_array = array or (hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_"))
        space = Tabular(
            baseline=_baseline(baseline),
            background=known.to_numpy() if as_array and known is not None else known,
            feature_names=list(table.columns) if as_array else None,
            fixed=self.games.fixed,
            categorical=self.games.categorical,
            groups=self.games.columns_of_groups(),
        )
        if self.row is None:
            several = _choose(table.to_numpy() if as_array else table, str(self.rows))
            return Given(space, None, several, labels=labels)
        row = table.iloc[[self.row]]
        return Given(space, row.to_numpy()[0] if as_array else row, None, label=self._label(labels))

    def texts(self, media: MediaOptions) -> Given:
        """The texts of one column."""
        from ..errors import InputError

        table, labels = _read(self.data, None, self.dropped, self.games.label)
        self._check(len(table), labels)
        if media.text not in table.columns:
            raise InputError(
                f"--text {media.text}: {self.data} has the columns {', '.join(map(str, table.columns))}"
            )
        texts = {row: "" if text != text else str(text) for row, text in enumerate(table[media.text].tolist())}
        space = media.text_space()
        if self.row is None:
            rows = range(len(table)) if self.rows == "all" else _choose(table, str(self.rows))
            return Given(space, None, {row: texts[row] for row in rows}, labels=labels)
        return Given(space, texts[self.row], None, label=self._label(labels))

    def _check(self, n_rows: int, labels: list[Any] | None) -> None:
        from ..errors import InputError

        if self.games.label is not None and labels is None:
            raise InputError(f"--label {self.games.label}: {self.data} has no such column")
        if self.row is not None and not 0 <= self.row < n_rows:
            raise InputError(
                f"--row must be between 0 and {n_rows - 1}, got {self.row}: {self.data} has {n_rows} rows"
            )

    def _label(self, labels: list[Any] | None) -> str | None:
        return None if labels is None or self.row is None else str(labels[self.row])


@dataclass(frozen=True)
class _About:
    """Explains many rows, all about the same class, or each about the class that stands beside it."""

    explainer: "McXai"
    target: Hashable

    @property
    def prefer(self) -> str:
        """What suits the explainer."""
        return self.explainer.prefer

    def identity(self) -> tuple[dict[str, Any], str | None]:
        """What decides the numbers."""
        from .._base.names import name_to_json

        settings, fingerprint = self.explainer.identity()
        about = None if self.target is None else name_to_json(self.target)
        return settings | {"target": about}, fingerprint

    def explain(
        self, instance: Any, /, *, random_state: Any = None, progress: Any = None
    ) -> "Explanation[GameTrees]":
        """The explanation of one row."""
        target = self.target
        if isinstance(instance, _Labelled):
            instance, target = instance.row, instance.label
        return self.explainer.explain(instance, target, random_state=random_state, progress=progress)


@dataclass(frozen=True)
class _Labelled:
    """A row and its true class."""

    row: Any
    label: Hashable


def _labelled(chosen: Any, model: Any, labels: list[Any] | None) -> Any:
    """The chosen rows, each with its true class where that is known."""
    if labels is None:
        return chosen
    rows = chosen if isinstance(chosen, dict) else _choose(chosen, f"0:{len(chosen)}")
    return {row: _Labelled(instance, _class(model, str(labels[row]))) for row, instance in rows.items()}


def _choose(table: Any, rows: str) -> Any:
    """The rows that ``--rows`` means: the table, or some of its rows under their numbers."""
    from ..errors import InputError

    if rows == "all":
        return table
    begin, colon, end = rows.partition(":")
    try:
        chosen = range(len(table))[int(begin or 0) : int(end) if end else None]
    except ValueError:
        chosen = range(0)
    if not colon or not chosen:
        raise InputError(f"--rows must be all, or A:B with 0 <= A < B <= {len(table)}, got {rows!r}")
    if hasattr(table, "iloc"):
        return {row: table.iloc[[row]] for row in chosen}
    return {row: table[row] for row in chosen}


def print_features(found: "Explanation[GameTrees]", top: int) -> None:
    """The instance as its space shows it, and the most important players as a table."""
    from ..mcxai.present import picture, table

    for line in picture(found.structure):
        emit(line)
    if len(found):
        print_table(*table(found, top))


def cost(found: "Explanation[GameTrees]") -> list[str]:
    """How sure the answer is and what it cost."""
    from ..mcxai.present import notes

    return notes(found.structure)


def _read(
    path: Path, model: Any, dropped: list[str], label: str | None, *, may_lack: bool = False
) -> tuple[Any, list[Any] | None]:
    """A table as a pandas frame, with the columns that the model was fitted on where it knows them; its labels."""
    from ..errors import InputError

    table = read_frame(path)
    missing = [column for column in dropped if column not in table.columns]
    if missing and not may_lack:
        raise InputError(f"--drop {missing[0]}: {path} has the columns {', '.join(map(str, table.columns[:20]))}")
    labels = None
    if label is not None and label in table.columns:
        labels = table[label].tolist()
        dropped = [*dropped, label]
    table = table.drop(columns=[column for column in dropped if column in table.columns])
    fitted = list(getattr(model, "feature_names_in_", table.columns))
    lacking = [column for column in fitted if column not in table.columns]
    if lacking:
        raise InputError(
            f"{path} lacks the columns {', '.join(map(str, lacking[:10]))} that the model was fitted on"
        )
    wanted = getattr(model, "n_features_in_", None)
    if wanted is not None and len(fitted) != wanted:
        raise InputError(f"the model takes {wanted} columns, {path} has {len(fitted)}: leave some out with --drop")
    return table[fitted], labels


def _baseline(text: str | None) -> Any:
    from ..errors import InputError
    from ..spaces.tabular.baselines import STRATEGIES

    if text is None or text in (*STRATEGIES, "nearest_unlike"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        raise InputError(
            f'--baseline must be a number, {", ".join(STRATEGIES)}, nearest_unlike, or JSON {{"column": value}}, '
            f"got {text!r}"
        ) from None


def _class(model: Any, text: str | None) -> Any:
    """A class as the model spells it: "1" is the number 1 where classes are numbers."""
    if text is None:
        return None
    for name in getattr(model, "classes_", ()):
        if str(name) == text:
            return name
    return int(text) if re.fullmatch("-?[0-9]+", text) else text
