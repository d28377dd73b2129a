"""What players change along states that are remembered, which costs no row."""

from functools import lru_cache

import numpy as np

from ..._base.arrays import Floats, Ints
from ..game.game import Game
from . import _cache_kernels as kernels

# playouts along remembered states for every first move, and at most for every state remembered
PLAYOUTS_PER_MOVE, PLAYOUTS_PER_STATE = 200, 4
# random numbers drawn at a time: many players and long playouts would fill the memory
DRAWS = 2**20


def estimate_from_cache(game: Game, depth: int, rng: np.random.Generator) -> Floats:
    """Play first moves out along remembered states, and tell what each player changes there.

    Returns
    -------
    contributions
        Mean change of P(y), in the direction of the game, as a player is masked in a random order before the
        game ends [n]; NaN for a player never seen.
    """
    n, codes = game.n, _codes(game.n)
    known = _known_states(game, codes)
    n_playouts = min(PLAYOUTS_PER_MOVE * n, PLAYOUTS_PER_STATE * len(known.codes)) if n else 0
    depth = min(depth, n)
    sums = kernels.Sums(np.zeros(n), np.zeros(n, dtype=np.int64))
    walk = kernels.Walk(codes, np.arange(n), np.arange(n), rng.permutation(n))
    block = max(1, DRAWS // max(1, depth))
    for begin in range(0, n_playouts, block):
        draws = rng.random((min(block, n_playouts - begin), depth))
        kernels.follow_known_states(known, walk, begin, draws, sums)
    # a player that no playout met has changed something alone at least
    place = np.searchsorted(known.codes, codes)
    place = np.where(place < len(known.codes), place, 0)
    alone = (sums.counts == 0) & (known.codes[place] == codes)
    sums.changes[alone], sums.counts[alone] = game.sign * (known.p_start - known.p_target[place[alone]]), 1
    contributions: Floats = np.divide(sums.changes, sums.counts, out=np.full(n, np.nan), where=sums.counts > 0)
    return contributions


def _known_states(game: Game, codes: Ints) -> kernels.KnownStates:
    """The states that the game has looked at, sorted by their code: the sum of the masked players' codes."""
    cache = game.cache
    visited = np.flatnonzero(game.visited())
    all_codes = np.zeros(len(game.base), dtype=np.int64)
    all_codes[game.players] = codes
    state_codes = cache.totals(visited, all_codes)
    order = np.argsort(state_codes, kind="stable")
    indices = visited[order]
    p_start = float(cache.p_target[game.start])
    return kernels.KnownStates(
        state_codes[order], cache.p_target[indices], game.ended(indices), p_start, game.sign
    )


@lru_cache(maxsize=64)
def _codes(n: int) -> Ints:
    """Random numbers of n players, the same ones for the same n; a set's code is the sum of its players'."""
    return np.random.default_rng(n).integers(-(2**62), 2**62, size=n)
