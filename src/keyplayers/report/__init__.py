"""Explanations as pages that can be sent: one HTML file, or a folder of thousands (extra "report")."""

from .._base.lazy import attach

_HOMES = {
    "to_markdown": ".markdown",
    "write_index": ".index",
    "write_file": ".files",
    "write_report": ".page",
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
