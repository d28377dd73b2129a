"""Users' models behind one face, and where they are loaded from."""

from typing import TYPE_CHECKING

from .._base.lazy import attach

_HOMES = {
    "Predictor": ".predictor",
    "load_predictor": ".loading",
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)

if TYPE_CHECKING:
    from .loading import load_predictor as load_predictor
    from .predictor import Predictor as Predictor
