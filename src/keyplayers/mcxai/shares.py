"""How the rows of an explanation are shared out between the two games, and in each between its parts."""

from dataclasses import dataclass
from typing import Literal

# Rows that "auto" allows: enough for the smallest sets on every problem of the benchmark, most use far fewer
ROWS, ROWS_PER_PLAYER, FEW_PLAYERS = 600, 4, 64
# rows without a smaller set after which the search for sets stops, in the first game and in its continuation
PATIENCE, PATIENCE_AFTER = 100, 30
# rows for the tree search with max_evals "auto", in the first game and in its continuation
PLAY, PLAY_AFTER = 48, 24
# below so many rows for every player a number of rows is hardly enough to find a set at all
SCARCE = 4


@dataclass(frozen=True)
class Shares:
    """Rows for the parts of one game."""

    sets: int  # the search for sets
    patience: int  # of these, rows without a smaller set after which it stops
    play: int  # the tree search
    first_moves: int  # playouts of all first moves alike
    reserve: int = 0  # left for the other game


def share_out(
    max_evals: int | Literal["auto"], n: int, rows_per_state: int, textbook: bool
) -> tuple[int, tuple[Shares, Shares]]:
    """Rows in all, and the shares of the two games of n players."""
    r = rows_per_state
    if max_evals == "auto":
        total = ROWS + ROWS_PER_PLAYER * max(0, n - FEW_PLAYERS)
        after = 2 * n + 2 * PATIENCE_AFTER
        first = Shares(
            sets=(total - after // 2) * r, patience=max(PATIENCE, n // 2) * r, play=PLAY * r, first_moves=0
        )
        return total * r, (
            first,
            Shares(sets=after * r, patience=PATIENCE_AFTER * r, play=PLAY_AFTER * r, first_moves=0),
        )
    total = max_evals
    if textbook:
        play = Shares(sets=0, patience=0, play=total * 3 // 4, first_moves=0)
        return total, (play, Shares(sets=0, patience=0, play=total, first_moves=0))
    if total <= SCARCE * n * r:
        first = Shares(sets=total, patience=total, play=total, first_moves=0)
        return total, (first, Shares(sets=total, patience=PATIENCE_AFTER * r, play=total, first_moves=0))
    patience = max(PATIENCE * r, total // 8)
    return total, (
        Shares(sets=total * 3 // 5, patience=patience, play=total // 8, first_moves=total, reserve=total // 8),
        Shares(sets=total // 8, patience=patience // 4, play=total // 16, first_moves=total),
    )
