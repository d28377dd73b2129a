"""``keyplayers doctor``: what is installed, and whether it works; for a report of a fault."""

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version

import typer

from .._version import __version__
from .options import Json
from .output import emit, print_json
from .streams import results

# what everybody has, and what extras bring
_NEEDED = ("numpy", "numba", "scipy", "joblib", "pyarrow", "narwhals", "typer", "rich")
_OPTIONAL = ("pandas", "polars", "scikit-learn", "skops", "networkx")


def doctor(as_json: Json = False) -> None:
    """Show versions, folders and cores, and try in half a second whether beliefs come out right.

    Exit status 1 where they do not. What it shows belongs into a report of a fault; it names no file of yours but
    the folder for compiled code.
    """
    from .._base.compiled import cache_folder
    from .._base.parallel import n_threads

    works, seconds = _self_test()
    folder = cache_folder()
    found = {
        "keyplayers": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "needed": {name: _version(name) for name in _NEEDED},
        "extras": {name: _version(name) for name in _OPTIONAL},
        "cores": os.cpu_count(),
        "threads": n_threads(None),
        "compiled_code": None if folder is None else str(folder),
        "encoding": results().encoding,
        "works": works,
        "seconds": round(seconds, 3),
    }
    if as_json:
        print_json(found)
    else:
        for name, value in found.items():
            emit(f"{name.replace('_', ' ') + ':':15}{_shown(value)}")
    if not works:
        raise typer.Exit(1)


def _self_test() -> tuple[bool, float]:
    """Whether propagation on a chain of three gives what a pocket calculator does, and how long it took."""
    from ..mrf.field import MarkovRandomField
    from ..mrf.inference.propagation import belief_propagation

    began = time.perf_counter()
    mrf = MarkovRandomField.from_edges([("a", "b"), ("b", "c")], homophily=0.8).observe({"a": 1})
    belief = belief_propagation(mrf).belief("c")
    return bool(abs(belief[1] - (0.8 * 0.8 + 0.2 * 0.2)) < 1e-12), time.perf_counter() - began


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number or 'not installed'}" for name, number in value.items())
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return "none" if value is None else str(value)
