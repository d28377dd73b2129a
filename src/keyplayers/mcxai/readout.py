"""What finished games say, and the explanation that is made of it."""

import time
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.arrays import Floats
from ..explanation import Explanation
from ..spaces.protocol import MaskedInstance
from .flip_sets.sets import Seek
from .game.game import Board, Game
from .game.scorer import Scorer
from .result import GameReading, GameTrees
from .tree.search import Playouts

# minimal sets that are grafted onto the tree and kept
MAX_SETS = 20


def read_game(
    game: Game,
    seek: Seek,
    playouts: Playouts,
    names: list[Hashable],
    contributions: Floats,
    n_rows: int,
    textbook: bool,
) -> GameReading:
    """What a finished game says."""
    board, tree = game.board, playouts.tree()
    local = [names[i] for i in game.players]
    ended = sorted(playouts.best.items(), key=lambda item: (len(item[0]), -item[1][0]))
    if textbook:
        minimal = [order for _, (_, order) in ended]
    else:
        found = set(map(frozenset, seek.found))
        minimal = [order for key, (_, order) in ended if key in found or len(key) == 1]
        minimal = minimal or [order for _, (_, order) in ended]
    if minimal:
        best = minimal[0]
        index = int(game.look_at([tuple(sorted(best))])[0])
    else:
        best, index = _nearest(game)
    complete = tree.best_complete()
    path = tree.path(complete) if complete is not None else (ended and max(v for _, v in ended)[1]) or ()
    rate = (
        float(tree.win_rates()[complete])
        if complete is not None
        else (max(v for _, v in ended)[0] if ended else float("nan"))
    )
    rates, visits = playouts.quality.first_moves(), np.zeros(game.n, dtype=np.int64)
    first = tree.children(0)
    rates[tree.players[first]] = tree.rewards[first] / tree.n_visits[first]
    visits[tree.players[first]] = tree.n_visits[first]
    becomes = int(board.predicted[index])
    return GameReading(
        "classification" if game.sign == 1 else "misclassification",
        tuple(local),
        bool(minimal),
        tuple(tuple(local[p] for p in order) for order in minimal[:MAX_SETS]),
        tuple(local[p] for p in best),
        float(game.changes(np.array([index]))[0]),
        float(board.p_target[index]),
        becomes,
        tuple(local[p] for p in path),
        rate,
        game.lower_bound(),
        rates,
        visits,
        contributions,
        _interactions(game),
        tree,
        n_rows,
        int(tree.n_visits[0]),
    )


def _nearest(game: Game) -> tuple[tuple[int, ...], int]:
    """The state seen that moved the margin most towards the end of the game, the smallest among equals."""
    board = game.board
    indices = np.flatnonzero(game.counted())
    drops = game.drops(indices)
    sizes = board.sizes(indices)
    at = int(indices[np.lexsort((sizes, -drops))[0]])
    state = board.states(np.array([at]))[0][game.players]
    return tuple(np.flatnonzero(state).tolist()), at


def _interactions(game: Game) -> Floats:
    """Local pairs a < b that were seen masked alone and together, with what both move P(y) beyond each alone."""
    board = game.board
    indices = np.flatnonzero(game.counted())
    sizes = board.sizes(indices) - int(game.base.sum())
    singles, pairs = indices[sizes == 1], indices[sizes == 2]
    players = game.members(np.concatenate([singles, pairs]))
    alone = np.full(game.n, np.nan)
    alone[players[: len(singles)]] = game.changes(singles)
    both = players[len(singles) :].reshape(-1, 2)
    change = game.changes(pairs) - alone[both].sum(axis=1)
    known = ~np.isnan(change)
    found: Floats = np.empty((len(both), 3))
    found[:, :2], found[:, 2] = both, change
    found = found[known]
    return found


def tell(
    games: list[GameReading],
    board: Board,
    bound: MaskedInstance,
    scorer: Scorer,
    started: float,
    settings: dict[str, Any],
    partial: bool = False,
) -> Explanation[GameTrees]:
    """The explanation: classes by name, players by importance, one sentence."""
    classes = scorer.predictor.classes

    def named(index: int) -> Hashable:
        return f"not {classes[board.target]}" if index < 0 else classes[index]

    games = [_with_class(game, named) for game in games]
    start = int(board.look(np.zeros((1, board.n_players), dtype=bool))[0])
    everything = int(board.look(np.ones((1, board.n_players), dtype=bool))[0])
    structure = GameTrees(
        tuple(classes), named(board.target), named(int(board.predicted[start])), float(board.p_target[start]),
        float(board.p_target[everything]), named(int(board.predicted[everything])), games[0],
        games[1] if len(games) > 1 else None, board.n_rows, scorer.predictor.n_calls,
        time.perf_counter() - started,
        {name: (a, b) for name, a, b in zip(bound.names, bound.display_values, bound.display_masked, strict=True)},
        partial,
    )  # fmt: skip
    main = games[0]
    # without a single win, win rates say nothing; then what the players change in P(target) has to do
    won = bool((main.win_rates > 0).any()) and main.flipped
    worth = main.win_rates if won else np.nan_to_num(main.contributions)
    rates = dict(zip(main.players, worth.tolist(), strict=True))
    values = np.array([rates.get(name, 0.0) for name in bound.names])
    # players that masking would not change are worth exactly nothing; they come last
    order = np.lexsort((np.arange(len(values)), -values, ~bound.maskable))
    return Explanation(
        "mcxai",
        structure.target,
        tuple(bound.names[i] for i in order),
        values[order],
        np.where(bound.maskable, np.nan, 0.0)[order],
        f"win rate of masking first in the {main.kind} game"
        if won
        else "mean change of P(target) as the player is masked (nothing ended the game)",
        "win rate" if won else "probability",
        board.n_rows,
        _sentence(structure),
        structure,
        settings,
    )


def _with_class(game: GameReading, named: Any) -> GameReading:
    return replace(game, becomes=named(game.becomes))


def _sentence(structure: GameTrees) -> str:
    main, after = structure.main, structure.continuation
    says = f"The model says {structure.predicted!r} of this instance"
    p = f"P({structure.target!r}) = {structure.p_target:.3f}"
    if not main.players:
        return f"{says} ({p}); masking would change nothing: every player already has its masked value."
    if not main.flipped:
        near = _listing(main.best_set) or "nothing"
        if (main.becomes != structure.target) == (main.kind == "classification"):
            return (
                f"{says} ({p}). With {near} masked it says {main.becomes!r} (P({structure.target!r}) = "
                f"{main.p_best:.3f}), but the rows, the seconds or the depth allowed were too few to find a set "
                "of which every player is needed."
            )
        return (
            f"{says} ({p}); no set that was tried changes that. Nearest came masking {near}: "
            f"{structure.p_target:.3f} -> {main.p_best:.3f}; with everything masked it is "
            f"{structure.p_masked:.3f}."
        )
    verb = "carry it" if len(main.best_set) > 1 else "carries it"
    if main.kind == "misclassification":
        verb = f"{'stand' if len(main.best_set) > 1 else 'stands'} in the way of {structure.target!r}"
    told = (
        f"{says} ({p}); {_listing(main.best_set)} {verb}: with "
        f"{'them' if len(main.best_set) > 1 else 'it'} masked it says {main.becomes!r} "
        f"(P({structure.target!r}) = {main.p_best:.3f})"
    )
    if after is not None and after.kind == "misclassification" and after.best_set:
        back = "turns it back to" if after.flipped else "brings it nearest to"
        told += (
            f". Against {structure.target!r} {'speak' if len(after.best_set) > 1 else 'speaks'} "
            f"{_listing(after.best_set)}: masking {'them' if len(after.best_set) > 1 else 'it'} as well {back} "
            f"{structure.target!r} ({after.p_best:.3f})"
        )
    return told + "."


def _listing(players: Sequence[Hashable]) -> str:
    words = [str(p) for p in players[:8]]
    if len(players) > 8:
        words.append(f"{len(players) - 8} more")
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""
