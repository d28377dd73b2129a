"""Classifiers from files and modules. Nothing that can run code is loaded without being told so."""

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._base.optional import require
from ..errors import FileFormatError, InputError

_PICKLES = (".pkl", ".pickle", ".joblib")


def load_predictor(source: str, *, trust_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:
    """A model that `McXai` takes: a function or an estimator.

    Parameters
    ----------
    source
        ``module:function`` (or any attribute that is a function or an estimator), an .onnx or a .skops file, or a
        pickle (.pkl, .pickle, .joblib).
    trust_pickle
        Allow pickles. Loading one runs whatever code it holds.
    trusted
        Types beyond those of scikit-learn that a .skops file may hold.

    Raises
    ------
    InputError
        The source is none of these, or a pickle without `trust_pickle`, or a .skops file of untrusted types.
    FileFormatError
        There is no such file, or it cannot be read.
    """
    suffix = Path(source).suffix.lower()
    if suffix in (".onnx", ".skops", *_PICKLES):
        if not Path(source).is_file():
            raise FileFormatError(f"{source}: no such file")
        if suffix == ".onnx":
            return _load_onnx(source)
        return _load_skops(source, trusted) if suffix == ".skops" else _load_pickle(source, suffix, trust_pickle)
    module_name, colon, attribute = source.partition(":")
    if not colon or not module_name or not attribute:
        raise InputError(
            f"the predictor must be module:function, an .onnx or .skops file or a pickle ({', '.join(_PICKLES)}), "
            f"got {source!r}"
        )
    return _load_attribute(module_name, attribute)


def _load_attribute(module_name: str, attribute: str) -> Any:
    # as with python -m: modules beside the user are found, also later by the model and by worker processes
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    if module_name.startswith("."):
        raise InputError(f"the module must be named from its top, got {module_name!r}")
    try:
        found = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a module may do anything
        lacked = error.name if isinstance(error, ModuleNotFoundError) else None
        if lacked is not None and f"{module_name}.".startswith(f"{lacked}."):
            raise InputError(f"no module {module_name!r}, here or installed") from error
        raise InputError(f"importing module {module_name!r} raised {type(error).__name__}: {error}") from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise InputError(f"module {module_name!r} has no {attribute!r}")
        found = getattr(found, name)
    return found


def _load_onnx(source: str) -> Any:
    from .adapters.onnx_sessions import OnnxModel

    require("onnxruntime")
    try:
        return OnnxModel.read(source).checked()
    except InputError:
        raise
    except Exception as error:  # onnxruntime has errors of its own
        raise FileFormatError(f"{source}: not an ONNX model ({str(error).splitlines()[0]})") from error


def _load_skops(source: str, trusted: Sequence[str]) -> Any:
    skops = require("skops.io")
    try:
        unknown = set(skops.get_untrusted_types(file=source)) - set(trusted)
        if unknown:
            raise InputError(
                f"{source} holds types that are not trusted: {', '.join(sorted(unknown))}. If you know where the "
                "file comes from, name each with --trust"
            )
        return skops.load(source, trusted=list(trusted))
    except InputError:
        raise
    except Exception as error:
        raise FileFormatError(f"{source}: not a .skops file ({error})") from error


def _load_pickle(source: str, suffix: str, trust_pickle: bool) -> Any:
    if not trust_pickle:
        raise InputError(
            f"{source} is a pickle, and loading it runs whatever code it holds; say --trust-pickle if you trust "
            "it, or save the model as .skops"
        )
    import pickle

    try:
        if suffix == ".joblib":
            import joblib

            return joblib.load(source)
        with Path(source).open("rb") as file:
            return pickle.load(file)
    except Exception as error:  # a pickle may do anything
        raise FileFormatError(
            f"{source}: cannot be unpickled, or is no pickle ({type(error).__name__}: {error})"
        ) from error
