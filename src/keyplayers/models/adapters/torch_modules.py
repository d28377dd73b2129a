"""Modules of PyTorch: rows become a tensor in the module's own precision, on its own device."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from ...errors import InputError
from ..face import Face
from ..outputs import Output


def adapt(model: Any, output: Output) -> Face:
    """See `adapters`."""
    return Face(ModuleFunction(model), output)


@dataclass(frozen=True)
class ModuleFunction:
    """Rows -> what the module gives, as an array; nothing of the module is changed.

    The module is asked in evaluation mode (dropout off) and without gradients; the mode of each of its parts is
    what it was before. Of several outputs the first counts, of a named one ``logits``.
    """

    model: Any

    def __call__(self, rows: Any) -> Any:
        """What the module gives for a batch [B, D]."""
        import torch

        with _evaluating(self.model), torch.no_grad():
            given = self.model(self._tensor(rows))
        given = getattr(given, "logits", given)
        given = given[0] if isinstance(given, (tuple, list)) else given
        given = given.detach().cpu()
        return (given.float() if given.dtype in (torch.float16, torch.bfloat16) else given).numpy()

    def _tensor(self, rows: Any) -> Any:
        import torch

        like = next((p for p in self.model.parameters() if p.is_floating_point()), torch.empty(0))
        if isinstance(rows, torch.Tensor):
            return rows.to(like.device)
        array = np.asarray(rows)
        if array.dtype.kind not in "biuf":
            try:
                array = array.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"a torch module takes numbers, the rows hold {array.dtype}: {error}") from error
        return torch.as_tensor(np.ascontiguousarray(array)).to(device=like.device, dtype=like.dtype)


# modules that are being asked: how many calls are under way, and the parts that were training before the first
_under_way: dict[int, tuple[int, list[Any]]] = {}
_lock = Lock()


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode, and after the last call under way the mode of each part as it was before the first."""
    key = id(model)
    with _lock:
        n_calls, training = _under_way.get(key, (0, []))
        if not n_calls:
            training = [part for part in model.modules() if part.training]
            model.eval()
        _under_way[key] = (n_calls + 1, training)
    try:
        yield
    finally:
        with _lock:
            n_calls, training = _under_way.pop(key)
            if n_calls > 1:
                _under_way[key] = (n_calls - 1, training)
            else:
                for part in training:
                    part.training = True
