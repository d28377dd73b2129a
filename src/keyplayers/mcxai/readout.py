"""What a finished game says, and the explanation that is made of both."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from ..explanation import Explanation
from ..spaces.protocol import MaskedInstance
from .flip_sets.minimise import as_set
from .flip_sets.search import FlipSetSearch
from .game.game import Game, Order
from .game.state_cache import StateCache
from .present import sentence
from .result import GameResult, GameTrees, PairChanges
from .tree.growing import GrowingTree
from .tree.surrogates import first_move_scores
from .tree.tree import SearchTree

# minimal sets that are inserted into the tree and kept
MAX_SETS = 20


def read_game(
    search: FlipSetSearch,
    tree: GrowingTree,
    names: list[Hashable],
    contributions: Floats,
    n_rows: int,
    textbook: bool,
) -> GameResult:
    """What a finished game says.

    Parameters
    ----------
    names
        Of the game's players [n].
    n_rows
        Rows that it took.
    """
    game, cache, result = search.game, search.game.cache, tree.result()
    flip_sets = _flip_sets(search, tree, textbook)
    best, index = (flip_sets[0], _index(game, flip_sets[0])) if flip_sets else _nearest(game)
    path, rate = _best_path(tree, result)
    rates, visits = _first_moves(tree, result)

    def named(order: Order) -> tuple[Hashable, ...]:
        return tuple(names[player] for player in order)

    return GameResult(
        kind="classification" if game.sign == 1 else "misclassification",
        players=tuple(names),
        flipped=bool(flip_sets),
        flip_sets=tuple(named(order) for order in flip_sets[:MAX_SETS]),
        best_set=named(best),
        probability_change=float(game.changes(np.array([index]))[0]),
        p_best=float(cache.p_target[index]),
        new_class=int(cache.predicted[index]),
        best_path=named(path),
        best_path_win_rate=rate,
        lower_bound=game.lower_bound(),
        win_rates=rates,
        n_visits=visits,
        contributions=contributions,
        interactions=_interactions(game),
        tree=result,
        n_rows=n_rows,
        n_playouts=int(result.n_visits[0]),
    )


def _flip_sets(search: FlipSetSearch, tree: GrowingTree, textbook: bool) -> list[Order]:
    """Minimal sets that end the game in replay order, the smallest first, ties to the larger reward."""
    ended = sorted(tree.best.items(), key=lambda item: (len(item[0]), -item[1][0]))
    orders = [order for _, (_, order) in ended]
    if textbook:
        return orders
    found = set(map(frozenset, search.found))
    return [order for key, (_, order) in ended if key in found or len(key) == 1] or orders


def _index(game: Game, order: Order) -> int:
    """Cache index of a set that has been evaluated."""
    return int(game.evaluate_sets([as_set(order)])[0])


def _nearest(game: Game) -> tuple[Order, int]:
    """The state seen that moved the margin most towards the end of the game, the smallest among equals."""
    indices = np.flatnonzero(game.visited())
    drops, sizes = game.drops(indices), game.cache.sizes(indices)
    index = int(indices[np.lexsort((sizes, -drops))[0]])
    mask = game.cache.masks(np.array([index]))[0][game.players]
    return tuple(np.flatnonzero(mask).tolist()), index


class _Path(NamedTuple):
    order: Order
    win_rate: float


def _best_path(tree: GrowingTree, result: SearchTree) -> _Path:
    """The complete path with the largest win rate; without one in the tree, the best playout."""
    complete = result.best_complete()
    if complete is not None:
        return _Path(result.path(complete), float(result.win_rates()[complete]))
    reward, order = max(tree.best.values(), default=(float("nan"), ()))
    return _Path(order, reward)


class _FirstMoves(NamedTuple):
    win_rates: Floats  # [n]
    n_visits: Ints  # [n]


def _first_moves(tree: GrowingTree, result: SearchTree) -> _FirstMoves:
    """Win rates and visits of the players as first moves; the surrogate's estimate where there is no visit."""
    n = tree.game.n
    rates, visits = first_move_scores(tree.surrogate, n), np.zeros(n, dtype=np.int64)
    first = result.children(0)
    rates[result.players[first]] = result.rewards[first] / result.n_visits[first]
    visits[result.players[first]] = result.n_visits[first]
    return _FirstMoves(rates, visits)


def _interactions(game: Game) -> PairChanges:
    """Local pairs a < b that were seen masked alone and together, with what both move P(y) beyond each alone."""
    indices = np.flatnonzero(game.visited())
    sizes = game.cache.sizes(indices) - int(game.base.sum())
    singles, pairs = indices[sizes == 1], indices[sizes == 2]
    players = game.members(np.concatenate([singles, pairs]))
    alone = np.full(game.n, np.nan)
    alone[players[: len(singles)]] = game.changes(singles)
    both = players[len(singles) :].reshape(-1, 2)
    change = game.changes(pairs) - alone[both].sum(axis=1)
    known = ~np.isnan(change)
    found: PairChanges = np.empty((len(both), 3))
    found[:, :2], found[:, 2] = both, change
    kept: PairChanges = found[known]
    return kept


def build_explanation(
    games: list[GameResult],
    cache: StateCache,
    bound: MaskedInstance,
    classes: list[Hashable],
    cost: tuple[int, float],
    partial: bool,
    settings: dict[str, Any],
) -> Explanation[GameTrees]:
    """The explanation: classes by name, players by importance, one sentence.

    Parameters
    ----------
    cost
        Calls of the model, and seconds.
    """
    structure = _structure(games, cache, bound, classes, cost, partial)
    main = structure.main
    # without a single win, win rates say nothing; then what the players change in P(target) has to do
    won = bool((main.win_rates > 0).any()) and main.flipped
    worths = main.win_rates if won else np.nan_to_num(main.contributions)
    by_name = dict(zip(main.players, worths.tolist(), strict=True))
    values = np.array([by_name.get(name, 0.0) for name in bound.names])
    # players that masking would not change are worth exactly nothing; they come last
    order = np.lexsort((np.arange(len(values)), -values, ~bound.maskable))
    return Explanation(
        kind="mcxai",
        target=structure.target,
        players=tuple(bound.names[i] for i in order),
        values=values[order],
        std_errors=np.where(bound.maskable, np.nan, 0.0)[order],
        quantity=f"win rate of masking first in the {main.kind} game"
        if won
        else "mean change of P(target) as the player is masked (nothing ended the game)",
        unit="win rate" if won else "probability",
        n_evaluations=cache.n_rows,
        sentence=sentence(structure),
        structure=structure,
        settings=settings,
    )


def _structure(
    games: list[GameResult],
    cache: StateCache,
    bound: MaskedInstance,
    classes: list[Hashable],
    cost: tuple[int, float],
    partial: bool,
) -> GameTrees:
    """Both games, and what the model says of the ends."""

    def name(index: int) -> Hashable:
        return f"not {classes[cache.target]}" if index < 0 else classes[index]

    n_calls, seconds = cost
    named = [replace(game, new_class=name(game.new_class)) for game in games]  # type: ignore[arg-type]
    ends = np.array([[False], [True]]) & np.ones(cache.n_players, dtype=bool)
    start, everything = cache.evaluate(ends).tolist()
    return GameTrees(
        classes=tuple(classes),
        target=name(cache.target),
        predicted=name(int(cache.predicted[start])),
        p_target=float(cache.p_target[start]),
        p_masked=float(cache.p_target[everything]),
        predicted_masked=name(int(cache.predicted[everything])),
        main=named[0],
        continuation=named[1] if len(named) > 1 else None,
        n_rows=cache.n_rows,
        n_calls=n_calls,
        seconds=seconds,
        display_values={
            name: (own, masked)
            for name, own, masked in zip(bound.names, bound.display_values, bound.display_masked, strict=True)
        },
        partial=partial,
    )
