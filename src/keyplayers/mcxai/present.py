"""What an explanation says in words: its sentence, its table, its notes, as data that any page can print."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..explanation import Explanation
from .result import GameTrees

# players that a sentence names before it counts the rest
N_NAMED = 8
# letters of a value that a sentence shows
LONGEST = 24
# of a value that somebody is advised to reach: cut short it would be of no use
LONGEST_ADVICE = 120


class Table(NamedTuple):
    """Rows under headers, with a title."""

    title: str
    headers: list[str]
    rows: list[list[Any]]


def sentence(structure: GameTrees) -> str:
    """The explanation in one plain sentence."""
    main = structure.main
    view = structure.view
    subject = getattr(view, "subject", f"this {view.noun if view else 'instance'}")
    says = f"{_speaker(structure).capitalize()} says {structure.predicted!r} of {subject}"
    p = f"P({structure.target!r}) = {structure.p_target:.3f}"
    stopped = " The search was stopped early." if structure.partial else ""
    stopped += _doubt(structure)
    if not main.players:
        if view:
            return f"{says} ({p}); there is nothing in it to mask."
        return f"{says} ({p}); masking would change nothing: every player already has its masked value."
    if not main.flipped:
        return f"{says} ({p}); {_unflipped(structure)}.{stopped}"
    if structure.alternatives and view is None:
        return f"{says} ({p}). {_advice(structure)}.{stopped}"
    return f"{says} ({p}); {_flipped(structure)}{_opposed(structure)}.{stopped}"


def _doubt(structure: GameTrees) -> str:
    """What is to be known of a model whose answers are not the same at each call."""
    if not structure.noise:
        return ""
    known = ""
    if structure.flipped:
        known = "; this set did it in the mean of several answers"
        if not structure.main.confirmed:
            known = "; the rows did not allow to ask for this set again, so it may have been luck"
    noisy = _noisy(structure)
    return f" {noisy[0].upper()}{noisy[1:]}{known}."


def _unflipped(structure: GameTrees) -> str:
    """What came nearest, where no set is known that changes the decision."""
    main = structure.main
    nothing = "no set that was tried changes that"
    if structure.proven:
        nothing = "nothing changes that: all sets of players were masked"
    near = listing(main.best_set, structure) or "nothing"
    return (
        f"{nothing}. Nearest came masking {near}: {structure.p_target:.3f} -> {main.p_best:.3f}; with everything "
        f"masked it is {structure.p_masked:.3f}"
    )


def _flipped(structure: GameTrees) -> str:
    """What the key set does."""
    main, several = structure.main, len(structure.main.best_set) > 1
    verb = "carry it" if several else "carries it"
    if main.kind == "misclassification":
        verb = f"{'stand' if several else 'stands'} in the way of {structure.target!r}"
    unsure = "" if main.minimal else "; the rows or seconds allowed did not tell whether all of them are needed"
    return (
        f"{listing(main.best_set, structure)} {verb}: {_gone(structure, 'them' if several else 'it')} says "
        f"{main.new_class!r} (P({structure.target!r}) = {main.p_best:.3f}){unsure}"
    )


def _advice(structure: GameTrees) -> str:
    """What would change the decision, as the one whom it concerns may read it."""
    main = structure.main
    changes = _joined([_change(structure, player) for player in main.best_set])
    return (
        f"It would say {main.new_class!r} with {changes} (P({structure.target!r}) = {main.p_best:.3f})"
        f"{_needed(structure)}"
    )


def _change(structure: GameTrees, player: Hashable) -> str:
    """One change: duration 12 instead of 36."""
    own, masked = (_quoted(_short(text, LONGEST_ADVICE)) for text in structure.display_values[player])
    name = player if isinstance(player, str) else f"column {player}"
    return f"{name} {masked} instead of {own}"


def _quoted(text: str) -> str:
    """A value of several words is quoted, or nobody sees where it ends."""
    return repr(text) if " " in text or not text else text


def _needed(structure: GameTrees) -> str:
    """Whether the changes can do without one of them."""
    if not structure.minimal:
        return "; the rows or seconds allowed did not tell whether all of these changes are needed"
    return "; all of these changes are needed" if len(structure.main.best_set) > 1 else ""


def _opposed(structure: GameTrees) -> str:
    """What speaks against the target, where that is known."""
    after = structure.continuation
    if after is None or after.kind != "misclassification" or not after.best_set:
        return ""
    several, target = len(after.best_set) > 1, structure.target
    back = "turns it back to" if after.flipped else "brings it nearest to"
    act = "removing" if structure.view and structure.view.removes else "masking"
    return (
        f". Against {target!r} {'speak' if several else 'speaks'} {listing(after.best_set, structure)}: {act} "
        f"{'them' if several else 'it'} as well {back} {target!r} ({after.p_best:.3f})"
    )


def _speaker(structure: GameTrees) -> str:
    return str(getattr(structure.view, "speaker", "the model"))


def _gone(structure: GameTrees, them: str) -> str:
    """Without whom something else is said."""
    if structure.view and structure.view.removes:
        return f"without {them} {_speaker(structure)}"
    return f"with {them} masked it"


def listing(players: Sequence[Hashable], structure: GameTrees) -> str:
    """Players as a sentence names them, with what stood there and what was put in: a (1 -> 0) and b (2 -> 0)."""
    words = [_named(structure, player) for player in players[:N_NAMED]]
    if len(players) > N_NAMED:
        words.append(f"{len(players) - N_NAMED} more")
    return _joined(words)


def _joined(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def _named(structure: GameTrees, player: Hashable) -> str:
    """A player as its view names it; without one with what stood there and what was put in."""
    if structure.view:
        return structure.view.named(player)
    return f"{player}{_masked(structure, player)}"


def _masked(structure: GameTrees, player: Hashable) -> str:
    own, masked = structure.display_values.get(player, ("", ""))
    return f" ({_short(own)} -> {_short(masked)})" if own or masked else ""


def _short(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."


def picture(structure: GameTrees) -> list[str]:
    """Lines that show the instance with the players marked that carry the target and those that oppose it."""
    if structure.view is None or not structure.main.players:
        return []
    carries, opposes = structure.view.legend
    legend = []
    if structure.main.kind == "misclassification":
        legend = [f"{opposes} stands in the way of {structure.target!r}"]
    elif structure.key_set:
        legend = [f"{carries} carries {structure.target!r}"]
        legend += [f"{opposes} speaks against it"] if structure.opposition else []
    return [*structure.picture().split("\n"), *([f"({', '.join(legend)})"] if legend else [])]


def table(explanation: Explanation[GameTrees], top: int) -> Table:
    """The most important players, what they are masked to, and what each is to the decision."""
    structure = explanation.structure
    rates = structure.win_rates
    shown = zip(explanation.players[:top], explanation.values[:top], explanation.std_errors[:top], strict=True)
    rows: list[list[Any]] = []
    for player, value, error in shown:
        instance, masked = structure.display_values.get(player, ("", ""))
        rate = f"{rates[player]:.4f}" if player in rates else "-"
        sure = "" if np.isnan(error) else f"{error:.2g}"
        rows.append([player, instance, masked, float(value), sure, rate, role(structure, player)])
    part = f" (top {len(rows)} of {len(explanation):,})" if len(rows) < len(explanation) else ""
    headers = ["player", "value", "masked to", explanation.unit, "+-", "win rate", ""]
    if rows and structure.view:  # what masking puts in is the same for all, and a player's name says what is there
        headers, rows = headers[:1] + headers[3:], [row[:1] + row[3:] for row in rows]
    return Table(f"Key players of {explanation.target!r}{part}", headers, rows)


def role(structure: GameTrees, player: Hashable) -> str:
    """What a player is to the decision, "" where it is in neither set."""
    if player in structure.key_set:
        return "carries" if structure.main.kind == "classification" else "stands in the way"
    return "opposes" if player in structure.opposition else ""


def notes(structure: GameTrees) -> list[str]:
    """How sure the answer is and what it cost."""
    sure = f"no bound is claimed: {_noisy(structure)}" if structure.noise else _bound(structure)
    trail = " -> ".join(f"{p:.3f}" for p in structure.trail)
    cost = f"{structure.n_rows:,} rows in {structure.n_calls:,} calls of the model, {structure.seconds:.2f} s"
    return [f"P({structure.target!r}): {trail}", f"{sure}; {cost}"]


def _bound(structure: GameTrees) -> str:
    """How many players any set that does it has."""
    among = " among the parts of the coarser key set" if structure.coarser else ""
    if not structure.proven:
        n = structure.lower_bound
        return f"any set{among} that does it has at least {n} players (all smaller ones were tried)"
    return (
        f"no smaller set{among} does it: all were tried" if structure.flipped else "no set does it: all were tried"
    )


def _noisy(structure: GameTrees) -> str:
    """That the model's answers are not the same at each call."""
    return f"two answers of the model about the same row differ by {structure.noise:.2g}"
