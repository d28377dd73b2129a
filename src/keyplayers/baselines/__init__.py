"""What one would take instead: simple rankings of the evidence around a variable, behind the same interface."""

from typing import TYPE_CHECKING

from .._base.lazy import attach

_HOMES = {
    "Gradient": ".gradient",
    "HopDistance": ".fields",
    "LeaveOneOut": ".fields",
    "PriorShapley": ".fields",
    "RandomOrder": ".fields",
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)

if TYPE_CHECKING:
    from .fields import HopDistance as HopDistance
    from .fields import LeaveOneOut as LeaveOneOut
    from .fields import PriorShapley as PriorShapley
    from .fields import RandomOrder as RandomOrder
    from .gradient import Gradient as Gradient
