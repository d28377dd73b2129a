"""`Explanation`: what both halves of the library return, and the protocol of whoever makes one."""

import importlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ._base.arrays import Floats
from ._base.frames import make_frame
from ._base.progress import Progress
from ._base.seeding import RandomState
from .errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from os import PathLike

_ARCHIVE = f"{__package__}.archive"

Structure = TypeVar("Structure")
Structure_co = TypeVar("Structure_co", covariant=True)


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

    def __len__(self) -> int:
        return len(self.players)

    def __repr__(self) -> str:
        shown = ", ".join(f"{player!r}: {value:.4g}" for player, value in self.top(3))
        more = ", ..." if len(self) > 3 else ""
        return f"<Explanation of {self.target!r} ({self.kind}, {len(self)} players, {self.unit}): {shown}{more}>"

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


class Explainer(Protocol[Structure_co]):
    """Whoever explains targets: an account of a field, a row of a table."""

    def explain(
        self, target: Any, /, *, random_state: RandomState = None, progress: Progress | None = None
    ) -> Any:
        """The explanation of one target."""


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
    """The JSON form; each method registers its schema."""
    raise TypeError(f"no JSON form is registered for {type(structure).__name__}")
