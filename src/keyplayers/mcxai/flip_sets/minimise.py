"""Make a set that ends a game minimal: take players out as long as the game stays over."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..._base.arrays import Bools, Ints
from ..game.game import PlayerSet
from .search import FlipSetSearch

# a set larger than this is minimised by bisection, a smaller one player by player
MAX_DELETED = 8
# cuts of a bisection that are evaluated at a time, where rows are many
CUTS = 8


def minimise(search: FlipSetSearch, strongest_first: Ints) -> None:
    """Make a set minimal, given with its strongest players first, the cheaper way."""
    if len(strongest_first) > MAX_DELETED:
        minimise_by_bisection(search, strongest_first[::-1], len(strongest_first))
    else:
        minimise_by_deletion(search, as_set(strongest_first))


def minimise_by_deletion(search: FlipSetSearch, players: PlayerSet) -> PlayerSet:
    """Take out the player whose absence leaves the largest drop while the game stays over; record the rest."""
    game = search.game
    index = -1
    while len(players) > 1:
        indices = game.evaluate_leave_one_out(players, search.budget)
        ends = game.ended(indices)
        if not ends.any():
            break
        at = int(np.argmax(np.where(ends, game.drops(indices), -np.inf)))
        players, index = players[:at] + players[at + 1 :], int(indices[at])
    search.record(players, index if index >= 0 else int(game.evaluate_sets([players], search.budget)[0]))
    return players


def minimise_by_bisection(search: FlipSetSearch, order: Ints, max_needed: int) -> None:
    """Unmask players in this order as far as the game stays over; give up beyond `max_needed` necessary ones.

    Each place where the game stops being over shows a player that is needed: k of n are found in about k log n
    states (QuickXplain, Junker 2004; progression, Marques-Silva et al. 2013).
    """
    game = search.game
    needed: list[int] = []
    rest = order
    if not game.ended(game.evaluate(_unmasked(game.n, needed, rest, (0,)), search.budget))[0]:
        return
    while len(needed) < max_needed and len(rest):
        n_free, complete = _longest_free_prefix(search, needed, rest)
        if not complete:
            _record_unfinished(search, needed, rest[n_free:])
            return
        if n_free < len(rest):
            needed.append(int(rest[n_free]))
        rest = rest[n_free + 1 :]
    if not len(rest):
        minimise_by_deletion(search, as_set(needed))


def as_set(players: "Sequence[int] | Ints") -> PlayerSet:
    """Players in rising order."""
    return tuple(sorted(int(player) for player in players))


def _longest_free_prefix(search: FlipSetSearch, needed: list[int], rest: Ints) -> tuple[int, bool]:
    """How many of `rest` can be unmasked from the front with the game still over, and whether rows sufficed."""
    game = search.game
    over, not_over = 0, len(rest) + 1
    while not_over - over > 1:
        cuts = _cuts(over, not_over, 1 if search.low_budget else CUTS)
        indices = game.evaluate(_unmasked(game.n, needed, rest, cuts), search.budget)
        ends = game.ended(indices)
        over = max([over, *(c for c, e in zip(cuts, ends, strict=True) if e)])
        not_over = min([not_over, *(c for c, e in zip(cuts, ends, strict=True) if not e and c > over)])
        if (indices < 0).any():
            return over, False
    return over, True


def _record_unfinished(search: FlipSetSearch, needed: list[int], rest: Ints) -> None:
    """Record a set that rows were too few to make minimal, if it is smaller than the best."""
    if len(needed) + len(rest) < (search.best_size() or search.game.n + 1):
        players = as_set([*needed, *rest.tolist()])
        search.record(players, int(search.game.evaluate_sets([players], search.budget)[0]))


def _unmasked(n: int, needed: list[int], rest: Ints, cuts: tuple[int, ...]) -> Bools:
    """States in which all of `needed` are masked, and of `rest` all but so many from the front [B, n]."""
    masks = np.zeros((len(cuts), n), dtype=bool)
    masks[:, needed] = True
    for mask, cut in zip(masks, cuts, strict=True):
        mask[rest[cut:]] = True
    return masks


@lru_cache(maxsize=4096)
def _cuts(low: int, high: int, n_cuts: int) -> tuple[int, ...]:
    """About so many numbers evenly between `low` and `high`."""
    return tuple(sorted({int(c) for c in np.linspace(low, high, n_cuts + 2)[1:-1].round()} - {low, high}))
