"""Feature spaces: how an instance falls into players, and what masking some of them gives the model."""

from typing import TYPE_CHECKING

from .._base.lazy import attach

_HOMES = {
    "FeatureSpace": ".protocol",
    "MaskedInstance": ".protocol",
    "Neighbours": ".protocol",
    "NeighbourSpace": ".protocol",
    "Image": ".image.space",
    "Series": ".series.space",
    "Sparse": ".sparse",
    "Tabular": ".tabular.space",
    "Text": ".text.space",
    "VIEWS": ".views",
    "View": ".views",
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)

if TYPE_CHECKING:
    from .image.space import Image as Image
    from .protocol import FeatureSpace as FeatureSpace
    from .protocol import MaskedInstance as MaskedInstance
    from .protocol import Neighbours as Neighbours
    from .protocol import NeighbourSpace as NeighbourSpace
    from .series.space import Series as Series
    from .sparse import Sparse as Sparse
    from .tabular.space import Tabular as Tabular
    from .text.space import Text as Text
    from .views import VIEWS as VIEWS
    from .views import View as View
