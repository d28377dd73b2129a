"""What all pictures share: axes, colours, names."""

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.optional import require
from .._base.printable import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: for and against, key set and opposition (the paper's blue and red; told apart by colour-blind readers), neither
FOR, AGAINST, NEITHER = "#2166ac", "#b2182b", "#7a828c"
#: from against to for
DIVERGING = "RdBu"
#: letters of a name in a picture
LONGEST = 28
#: texts from data are no formulas, whatever dollars they hold
PLAIN: dict[str, Any] = {"parse_math": False}


def axes_or_new(ax: "Axes | None", width: float = 6.4, height: float = 4.8) -> "Axes":
    """The axes given, else those of a new figure of so many inches.

    Raises
    ------
    MissingPackageError
        Matplotlib is not installed (the extra "plots").
    """
    if ax is not None:
        return ax
    require("matplotlib")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def label(name: Any, letters: int = LONGEST) -> str:
    """A name as a picture shows it."""
    return shortened(str(name), letters)


def tint(value: float, largest: float) -> Any:
    """The colour of a value: deeper where it is larger, blue above 0, red below."""
    from matplotlib import colormaps

    share = np.sign(value) * np.sqrt(abs(value) / largest) if largest > 0 else 0.0
    return colormaps[DIVERGING](0.5 + 0.5 * float(share))


def describe_values(ax: "Axes", quantity: str, unit: str) -> None:
    """Say below the axes what they measure."""
    ax.set_xlabel(fill(f"{label(quantity, 200)} ({unit})", 60), **PLAIN)


def without_frame(ax: "Axes", *sides: str) -> None:
    """Take the lines at these sides away."""
    for side in sides:
        ax.spines[side].set_visible(False)
