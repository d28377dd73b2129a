"""Proposals: a surrogate of gains and pairs of players names sets that are one player smaller than the best."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from . import _set_kernels as kernels
from .objectives import Measure, deciding
from .sets import Members, Seek, shrink

# the surrogate knows pairs of at most this many players, those that matter most alone; its cost is quadratic
MAX_LEARNED = 64
# sets shown to the model at a time: fewer learn sooner, more make fewer calls
PROPOSALS = 12
# a set is hopeless where this many times its usual error would not lift the surrogate's expectation to the end
HOPE = 1.5
# of a search's patience, the part that it spends on hopeless sets
SOBER = 0.25
# width of the beam in which the surrogate looks for its best sets
BEAM = 32
# sets larger than this bend the margin too much to teach anything about pairs
MAX_TAUGHT = 8


@dataclass(eq=False)
class _Surrogate:
    """What a set is expected to drop in one measure: the sum of its players' gains and of its pairs."""

    measure: Measure
    gains: Floats  # [n] drops of single players
    pairs: Floats = field(init=False)  # [n, n] what two players drop together beyond that

    def __post_init__(self) -> None:
        self.pairs = np.zeros((len(self.gains), len(self.gains)))


def propose(seek: Seek, measures: list[Measure], patience: int) -> None:
    """Ask surrogates for the sets one smaller than the best, and learn from each answer.

    Parameters
    ----------
    patience
        Rows without a smaller set after which to stop; fewer where no proposal has hope.
    """
    game, board = seek.game, seek.game.board
    learned = np.sort(np.argsort(-np.abs(seek.gains), kind="stable")[:MAX_LEARNED])
    n = len(learned)
    seen = np.eye(n, dtype=bool)
    surrogates = [_surrogate(seek, measure, learned) for measure in measures]
    codes = _codes(n)
    asked: set[int] = set()
    last = last_hope = board.n_rows
    turn = -1
    while board.rows_left() > 0 and board.n_rows < min(last + patience, last_hope + patience * SOBER):
        size = (seek.best_size() or 0) - 1
        if not max(2, game.lower_bound()) <= size <= n:
            return
        _learn(seek, learned, surrogates, seen)
        decides, turn = deciding(measures), turn + 1
        wanted: list[Members] = []
        expected: list[Floats] = []
        for v, surrogate in enumerate(surrogates):
            known = np.array(sorted(asked), dtype=np.int64)
            pairs = surrogate.pairs
            if turn % 2:
                noise = seek.rng.standard_normal((n, n))
                pairs = kernels.draw_pairs(pairs, seen, surrogate.gains, noise)
            proposed, promised = kernels.beam_sets(surrogate.gains, pairs, size, BEAM, codes, known)
            if len(promised) and (decides[v] or not decides.any()):
                lift = HOPE * surrogate.measure.error()
                if promised[0] + lift >= surrogate.measure.needed:
                    last_hope = board.n_rows
            proposed = proposed[: max(1, PROPOSALS // len(surrogates))]
            expected.append(promised[: len(proposed)])
            asked.update(codes[proposed].sum(axis=1).tolist())
            # the players stand in rising order, so sorted local numbers are sorted players
            wanted += map(tuple, learned[np.sort(proposed, axis=1)].tolist())
        if not wanted:
            return
        indices = game.look_at(wanted)
        ends = np.flatnonzero(game.ended(indices))
        if len(ends):
            shrink(seek, wanted[ends[int(np.argmax(game.drops(indices)[ends]))]])
            last = last_hope = board.n_rows
        at = 0
        for surrogate, promised in zip(surrogates, expected, strict=True):
            part = indices[at : at + len(promised)]
            at += len(promised)
            surrogate.measure.learn((promised - surrogate.measure.drops(part))[part >= 0])


def _surrogate(seek: Seek, measure: Measure, learned: Ints) -> _Surrogate:
    indices = seek.singles[learned]
    gains = np.zeros(len(learned))
    gains[indices >= 0] = measure.drops(indices[indices >= 0])
    return _Surrogate(measure, gains)


def _learn(seek: Seek, learned: Ints, surrogates: list[_Surrogate], seen: Bools) -> None:
    """Fit the pairs to all small states seen so far."""
    game, board = seek.game, seek.game.board
    every = np.arange(board.n_states)
    size = board.sizes(every) - int(game.base.sum())
    use = every[(size >= 2) & (size <= MAX_TAUGHT)]
    full = board.states(use)
    states, sizes = full[:, game.players[learned]], size[use]
    # states of the game: its base is masked, and all others masked are learned players
    fits = states.sum(axis=1) == sizes
    if game.n < board.n_players:
        fits &= full[:, game.base].all(axis=1)
    if not fits.all():
        use, states, sizes = use[fits], states[fits], sizes[fits]
    if len(use) == 0:
        return
    members = np.zeros((len(use), MAX_TAUGHT), dtype=np.int64)
    rows, columns = np.nonzero(states)
    starts = np.cumsum(sizes) - sizes
    members[rows, np.arange(len(rows)) - starts[rows]] = columns
    for surrogate in surrogates:
        drops = surrogate.measure.drops(use)
        kernels.learn_pairs(members, sizes, drops, surrogate.gains, surrogate.pairs, seen, 3)


@lru_cache(maxsize=64)
def _codes(n: int) -> Ints:
    """Random numbers of n players, the same ones for the same n; a set's code is the sum of its players'."""
    return np.random.default_rng(n).integers(1, 2**56, size=n)
