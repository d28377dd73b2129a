"""Small sets from above: what everything masked ends, unmasked as far as the game stays over."""

from functools import lru_cache

import numpy as np

from ..._base.arrays import Bools, Ints
from .sets import Seek, shrink

# players that are looked for from above, at most; and a set larger than this is not shrunk one by one
MAX_KEPT = 8
# orders in which players are unmasked: strongest first, the others at random
ATTEMPTS = 2
# random sets that are tried at a time where nothing else ends the game
SCATTERED = 24


def everything_ends(seek: Seek) -> bool:
    """Whether masking all players ends the game."""
    return bool(seek.game.ended(seek.game.look_at([tuple(range(seek.game.n))]))[0])


def from_above(seek: Seek) -> None:
    """Find sets that act only together, which no player of theirs betrays alone.

    Everything masked ends most games. Unmask the strongest players first: if the game stays over, a set of
    weaker ones ends it. Where it stops being over a necessary player stands; keep it and go on.
    """
    best = seek.best_size()
    if (best is not None and best <= 2) or not everything_ends(seek):
        return
    strongest_first = np.argsort(-seek.gains, kind="stable")
    for attempt in range(ATTEMPTS):
        order = strongest_first if attempt == 0 else seek.rng.permutation(seek.game.n)
        peel(seek, order, _limit(seek))


def scatter(seek: Seek, patience: int) -> None:
    """Mask random sets of all sizes until one ends the game, which is peeled.

    Parameters
    ----------
    patience
        Rows after which to stop.
    """
    game, board = seek.game, seek.game.board
    start = board.n_rows
    sizes = np.unique(np.linspace(2, game.n - 1, SCATTERED).round().astype(int)).tolist() if game.n > 3 else []
    while sizes and not seek.found and board.n_rows - start < patience:
        before = board.n_rows
        sets = [tuple(sorted(seek.rng.permutation(game.n)[:size].tolist())) for size in sizes]
        for players, end in zip(sets, game.ended(game.look_at(sets)), strict=True):
            if end:
                peel(seek, seek.rng.permutation(players), _limit(seek))
        if board.n_rows == before:
            return


def thin(seek: Seek, strongest_first: Ints) -> None:
    """Shrink a set that ends the game, given with its strongest players first."""
    if len(strongest_first) > MAX_KEPT:
        peel(seek, strongest_first[::-1], len(strongest_first))
    else:
        shrink(seek, tuple(sorted(strongest_first.tolist())))


def peel(seek: Seek, order: Ints, limit: int) -> None:
    """Unmask players in this order as far as the game stays over; give up beyond `limit` necessary ones."""
    game = seek.game
    kept: list[int] = []
    rest = order
    if not game.ended(game.look(_unmasked(seek, kept, rest, (0,))))[0]:
        return
    while len(kept) < limit and len(rest):
        # how many of `rest` can be unmasked from the front with the game still over
        low, high = 0, len(rest) + 1  # over at low; not over at high
        while high - low > 1:
            cuts = _cuts(low, high, 1 if seek.frugal else 8)
            indices = game.look(_unmasked(seek, kept, rest, cuts))
            ends = game.ended(indices)
            low = max([low, *(c for c, e in zip(cuts, ends, strict=True) if e)])
            high = min([high, *(c for c, e in zip(cuts, ends, strict=True) if not e and c > low)])
            if (indices < 0).any():
                if len(kept) + len(rest) - low < (seek.best_size() or game.n + 1):
                    whole = tuple(sorted([*kept, *rest[low:].tolist()]))
                    seek.note(whole, int(game.look_at([whole])[0]))
                return
        if low < len(rest):
            kept.append(int(rest[low]))
        rest = rest[low + 1 :]
    if not len(rest):
        shrink(seek, tuple(sorted(kept)))


def _unmasked(seek: Seek, kept: list[int], rest: Ints, cuts: tuple[int, ...]) -> Bools:
    """States in which all of `kept` are masked, and of `rest` all but so many from the front [B, n]."""
    states = np.zeros((len(cuts), seek.game.n), dtype=bool)
    states[:, kept] = True
    for state, cut in zip(states, cuts, strict=True):
        state[rest[cut:]] = True
    return states


def _limit(seek: Seek) -> int:
    """Players of a set that is worth finding from above, at most."""
    return min(MAX_KEPT, (seek.best_size() or MAX_KEPT + 1) - 1)


@lru_cache(maxsize=4096)
def _cuts(low: int, high: int, n_cuts: int) -> tuple[int, ...]:
    """About so many numbers evenly between `low` and `high`."""
    return tuple(sorted({int(c) for c in np.linspace(low, high, n_cuts + 2)[1:-1].round()} - {low, high}))
