"""Both games about one instance: small sets are found and inserted into a tree, which the search goes on from."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._base.arrays import Bools
from .budget import Budget
from .flip_sets.confirm import confirm_smallest
from .flip_sets.deep_greedy import deep_greedy
from .flip_sets.find import find_flip_sets
from .flip_sets.search import FlipSetSearch, replay_orders
from .flip_sets.settle import FEW_SETS, look_again, raise_bound, settle_smallest, smallest_seen
from .game.game import Game, Order
from .game.state_cache import StateCache
from .readout import MAX_SETS, flip_sets, read_game
from .result import GameResult
from .shares import PLAY, GameShare, Shares
from .tree.growing import GrowingTree, Rules
from .tree.play import play, play_first_moves
from .tree.surrogates import SURROGATES
from .values import Contributions, OrderSampler, rows_of_a_pair

# widening "auto": (c, alpha); see docs/search.md
WIDENING = (1.0, 0.5)
# playouts that run at a time with parallel_leaves "auto"
LEAVES = 12
# depth "auto": so many times the size of the smallest set found, and at least so many players
DEPTH_FACTOR, MIN_DEPTH = 2, 10
# parts of the rows by which the first game's search, its confirmation, and the second game's search are over,
# where the model's answers differ from call to call
NOISY_PARTS = 0.4, 0.75, 0.85


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
    find_sets: bool

    @property
    def textbook(self) -> bool:
        """Whether the tree search is all: no small sets are looked for beside it."""
        return not self.find_sets or (
            self.widening is None
            and self.rollout == "random"
            and self.parallel_leaves == 1
            and self.surrogate == "none"
        )

    def rules(self, n_players: int, best_size: int | None) -> Rules:
        """What they mean for a game whose smallest set so far has `best_size` players."""
        auto = max(1, min(n_players, max(MIN_DEPTH, DEPTH_FACTOR * (best_size or 0))))
        return Rules(
            depth=auto if self.depth == "auto" else self.depth,
            eta=self.eta,
            exploration=self.exploration,
            widening=WIDENING if self.widening == "auto" else self.widening,
            rollout=self.rollout,
            parallel_leaves=LEAVES if self.parallel_leaves == "auto" else self.parallel_leaves,
            share_orders=self.share_orders,
        )


@dataclass(eq=False)
class OpenGame:
    """A game while it is played."""

    search: FlipSetSearch
    names: list[Hashable]  # of its players
    n_rows: int = 0  # that it took
    tree: GrowingTree | None = None


class TwoGames:
    """Play the first game, then the other one from the state in which the first one's key set is masked.

    Whatever ends it early, `results` and `contributions` tell what is known by then.
    """

    def __init__(
        self,
        cache: StateCache,
        names: list[Hashable],
        settings: SearchSettings,
        shares: Shares,
        rng: np.random.Generator,
    ) -> None:
        self.cache, self.names, self.settings, self.shares = cache, names, settings, shares
        # what one part draws does not depend on how long another one went on
        self._rngs = [np.random.default_rng(seed) for seed in rng.integers(2**63, size=3)]
        self.games: list[OpenGame] = []
        base = np.zeros(cache.n_players, dtype=bool)
        start = int(cache.evaluate(base[None])[0])
        self._open(1 if cache.predicted[start] == cache.target else -1, base)
        self._sampler = OrderSampler(self.games[0].search.game, self._rngs[2])

    def play(self) -> None:
        """Play both games, estimate the values, use up what is left of a given number of rows."""
        first = self.games[0]
        if not self.cache.noise:
            self._play(first, self.shares.first)
            self._doubt(first)
        if self.cache.noise:
            return self._play_noisy()
        key_set, cache = self._key_set(first), self.cache
        if key_set is not None and cache.states_left() > 0:
            self._play(self._continue(key_set), self.shares.second)
        self._sampler.sample(self.shares.value_pairs, cache.budget)
        if self.shares.use_up:
            self._use_up()

    def _doubt(self, opened: OpenGame) -> None:
        """Ask once more for the smallest set: about the instance itself a model may be too sure to show noise."""
        smallest = smallest_seen(opened.search)
        if smallest is not None and self.cache.states_left() > 0:
            self.cache.ask_again(int(opened.search.game.evaluate_sets([smallest])[0]))
            opened.n_rows += self.cache.rows_per_state

    def _play_noisy(self) -> None:
        """The same for a model whose answers are not the same at each call: sets are confirmed by repetition.

        Values come first, so that the states along random orders are among those that are asked again.
        """
        cache, first, shares = self.cache, self.games[0], self.shares.for_noise()
        whole = replace(cache.budget, max_rows=shares.total)
        until = [replace(whole, max_rows=int(whole.max_rows * part)) for part in NOISY_PARTS]
        cache.budget = until[0]
        self._sampler.sample(shares.value_pairs, cache.budget)
        if first.tree is None:
            self._play(first, shares.first)
        self._confirm(first, until[1])
        key_set = self._key_set(first)
        if key_set is not None and cache.states_left(until[2]) > 0:
            cache.budget = until[2]
            second = self._continue(key_set)
            self._play(second, shares.second)
            self._confirm(second, whole)
        cache.budget = whole

    def _confirm(self, opened: OpenGame, budget: Budget) -> None:
        """Ask for the smallest set again and again, with the rows of this budget."""
        before, self.cache.budget = self.cache.n_rows, budget
        if not self.settings.textbook:
            confirm_smallest(opened.search)
        opened.n_rows += self.cache.n_rows - before

    def _continue(self, key_set: Order) -> OpenGame:
        """The other game, which starts where the first one's key set is masked."""
        game = self.games[0].search.game
        base = np.zeros(self.cache.n_players, dtype=bool)
        base[game.players[list(key_set)]] = True
        return self._open(-game.sign, base)

    def results(self) -> list[GameResult]:
        """What the games say."""
        return [
            read_game(each.search, self._tree(each), each.names, each.n_rows, self.settings.textbook)
            for each in self.games
        ]

    def contributions(self) -> Contributions:
        """What each player of the instance contributes to P(target)."""
        return self._sampler.result()

    def _open(self, sign: int, base: Bools) -> OpenGame:
        game = Game(self.cache, sign, base)
        own = [self.names[player] for player in game.players]
        self.games.append(OpenGame(FlipSetSearch(game, self._rngs[len(self.games)]), own))
        return self.games[-1]

    def _key_set(self, opened: OpenGame) -> Order | None:
        """The set whose masking the other game starts from."""
        found = flip_sets(opened.search, self._tree(opened), self.settings.textbook)
        return found[0] if found else None

    def _tree(self, opened: OpenGame) -> GrowingTree:
        return opened.tree or new_tree(opened.search, self.settings)

    def _play(self, opened: OpenGame, share: GameShare) -> None:
        """Find small sets, insert them into a tree, let the tree search go on from there."""
        before = self.cache.n_rows
        try:
            if not self.settings.textbook:
                self._find_sets(opened.search, share)
            self._search_tree(opened, share)
        finally:
            opened.n_rows += self.cache.n_rows - before

    def _find_sets(self, search: FlipSetSearch, share: GameShare) -> None:
        """The smallest sets; with more rows than "auto" allows still smaller ones, or a proof that none is."""
        cache = self.cache
        find_flip_sets(search, cache.budget.part(cache.n_rows, share.sets), share.patience)
        if share.deep:
            self._mask_deep(search, share.deep)
        search.go_on(cache.budget)
        settle_smallest(search)
        if share.more_sets:
            search.go_on(cache.budget.part(cache.n_rows, share.more_sets))
            search.patience = max(search.patience, share.more_sets // 4)
            look_again(search)
        search.go_on(cache.budget)
        raise_bound(search, max(FEW_SETS, self._spare_states() if share is self.shares.first else 0))

    def _mask_deep(self, search: FlipSetSearch, n_rows: int) -> None:
        """Greedy masking with so many rows; "auto" leaves none of them to what comes later."""
        cache, before = self.cache, self.cache.n_rows
        search.go_on(cache.budget.part(before, n_rows))
        deep_greedy(search)
        if not self.shares.use_up:
            unspent = n_rows - (cache.n_rows - before)
            cache.budget = replace(cache.budget, max_rows=cache.budget.max_rows - unspent)

    def _spare_states(self) -> int:
        """States that a given number of rows leaves over, once the other parts have had theirs."""
        if not self.shares.use_up:
            return 0
        values = self.shares.value_pairs * rows_of_a_pair(self.cache.n_players)
        second = (self.shares.second.patience + self.shares.second.play) // self.cache.rows_per_state
        return self.cache.states_left() - values - second - PLAY

    def _search_tree(self, opened: OpenGame, share: GameShare) -> None:
        """Playouts, from the sets that were found."""
        cache, search = self.cache, opened.search
        opened.tree = tree = new_tree(search, self.settings)
        if not self.settings.textbook:
            for order, index in replay_orders(search, list(search.found))[:MAX_SETS]:
                tree.insert_path(order, index)
        budget = cache.budget.part(cache.n_rows, share.play)
        play(tree, search.rng, budget, None if self.settings.textbook else search)
        if not self.settings.textbook:
            search.go_on(cache.budget)
            settle_smallest(search)

    def _use_up(self) -> None:
        """Spend what is left: half of it on steadier values, the rest on win rates of all first moves."""
        cache = self.cache
        n_pairs = cache.states_left() // 2 // rows_of_a_pair(cache.n_players)
        self._sampler.sample(n_pairs, cache.budget)
        for opened in self.games:
            before, part = cache.n_rows, cache.rows_left()
            if opened is not self.games[-1]:
                part = part * 2 // 3
            play_first_moves(self._tree(opened), opened.search.rng, cache.budget.part(cache.n_rows, part))
            opened.n_rows += cache.n_rows - before


def new_tree(search: FlipSetSearch, settings: SearchSettings) -> GrowingTree:
    """A tree of only a root, with a surrogate that starts from what single players do."""
    game = search.game
    gap = game.sign * float(game.cache.margins(np.array([game.start]))[0])
    surrogate = SURROGATES[settings.surrogate](search.gains, gap)
    return GrowingTree(game, settings.rules(game.n, search.best_size()), surrogate, game.cache.budget)
