"""Attach public names to a package without importing the modules that define them."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def attach(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` for `package`.

    Parameters
    ----------
    package
        ``__name__`` of the package.
    homes
        Public name to the module that defines it, relative to the package (``".mrf.field"``).
    """

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name], package), name)

    names = sorted(homes)

    def __dir__() -> list[str]:
        return names

    return __getattr__, __dir__, names
