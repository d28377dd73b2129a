"""A page to play with a field in, from this machine to its own browser (extra "serve")."""

from .._base.lazy import attach

_HOMES = {
    "Session": ".session",
    "make_app": ".app",
    "run": ".server",
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
