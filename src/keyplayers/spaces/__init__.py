"""Feature spaces: how an instance falls into players, and what masking some of them gives the model."""

from .protocol import FeatureSpace as FeatureSpace
from .protocol import MaskedInstance as MaskedInstance
from .tabular import Tabular as Tabular
