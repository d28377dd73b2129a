"""Boosters of XGBoost, which want their own matrices."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError
from ..face import Face
from ..outputs import Output

# objective -> what predict gives; of multi:softmax it gives labels, so its scores are asked instead
_GIVES: dict[str, Output] = {
    "binary:logistic": "proba",
    "binary:logitraw": "logits",
    "multi:softprob": "proba",
    "multi:softmax": "logits",
}


def adapt(model: Any, output: Output) -> Face:
    """See `adapters`.

    Raises
    ------
    InputError
        The booster's objective is none of classes.
    """
    objective = json.loads(model.save_config())["learner"]["objective"]["name"]
    if objective in _GIVES:
        return Face(BoosterFunction(model, objective == "multi:softmax"), _GIVES[objective])
    if ":" in objective:
        raise InputError(
            f"the booster's objective is {objective}, and McXai explains classes ({', '.join(_GIVES)}): give a "
            "function of the rows, such as whether its prediction is above a threshold"
        )
    return Face(BoosterFunction(model, False), output)  # an objective of the user's own


@dataclass(frozen=True)
class BoosterFunction:
    """Rows -> what the booster predicts."""

    model: Any
    margins: bool

    def __call__(self, rows: Any) -> Any:
        """The prediction for a batch."""
        from xgboost import DMatrix

        names = self.model.feature_names
        if isinstance(rows, np.ndarray):
            matrix = DMatrix(np.asarray(rows, dtype=np.float64), feature_names=names)
        else:
            matrix = DMatrix(rows, enable_categorical=True)
        return self.model.predict(matrix, output_margin=self.margins)
