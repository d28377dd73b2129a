"""The walk game by independent draws: any state counts, zeros, any size.

A draw decides for every copy of the tree of walks whether it is there; the way to a copy made to be there, the
others as drawn, is a draw of the coalitions that hold it. So every copy gets a contribution in every draw,
values are plain means, and draws are independent: the standard error of a variable is that of the sums over its
copies.
"""

from dataclasses import dataclass

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.seeding import RandomState, generator
from ...errors import InputError
from ...mrf.field import MarkovRandomField
from ..game.walk_tree import WalkTree
from ..game.worth import Worth
from . import _walk_sampling_kernels as kernels
from .walk_convolution import LAWS

# Draws between two looks at the standard errors.
_BLOCK = 64
# Standard error wanted of the five largest values, as a share of the largest.
_GOAL, _TOP = 0.01, 5
_MAX_DRAWS = 20_000


@dataclass(frozen=True, eq=False)
class SampledValues:
    """One entry per player, in the order of `players`."""

    players: Ints  # [n] positions in the field
    values: Floats  # [n]
    std_errors: Floats  # [n] of independent draws
    probabilistic: Floats  # [n]
    direction: Floats  # [n]
    n_draws: int
    worth_min: float
    worth_max: float


def sample_walks(
    tree: WalkTree,
    worth: Worth,
    direction: Worth,
    *,
    law: str = "uniform",
    max_draws: int | None = None,
    random_state: RandomState = None,
) -> SampledValues:
    """Values of all variables that have a copy.

    Parameters
    ----------
    law
        "uniform", "shapley" or "efficient", see walk_convolution.py.
    max_draws
        Draws to make; default: until the five largest values have a standard error of 1 % of the largest, at
        most 20,000.

    Raises
    ------
    InputError
        There is no such law, or fewer than two draws are asked for.
    """
    if law not in LAWS:
        raise InputError(f"law must be one of {', '.join(LAWS)}, got {law!r}")
    if max_draws is not None and max_draws < 2:
        raise InputError(f"max_draws must be at least 2, got {max_draws}")
    rng = generator(random_state)
    players, forest = _pack(tree)
    question = kernels.Question(
        np.array([worth.code, direction.code]),
        np.array([worth.state, direction.state]),
        np.array([worth.rival, direction.rival]),
        worth.log_belief,
    )
    n = len(players)
    tally = kernels.Tally(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.array([np.inf, -np.inf]))
    work = _room(tree, forest, n)
    done = 0
    while done < (max_draws or _MAX_DRAWS):
        block = min(_BLOCK, (max_draws or _MAX_DRAWS) - done)
        kernels.draw(block, LAWS.index(law), rng, forest, question, tally, work)
        done += block
        if max_draws is None and _is_sure(tally, done):
            break
    return SampledValues(
        players,
        tally.values / done,
        _std_errors(tally, done),
        tally.probabilistic / done,
        tally.directions / done,
        done,
        float(tally.lowest[0]),
        float(tally.lowest[1]),
    )


def _std_errors(tally: kernels.Tally, n_draws: int) -> Floats:
    spread = np.maximum(tally.squares - tally.values**2 / n_draws, 0.0)
    errors: Floats = np.sqrt(spread / (n_draws * (n_draws - 1)))
    return errors


def _is_sure(tally: kernels.Tally, n_draws: int) -> bool:
    sizes = np.abs(tally.values) / n_draws
    top = np.argsort(-sizes)[:_TOP]
    return bool((_std_errors(tally, n_draws)[top] <= _GOAL * sizes.max(initial=0.0)).all())


def _pack(tree: WalkTree) -> tuple[Ints, kernels.Forest]:
    mrf, t = tree.mrf, tree.variables
    players, position = np.unique(t[1:], return_inverse=True)
    n_states = mrf.n_states[t].astype(np.int64)
    k = tree.boundary.shape[1]
    states = np.arange(k)
    inside = states < n_states[:, None]
    cells = np.minimum(mrf.offsets[t][:, None] + states, len(mrf.log_priors) - 1)
    priors = np.where(inside, mrf.log_priors[cells], -np.inf)
    boundary = np.where(inside, tree.boundary, -np.inf)
    tables, index = np.unique(mrf.slots.tables[tree.slots[1:]], return_inverse=True)
    chances = np.exp(-np.logaddexp(0.0, -tree.log_subtrees))
    n_children = np.diff(tree.children)
    inner = np.where(n_children > 0, np.cumsum(n_children > 0) - 1, -1)
    return players, kernels.Forest(
        tree.children.astype(np.int64),
        tree.parents,
        inner,
        np.append(-1, position.ravel()),
        tree.depths,
        n_states,
        _scaled(priors + boundary),
        _scaled(boundary),
        np.append(0, index.ravel()),
        _directed(mrf, tables, k),
        chances,
    )


def _scaled(logs: Floats) -> Floats:
    scaled: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return scaled


def _directed(mrf: MarkovRandomField, tables: Ints, k: int) -> Floats:
    """[P, K, K] the potentials that are used, rows = states of the sender."""
    psi = np.zeros((len(tables), k, k))
    for i, table in enumerate(tables.tolist()):
        begin, end = mrf.potential_offsets[table >> 1], mrf.potential_offsets[(table >> 1) + 1]
        weights = np.exp(mrf.log_potentials[begin:end] - mrf.log_potentials[begin:end].max())
        weights = weights.reshape(mrf.potential_shapes[table >> 1])
        weights = weights.T if table & 1 else weights
        psi[i, : weights.shape[0], : weights.shape[1]] = weights
    return psi


def _room(tree: WalkTree, forest: kernels.Forest, n_players: int) -> kernels.Work:
    n, k = forest.own.shape
    n_inner = int(forest.inner.max()) + 1
    widest = max(1, int(np.diff(tree.children).max()))
    return kernels.Work(
        np.zeros(n, dtype=np.bool_),
        np.zeros((n, k)),
        np.zeros((n, k)),
        np.zeros((max(1, n_inner), k, k)),
        np.zeros((widest, k)),
        np.zeros(n_players),
    )
