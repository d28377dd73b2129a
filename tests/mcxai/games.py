"""Small games with known answers, for the tests of the search."""

import numpy as np

from keyplayers.mcxai.budget import Budget
from keyplayers.mcxai.flip_sets.find import find_flip_sets
from keyplayers.mcxai.game.game import Game
from keyplayers.mcxai.game.state_cache import Scored, StateCache


def scored(probabilities):
    """With the class of the largest probability as the decision."""
    return Scored(probabilities, probabilities.argmax(axis=1))


def cache_of(score, n, *, target=1, max_rows=10_000, deadline=np.inf, **settings):
    """A cache on which P(class 1) of a state is ``score(frozenset of masked players)``."""

    def probabilities(states):
        p = np.array([score(frozenset(np.flatnonzero(s).tolist())) for s in states], dtype=float)
        return scored(np.column_stack([1 - p, p]))

    return StateCache(probabilities, n, target, Budget(max_rows, deadline), **settings)


def game_of(score, n, **settings):
    """The classification game on that cache, or the misclassification game where class 1 is not predicted."""
    cache = cache_of(score, n, **settings)
    first = cache.evaluate(np.zeros((1, n), dtype=bool))
    return Game(cache, 1 if cache.predicted[first[0]] == cache.target else -1, np.zeros(n, dtype=bool))


def find_within(search, max_rows, patience):
    """Look for small sets within so many further rows; afterwards the search may spend all that there is again."""
    cache = search.game.cache
    find_flip_sets(search, cache.budget.part(cache.n_rows, max_rows), patience)
    search.go_on(cache.budget)


def additive(weights, margin):
    """P(class 1) falls with the sum of the weights of masked players, through 1/2 at `margin`."""
    return lambda masked: 1 / (1 + np.exp(-(margin - sum(weights[p] for p in masked))))


def random_score(rng, n):
    """A rugged game: additive with pairs of either sign, so masking more may well turn it back."""
    return _with_pairs(rng.normal(0.4, 0.6, n), rng.normal(0, 0.4, (n, n)), 1.5)


def saturating_score(rng, n):
    """Masking alone changes little, together much, and pairs help or hinder one another."""
    return _with_pairs(rng.uniform(0.2, 2.0, n), rng.normal(0, 0.8, (n, n)), 4.0)


def _with_pairs(weights, pairs, margin):
    def score(masked):
        members = sorted(masked)
        total = sum(weights[a] for a in members) + sum(pairs[a, b] for a in members for b in members if a < b)
        return 1 / (1 + np.exp(-(margin - total)))

    return score
