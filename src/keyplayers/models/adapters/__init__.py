"""Models of other libraries: each is asked in its own way.

An adapter is known by the path of the class that it is for, as text, so that nothing of the library is imported
before such a model arrives. It is a function ``adapt(model, output) -> Face`` in a file of its own.
"""

import importlib
from collections.abc import Callable
from typing import Any

from ..face import Face
from ..outputs import Output

Adapter = Callable[[Any, Output], Face]

# path of a class, its own or that of one it is derived from -> module with `adapt`
ADAPTERS: dict[str, str] = {
    "torch.nn.modules.module.Module": f"{__name__}.torch_modules",
    "xgboost.core.Booster": f"{__name__}.xgboost_boosters",
    "lightgbm.basic.Booster": f"{__name__}.lightgbm_boosters",
    f"{__name__}.onnx_sessions.OnnxModel": f"{__name__}.onnx_sessions",
    "onnxruntime.capi.onnxruntime_inference_collection.InferenceSession": f"{__name__}.onnx_sessions",
}


def adapter_of(model: Any) -> Adapter | None:
    """The adapter of a model, None for a function or an estimator."""
    for kind in type(model).__mro__:
        home = ADAPTERS.get(f"{kind.__module__}.{kind.__qualname__}")
        if home is not None and not hasattr(model, "predict_proba"):
            return importlib.import_module(home).adapt  # type: ignore[no-any-return]
    return None
