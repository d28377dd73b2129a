import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyplayers.mcxai.tree import _select_kernels as kernels
from keyplayers.mcxai.tree.growing import GrowingTree, Rules
from keyplayers.mcxai.tree.play import play, play_first_moves
from keyplayers.mcxai.tree.surrogates import SURROGATES
from tests.mcxai.games import additive, game_of, random_score
from tests.oracles.textbook_search import textbook_search

TEXTBOOK = Rules(10, 0.5, math.sqrt(2), None, "random", 1)


def tree_of(game, rules=TEXTBOOK, surrogate="none", gains=None):
    gains = np.zeros(game.n) if gains is None else np.asarray(gains, dtype=float)
    return GrowingTree(game, rules, SURROGATES[surrogate](gains, 1.0), game.cache.budget)


def play_within(tree, rng, max_rows, how=play):
    cache = tree.game.cache
    how(tree, rng, cache.budget.part(cache.n_rows, max_rows))


def grown(children, n):
    """A tree from {path: (visits, rewards)}, without playing."""
    tree = tree_of(game_of(additive([1.0] * n, n + 1.0), n))
    nodes = {(): 0}
    for path, (visits, gained) in children.items():
        node = nodes[path] = tree.add_child(nodes[path[:-1]], path[-1])
        tree.nodes["pending"][node] = False
        tree.nodes["n_visits"][node], tree.nodes["rewards"][node] = visits, gained
    return tree, nodes


def walk(tree, *, exploration=2**0.5, widening=(0.0, 0.0), tie_break=None):
    n = tree.game.n
    uct = kernels.Uct(10, exploration, *widening)
    leaves = kernels.Leaves(np.empty(1, dtype=np.int64), np.zeros((1, n), dtype=bool), np.empty((1, n)))
    ties = np.zeros((1, n)) if tie_break is None else tie_break[None]
    tree.make_room(1)
    kernels.select_additive(tree.arrays, uct, tree.surrogate.terms, ties, leaves)
    return leaves.nodes[0], leaves.masked[0]


def test_selection_takes_the_child_of_largest_uct():
    # by hand: ln 10 = 2.3026; 0: 0.5 + 1.414 * sqrt(2.3026 / 6) = 1.376; 1: 0.4 + 1.414 * sqrt(2.3026 / 4) = 1.473
    growing, nodes = grown({(0,): (6, 3.0), (1,): (4, 1.6), (1, 0): (1, 0.1)}, 2)
    growing.nodes["ended"][nodes[1, 0]] = True
    assert walk(growing)[0] == nodes[1, 0]
    # without exploration the win rate decides: 0.5 against 0.4, and (0,) has a child to expand
    leaf, masked = walk(growing, exploration=0.0)
    assert growing.nodes["parent"][leaf] == nodes[0,]
    assert masked.all()


def test_expansion_takes_the_untried_action_of_largest_q():
    growing, nodes = grown({(0,): (1, 0.5)}, 4)
    growing.surrogate.terms.prior[:] = [9.0, 1.0, 3.0, 2.0]
    leaf, masked = walk(growing)
    assert growing.nodes["player"][leaf] == 2
    assert masked.tolist() == [False, False, True, False]
    del nodes


def test_q_of_pairs_counts_in_expansion():
    growing, nodes = grown({(0,): (1, 0.9)}, 3)
    growing.surrogate = SURROGATES["regression"](np.array([0.0, 0.2, 0.1]), 1.0)
    growing.surrogate.terms.pairs[0, 2] = 0.5
    leaf, _ = walk(growing, widening=(1.0, 0.0))
    assert growing.nodes["parent"][leaf] == nodes[0,]
    assert growing.nodes["player"][leaf] == 2


def test_equal_q_is_decided_by_the_draw():
    growing, _ = grown({}, 3)
    leaf, _ = walk(growing, tie_break=np.array([0.1, 0.9, 0.3]))
    assert growing.nodes["player"][leaf] == 1


def test_widening_keeps_a_node_at_few_children():
    # ceil(1 * 4 ** 0.5) = 2 children are allowed, both are there: no third one although players are untried
    growing, nodes = grown({(0,): (2, 1.0), (1,): (2, 0.2)}, 4)
    leaf, _ = walk(growing, widening=(1.0, 0.5))
    assert growing.nodes["parent"][leaf] == nodes[0,]
    # with 5 visits ceil(sqrt(5)) = 3
    growing.nodes["n_visits"][nodes[0,]] = 3
    leaf, _ = walk(growing, widening=(1.0, 0.5))
    assert growing.nodes["parent"][leaf] == 0


def test_backup_adds_to_every_edge_of_the_path():
    growing, nodes = grown({(0,): (1, 0.5), (0, 1): (1, 0.5), (1,): (1, 0.0)}, 2)
    growing.back_up(nodes[0, 1], 1, 0.25)
    assert growing.nodes["n_visits"][[nodes[0,], nodes[0, 1], nodes[1,]]].tolist() == [2, 2, 1]
    assert growing.nodes["rewards"][[nodes[0,], nodes[0, 1], nodes[1,]]].tolist() == [0.75, 0.75, 0.0]


def test_a_finished_game_is_not_expanded():
    growing, nodes = grown({(0,): (1, 0.5)}, 1)
    growing.nodes["ended"][nodes[0,]] = True
    assert walk(growing)[0] == nodes[0,]


def test_the_surrogate_learns_the_win_rates_of_the_tree():
    growing, _ = grown({(0,): (500, 400.0), (1,): (500, 100.0), (0, 1): (300, 270.0)}, 3)
    surrogate = SURROGATES["regression"](np.zeros(3), 1.0)
    for _ in range(300):
        surrogate.learn(growing.nodes)
    masked = np.array([[False, False, False], [True, False, False]])
    start, after = surrogate.scores(masked)
    assert start[:2] == pytest.approx([0.8, 0.2], abs=0.01)
    assert after[1] == pytest.approx(0.9, abs=0.01)


def test_playing_stops_at_the_rows_given():
    game = game_of(random_score(np.random.default_rng(0), 12), 12)
    play_within(tree_of(game), np.random.default_rng(0), 100)
    assert 90 <= game.cache.n_rows <= 101


def test_playing_stops_when_everything_has_been_seen():
    game = game_of(additive([1.0] * 3, 9.0), 3)
    growing = tree_of(game)
    play_within(growing, np.random.default_rng(0), 10_000)
    assert game.cache.n_rows == 8
    assert growing.best == {}


@pytest.mark.parametrize("seed", range(8))
def test_the_textbook_search_equals_its_plain_twin(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    score = random_score(rng, n)
    depth, eta, rows = int(rng.integers(2, 9)), float(rng.random()), int(rng.integers(20, 150))
    game = game_of(score, n)
    growing = tree_of(game, Rules(depth, eta, math.sqrt(2), None, "random", 1))
    play_within(growing, np.random.default_rng(seed), rows)
    twin = textbook_search(
        lambda s: (score(s), (score(s) > 0.5) != (game.sign == 1)),
        n, score(frozenset()), game.sign, depth, eta, math.sqrt(2), rows, np.random.default_rng(seed),
    )  # fmt: skip
    tree = growing.result()
    ours = {tree.path(t): (int(tree.n_visits[t]), float(tree.rewards[t])) for t in range(len(tree))}
    assert len(ours) > 3
    assert {path: visits for path, (visits, _) in ours.items()} == {path: v for path, (v, _) in twin.items()}
    for path, (_, gained) in ours.items():
        assert gained == pytest.approx(twin[path][1], abs=1e-9)


@given(
    seed=st.integers(0, 10_000), n=st.integers(1, 7), leaves=st.sampled_from([1, 3, 8]),
    widening=st.sampled_from([None, (2.0, 0.5)]), share=st.booleans(), rows=st.integers(1, 120),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_visits_balance(seed, n, leaves, widening, share, rows):
    rng = np.random.default_rng(seed)
    game = game_of(random_score(rng, n), n)
    rules = Rules(min(n, 5), 0.5, 1.4, widening, "surrogate", leaves, share)
    growing = tree_of(game, rules, "regression", rng.normal(size=n))
    play_within(growing, rng, rows)
    play_within(growing, rng, rows, play_first_moves)
    tree = growing.result()
    for node in range(len(tree)):
        children = tree.children(node)
        assert tree.n_visits[node] == tree.n_starts[node] + tree.n_visits[children].sum()
        if node and tree.ended[node]:
            assert len(children) == 0
    assert tree.n_starts[0] == 0
    assert (tree.rewards <= tree.n_visits + 1e-9).all()
    assert (tree.rewards >= 0).all()


def test_an_inserted_playout_counts_like_one_that_was_played():
    game = game_of(additive([1.0, 1.0, 0.1], 1.5), 3)
    growing = tree_of(game)
    index = int(game.evaluate_sets([(0, 1)])[0])
    growing.insert_path((1, 0), index)
    growing.insert_path((1, 0), index)
    tree = growing.result()
    assert [tree.path(t) for t in range(len(tree))] == [(), (1,), (1, 0)]
    assert tree.n_visits.tolist() == [2, 2, 2]
    assert tree.n_starts.tolist() == [0, 0, 2]
    assert tree.ended.tolist() == [False, False, True]


def test_orders_of_the_same_set_can_share_their_statistics():
    game = game_of(additive([1.0, 1.0, 1.0, 1.0], 2.5), 4)
    growing = tree_of(game, Rules(4, 0.5, 1.4, None, "random", 1, True))
    play_within(growing, np.random.default_rng(0), 100)
    tree = growing.result()
    groups = {}
    for node in range(1, len(growing.nodes)):
        if growing.nodes["n_visits"][node]:
            groups.setdefault(frozenset(tree.path(node)), []).append(node)
    assert any(len(nodes) > 1 for nodes in groups.values())
    for nodes in groups.values():
        first = growing.nodes["first_node"][nodes[0]]
        assert first >= 0
        assert (growing.nodes["first_node"][nodes] == first).all()
        assert growing.nodes["shared_visits"][first] == growing.nodes["n_visits"][nodes].sum()


def test_first_moves_are_all_played_alike():
    game = game_of(random_score(np.random.default_rng(3), 6), 6)
    growing = tree_of(game)
    play_within(growing, np.random.default_rng(0), 40, play_first_moves)
    tree = growing.result()
    visits = tree.n_visits[tree.children(0)]
    assert len(visits) == 6
    assert visits.max() - visits.min() <= 1


class CountingBackwards:
    """A surrogate from outside: Q(x, a) grows with the player's number and with the number of players masked."""

    def __init__(self, gains, gap):
        self.n, self.trained = len(gains), 0

    def scores(self, masked):
        return np.arange(self.n) / self.n + masked.sum(axis=1, keepdims=True)

    def learn(self, nodes):
        self.trained += 1


def test_a_surrogate_from_outside_decides_what_is_expanded():
    game = game_of(additive([1.0] * 5, 2.5), 5)
    growing = GrowingTree(game, TEXTBOOK, CountingBackwards(np.zeros(5), 1.0), game.cache.budget)
    play_within(growing, np.random.default_rng(0), 12)
    tree = growing.result()
    assert growing.surrogate.trained > 2
    first = tree.children(0)
    assert tree.players[first].tolist() == [4, 3, 2, 1, 0][: len(first)]


def test_an_additive_surrogate_plays_alike_in_a_block_and_asked_player_by_player(monkeypatch):
    trees = []
    for fused in (True, False):
        if not fused:
            monkeypatch.setattr("keyplayers.mcxai.tree.select.AdditiveSurrogate", type(None))
        game = game_of(random_score(np.random.default_rng(2), 9), 9)
        rules = Rules(6, 0.5, 1.4, (1.0, 0.5), "surrogate", 4)
        growing = tree_of(game, rules, "regression", np.linspace(0, 1, 9))
        play_within(growing, np.random.default_rng(0), 80)
        trees.append(growing.result())
    assert len(trees[0]) > 10
    for name in ("parents", "players", "n_visits", "rewards"):
        assert np.array_equal(getattr(trees[0], name), getattr(trees[1], name))
