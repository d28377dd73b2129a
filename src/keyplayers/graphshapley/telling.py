"""From an engine's answer to the explanation that users see."""

import warnings
from collections.abc import Hashable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from ..errors import KeyPlayersWarning, PrecisionWarning
from ..explanation import Explanation
from ..mrf.inference.beliefs import BeliefState
from .facts import Facts, subtree_facts, walk_facts
from .game.game import CoalitionTable, EngineResult, Game, WalkTable
from .game.walk_game import WalkGame
from .game.worth import Worth, worth_of
from .present import make_sentence, show_probability
from .result import Inference, SubtreeGame

# A worth that varies by less over all coalitions, in its own unit, while the belief is nearer to certainty than
# the second number, is saturated: probabilities agree to rounding, and so do values, their differences.
SATURATED = 1e-9
CERTAIN = 1e-6
# Beliefs of propagation and of exact inference that differ by more are worth a warning (a probability).
DISAGREEMENT = 0.01
# A worth that all players together change by less is not changed: nothing can be covered.
_UNCHANGED = 1e-9


class Played(NamedTuple):
    """How a game was played."""

    result: EngineResult
    engine: str
    reason: str  # why this engine
    observed: bool  # whether the target is, so that there was nothing to play
    n_dropped: int  # variables that were cut from the ball
    table: CoalitionTable | WalkTable | None = None  # all coalitions, where they were asked for


def tell(
    beliefs: BeliefState,
    game: Game | WalkGame,
    played: Played,
    inference: Inference,
    *,
    order: Literal["size", "value"],
    radius: int | None,
    settings: Mapping[str, Any],
) -> Explanation[SubtreeGame]:
    """The explanation: players by the size of their values (`order` "value": largest first, as in the paper)."""
    around, result, worth = game.ball, played.result, game.worth
    names = list(around.field.names)
    ranks = result.values if order == "value" else np.abs(result.values)
    players_only = np.flatnonzero(around.is_player)
    by_rank = players_only[np.argsort(-ranks[players_only], kind="stable")]
    structure = _structure(beliefs, game, played, inference, by_rank, radius)
    players = tuple(names[1 + i] for i in by_rank)
    values = result.values[by_rank]
    complain(around.target, structure)
    states = (repr(state) for state in structure.worth_states)
    return Explanation(
        kind="graphshapley",
        target=around.target,
        players=players,
        values=values,
        std_errors=structure.std_errors,
        quantity="mean contribution to the " + worth.kind.quantity.format(*states),
        unit=worth.unit,
        n_evaluations=result.n_evaluations,
        sentence=make_sentence(around.target, players, values, structure),
        structure=structure,
        settings=settings,
    )


def _structure(
    beliefs: BeliefState,
    game: Game | WalkGame,
    played: Played,
    inference: Inference,
    order: Ints,
    radius: int | None,
) -> SubtreeGame:
    around, worth, result = game.ball, game.worth, played.result
    states, names = beliefs.mrf.states(around.target), list(around.field.names)
    walks = game if isinstance(game, WalkGame) else None
    factors = np.flatnonzero(~around.is_player)
    facts = subtree_facts(game, result) if isinstance(game, Game) else walk_facts(game)
    alone = _worth_at(worth, facts.log_alone)
    whole = None if facts.log_ball is None else _worth_at(worth, facts.log_ball)
    return SubtreeGame(
        states=states,
        belief=np.exp(worth.log_belief),
        log_belief=worth.log_belief,
        worth=worth.name,
        worth_states=tuple(states[s] for s in worth.states),
        unit=worth.unit,
        probabilistic=result.probabilistic[order],
        topological=result.topological[order],
        direction=result.direction[order],
        direction_unit=game.direction.unit,
        direction_state=states[game.direction.question.state],
        std_errors=result.std_errors[order],
        error_bounds=result.error_bounds[order],
        distances=around.distances[1:][order],
        paths=tuple(tuple(names[v] for v in facts.paths[i]) for i in order),
        log10_player_coalitions=facts.log10_per_player[order],
        engine=played.engine,
        engine_reason=played.reason,
        radius=radius,
        ball=around,
        n_variables=around.n_variables - around.n_factors,
        n_edges=around.n_edges,
        log10_coalitions=facts.log10_coalitions,
        log10_coalition_bounds=facts.log10_bounds,
        saturated=not played.observed and _is_saturated(result, worth, facts),
        meets_zero=result.meets_zero,
        partial=result.partial,
        target_observed=played.observed,
        worth_alone=alone,
        worth_ball=whole,
        inference=inference,
        groups=_renumber(facts.groups[order]),
        n_dropped=played.n_dropped,
        diagnostics=result.diagnostics,
        table=played.table,
        coalitions_of="subtrees" if walks is None else "walks",
        boundary="cut" if walks is None else walks.boundary,
        law="uniform" if walks is None else walks.law,
        n_copies=facts.n_copies,
        coverage=_coverage(result.values, alone, whole),
        factors=tuple(names[1 + i] for i in factors),
        factor_values=result.values[factors],
        beliefs=beliefs,
    )


def complain(target: Hashable, game: SubtreeGame) -> None:
    """Warn of what makes values less sure, or less telling, than they look."""
    if game.target_observed:
        warn(
            f"{target!r} is observed, so nothing else can change what is believed of it: all values are 0",
            KeyPlayersWarning,
        )
    if game.saturated:
        belief = show_probability(game.belief.max())
        warn(
            f"the worth {game.worth!r} is saturated: it varies by less than {SATURATED:g} over all coalitions "
            f"of {target!r}, whose belief is {belief}; worth='log_odds' does not saturate",
            PrecisionWarning,
        )
    if game.diagnostics.get("chains_agree") is False:
        warn(
            f"the chains that sampled the coalitions of {target!r} disagree by more than chance: its values "
            "are less sure than they look; raise max_evals",
            PrecisionWarning,
        )
    if game.diagnostics.get("law") == "chain" and game.diagnostics.get("chains_agree", True) is None:
        warn(
            f"the chains that sampled the coalitions of {target!r} are too short for what they remember: nobody "
            "can tell whether they agree, and standard errors rest on four chains; raise max_evals",
            PrecisionWarning,
        )
    if game.partial:
        warn(f"stopped early: the values of {target!r} rest on the coalitions seen so far", PrecisionWarning)
    other = game.inference.messages_belief
    if other is not None and np.abs(other - game.belief).max() > DISAGREEMENT:
        state = int(game.belief.argmax())
        warn(
            f"the walks around {target!r} are told what propagation says, which believes it to be "
            f"{game.states[state]!r} with {other[state]:.4f}; the beliefs given say {game.belief[state]:.4f}",
            PrecisionWarning,
        )
    gap = game.inference.disagreement(game.belief)
    if gap is not None and gap > DISAGREEMENT:
        state = int(game.belief.argmax())
        exact = game.inference.exact_belief
        assert exact is not None
        advice = "beliefs=exact_marginals(mrf)"
        if game.coalitions_of == "walks":
            advice += " with coalitions='subtrees'"
        warn(
            f"what is explained is belief propagation on a graph with cycles, which believes {target!r} to be "
            f"{game.states[state]!r} with {game.belief[state]:.4f}; exact inference says {exact[state]:.4f}. "
            f"{advice} explains that instead",
            PrecisionWarning,
        )


def warn(message: str, category: type[Warning], *, below: int = 3) -> None:
    """Warn whoever called `explain`, so many calls below of it."""
    warnings.warn(message, category, stacklevel=2 + below)


def _worth_at(worth: Worth, log_belief: Floats) -> float:
    return float(worth_of(worth, log_belief[None])[0]) + 0.0  # no -0.0


def _is_saturated(result: EngineResult, worth: Worth, facts: Facts) -> bool:
    """Whether the worth hides what coalitions do: it hardly varies though they move the target's log-odds."""
    if not worth.kind.saturates or not result.n_evaluations:
        return False
    # a single coalition can only be compared with the target alone
    single = result.n_coalitions == 1
    spread = abs(result.worth_max - _worth_at(worth, facts.log_alone)) if single else result.spread
    if spread >= SATURATED or -np.expm1(worth.log_belief.max()) > CERTAIN:
        return False
    if facts.log_ball is None:
        return True
    with np.errstate(invalid="ignore"):
        moved = np.nan_to_num(np.abs(facts.log_ball - facts.log_alone), nan=0.0)
    return bool(moved.max() > SATURATED)


def _coverage(values: Floats, alone: float, whole: float | None) -> float | None:
    """The sum of all values as a share of what all players together add to the worth."""
    if whole is None or not abs(whole - alone) > _UNCHANGED or not np.isfinite(values).all():
        return None
    return float(values.sum()) / (whole - alone)


def _renumber(groups: Ints) -> Ints:
    """The same groups as numbers 0, 1, ... in the order of their first members."""
    _, firsts, inverse = np.unique(groups, return_index=True, return_inverse=True)
    numbers: Ints = np.argsort(np.argsort(firsts))[inverse.ravel()]
    return numbers
