"""Mask every player alone: this rules out sets of one player, and ranks the players."""

import numpy as np

from ..._base.arrays import Ints
from ..game.state_cache import BLOCK
from .minimise import minimise_by_bisection
from .search import FlipSetSearch
from .top_down import everything_ends

# players are masked alone, one and all, unless that takes more than this part of the states that the rows allow
MAX_SHARE = 0.9
# of the rows, the part that single players may take where rows are so few
SHARE_OF_FEW = 3, 4
# players masked at a time where rows are few: this many, or this part of all players
SMALL_BLOCK, PART_OF_ALL = 8, 8


def mask_singles(search: FlipSetSearch) -> None:
    """Mask every player alone; where rows are hardly enough, the players of strong groups first."""
    order: Ints = np.arange(search.game.n)
    scarce = search.low_budget and search.game.n > MAX_SHARE * search.states_left()
    if scarce:
        order = _by_groups(search)
        if everything_ends(search):
            minimise_by_bisection(search, order[::-1], search.game.n)
    _mask_each(search, order, scarce)


def _mask_each(search: FlipSetSearch, order: Ints, scarce: bool) -> None:
    """Mask players alone in this order; where rows are few in small blocks, until one ends the game."""
    game = search.game
    block = max(SMALL_BLOCK, game.n // PART_OF_ALL) if search.low_budget else BLOCK
    # some rows are kept for sets; where there is one player only, it has been seen already
    part, whole = SHARE_OF_FEW
    room = max(1, search.states_left() * part // whole) if scarce else game.n
    for start in range(0, min(game.n, room), block):
        players = order[start : min(start + block, room)]
        masks = np.zeros((len(players), game.n), dtype=bool)
        masks[np.arange(len(players)), players] = True
        indices = game.evaluate(masks, search.budget)
        seen = indices >= 0
        search.singles[players] = indices
        search.gains[players[seen]] = game.drops(indices[seen])
        ends = game.ended(indices)
        for player, index in zip(players[ends].tolist(), indices[ends].tolist(), strict=True):
            search.record((player,), index)
        if not seen.all() or (search.low_budget and ends.any()):
            return


def _by_groups(search: FlipSetSearch) -> Ints:
    """All players, those first whose random group of players moved the margin most when masked together."""
    game = search.game
    order = search.rng.permutation(game.n)
    groups = np.array_split(order, max(1, round(game.n**0.5)))
    masks = np.zeros((len(groups), game.n), dtype=bool)
    for mask, group in zip(masks, groups, strict=True):
        mask[group] = True
    indices = game.evaluate(masks, search.budget)
    drops = np.where(indices >= 0, game.drops(indices), -np.inf)
    return np.concatenate([groups[i] for i in np.argsort(-drops, kind="stable")])
