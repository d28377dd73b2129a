"""What people read of an explanation: a sentence, a table, notes; the same wherever it is printed."""

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Floats
from ..explanation import Explanation
from .result import Role, SubtreeGame

# how many players the sentence names
_NAMED = 3
# A player is named while its value is at least this share of the largest.
_WORTH_NAMING = 0.1
# The strongest opposition is named in any case where it exceeds this share of the strongest support.
_OPPOSITION = 0.5
# Values below say nothing: propagation stops at changes of that size.
_ROUNDING = 1e-9
# Probabilities that differ by less look the same in a table.
_SAME_SHOWN = 1e-4
# Numbers below are shown as 0: what rounding leaves of one.
_SHOWN_ZERO = 1e-12


def make_sentence(target: Hashable, players: Sequence[Hashable], values: Floats, game: SubtreeGame) -> str:
    """The explanation in plain words."""
    belief = f"The field believes that {_belief(target, game)}"
    if game.target_observed:
        return f"{belief}, because that was observed; nothing else can change it."
    belief += _doubt(game)
    if not players:
        reach = "connected with it" if game.radius is None else f"within {_hops(game.radius)}"
        return f"{belief}; no other variable is {reach}."
    if game.partial:
        belief += " (stopped early: from the coalitions seen so far)"
    if game.saturated:
        return f"{belief}. It is so sure that {game.worth} cannot tell players apart; ask for log_odds."
    if np.isnan(values).all():
        return f"{belief}. No coalition was drawn that holds another variable; draw more."
    sizes = np.nan_to_num(np.abs(values))
    if sizes.max() <= _ROUNDING and np.nan_to_num(np.abs(game.direction)).max() <= _ROUNDING:
        reach = "" if game.radius is None else f" within {_hops(game.radius)}"
        return f"{belief}. No other variable{reach} makes a difference."
    return " ".join([f"{belief}.", *_who(players, sizes, game)])


def _belief(target: Hashable, game: SubtreeGame) -> str:
    """What is believed, of the state in question first."""
    best = int(game.belief.argmax())
    believed = f"{_state(game.states[best])} ({show_probability(game.belief[best])})"
    asked = _asked(game)
    if asked is None or asked == game.states[best]:
        return f"{target} is {believed}"
    probability = show_probability(game.belief[game.states.index(asked)])
    return f"{target} is {_state(asked)} with {probability} only, and {believed}"


def _asked(game: SubtreeGame) -> Hashable:
    """The state that the worth speaks of, None where it speaks of the whole belief."""
    return game.worth_states[0] if game.worth_states else None


def _who(players: Sequence[Hashable], sizes: Floats, game: SubtreeGame) -> list[str]:
    """Those that weigh most, in up to three sentences: for, against, what connects."""
    named = _named(sizes, game)
    asked = _asked(game)
    it = _named_state(game.states[int(game.belief.argmax())] if asked is None else asked)
    if len(game.worth_states) == 2:
        it += f" rather than {_named_state(game.worth_states[1])}"
    openings: dict[Role, str] = {"for": f"For {it}", "against": f"Against {it}", "connects": "What connects"}
    told = []
    for role, opening in openings.items():
        own = [_player(players, i, game) for i in named if game.roles[i] == role]
        if own:
            told.append(f"{opening}: {'; '.join(own)}.")
    return told


def _named(sizes: Floats, game: SubtreeGame) -> list[int]:
    """Positions of the players that the sentence names."""
    firsts = sorted(first_of_groups(game), key=lambda i: -sizes[i])
    named = [i for i in firsts[:_NAMED] if sizes[i] >= _WORTH_NAMING * sizes.max()]
    strongest: dict[Role, int] = {}
    for i in firsts:
        strongest.setdefault(game.roles[i], i)
    opposed, support = strongest.get("against"), strongest.get("for")
    if opposed is None or opposed in named:
        return named
    outweighed = support is not None and sizes[opposed] <= _OPPOSITION * sizes[support]
    return named if outweighed or sizes[opposed] <= _ROUNDING else [*named, opposed]


def _doubt(game: SubtreeGame) -> str:
    """What inference was explained, where it is not exact."""
    if game.inference.exact:
        return ""
    if not game.inference.converged:
        return ", though propagation did not converge"
    exact = game.inference.exact_belief
    state = int(game.belief.argmax())
    said = "" if exact is None else f"; exactly it is {show_probability(exact[state])}"
    return f", by propagation on a graph with cycles{said}"


def first_of_groups(game: SubtreeGame) -> list[int]:
    """Position of the first player of every group of equal ones, in their order."""
    firsts: list[int] = sorted(np.unique(game.groups, return_index=True)[1].tolist())
    return firsts


def name_group(players: Sequence[Hashable], i: int, game: SubtreeGame) -> str:
    """Player i, or the group that it stands for."""
    n_equal = len(game.equal_to(i))
    if n_equal == 1:
        return str(players[i])
    return f"{n_equal:,} equal {'neighbours' if game.distances[i] == 1 else 'players'} such as {players[i]}"


def name_step(step: Hashable, game: SubtreeGame) -> str:
    """A variable or a factor on the way."""
    return f"factor {step}" if step in game.factors else str(step)


def _player(players: Sequence[Hashable], i: int, game: SubtreeGame) -> str:
    through = [name_step(step, game) for step in game.paths[i][1:-1]]
    return name_group(players, i, game) + (f", reached through {' and '.join(through)}" if through else "")


class Table(NamedTuple):
    """Rows for people."""

    title: str
    columns: list[str]
    rows: list[list[Any]]


def player_table(found: Explanation[SubtreeGame], top: int) -> Table | None:
    """The most important players; equal ones share a row. None where an observed target makes all of them 0."""
    game = found.structure
    if not len(found) or game.target_observed:
        return None
    shown = first_of_groups(game)[:top]
    unsure = bool((np.nan_to_num(game.uncertainties, nan=1.0) > _SHOWN_ZERO).any())
    columns = ["player", "speaks", f"value ({found.unit})", *["±"] * unsure]
    columns += ["by its prior", "by its edges", f"pull to {game.direction_state}", "hops", "path"]
    columns += _what_if_columns(game)
    rows = []
    for i in shown:
        error = float(game.uncertainties[i])
        numbers = [_certain(found.values[i], error), *[error] * unsure]
        numbers += [_certain(part[i], error) for part in (game.probabilistic, game.topological, game.direction)]
        role = {"for": "for", "against": "against", "connects": "(connects)"}[game.roles[i]]
        path = " - ".join(name_step(step, game) for step in game.paths[i])
        rows.append([name_group(found.players, i, game), role, *numbers, int(game.distances[i]), path])
        rows[-1] += _what_if_cells(game, i)
    n_shown = sum(len(game.equal_to(i)) for i in shown)
    more = "" if n_shown == len(found) else f" (top {n_shown:,} of {len(found):,})"
    return Table(f"Key players of {found.target}{more}", columns, rows)


def _what_if_columns(game: SubtreeGame) -> list[str]:
    if game.what_ifs is None:
        return []
    return [f"P({game.direction_state}) without evidence", "without it", "if it were", "then"]


def _what_if_cells(game: SubtreeGame, i: int) -> list[Any]:
    """Beliefs without player i; of equal players, which differ where more than the ball counts, their range."""
    asked = game.what_ifs
    if asked is None:
        return []
    equal = game.equal_to(i)
    numbers = [_range(column[equal]) for column in (asked.without_evidence, asked.without, asked.otherwise)]
    state = asked.otherwise_state[i]
    return [*numbers[:2], "-" if state is None else str(state), numbers[2]]


def _range(probabilities: Floats) -> Any:
    known = probabilities[~np.isnan(probabilities)]
    if not known.size:
        return "-"
    low, high = float(known.min()), float(known.max())
    return low if high - low < _SAME_SHOWN else f"{low:.4f} to {high:.4f}"


def _certain(value: float, uncertainty: float) -> float:
    """A number that its uncertainty does not tell from 0 is shown as 0."""
    return 0.0 if abs(value) <= uncertainty and uncertainty < _ROUNDING * 1e3 else float(value)


def notes(found: Explanation[SubtreeGame]) -> list[str]:
    """The game in a few lines: the ball, the engine, the worth."""
    game = found.structure
    ball = "whole component" if game.radius is None else f"radius {game.radius}"
    worth = f"worth alone {_rounded(game.worth_alone)}, of the ball "
    worth += "unknown" if game.worth_ball is None else _rounded(game.worth_ball)
    walks = "" if game.n_copies is None else f"{_plural(game.n_copies, 'walk')}, "
    dropped = f"; {game.n_dropped:,} more variables were dropped" if game.n_dropped else ""
    factors = f"{_plural(len(game.factors), 'factor')}, " if game.factors else ""
    size = f"{_plural(game.n_variables, 'variable')}, {factors}{_plural(game.n_edges, 'edge')}"
    return [
        f"{ball}: {size}, {walks}{coalition_count(game.log10_coalition_bounds)}{dropped}",
        f"{game.engine}: {_plural(found.n_evaluations, 'evaluation')} ({game.engine_reason})",
        f"{game.worth}: {worth}" + ("; saturated" if game.saturated else ""),
        *_notes_on_walks(game),
        *_notes_on_factors(game),
    ]


def _notes_on_factors(game: SubtreeGame) -> list[str]:
    """What factors of three or more variables say by themselves, whoever else is there."""
    if not game.factors or not np.isfinite(game.factor_values).all():
        return []
    total = _rounded(float(game.factor_values.sum()))
    return [
        f"{_plural(len(game.factors), 'factor')} of three or more variables: {total} by themselves, no players"
    ]


def _notes_on_walks(game: SubtreeGame) -> list[str]:
    """What is special about the game of walks."""
    if game.coalitions_of != "walks" or game.target_observed:
        return []
    lines = []
    if game.coverage is not None:
        lines.append(f"values sum to {game.coverage:.0%} of what all players add (law {game.law})")
    other = game.inference.messages_belief
    if other is not None:
        apart = float(np.abs(other - game.belief).max())
        lines.append(f"messages are propagation's, whose belief differs by {_rounded(apart)}")
    return lines


def coalition_count(bounds: tuple[float, float]) -> str:
    """How many coalitions there are, from bounds on log10."""
    lower, upper = bounds
    if upper == -math.inf:
        return "no coalitions"
    if lower == upper:
        return _plural(round(10**lower), "coalition") if lower < 9 else f"10^{lower:.1f} coalitions"
    return f"10^{lower:.1f} to 10^{upper:.1f} coalitions"


def _plural(n: int, what: str) -> str:
    return f"{n:,} {what if n == 1 else what + 's'}"


def _rounded(number: float) -> str:
    return "0" if abs(number) < _SHOWN_ZERO else f"{number:.4g}"


def _hops(radius: int) -> str:
    return "1 hop" if radius == 1 else f"{radius} hops"


def _named_state(state: Hashable) -> str:
    return state if isinstance(state, str) else f"state {state}"


def _state(state: Hashable) -> str:
    return state if isinstance(state, str) else f"in state {state}"


def show_probability(p: float) -> str:
    """A probability in words: 0.99996 is not 1.00."""
    if p == 1:
        return "1"
    digits = 2 if 0.005 < p < 0.995 else min(max(math.ceil(-math.log10(max(1 - p, 1e-12))) + 1, 2), 12)
    return f"{p:.{digits}f}"
