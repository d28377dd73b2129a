"""Explanations as pictures: an `Explanation` and perhaps an Axes in, the Axes out (extra "plots").

``ex.plot()`` takes the picture that suits the explanation, ``ex.plot("ranking")`` one by its name.
"""

from typing import TYPE_CHECKING

from .._base.lazy import attach

_HOMES = {
    "alternatives": ".games",
    "build_up": ".waterfall",
    "calibration": ".quality",
    "convergence": ".quality",
    "game_tree": ".games",
    "image": ".instances",
    "neighbourhood": ".rings",
    "plot": ".choose",
    "ranking": ".bars",
    "relations": ".games",
    "save_plot": ".choose",
    "series": ".instances",
    "text": ".instances",
    "trail": ".games",
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)

if TYPE_CHECKING:
    from .bars import ranking as ranking
    from .choose import plot as plot
    from .choose import save_plot as save_plot
    from .games import alternatives as alternatives
    from .games import game_tree as game_tree
    from .games import relations as relations
    from .games import trail as trail
    from .instances import image as image
    from .instances import series as series
    from .instances import text as text
    from .quality import calibration as calibration
    from .quality import convergence as convergence
    from .rings import neighbourhood as neighbourhood
    from .waterfall import build_up as build_up
