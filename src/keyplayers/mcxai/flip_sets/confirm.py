"""Sets of a model whose answers differ from call to call: they are asked several times before they are reported.

Of many sets that are tried once, some end the game by luck alone. What a set does in the mean of several answers
is taken for what it does.
"""

import numpy as np

from ..budget import NO_ROWS
from ..game.game import PlayerSet
from .minimise import as_set
from .search import FlipSetSearch
from .settle import settle_smallest

# answers whose mean is taken for what the model says of a state
REPEATS = 24


def confirm_smallest(search: FlipSetSearch) -> None:
    """Ask for the smallest set again, and without each of its players; go on with the next one where it fails."""
    search.go_on(search.game.cache.budget)
    while (players := settle_smallest(search)) is not None:
        if not _repeat(search, players):
            return


def confirmed_sets(search: FlipSetSearch) -> list[PlayerSet]:
    """Sets that end the game in the mean of several answers, and do not without one of their players."""
    game = search.game
    seen = np.flatnonzero(game.visited())
    ends = seen[game.ended(seen) & game.cache.repeated[seen]]
    sets = [as_set(np.flatnonzero(mask[game.players])) for mask in game.cache.masks(ends)]
    minimal = [players for players in sets if not _still_open(search, players) and _needs_all(search, players)]
    return sorted(minimal, key=lambda players: (len(players), players))


def _repeat(search: FlipSetSearch, players: PlayerSet) -> bool:
    """Ask for the states of a set again until it fails; False where it holds, or where the rows are too few."""
    game = search.game
    for index in _still_open(search, players):
        if index < 0 or search.states_left() < REPEATS:
            return False
        game.cache.repeat(index, REPEATS)
        search.found = {held: at for held, at in search.found.items() if game.ended(np.array([at]))[0]}
        if players not in search.found:
            return True
    return not _needs_all(search, players)


def _still_open(search: FlipSetSearch, players: PlayerSet) -> list[int]:
    """The set's state and those without one of its players, as far as they were asked once only."""
    game = search.game
    indices = [*game.evaluate_sets([players], NO_ROWS).tolist()]
    if len(players) > 1:
        indices += game.evaluate_leave_one_out(players, NO_ROWS).tolist()
    return [index for index in indices if index < 0 or not game.cache.repeated[index]]


def _needs_all(search: FlipSetSearch, players: PlayerSet) -> bool:
    game = search.game
    return len(players) < 2 or not game.ended(game.evaluate_leave_one_out(players, NO_ROWS)).any()
