"""What a finished game says, and the explanation that is made of both."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from ..explanation import Explanation
from ..spaces.protocol import MaskedInstance
from .flip_sets.confirm import confirmed_sets
from .flip_sets.minimise import as_set
from .flip_sets.search import FlipSetSearch, replay_orders
from .flip_sets.settle import is_minimal, smallest_seen
from .game.game import Game, Order
from .game.state_cache import StateCache
from .present import sentence
from .result import GameResult, GameTrees, PairChanges
from .tree.growing import GrowingTree
from .tree.surrogates import first_move_scores
from .tree.tree import SearchTree
from .values import Contributions

# flip sets that are inserted into the tree and kept
MAX_SETS = 20


def read_game(
    search: FlipSetSearch, tree: GrowingTree, names: list[Hashable], n_rows: int, textbook: bool
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
    sets = flip_sets(search, tree, textbook)
    best, index = (sets[0], _index(game, sets[0])) if sets else _nearest(game)
    path, rate = _best_path(tree, result)
    rates, visits = _first_moves(tree, result)

    def named(order: Order) -> tuple[Hashable, ...]:
        return tuple(names[player] for player in order)

    return GameResult(
        kind="classification" if game.sign == 1 else "misclassification",
        players=tuple(names),
        flipped=bool(sets),
        minimal=bool(sets) and is_minimal(search, as_set(best)),
        confirmed=not cache.noise or (bool(sets) and as_set(best) in confirmed_sets(search)),
        flip_sets=tuple(named(order) for order in sets[:MAX_SETS]),
        best_set=named(best),
        probability_change=float(game.changes(np.array([index]))[0]),
        p_best=float(cache.p_target[index]),
        new_class=int(cache.predicted[index]),
        best_path=named(path),
        best_path_win_rate=rate,
        lower_bound=game.lower_bound(),
        win_rates=rates,
        n_visits=visits,
        interactions=_interactions(game),
        tree=result,
        n_rows=n_rows,
        n_playouts=int(result.n_visits[0]),
    )


def flip_sets(search: FlipSetSearch, tree: GrowingTree, textbook: bool) -> list[Order]:
    """Sets that end the game, the smallest first (ties: the larger reward), in an order whose last player ends it.

    The first is the smallest of all states seen; the others are minimal. The textbook's are those of its playouts.
    """
    if textbook:
        ended = sorted(tree.best.items(), key=lambda item: (len(item[0]), -item[1][0]))
        return [order for _, (_, order) in ended]
    if search.game.cache.noise and (confirmed := confirmed_sets(search)):
        return [search.order(players) for players in confirmed]
    smallest = smallest_seen(search)
    if smallest is None:
        return []
    search.record(smallest, _index(search.game, smallest))
    minimal = [players for players in search.found if is_minimal(search, players)]
    orders = [order for order, _ in replay_orders(search, minimal)]
    if orders and len(orders[0]) == len(smallest):
        return orders
    # rows did not tell whether all of its players are needed, or in which order only the last one ends the game
    return [search.order(smallest), *orders]


def _index(game: Game, players: Order) -> int:
    """Cache index of a set that has been evaluated."""
    return int(game.evaluate_sets([as_set(players)])[0])


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


class Told(NamedTuple):
    """What an explanation tells of how it was made."""

    classes: list[Hashable]
    n_calls: int
    seconds: float
    partial: bool
    settings: dict[str, Any]


def build_explanation(
    games: list[GameResult], contributions: Contributions, cache: StateCache, bound: MaskedInstance, told: Told
) -> Explanation[GameTrees]:
    """The explanation: classes by name, players by what they contribute, one sentence."""
    structure = _structure(games, cache, bound, told)
    values, errors = np.zeros(len(bound.names)), np.zeros(len(bound.names))
    maskable = np.flatnonzero(bound.maskable)
    values[maskable], errors[maskable] = contributions.values, contributions.std_errors
    # players that masking would not change are worth exactly nothing; they come last
    order = np.lexsort((np.arange(len(values)), -np.abs(values), ~bound.maskable))
    how = "others in random order" if contributions.by_orders else "no others (too few rows for random orders)"
    return Explanation(
        kind="mcxai",
        target=structure.target,
        players=tuple(bound.names[i] for i in order),
        values=values[order],
        std_errors=errors[order],
        quantity=f"mean fall of P(target) as the player is masked after {how}",
        unit="probability",
        n_evaluations=cache.n_rows,
        sentence=sentence(structure),
        structure=structure,
        settings=told.settings,
    )


def _structure(games: list[GameResult], cache: StateCache, bound: MaskedInstance, told: Told) -> GameTrees:
    """Both games, and what the model says of the ends."""
    classes = told.classes

    def name(index: int) -> Hashable:
        return f"not {classes[cache.target]}" if index < 0 else classes[index]

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
        n_calls=told.n_calls,
        seconds=told.seconds,
        display_values={
            name: (own, masked)
            for name, own, masked in zip(bound.names, bound.display_values, bound.display_masked, strict=True)
        },
        partial=told.partial,
        view=getattr(bound, "view", None),
        noise=cache.noise,
    )
