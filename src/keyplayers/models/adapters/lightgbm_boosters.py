"""Boosters of LightGBM."""

from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ..face import Face
from ..outputs import Output

# objectives whose prediction is a probability; of one-versus-all they do not add up to 1
_OF_CLASSES = ("binary", "multiclass", "multiclassova", "cross_entropy", "cross_entropy_lambda")


def adapt(model: Any, output: Output) -> Face:
    """See `adapters`.

    Raises
    ------
    InputError
        The booster's objective is none of classes.
    """
    objective = _objective(model)
    if objective in _OF_CLASSES:
        return Face(BoosterFunction(model, objective == "multiclassova"), "proba")
    if objective not in ("", "none", "custom"):
        raise InputError(
            f"the booster's objective is {objective}, and McXai explains classes ({', '.join(_OF_CLASSES)}): give "
            "a function of the rows, such as whether its prediction is above a threshold"
        )
    return Face(BoosterFunction(model, False), output)  # an objective of the user's own


def _objective(model: Any) -> str:
    """As the file of a booster says it, which also one that was read from a file knows."""
    for line in model.model_to_string(num_iteration=1).splitlines():
        if line.startswith("objective="):
            return str(line.partition("=")[2].split(" ")[0])
    return ""


@dataclass(frozen=True)
class BoosterFunction:
    """Rows -> what the booster predicts."""

    model: Any
    one_versus_all: bool

    def __call__(self, rows: Any) -> Any:
        """The prediction for a batch."""
        p = self.model.predict(rows)
        return p / p.sum(axis=1, keepdims=True) if self.one_versus_all else p
