"""Small games with known answers, for the tests of the search."""

import numpy as np

from keyplayers.mcxai.game.game import Board, Game


def board_of(score, n, *, target=1, max_rows=10_000, **settings):
    """A board on which P(class 1) of a state is ``score(frozenset of masked players)``."""

    def probabilities(states):
        p = np.array([score(frozenset(np.flatnonzero(s).tolist())) for s in states], dtype=float)
        return np.column_stack([1 - p, p])

    return Board(probabilities, n, target, max_rows=max_rows, **settings)


def game_of(score, n, **settings):
    """The classification game on that board, or the misclassification game where class 1 is not predicted."""
    board = board_of(score, n, **settings)
    first = board.look(np.zeros((1, n), dtype=bool))
    return Game(board, 1 if board.predicted[first[0]] == board.target else -1, np.zeros(n, dtype=bool))


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
