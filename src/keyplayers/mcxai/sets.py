"""Small sets that end a game: singles, chains, shrinking, and a surrogate of pairs that proposes the next ones.

What is seen here is remembered by the board, so the playouts of the tree search find it again at no cost.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ..arrays import Bools, Floats, Ints
from . import _search_kernels as kernels
from .game import BLOCK, Game

# the surrogate knows pairs of at most this many players, those that matter most alone; its cost is quadratic
MAX_LEARNED = 64
# sets shown to the model at a time: fewer learn sooner, more make fewer calls
PROPOSALS = 12
# classes besides the target against which log-odds are learned
N_RIVALS = 2
# a set is hopeless where this many times its usual error would not lift the surrogate's expectation to the end
HOPE = 1.5
# orders in which players are unmasked: strongest first, the others at random
ATTEMPTS = 2
# random sets that are tried where masking everything does not end the game
SCATTERED = 24
# of a search's patience, the part that it spends on hopeless sets
SOBER = 0.25
# width of the beam in which the surrogate looks for its best sets
BEAM = 32
# sets larger than this bend the margin too much to teach anything about pairs
MAX_TAUGHT = 8

Members = tuple[int, ...]  # sorted local players


@dataclass(eq=False)
class Seek:
    """What a search for small sets knows."""

    game: Game
    rng: np.random.Generator
    singles: Ints = field(init=False)  # [n] board index of each single player, -1 where not looked at
    gains: Floats = field(init=False)  # [n] drop of each single player, 0 where not looked at
    found: dict[Members, int] = field(default_factory=dict)  # minimal sets that end the game -> board index

    def __post_init__(self) -> None:
        self.singles = np.full(self.game.n, -1, dtype=np.int64)
        self.gains = np.zeros(self.game.n)

    def best_size(self) -> int | None:
        return min(map(len, self.found), default=None)


def seek_sets(seek: Seek, max_rows: int, patience: int) -> None:
    """Look for the smallest sets that end the game; what is found stands in ``seek.found``.

    Parameters
    ----------
    max_rows
        Rows that this search may use.
    patience
        Rows after which a search that found nothing smaller stops.
    """
    game, board = seek.game, seek.game.board
    allowed, board.max_rows = board.max_rows, min(board.max_rows, board.n_rows + max_rows)
    try:
        if game.n and not game.ended(np.array([game.start]))[0]:
            lean = 2 * game.n > board.rows_left()
            _singles(seek, lean)
            if seek.best_size() != 1:
                _chain(seek, np.argsort(-seek.gains, kind="stable"))
                if not lean:
                    _from_above(seek)
                _improve(seek, patience)
    finally:
        board.max_rows = allowed


def _singles(seek: Seek, lean: bool) -> None:
    """Mask every player alone; with a lean budget those first that look promising, until one ends the game."""
    game = seek.game
    order = _by_groups(seek) if lean else np.arange(game.n)
    block = max(8, game.n // 8) if lean else BLOCK
    # a lean search keeps some rows for sets; a player who is all that there is has been seen already
    room = max(1, game.board.rows_left() * 3 // 4) if lean else game.n
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
            seek.found[(player,)] = index
        if not seen.all() or (lean and ends.any()):
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
    sizes = _grid(2, game.n)
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
        sizes = tuple(range(low + 1, high)) if high - low < 10 else _grid(low + 1, high - 1)
    if high is not None:
        shrink(seek, tuple(sorted(order[:high].tolist())))


@lru_cache(maxsize=1024)
def _grid(low: int, high: int) -> tuple[int, ...]:
    """About ten sizes from `low` to `high`, denser among the small ones."""
    if high < low:
        return ()
    steps = np.unique(np.round(np.geomspace(1, high - low + 1, 10)).astype(int))
    return tuple(int(low + step - 1) for step in steps)


@lru_cache(maxsize=1024)
def _cuts(low: int, high: int) -> tuple[int, ...]:
    """About eight numbers evenly between `low` and `high`."""
    return tuple(sorted({int(c) for c in np.linspace(low, high, 10)[1:-1].round()} - {low, high}))


def shrink(seek: Seek, players: Members) -> Members:
    """Take players out of a set that ends the game as long as it still does; note what is left."""
    game = seek.game
    index = -1
    while len(players) > 1:
        smaller = [players[:i] + players[i + 1 :] for i in range(len(players))]
        indices = game.look_at(smaller)
        ends = game.ended(indices)
        if not ends.any():
            break
        drops = np.where(ends, game.drops(indices), -np.inf)
        at = int(np.argmax(drops))
        players, index = smaller[at], int(indices[at])
    seek.found.setdefault(players, index if index >= 0 else int(game.look_at([players])[0]))
    return players


def in_order(seek: Seek, sets: list[Members]) -> list[tuple[tuple[int, ...], int]]:
    """Sets that end the game, each in an order whose last player ends it and none before, smallest first."""
    game = seek.game
    orders = [
        tuple(sorted(players, key=lambda p: (-seek.gains[p], p)))
        for players in sorted(sets, key=lambda s: (len(s), s))
    ]
    prefixes = [tuple(sorted(order[: k + 1])) for order in orders for k in range(len(order))]
    indices = game.look_at(prefixes)
    ends = game.ended(indices)
    ordered: dict[frozenset[int], tuple[tuple[int, ...], int]] = {}
    at = 0
    for order in orders:
        for k in range(at, at + len(order)):
            if indices[k] < 0:
                break
            if ends[k]:
                cut = order[: k - at + 1]
                ordered.setdefault(frozenset(cut), (cut, int(indices[k])))
                break
        at += len(order)
    found = list(ordered.values())
    changes = game.changes(np.array([index for _, index in found], dtype=np.int64))
    return [found[i] for i in sorted(range(len(found)), key=lambda i: (len(found[i][0]), -changes[i]))]


def _from_above(seek: Seek) -> None:
    """Find sets that act only together, which no player of theirs betrays alone.

    Everything masked ends most games. Unmask the strongest players first: if the game stays over, a set of
    weaker ones ends it. Where it stops being over a necessary player stands; keep it and go on.
    """
    best = seek.best_size()
    if best is not None and best <= 2:
        return
    if best is None and not seek.game.ended(seek.game.look_at([tuple(range(seek.game.n))]))[0]:
        _scatter(seek)
        return
    strongest_first = np.argsort(-seek.gains, kind="stable")
    for attempt in range(ATTEMPTS):
        best = seek.best_size()
        order = strongest_first if attempt == 0 else seek.rng.permutation(seek.game.n)
        limit = (best or MAX_TAUGHT + 1) - 1
        _peel(seek, order, limit)


def _scatter(seek: Seek) -> None:
    """Where even masking everything does not end the game: mask random sets of all sizes."""
    game = seek.game
    sizes = np.linspace(2, game.n - 1, SCATTERED).round().astype(int).tolist() if game.n > 3 else []
    sets = [tuple(sorted(seek.rng.permutation(game.n)[:size].tolist())) for size in sizes]
    for players, end in zip(sets, game.ended(game.look_at(sets)), strict=True):
        if end:
            kept = seek.rng.permutation(len(players))
            _peel(seek, np.array(players)[kept], (seek.best_size() or MAX_TAUGHT + 1) - 1)


def _peel(seek: Seek, order: Ints, limit: int) -> None:
    """Unmask players in this order as far as the game stays over; give up beyond `limit` necessary ones."""
    game = seek.game
    kept: list[int] = []
    rest = order
    while len(kept) < limit:
        # how many of `rest` can be unmasked from the front with the game still over
        low, high = 0, len(rest) + 1  # over at low; not over at high
        first = True
        while high - low > 1:
            cuts = _cuts(low, high)
            if first and not kept:
                cuts = (0, *cuts)
            states = np.zeros((len(cuts), game.n), dtype=bool)
            states[:, kept] = True
            for state, cut in zip(states, cuts, strict=True):
                state[rest[cut:]] = True
            ends = game.ended(game.look(states))
            if first and not kept and not ends[0]:
                return
            first = False
            over = [c for c, e in zip(cuts, ends, strict=True) if e]
            low = max([low, *over])
            high = min([high, *(c for c, e in zip(cuts, ends, strict=True) if not e and c > low)])
        if low == len(rest):
            shrink(seek, tuple(sorted(kept)))
            return
        kept.append(int(rest[low]))
        rest = rest[low + 1 :]
        if not len(rest):
            if game.ended(game.look_at([tuple(sorted(kept))]))[0]:
                shrink(seek, tuple(sorted(kept)))
            return


@dataclass(eq=False)
class _View:
    """One way to measure how near a state is to the end, and the surrogate learned in that measure."""

    rival: int | None  # log-odds against this class; None: against the best other
    logarithmic: bool
    gains: Floats  # [n] drops of single players
    pairs: Floats  # [n, n] what two players drop together beyond that
    needed: float  # drop at which the target is no longer ahead in this measure
    errors: list[Floats] = field(default_factory=list)  # how wrong it was about what it proposed

    def hopes(self, expected: float) -> bool:
        """Whether a set of which it expects so much may end the game, as wrong as it has been so far."""
        if not self.errors:
            return True
        error = np.concatenate(self.errors[-3:])
        return expected + HOPE * float(np.sqrt((error**2).mean())) >= self.needed

    def drops(self, game: Game, indices: Ints) -> Floats:
        return self.needed - self.level(game, indices)

    def level(self, game: Game, indices: Ints) -> Floats:
        """How far y is ahead [B]; in the misclassification game, how far it is behind."""
        measure = game.board.log_odds(indices, self.rival) if self.logarithmic else game.board.margins(indices)
        return game.sign * measure


def _views(seek: Seek, learned: Ints) -> list[_View]:
    """The margin in probabilities; the log-odds against the classes that single players bring nearest."""
    game, board = seek.game, seek.game.board
    indices = seek.singles[learned]
    rivals: list[int | None] = [None]
    if game.sign == 1 and not board.multilabel and board.probabilities.shape[1] > 2:
        others = np.delete(np.arange(board.probabilities.shape[1]), board.target)
        nearness = np.sort(board.probabilities[np.ix_(indices[indices >= 0], others)], axis=0)[-3:].sum(axis=0)
        rivals = others[np.argsort(-nearness, kind="stable")[:N_RIVALS]].tolist()
    views = []
    for rival, logarithmic in [(None, False), *((r, True) for r in rivals)]:
        view = _View(rival, logarithmic, np.zeros(len(learned)), np.zeros((len(learned), len(learned))), 0.0)
        view.needed = float(view.level(game, np.array([game.start]))[0])
        view.gains[indices >= 0] = view.drops(game, indices[indices >= 0])
        views.append(view)
    return views


def _improve(seek: Seek, patience: int) -> None:
    """Ask surrogates of gains and pairs for the sets one smaller than the best, and learn from each answer."""
    game, board = seek.game, seek.game.board
    learned = np.sort(np.argsort(-np.abs(seek.gains), kind="stable")[:MAX_LEARNED])
    n = len(learned)
    seen = np.eye(n, dtype=bool)
    views = _views(seek, learned)
    codes = _codes(n)
    asked: set[int] = set()
    last = last_hope = board.n_rows
    while board.rows_left() > 0 and board.n_rows < min(last + patience, last_hope + patience * SOBER):
        best = seek.best_size()
        # one player fewer than the best; as long as nothing ends the game, sets of every small size
        sizes = [best - 1] if best is not None else list(range(2, MAX_TAUGHT))
        sizes = [size for size in sizes if max(2, game.lower_bound()) <= size <= n]
        if not sizes:
            return
        _learn(seek, learned, views, seen)
        wanted: list[Members] = []
        expected: list[Floats] = []
        for view in views:
            drawn = kernels.draw_pairs(view.pairs, seen, view.gains, seek.rng.standard_normal((n, n)))
            promises: list[float] = []
            for size in sizes:
                known = np.array(sorted(asked), dtype=np.int64)
                proposed, promised = kernels.beam_sets(view.gains, drawn, size, BEAM, codes, known)
                if best is None or (last_hope < board.n_rows and len(promised) and view.hopes(float(promised[0]))):
                    last_hope = board.n_rows
                taken = max(1, PROPOSALS // (len(views) * len(sizes)))
                promises += promised[:taken].tolist()
                asked.update(codes[proposed[:taken]].sum(axis=1).tolist())
                # the players stand in rising order, so sorted local numbers are sorted players
                wanted += map(tuple, learned[np.sort(proposed[:taken], axis=1)].tolist())
            expected.append(np.array(promises))
        if not wanted:
            return
        indices = game.look_at(wanted)
        ends = np.flatnonzero(game.ended(indices))
        if len(ends):
            drops = game.drops(indices)
            shrink(seek, wanted[min(ends.tolist(), key=lambda i: (len(wanted[i]), -drops[i]))])
            last = last_hope = board.n_rows
        at = 0
        for view, scores in zip(views, expected, strict=True):
            part = indices[at : at + len(scores)]
            at += len(scores)
            view.errors.append((scores - view.drops(game, part))[part >= 0])


@lru_cache(maxsize=64)
def _codes(n: int) -> Ints:
    """Random numbers of n players, the same ones for the same n; a set's code is the sum of its players'."""
    return np.random.default_rng(n).integers(1, 2**56, size=n)


def _learn(seek: Seek, learned: Ints, views: list[_View], seen: Bools) -> None:
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
    for view in views:
        kernels.learn_pairs(members, sizes, view.drops(game, use), view.gains, view.pairs, seen, 3)
