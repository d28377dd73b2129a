"""Which picture suits an explanation, and pictures as files."""

from collections.abc import Callable
from functools import singledispatch
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from .._base.atomic import replacing
from .._base.optional import require
from ..errors import InputError
from ..explanation import Explanation
from ..graphshapley.result import SubtreeGame
from ..mcxai.result import GameTrees
from . import games, instances
from .bars import ranking
from .rings import neighbourhood
from .waterfall import build_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: pictures of one explanation, by name; one of your own is one more entry
PICTURES: dict[str, Callable[..., "Axes"]] = {
    "ranking": ranking,
    "neighbourhood": neighbourhood,
    "build_up": build_up,
    "trail": games.trail,
    "relations": games.relations,
    "game_tree": games.game_tree,
    "alternatives": games.alternatives,
    "text": instances.text,
    "image": instances.image,
    "series": instances.series,
}
SUFFIXES = (".png", ".svg", ".pdf")
_DOTS_PER_INCH = 150


def plot(found: Explanation[Any], kind: str | None = None, ax: "Axes | None" = None, **settings: Any) -> "Axes":
    """The picture of an explanation.

    Parameters
    ----------
    kind
        A name in `PICTURES`; default: the one that suits it.
    ax
        Where to draw; default: a new figure.
    settings
        Of that picture.

    Raises
    ------
    InputError
        There is no such picture, or not of such an explanation.
    MissingPackageError
        Matplotlib is not installed (the extra "plots").
    """
    kind = kind or suitable(found.structure, found)
    if kind not in PICTURES:
        raise InputError(f"a picture is one of {', '.join(PICTURES)}, got {kind!r}")
    return PICTURES[kind](found, ax, **settings)


@singledispatch
def suitable(structure: Any, found: Explanation[Any]) -> str:
    """Name of the picture that suits an explanation; register a function for a structure of your own."""
    return "ranking"


@suitable.register
def _of_field(game: SubtreeGame, found: Explanation[Any]) -> str:
    return "neighbourhood"


@suitable.register
def _of_classifier(game: GameTrees, found: Explanation[Any]) -> str:
    kind = "ranking" if game.view is None else game.view.kind
    return kind if kind in PICTURES else "ranking"


def save_plot(found: Explanation[Any], path: "str | PathLike[str]", kind: str | None = None) -> None:
    """Write the picture of an explanation to a .png, .svg or .pdf file, without a window and without pyplot.

    Raises
    ------
    InputError
        The suffix is none of these.
    """
    suffix = next((suffix for suffix in SUFFIXES if fspath(path).lower().endswith(suffix)), None)
    if suffix is None:
        raise InputError(f"a picture is kept in {', '.join(SUFFIXES)}, got {fspath(path)!r}")
    require("matplotlib")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 7.0), layout="constrained")
    plot(found, kind, figure.subplots())
    # the same explanation gives the same file
    with replacing(path) as part, rc_context({"svg.hashsalt": "keyplayers"}):
        figure.savefig(part, dpi=_DOTS_PER_INCH, format=suffix[1:], metadata=_UNDATED.get(suffix))


_UNDATED: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
