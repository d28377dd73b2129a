"""`Explanation`: what both halves of the library return, and the protocol of whoever makes one."""

import importlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

from ._base.arrays import Floats
from ._base.frames import make_frame
from ._base.markup import table_html
from ._base.names import name_to_json
from ._base.progress import Progress
from ._base.records import Record, fields_of, record_to_json, value_to_json
from ._base.seeding import RandomState
from ._version import __version__
from .errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from os import PathLike

# rooms above, which know explanations and register what they do with them
_ARCHIVE = f"{__package__}.archive"
_PLOTS = f"{__package__}.plots"
_REPORT = f"{__package__}.report"
# version of the JSON of a structure that nobody registered a form for
_RECORD_SCHEMA = 1

Prefer: TypeAlias = Literal["threads", "processes"]

Structure = TypeVar("Structure")
Explained_co = TypeVar("Explained_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Explanation(Generic[Structure]):
    """Players of one decision with their values, and the structure that only their method knows.

    Unknown attributes are looked up in `structure`: ``ex.key_set`` is ``ex.structure.key_set``.
    """

    kind: str  # "graphshapley" or "mcxai"
    target: Hashable  # what is explained: a variable's name, a class
    players: tuple[Hashable, ...]  # [n] names, most important first
    values: Floats  # [n] in `unit`
    std_errors: Floats  # [n] in `unit`; 0 where the value is exact, NaN where nobody knows
    quantity: str  # what the values are, in words
    unit: str  # what they are measured in
    n_evaluations: int  # how often the characteristic function was evaluated
    sentence: str  # the explanation in one plain sentence
    structure: Structure
    settings: Mapping[str, Any] = field(default_factory=dict)  # how it was made; JSON can hold it

    def __post_init__(self) -> None:
        for name in ("values", "std_errors"):
            if getattr(self, name).shape != (len(self.players),):
                raise InputError(
                    f"{name} must have one entry per player ({len(self.players)}), "
                    f"got shape {getattr(self, name).shape}"
                )

    def __getattr__(self, name: str) -> Any:
        # only called when the record itself has no such attribute
        if name.startswith("__") or name == "structure":
            raise AttributeError(name)
        try:
            return getattr(self.structure, name)
        except AttributeError:
            raise AttributeError(
                f"neither Explanation nor its {type(self.structure).__name__} has an attribute {name!r}"
            ) from None

    def __dir__(self) -> list[str]:
        # what completion offers: the record's own names, and what the structure knows
        known = (name for name in dir(self.structure) if not name.startswith("_"))
        return sorted({*super().__dir__(), *known})

    def __len__(self) -> int:
        return len(self.players)

    def __repr__(self) -> str:
        shown = ", ".join(f"{player!r}: {value:.4g}" for player, value in self.top(3))
        more = ", ..." if len(self) > 3 else ""
        return f"<Explanation of {self.target!r} ({self.kind}, {len(self)} players, {self.unit}): {shown}{more}>"

    def _repr_html_(self) -> str:
        sure = self.std_errors
        rows = [[player, value, float(sure[i])] for i, (player, value) in enumerate(self.top(10))]
        more = [f"{len(self) - 10:,} more players"] if len(self) > 10 else []
        return table_html(self.sentence, ["player", self.unit, "std. error"] if rows else [], rows, more)

    def top(self, k: int | None = None) -> list[tuple[Hashable, float]]:
        """The `k` most important players (None: all) with their values, most important first."""
        return list(zip(self.players[:k], self.values[:k].tolist(), strict=True))

    def value(self, player: Hashable) -> float:
        """The value of one player.

        Raises
        ------
        UnknownNameError
            There is no such player.
        """
        if player in self.players:
            return float(self.values[self.players.index(player)])
        return structure_value(self.structure, self, player)

    def to_frame(self, backend: str = "pandas") -> Any:
        """One row per player, most important first: name, value, std_error and what the method adds.

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow".
        """
        columns = {"name": list(self.players), "value": self.values, "std_error": self.std_errors}
        return make_frame(columns | structure_columns(self.structure, self), backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold, in the documented schema of the explanation's kind."""
        return structure_to_dict(self.structure, self)

    def save(self, path: "str | PathLike[str]") -> None:
        """Write the explanation to `path` (.json, .json.gz or .npz); `keyplayers.load` reads it back."""
        # by name: the archive stands above and knows explanations, not the other way round
        importlib.import_module(_ARCHIVE).save(self, path)

    def plot(self, kind: str | None = None, ax: Any = None, **settings: Any) -> Any:
        """Draw the explanation, and return the ``matplotlib`` Axes.

        Parameters
        ----------
        kind
            "ranking"; of a field "neighbourhood" or "build_up"; of a classifier "trail", "relations", "game_tree",
            "alternatives", "text" or "image". Default: the one that suits it.
        ax
            Where to draw; default: a new figure.
        settings
            Of that picture: see `keyplayers.plots`.

        Raises
        ------
        InputError
            There is no such picture of this explanation.
        MissingPackageError
            Matplotlib is not installed (the extra "plots").
        """
        return importlib.import_module(_PLOTS).plot(self, kind, ax, **settings)

    def report(self, path: "str | PathLike[str]") -> None:
        """Write one HTML page that can be sent: it needs nothing but a browser.

        Raises
        ------
        InputError
            The suffix is not .html.
        MissingPackageError
            Jinja2 is not installed (the extra "report").
        """
        importlib.import_module(_REPORT).write_report(self, path)


class Identity(NamedTuple):
    """What decides the numbers of an explainer: a store goes on only with the same."""

    settings: Mapping[str, Any]  # JSON can hold it
    fingerprint: str | None = None  # of its field, model or data; None where nobody can tell


@runtime_checkable
class Explainer(Protocol[Explained_co]):
    """Whoever explains targets: an account of a field, a row of a table.

    `explain` is what it takes. The rest has defaults, which a subclass inherits, and which count as well for an
    object that has `explain` alone.
    """

    def explain(
        self, target: Any, /, *, random_state: RandomState = None, progress: Progress | None = None
    ) -> Explained_co:
        """The explanation of one target."""
        ...

    @property
    def prefer(self) -> Prefer | None:
        """The workers that suit it: "threads" where kernels release the GIL; None: nothing is known."""
        return None

    def prepare(self) -> None:
        """What is done once, before several workers start."""
        return None

    def identity(self) -> Identity:
        """What decides its numbers; by default its public attributes, as far as JSON can hold them."""
        return Identity(_plain_attributes(self))


@dataclass(frozen=True)
class _Completed(Explainer[Any]):
    """An explainer that says less than the protocol, with the defaults for what it does not say."""

    explainer: Any

    def explain(
        self, target: Any, /, *, random_state: RandomState = None, progress: Progress | None = None
    ) -> Any:
        return self.explainer.explain(target, random_state=random_state, progress=progress)

    @property
    def prefer(self) -> Prefer | None:
        chosen: Prefer | None = getattr(self.explainer, "prefer", None)
        return chosen

    def prepare(self) -> None:
        getattr(self.explainer, "prepare", super().prepare)()

    def identity(self) -> Identity:
        identity = getattr(self.explainer, "identity", None)
        return Identity(_plain_attributes(self.explainer)) if identity is None else Identity(*identity())


def complete(explainer: Any) -> Explainer[Any]:
    """The explainer with everything that `Explainer` asks for.

    Raises
    ------
    InputError
        It cannot explain.
    """
    if not callable(getattr(explainer, "explain", None)):
        raise InputError(
            f"an explainer has explain(target, *, random_state, progress), got {type(explainer).__name__}"
        )
    return explainer if isinstance(explainer, Explainer) else _Completed(explainer)


def original(explainer: Explainer[Any]) -> Any:
    """The explainer as its user made it."""
    return explainer.explainer if isinstance(explainer, _Completed) else explainer


def _plain_attributes(explainer: Any) -> dict[str, Any]:
    plain = {}
    for name, value in fields_of(explainer).items():
        if not name.startswith("_"):
            try:
                plain[name] = json.loads(json.dumps(value))
            except (TypeError, ValueError):
                continue
    return plain


@singledispatch
def structure_columns(structure: Any, explanation: Explanation[Any]) -> dict[str, Any]:
    """Columns [n] that a method adds to ``to_frame``."""
    return {}


@singledispatch
def structure_value(structure: Any, explanation: Explanation[Any], name: Hashable) -> float:
    """The value of whoever is no player; a method may know that it is 0."""
    raise UnknownNameError(f"no player {name!r} among the {len(explanation)} of this explanation")


@singledispatch
def structure_to_dict(structure: Any, explanation: Explanation[Any]) -> dict[str, Any]:
    """The JSON form; each method registers its schema. An unknown structure is written field by field.

    Raises
    ------
    InputError
        A name is of a type that no file can hold.
    """
    columns = {
        "name": [name_to_json(name) for name in explanation.players],
        "value": [value_to_json(value) for value in explanation.values],
        "std_error": [value_to_json(value) for value in explanation.std_errors],
    }
    for name, column in structure_columns(structure, explanation).items():
        columns.setdefault(name, [value_to_json(value) for value in column])
    return {
        "schema": _RECORD_SCHEMA,
        "kind": explanation.kind,
        "target": name_to_json(explanation.target),
        "quantity": explanation.quantity,
        "unit": explanation.unit,
        "n_evaluations": explanation.n_evaluations,
        "sentence": explanation.sentence,
        "players": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "structure": None if structure is None else record_to_json(structure),
        "settings": record_to_json(explanation.settings)["fields"],
        "seed": explanation.settings.get("seed"),
        "version": __version__,
    }


@structure_columns.register
def _columns_of_record(structure: Record, explanation: Explanation[Any]) -> dict[str, Any]:
    return dict(structure.columns)
