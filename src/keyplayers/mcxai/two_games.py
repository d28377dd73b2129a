"""Both games about one instance: small sets are found and inserted into a tree, which the search goes on from."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .flip_sets.find import find_flip_sets
from .flip_sets.search import FlipSetSearch, replay_orders
from .game.game import Game
from .game.state_cache import StateCache
from .readout import MAX_SETS, read_game
from .result import GameResult
from .shares import Shares
from .tree.from_cache import estimate_from_cache
from .tree.growing import GrowingTree, Rules
from .tree.play import play, play_first_moves
from .tree.surrogates import SURROGATES

# widening "auto": (c, alpha); see docs/search.md
WIDENING = (1.0, 0.5)
# playouts that run at a time with parallel_leaves "auto"
LEAVES = 12
# depth "auto": so many times the size of the smallest set found, and at least so many players
DEPTH_FACTOR, MIN_DEPTH = 2, 10


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How the games are searched; see `McXai`."""

    depth: int | Literal["auto"]
    eta: float
    exploration: float
    surrogate: str
    widening: tuple[float, float] | Literal["auto"] | None
    rollout: Literal["surrogate", "random"]
    parallel_leaves: int | Literal["auto"]
    share_orders: bool

    @property
    def textbook(self) -> bool:
        """Whether the settings ask for the search as the textbook has it."""
        return (
            self.widening is None
            and self.rollout == "random"
            and self.parallel_leaves == 1
            and self.surrogate == "none"
        )

    def rules(self, n_players: int, best_size: int | None) -> Rules:
        """What they mean for a game whose smallest set so far has `best_size` players."""
        depth = max(MIN_DEPTH, DEPTH_FACTOR * (best_size or 0)) if self.depth == "auto" else self.depth
        return Rules(
            depth=max(1, min(depth, n_players)),
            eta=self.eta,
            exploration=self.exploration,
            widening=WIDENING if self.widening == "auto" else self.widening,
            rollout=self.rollout,
            parallel_leaves=LEAVES if self.parallel_leaves == "auto" else self.parallel_leaves,
            share_orders=self.share_orders,
        )


def play_both(
    cache: StateCache,
    names: list[Hashable],
    settings: SearchSettings,
    shares: tuple[Shares, Shares],
    rng: np.random.Generator,
    results: list[GameResult],
) -> None:
    """Play the first game, then the other one from the state in which the first one's key set is masked.

    What each says is added to `results` even where an exception ends it early.
    """
    base = np.zeros(cache.n_players, dtype=bool)
    start = int(cache.evaluate(base[None])[0])
    sign = 1 if cache.predicted[start] == cache.target else -1
    for part in shares:
        _play_one(Game(cache, sign, base), names, settings, part, rng, results)
        if not results[-1].flipped or cache.rows_left() < cache.rows_per_state:
            return
        masked = set(results[-1].best_set)
        base = base | np.array([name in masked for name in names])
        sign = -sign


def _play_one(
    game: Game,
    names: list[Hashable],
    settings: SearchSettings,
    shares: Shares,
    rng: np.random.Generator,
    results: list[GameResult],
) -> None:
    """Find small sets, insert them into a tree, let the tree search go on from there."""
    cache, before = game.cache, game.cache.n_rows
    search = FlipSetSearch(game, rng)
    tree: GrowingTree | None = None
    contributions = np.full(game.n, np.nan)
    try:
        if settings.textbook:
            tree = new_tree(search, settings)
            play(tree, rng, cache.budget.part(cache.n_rows, shares.play))
            return
        find_flip_sets(search, cache.budget.part(cache.n_rows, shares.sets), shares.patience)
        search.go_on(cache.budget)
        tree = new_tree(search, settings)
        for order, index in replay_orders(search, list(search.found))[:MAX_SETS]:
            tree.insert_path(order, index)
        play(tree, rng, cache.budget.part(cache.n_rows, shares.play), search)
        more = min(shares.first_moves, cache.rows_left() - shares.reserve)
        play_first_moves(tree, rng, cache.budget.part(cache.n_rows, more))
        contributions = estimate_from_cache(game, tree.rules.depth, rng)
    finally:
        tree = tree or new_tree(search, settings)
        own = [names[player] for player in game.players]
        results.append(read_game(search, tree, own, contributions, cache.n_rows - before, settings.textbook))


def new_tree(search: FlipSetSearch, settings: SearchSettings) -> GrowingTree:
    """A tree of only a root, with a surrogate that starts from what single players do."""
    game = search.game
    gap = game.sign * float(game.cache.margins(np.array([game.start]))[0])
    surrogate = SURROGATES[settings.surrogate](search.gains, gap)
    return GrowingTree(game, settings.rules(game.n, search.best_size()), surrogate, game.cache.budget)
