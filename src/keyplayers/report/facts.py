"""What a report says in plain words: what values mean, how they were found, how sure they are."""

from typing import Literal, NamedTuple

import numpy as np

from .._base.printable import shortened
from ..explanation import Explanation
from ..graphshapley.present import show_probability
from ..graphshapley.result import SubtreeGame

# letters of a name within a sentence
_LONGEST = 60
# an uncertainty below this is rounding
_NEGLIGIBLE = 1e-3


class Fact(NamedTuple):
    """One thing to know."""

    title: str
    text: str
    level: Literal["note", "warning"] = "note"


def field_facts(found: Explanation[SubtreeGame]) -> list[Fact]:
    """Of an explanation of a belief; warnings first."""
    game = found.structure
    if game.target_observed:
        observed = f"{_name(found.target)} was observed, so nothing else can change what is believed of it."
        return [Fact("Observed", observed)]
    facts = [*_warnings(game), _meaning(found), _parts(game), _method(found), _certainty(game)]
    return [fact for fact in [*facts, _coverage(game), _inference(game)] if fact is not None]


def _warnings(game: SubtreeGame) -> list[Fact]:
    """What makes the picture less sure than it looks."""
    told: list[tuple[bool, str, str]] = [
        (
            not game.inference.converged,
            "Propagation did not converge",
            f"After {game.inference.sweeps:,} sweeps messages still changed. The belief itself is unsure, and so "
            "is everything that explains it.",
        ),
        (
            game.saturated,
            "The belief is saturated",
            f"The field is so sure that {game.worth} cannot tell variables apart. Explain log_odds instead.",
        ),
        (
            game.partial,
            "Stopped early",
            "The search was stopped before it was done: values rest on what was seen by then.",
        ),
        (
            game.n_dropped > 0,
            "Not everybody took part",
            f"{game.n_dropped:,} more variables within reach were left out (max_ball); those that could matter "
            "most were kept.",
        ),
        (
            game.diagnostics.get("chains_agree") is False,
            "The draws disagree",
            "The chains that sampled disagree by more than chance: values are less sure than they look.",
        ),
        (
            game.meets_zero,
            "Something is impossible",
            "Some evidence rules a state out entirely. Its logarithm, minus infinity, counts as -700.",
        ),
    ]
    return [Fact(title, text, "warning") for applies, title, text in told if applies] + _doubts(game)


def _doubts(game: SubtreeGame) -> list[Fact]:
    """Where exact inference, or propagation, believes something else than what is explained."""
    state, facts = int(game.belief.argmax()), []
    for belief, who in (
        (game.inference.exact_belief, "Exact inference"),
        (game.inference.messages_belief, "Propagation, whose messages walks are told,"),
    ):
        if belief is not None and np.abs(belief - game.belief).max() > 0.01:
            text = (
                f"{who} gives {_name(game.states[state])} a probability of {show_probability(belief[state])}, "
                f"where {show_probability(game.belief[state])} is explained here."
            )
            facts.append(Fact("Another belief", text, "warning"))
    return facts


def _meaning(found: Explanation[SubtreeGame]) -> Fact:
    game = found.structure
    asked = [_name(state) for state in game.worth_states]
    match game.worth:
        case "log_odds" if len(asked) == 1:
            text = (
                f"Values are in log-odds of {asked[0]}. Above 0 a variable speaks for {asked[0]}, below 0 against "
                "it; near 0 it does not matter. A step of 1 takes a probability from 0.50 to 0.73, the next one "
                "to 0.88, the next to 0.95."
            )
        case "probability":
            text = (
                f"Values say how much a variable moves the probability of {asked[0]}, on average: 0.1 is ten "
                "percentage points. Above 0 it speaks for that state, below 0 against it."
            )
        case "symmetric_kl" | "neg_cross_entropy":
            text = (
                "Values say how far a variable brings the belief nearer to what the whole field believes (above "
                f"0), or farther from it (below 0), in {found.unit}. To which state it pulls, the pull says."
            )
        case _:
            text = f"Values are each variable's {found.quantity}, in {found.unit}."
            if len(asked) == 2:
                text += f" Above 0 it speaks for {asked[0]} rather than {asked[1]}."
    return Fact("What the values mean", text)


def _parts(game: SubtreeGame) -> Fact:
    return Fact(
        "Two parts of a value",
        "By its prior: what is known of the variable itself; forget it, and this part is gone. By its edges: what "
        "others say through it. A variable of which nothing is known only connects.",
    )


def _method(found: Explanation[SubtreeGame]) -> Fact:
    game = found.structure
    reach = "all that is connected with it" if game.radius is None else f"{game.radius} steps around it"
    if game.coalitions_of == "walks":
        what = f"{game.n_copies or 0:,} walks from the target, within {reach}, over {game.n_variables:,} variables"
    else:
        what = (
            f"subtrees around the target, within {reach}: {game.n_variables:,} variables, {game.n_edges:,} edges"
        )
    how = {
        "convolution": "All of their combinations were summed up at once",
        "enumeration": f"All {found.n_evaluations:,} of them were listed",
        "sampling": f"{found.n_evaluations:,} combinations of them were drawn at random",
    }.get(game.engine, f"The engine {game.engine} weighed them")
    return Fact("How it was found", f"{what[0].upper()}{what[1:]}. {how} ({game.engine}: {game.engine_reason}).")


def _certainty(game: SubtreeGame) -> Fact:
    unsure = game.uncertainties
    known = unsure[~np.isnan(unsure)]
    largest = float(known.max(initial=0.0))
    sampled = bool((game.std_errors > 0).any())
    if sampled:
        text = (
            f"Values were sampled. Thin lines show their standard errors, at most {largest:.2g} {game.unit}: do "
            "not read much into differences below twice as much."
        )
    elif largest > _NEGLIGIBLE:
        text = f"Values are proven to be right to within {largest:.2g} {game.unit} (thin lines)."
    else:
        text = f"Values are exact to within {max(largest, 1e-12):.1g} {game.unit}."
    missing = len(unsure) - len(known)
    if missing:
        text += f" Of {missing:,} variables nothing was drawn, so nothing is known."
    return Fact("How sure the values are", text)


def _coverage(game: SubtreeGame) -> Fact | None:
    if game.coverage is None:
        return None
    text = f"Values add up to {game.coverage:.0%} of what all variables together add to the belief."
    if game.coverage > 1.05:
        text += " More than 100% says that variables share credit: what crosses two of them counts for both."
    elif game.coverage < 0.95:
        text += " The rest is in what variables do only together."
    return Fact("How much is covered", text)


def _inference(game: SubtreeGame) -> Fact | None:
    how = game.inference
    if how.exact:
        return Fact("The belief", f"The belief is exact ({how.schedule}).")
    if not how.converged:
        return None  # told as a warning
    text = f"Belief propagation ({how.schedule}) converged after {how.sweeps:,} sweeps. The graph has cycles, on "
    text += "which it is an approximation"
    gap = how.disagreement(game.belief)
    text += "." if gap is None else f"; here it is within {max(gap, 1e-6):.2g} of the exact probability."
    return Fact("The belief", text)


def _name(name: object) -> str:
    return shortened(str(name), _LONGEST)
