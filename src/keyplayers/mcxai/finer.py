"""Coarse to fine: a key set among large players, then one among their parts."""

from dataclasses import replace

from ..explanation import Explanation
from .present import sentence
from .result import GameTrees


def finest(found: list[Explanation[GameTrees]]) -> Explanation[GameTrees]:
    """Of explanations each among the parts of the key set before it, the finest with a key set; it tells of all.

    Parts may do less than the whole that they are of: words leave the punctuation of their sentence behind.
    """
    if len(found) == 1:
        return found[0]
    if not found[-1].structure.flipped:
        found = found[:-1]
    best, n_rows = found[-1], sum(each.structure.n_rows for each in found)
    told = replace(best.structure, coarser=tuple(each.structure.key_set for each in found[:-1]), n_rows=n_rows)
    return replace(best, structure=told, n_evaluations=n_rows, sentence=sentence(told))
