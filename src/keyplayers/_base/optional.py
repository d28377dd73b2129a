"""Optional packages: imported in one place, with an error that says what to install."""

import importlib
from types import ModuleType

from ..errors import MissingPackageError

# import name of an optional package -> the extra that installs it
EXTRAS = {
    "networkx": "demo",
    "sklearn": "demo",
    "pandas": "pandas",
    "skops": "models",
    "polars": "polars",
    "torch": "torch",
    "onnxruntime": "onnx",
    "PIL": "images",
    "skimage": "images",
    "matplotlib": "plots",
    "jinja2": "report",
    "starlette": "serve",
    "uvicorn": "serve",
}


def require(package: str) -> ModuleType:
    """Import an optional package.

    Raises
    ------
    MissingPackageError
        The package is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        extra = EXTRAS.get(package.partition(".")[0])
        hint = f"pip install 'keyplayers[{extra}]'" if extra else f"pip install {package}"
        raise MissingPackageError(f"this needs the package {package!r}: {hint}", name=package) from error
