"""The space of instances that leave no doubt: a text, a sparse row."""

from typing import Any

from .protocol import FeatureSpace
from .sparse import Sparse, is_sparse
from .text import Text


def natural_space(instance: Any) -> FeatureSpace | None:
    """The space that an instance asks for by what it is; None where it may be of several."""
    if isinstance(instance, str):
        return Text()
    return Sparse() if is_sparse(instance) else None
