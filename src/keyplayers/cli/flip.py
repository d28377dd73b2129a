"""``keyplayers explain --flip``: the smallest set of evidence whose removal flips a belief."""

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .explain_model import print_features
from .output import say, show_progress, tell_explanation

if TYPE_CHECKING:
    from ..explanation import Explanation
    from ..mcxai.result import GameTrees
    from ..mrf.field import MarkovRandomField
    from ..mrf.inference.beliefs import BeliefState


def explain_flip(
    mrf: "MarkovRandomField",
    target: Hashable,
    beliefs: "BeliefState",
    *,
    radius: int | None,
    max_evals: int | None,
    seed: int | None,
    top: int | None,
    as_json: bool,
    output: Path | None,
    html: Path | None,
    quiet: bool,
) -> None:
    """Play the games of a classifier with the belief in one variable."""
    from ..errors import InputError
    from ..mcxai.explainer import McXai
    from ..spaces.evidence.predictor import FieldPredictor

    predictor = FieldPredictor(mrf, target, radius=radius, beliefs=beliefs)
    if not predictor.players:
        within = "" if radius is None else f" within {radius} hops (--radius)"
        raise InputError(f"there is no evidence around {target!r}{within} that could be taken away")
    rows: dict[str, Any] = {} if max_evals is None else {"max_evals": max_evals}
    explainer = McXai(predictor, predictor.space, class_names=predictor.states, **rows)
    with show_progress(quiet) as progress:
        found = explainer.explain(predictor.instance, random_state=seed, progress=progress)
    if not quiet and not as_json:
        reach = "" if radius is None else f" within {radius} hops"
        n, of = len(predictor.players), len(predictor.evidence)
        most = f", the {n:,} that move the belief most by themselves" if n < of else ""
        say(f"{of:,} pieces of evidence{reach} could be taken away{most}")
    tell_explanation(
        found, print_features, _notes, top=top, as_json=as_json, output=output, html=html, quiet=quiet
    )


def _notes(found: "Explanation[GameTrees]") -> list[str]:
    from ..mcxai.present import notes

    return notes(found.structure)
