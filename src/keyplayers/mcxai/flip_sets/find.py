"""The search for the smallest sets that end a game: one way to look for them after the other."""

from functools import lru_cache

import numpy as np

from ..._base.arrays import Ints
from ..game.game import BLOCK
from .lazy_greedy import descend
from .objectives import measures_of
from .proposals import propose
from .sets import Seek
from .top_down import everything_ends, from_above, peel, scatter, thin

# every player is masked alone unless that takes more than this part of the states that the rows allow
ALL_ALONE = 0.9


def seek_sets(seek: Seek, max_rows: int, patience: int) -> None:
    """Look for the smallest sets that end the game; what is found stands in ``seek.found``.

    Parameters
    ----------
    max_rows
        Rows that this search may use.
    patience
        Rows after which a way to look that found nothing smaller gives up.
    """
    game = seek.game
    if game.n and not game.ended(np.array([game.start]))[0]:
        with seek.limited(max_rows):
            _seek(seek, patience)


def _seek(seek: Seek, patience: int) -> None:
    game = seek.game
    order: Ints = np.arange(game.n)
    if _too_many(seek):
        order = _by_groups(seek)
        if everything_ends(seek):
            peel(seek, order[::-1], game.n)
    _singles(seek, order)
    if seek.best_size() == 1:
        return
    _chain(seek, np.argsort(-seek.gains, kind="stable"))
    if not seek.frugal:
        from_above(seek)
    measures = measures_of(seek)
    if not (seek.frugal and seek.found):
        descend(seek, measures, patience)
    if not seek.found:
        scatter(seek, patience // 2)
    if seek.found:
        propose(seek, measures, patience)


def _too_many(seek: Seek) -> bool:
    """Whether rows would hardly be enough to mask every player alone."""
    return seek.frugal and seek.game.n > ALL_ALONE * seek.game.board.states_left()


def _singles(seek: Seek, order: Ints) -> None:
    """Mask every player alone; where rows are few in small blocks, until one ends the game."""
    game = seek.game
    block = max(8, game.n // 8) if seek.frugal else BLOCK
    # a frugal search keeps some rows for sets; a player who is all that there is has been seen already
    room = max(1, game.board.states_left() * 3 // 4) if _too_many(seek) else game.n
    for start in range(0, min(game.n, room), block):
        part = order[start : min(start + block, room)]
        states = np.zeros((len(part), game.n), dtype=bool)
        states[np.arange(len(part)), part] = True
        indices = game.look(states)
        seen = indices >= 0
        seek.singles[part] = indices
        seek.gains[part[seen]] = game.drops(indices[seen])
        ends = game.ended(indices)
        for player, index in zip(part[ends].tolist(), indices[ends].tolist(), strict=True):
            seek.note((player,), index)
        if not seen.all() or (seek.frugal and ends.any()):
            return


def _by_groups(seek: Seek) -> Ints:
    """All players, those first whose random group of players moved the margin most when masked together."""
    game = seek.game
    order = seek.rng.permutation(game.n)
    groups = np.array_split(order, max(1, round(game.n**0.5)))
    states = np.zeros((len(groups), game.n), dtype=bool)
    for state, group in zip(states, groups, strict=True):
        state[group] = True
    indices = game.look(states)
    drops = np.where(indices >= 0, game.drops(indices), -np.inf)
    return np.concatenate([groups[i] for i in np.argsort(-drops, kind="stable")])


def _chain(seek: Seek, order: Ints) -> None:
    """Mask players in this order until the game ends, looked up by bisection, and shrink what ends it."""
    game = seek.game
    low, high = 1, None
    n_sizes = 6 if seek.frugal else 10
    sizes = _grid(2, game.n, n_sizes)
    while sizes:
        states = np.zeros((len(sizes), game.n), dtype=bool)
        for row, size in zip(states, sizes, strict=True):
            row[order[:size]] = True
        ends = game.ended(game.look(states))
        if ends.any():
            high = sizes[int(np.argmax(ends))]
        low = max([low, *(s for s, e in zip(sizes, ends, strict=True) if not e and (high is None or s < high))])
        if high is None:
            return
        sizes = tuple(range(low + 1, high)) if high - low < n_sizes else _grid(low + 1, high - 1, n_sizes)
    if high is not None:
        thin(seek, order[:high])


@lru_cache(maxsize=4096)
def _grid(low: int, high: int, n_sizes: int) -> tuple[int, ...]:
    """About so many sizes from `low` to `high`, denser among the small ones."""
    if high < low:
        return ()
    steps = np.unique(np.round(np.geomspace(1, high - low + 1, n_sizes)).astype(int))
    return tuple(int(low + step - 1) for step in steps)
