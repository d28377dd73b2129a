"""Proposals: a surrogate of gains and pairs of players names sets that are one player smaller than the best."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ..game.game import PlayerSet
from . import _set_kernels as kernels
from .minimise import minimise_by_deletion
from .objectives import Objective, active_objectives
from .search import FlipSetSearch

# the surrogate knows pairs of at most this many players, those that matter most alone; its cost is quadratic
MAX_LEARNED = 64
# sets shown to the model at a time: fewer learn sooner, more make fewer calls
N_PROPOSALS = 12
# multiple of an objective's error that is added to what the surrogate expects, as an upper confidence bound
OPTIMISM = 1.5
# fraction of the patience after which a hopeless size is given up
HOPELESS_PATIENCE = 0.25
# width of the beam in which the surrogate looks for its best sets
BEAM = 32
# sets larger than this bend the margin too much to teach anything about pairs
MAX_TAUGHT = 8
# sweeps over the states seen when pairs are fitted
N_SWEEPS = 3


@dataclass(eq=False)
class _PairSurrogate:
    """What a set is expected to drop in one objective: the sum of its players' gains and of its pairs."""

    objective: Objective
    gains: Floats  # [m] drops of single players
    pairs: Floats = field(init=False)  # [m, m] what two players drop together beyond that

    def __post_init__(self) -> None:
        self.pairs = np.zeros((len(self.gains), len(self.gains)))


@dataclass(eq=False)
class _Proposer:
    """What the surrogates know, and which sets they have proposed."""

    search: FlipSetSearch
    learned: Ints  # [m] players that the surrogates know, in rising order
    surrogates: list[_PairSurrogate]
    seen: Bools  # [m, m] pairs that some state seen holds
    codes: Ints  # [m]
    asked: set[int] = field(default_factory=set)  # codes of sets proposed
    turn: int = -1
    last_progress: int = 0  # rows given to the model when a set was found last
    last_hope: int = 0  # rows given to the model when a surrogate last expected to end the game

    def out_of_patience(self) -> bool:
        """Whether too many rows went by without a smaller set, or without hope for one."""
        patience = self.search.patience
        limit = min(self.last_progress + patience, self.last_hope + patience * HOPELESS_PATIENCE)
        return self.search.n_rows() >= limit


def try_proposals(search: FlipSetSearch) -> None:
    """Ask surrogates for sets one smaller than the best, and learn from each answer.

    It stops after `patience` rows without a smaller set, or after fewer where no proposal has hope.
    """
    if not search.found:
        return
    proposer = _begin(search)
    while search.rows_left() > 0 and not proposer.out_of_patience():
        size = (search.best_size() or 0) - 1
        if not max(2, search.game.lower_bound()) <= size <= len(proposer.learned):
            return
        _fit_pairs(proposer)
        proposals = _propose(proposer, size)
        if not proposals:
            return
        _evaluate(proposer, proposals)


@dataclass(frozen=True, eq=False)
class _Proposal:
    """Sets that one surrogate proposes, and what it expects of them."""

    surrogate: _PairSurrogate
    sets: list[PlayerSet]
    expected: Floats  # [R] drops


def _begin(search: FlipSetSearch) -> _Proposer:
    learned = np.sort(np.argsort(-np.abs(search.gains), kind="stable")[:MAX_LEARNED])
    surrogates = [_PairSurrogate(objective, _gains(search, objective, learned)) for objective in search.objectives]
    m, n_rows = len(learned), search.n_rows()
    return _Proposer(
        search, learned, surrogates, np.eye(m, dtype=bool), _codes(m), last_progress=n_rows, last_hope=n_rows
    )


def _gains(search: FlipSetSearch, objective: Objective, learned: Ints) -> Floats:
    """Drops of single players in one objective, 0 where they were not evaluated [m]."""
    indices = search.singles[learned]
    gains = np.zeros(len(learned))
    gains[indices >= 0] = objective.drops(indices[indices >= 0])
    return gains


def _propose(proposer: _Proposer, size: int) -> list[_Proposal]:
    """The sets of each surrogate, [] where all have been proposed before."""
    proposer.turn += 1
    active = active_objectives(proposer.search.objectives)
    n_each = max(1, N_PROPOSALS // len(proposer.surrogates))
    proposals = []
    for decides, surrogate in zip(active, proposer.surrogates, strict=True):
        known = np.array(sorted(proposer.asked), dtype=np.int64)
        sets, expected = kernels.beam_sets(
            surrogate.gains, _pairs(proposer, surrogate), size, BEAM, proposer.codes, known
        )
        if len(expected) and (decides or not active.any()):
            objective = surrogate.objective
            if expected[0] + OPTIMISM * objective.error() >= objective.gap:
                proposer.last_hope = proposer.search.n_rows()
        sets = sets[:n_each]
        proposer.asked.update(proposer.codes[sets].sum(axis=1).tolist())
        # the players stand in rising order, so sorted local numbers are sorted players
        players = proposer.learned[np.sort(sets, axis=1)].tolist()
        proposals.append(_Proposal(surrogate, list(map(tuple, players)), expected[: len(sets)]))
    return proposals if any(proposal.sets for proposal in proposals) else []


def _pairs(proposer: _Proposer, surrogate: _PairSurrogate) -> Floats:
    """The pairs as fitted; every other time those never seen get random values (Thompson sampling)."""
    if proposer.turn % 2 == 0:
        return surrogate.pairs
    noise = proposer.search.rng.standard_normal(surrogate.pairs.shape)
    drawn: Floats = kernels.draw_pairs(surrogate.pairs, proposer.seen, surrogate.gains, noise)
    return drawn


def _evaluate(proposer: _Proposer, proposals: list[_Proposal]) -> None:
    """Show all proposed sets to the model, make the best that ends the game minimal, note the errors."""
    search, game = proposer.search, proposer.search.game
    sets = [players for proposal in proposals for players in proposal.sets]
    indices = game.evaluate_sets(sets, search.budget)
    ends = np.flatnonzero(game.ended(indices))
    if len(ends):
        minimise_by_deletion(search, sets[ends[int(np.argmax(game.drops(indices)[ends]))]])
        proposer.last_progress = proposer.last_hope = search.n_rows()
    parts = np.split(indices, np.cumsum([len(proposal.sets) for proposal in proposals])[:-1])
    for proposal, part in zip(proposals, parts, strict=True):
        objective = proposal.surrogate.objective
        objective.learn((proposal.expected - objective.drops(part))[part >= 0])


def _fit_pairs(proposer: _Proposer) -> None:
    """Fit the pairs of all surrogates to the small states seen so far."""
    game, cache = proposer.search.game, proposer.search.game.cache
    every = np.arange(cache.n_states)
    sizes = cache.sizes(every) - int(game.base.sum())
    use = every[(sizes >= 2) & (sizes <= MAX_TAUGHT)]
    masks = cache.masks(use)
    learned = masks[:, game.players[proposer.learned]]
    # states of the game: its base is masked, and all others masked are learned players
    fits = (learned.sum(axis=1) == sizes[use]) & masks[:, game.base].all(axis=1)
    if not fits.any():
        return
    use, learned, sizes = use[fits], learned[fits], sizes[use][fits]
    members = np.zeros((len(use), MAX_TAUGHT), dtype=np.int64)
    rows, columns = np.nonzero(learned)
    starts = np.cumsum(sizes) - sizes
    members[rows, np.arange(len(rows)) - starts[rows]] = columns
    for surrogate in proposer.surrogates:
        taught = kernels.TaughtStates(members, sizes, surrogate.objective.drops(use))
        kernels.fit_pairs(taught, surrogate.gains, surrogate.pairs, proposer.seen, N_SWEEPS)


@lru_cache(maxsize=64)
def _codes(n: int) -> Ints:
    """Random numbers of n players, the same ones for the same n; a set's code is the sum of its players'."""
    return np.random.default_rng(n).integers(1, 2**56, size=n)
