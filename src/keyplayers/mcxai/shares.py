"""How the rows of an explanation are shared out between the two games, and in each between its parts."""

from dataclasses import dataclass, replace
from typing import Literal

# Rows that "auto" allows: enough for the smallest sets on every problem of the benchmark, most use far fewer
ROWS, ROWS_PER_PLAYER, FEW_PLAYERS = 600, 4, 64
# beyond these, rows per player that "auto" allows for sets of many players, where there are more than FEW_PLAYERS
DEEP_ROWS_PER_PLAYER = 20
# rows without a smaller set after which the search for sets stops, in the first game and in its continuation
PATIENCE, PATIENCE_AFTER = 100, 30
# rows for the tree search, in the first game and in its continuation
PLAY, PLAY_AFTER = 48, 24
# Pairs of random orders for the values: at least two, whose difference tells how sure they are, and more for few
# players; none for very many players, unless a number of rows is given.
MIN_PAIRS, MAX_PAIRS, VALUE_ROWS, MANY_PLAYERS = 2, 4, 128, 256
# where the model's answers are not the same at each call: "auto" allows so many times the rows
AUTO_TIMES_FOR_NOISE = 2
# of the rows beyond what "auto" allows, the part that goes on looking for smaller sets and higher bounds
SETS_PART = 2


@dataclass(frozen=True)
class GameShare:
    """Rows for the parts of one game."""

    sets: int  # the search for sets
    patience: int  # of these, rows without a smaller set after which a strategy stops
    play: int  # the tree search
    deep: int = 0  # greedy masking, where the smallest set has many players
    more_sets: int = 0  # looking for smaller sets and higher bounds once more


@dataclass(frozen=True)
class Shares:
    """Rows for the parts of an explanation.

    A given number of rows is spent as "auto" would spend it, so that it never does worse; what is beyond goes into
    smaller sets, higher bounds and steadier values.
    """

    total: int
    first: GameShare
    second: GameShare
    value_pairs: int  # pairs of random orders for the values
    textbook: bool
    use_up: bool  # whether what is left in the end goes into values and win rates

    def for_noise(self) -> "Shares":
        """For a model whose answers are not the same at each call: as many rows again make sure of the sets.

        A given number of rows stays as it is; nothing is used up, since no bound is claimed and no set is proven.
        """
        deep = self.first.deep
        total = self.total if self.use_up else (self.total - deep) * AUTO_TIMES_FOR_NOISE + deep
        return replace(self, total=total, first=replace(self.first, deep=0), use_up=False)


def share_out(max_evals: int | Literal["auto"], n: int, rows_per_state: int, textbook: bool) -> Shares:
    """The shares for an instance with n players."""
    r = rows_per_state
    auto = ROWS + ROWS_PER_PLAYER * max(0, n - FEW_PLAYERS)
    deep = DEEP_ROWS_PER_PLAYER * n if n > FEW_PLAYERS else 0
    after = 2 * n + 2 * PATIENCE_AFTER
    total = (auto if textbook else auto + deep) * r if max_evals == "auto" else max_evals
    if textbook:
        first, second = GameShare(0, 0, total * 3 // 4), GameShare(0, 0, total)
        return Shares(total, first, second, value_pairs=0, textbook=True, use_up=False)
    beyond = max(0, total - auto * r)
    more = 0 if max_evals == "auto" else beyond // SETS_PART
    return Shares(
        total,
        GameShare(
            (auto - after // 2) * r,
            max(PATIENCE, n // 2) * r,
            PLAY * r,
            deep=min(deep * r, beyond),
            more_sets=more,
        ),
        GameShare(after * r, PATIENCE_AFTER * r, PLAY_AFTER * r),
        value_pairs=0 if n > MANY_PLAYERS else max(MIN_PAIRS, min(MAX_PAIRS, VALUE_ROWS // (2 * max(1, n)))),
        textbook=False,
        use_up=max_evals != "auto",
    )
