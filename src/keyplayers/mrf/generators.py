"""Fields to try things on: chains, trees, stars, grids, random and scale-free graphs, each with a seed."""

from dataclasses import dataclass

import numpy as np

from .._base.arrays import Floats, Ints
from .._base.seeding import RandomState, generator
from ..errors import InputError
from .field import MarkovRandomField


def chain_field(
    n: int,
    *,
    n_states: int = 2,
    coupling: float = 1.0,
    coupling_spread: float = 0.0,
    prior_strength: float = 1.0,
    random_state: RandomState = None,
) -> MarkovRandomField:
    """A chain 0 - 1 - ... - n-1.

    Parameters
    ----------
    n
        Number of variables N, called 0 .. N-1.
    n_states
        State count K of every variable.
    coupling
        Log weight of neighbours that agree over neighbours that differ, in nats: ψ(x, x) = exp(coupling), and
        1 elsewhere. Negative values make neighbours differ.
    coupling_spread
        Standard deviation of the coupling from edge to edge, in nats; 0 gives all edges one potential.
    prior_strength
        Standard deviation of the normally distributed log-priors, in nats; 0 makes all priors uniform.
    random_state
        An int, a SeedSequence, a Generator or None.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> import keyplayers as kp
    >>> kp.chain_field(5, n_states=3, random_state=0)
    <MarkovRandomField of 5 variables, 4 edges, 3 states>
    """
    _at_least("n", n, 1)
    here = np.arange(n - 1)
    return _field(
        n,
        np.column_stack([here, here + 1]),
        _Couplings(n_states, coupling, coupling_spread, prior_strength),
        random_state,
    )


def tree_field(
    n: int,
    *,
    branching: int | None = None,
    n_states: int = 2,
    coupling: float = 1.0,
    coupling_spread: float = 0.0,
    prior_strength: float = 1.0,
    random_state: RandomState = None,
) -> MarkovRandomField:
    """A tree rooted in variable 0, in which every other variable hangs on an earlier one.

    Parameters
    ----------
    branching
        Children of every variable, filled level by level; None hangs each variable on an earlier one drawn
        uniformly (a random recursive tree, of depth about e · log n).
    n, n_states, coupling, coupling_spread, prior_strength, random_state
        As in `chain_field`.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> import keyplayers as kp
    >>> kp.tree_field(7, branching=2).edges[:, 0].tolist()
    [0, 0, 1, 1, 2, 2]
    """
    _at_least("n", n, 1)
    rng = generator(random_state)
    child = np.arange(1, n)
    if branching is None:
        parent = rng.integers(0, child) if n > 1 else child
    else:
        _at_least("branching", branching, 1)
        parent = (child - 1) // branching
    return _field(
        n, np.column_stack([parent, child]), _Couplings(n_states, coupling, coupling_spread, prior_strength), rng
    )


def star_field(
    n_leaves: int,
    *,
    n_states: int = 2,
    coupling: float = 1.0,
    coupling_spread: float = 0.0,
    prior_strength: float = 1.0,
    random_state: RandomState = None,
) -> MarkovRandomField:
    """A star: variable 0 in the middle, leaves 1 .. n_leaves around it.

    Parameters
    ----------
    n_leaves
        Number of leaves.
    n_states, coupling, coupling_spread, prior_strength, random_state
        As in `chain_field`.

    Raises
    ------
    InputError
        A number is out of range.
    """
    _at_least("n_leaves", n_leaves, 0)
    leaves = np.arange(1, n_leaves + 1)
    edges = np.column_stack([np.zeros_like(leaves), leaves])
    return _field(
        n_leaves + 1, edges, _Couplings(n_states, coupling, coupling_spread, prior_strength), random_state
    )


def grid_field(
    n_rows: int,
    n_columns: int,
    *,
    periodic: bool = False,
    n_states: int = 2,
    coupling: float = 1.0,
    coupling_spread: float = 0.0,
    prior_strength: float = 1.0,
    random_state: RandomState = None,
) -> MarkovRandomField:
    """A grid in which every variable touches those above, below, left and right of it.

    Parameters
    ----------
    n_rows, n_columns
        Size; the variable in row r and column c is called ``r * n_columns + c``.
    periodic
        Whether opposite borders touch (needs at least 3 rows and 3 columns).
    n_states, coupling, coupling_spread, prior_strength, random_state
        As in `chain_field`.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> import keyplayers as kp
    >>> kp.grid_field(3, 4, random_state=0)
    <MarkovRandomField of 12 variables, 17 edges, 2 states>
    """
    _at_least("n_rows", n_rows, 3 if periodic else 1)
    _at_least("n_columns", n_columns, 3 if periodic else 1)
    number = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    if periodic:
        down = number, np.roll(number, -1, axis=0)
        right = number, np.roll(number, -1, axis=1)
    else:
        down = number[:-1], number[1:]
        right = number[:, :-1], number[:, 1:]
    edges = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in (right, down)])
    return _field(
        number.size, edges, _Couplings(n_states, coupling, coupling_spread, prior_strength), random_state
    )


def random_field(
    n: int,
    n_edges: int,
    *,
    n_states: int = 2,
    coupling: float = 1.0,
    coupling_spread: float = 0.0,
    prior_strength: float = 1.0,
    random_state: RandomState = None,
) -> MarkovRandomField:
    """A random graph with a given number of edges, every such graph equally likely (Erdős and Rényi's G(n, m)).

    Parameters
    ----------
    n_edges
        Number of edges E, at most n · (n − 1) / 2.
    n, n_states, coupling, coupling_spread, prior_strength, random_state
        As in `chain_field`.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> import keyplayers as kp
    >>> kp.random_field(100, 150, random_state=0)
    <MarkovRandomField of 100 variables, 150 edges, 2 states>
    """
    _at_least("n", n, 1)
    _at_least("n_edges", n_edges, 0)
    n_pairs = n * (n - 1) // 2
    if n_edges > n_pairs:
        raise InputError(f"{n} variables have {n_pairs} pairs, so n_edges must not be {n_edges}")
    rng = generator(random_state)
    edges = _pairs(rng.choice(n_pairs, size=n_edges, replace=False, shuffle=False)) if n_edges else _NO_EDGES
    return _field(n, edges, _Couplings(n_states, coupling, coupling_spread, prior_strength), rng)


def scale_free_field(
    n: int,
    *,
    edges_per_variable: int = 2,
    n_states: int = 2,
    coupling: float = 1.0,
    coupling_spread: float = 0.0,
    prior_strength: float = 1.0,
    random_state: RandomState = None,
) -> MarkovRandomField:
    """A graph with a power law of degrees, grown by preferential attachment.

    Each variable joins earlier ones, drawn with probability proportional to their degree. Where it draws the
    same one twice the edge is kept once, so there may be a few edges fewer than `n` · `edges_per_variable`.

    Parameters
    ----------
    edges_per_variable
        Edges that each new variable brings.
    n, n_states, coupling, coupling_spread, prior_strength, random_state
        As in `chain_field`.

    Raises
    ------
    InputError
        A number is out of range.

    References
    ----------
    Barabási and Albert, Science 286 (1999), doi:10.1126/science.286.5439.509; drawn in linear time as in
    Batagelj and Brandes, Phys. Rev. E 71 (2005), doi:10.1103/PhysRevE.71.036113, section III.
    """
    _at_least("n", n, 1)
    _at_least("edges_per_variable", edges_per_variable, 1)
    rng = generator(random_state)
    edges = _attach(n, edges_per_variable, rng)
    return _field(n, edges, _Couplings(n_states, coupling, coupling_spread, prior_strength), rng)


_NO_EDGES: Ints = np.zeros((0, 2), dtype=np.int64)


def _at_least(name: str, given: int, lowest: int) -> None:
    """Refuse a number that is too small.

    Raises
    ------
    InputError
        Naming the argument.
    """
    if given < lowest:
        raise InputError(f"{name} must be at least {lowest}, got {given}")


def _pairs(codes: Ints) -> Ints:
    """[E, 2] the pairs a < b that codes 0 .. n·(n−1)/2 − 1 stand for: b·(b−1)/2 + a."""
    high = ((1 + np.sqrt(8.0 * codes + 1)) / 2).astype(np.int64)
    # the square root may be off by rounding
    high -= high * (high - 1) // 2 > codes
    high += (high + 1) * high // 2 <= codes
    return np.column_stack([codes - high * (high - 1) // 2, high])


def _attach(n: int, m: int, rng: np.random.Generator) -> Ints:
    """[E, 2] edges of preferential attachment.

    The ends of all edges stand in one list, variable v's edges at 2m(v−1) .. 2mv. A uniform draw from the
    part of the list before v is a draw by degree. Draws point to earlier places, so they are followed until
    they reach a place that says its variable.
    """
    new = np.repeat(np.arange(1, n), m)
    # place 2i holds new[i]; place 2i + 1 holds what place drawn[i] holds. Variable 1 can only join 0.
    drawn = rng.integers(0, np.maximum(2 * m * (new - 1), 1))
    while True:
        follow = (drawn % 2 == 1) & (new > 1)
        follow &= drawn >= 2 * m  # odd places of variable 1's edges hold variable 0
        if not follow.any():
            break
        drawn[follow] = drawn[drawn[follow] // 2]
    joined = np.where(drawn % 2 == 0, new[drawn // 2], 0)
    joined[new == 1] = 0
    codes = np.unique(new * np.int64(n) + joined)
    return np.column_stack([codes % n, codes // n])


@dataclass(frozen=True)
class _Couplings:
    """What priors and potentials are drawn from; see `chain_field`."""

    n_states: int
    coupling: float  # nats
    coupling_spread: float  # nats
    prior_strength: float  # nats

    def __post_init__(self) -> None:
        _at_least("n_states", self.n_states, 1)
        for name in ("coupling_spread", "prior_strength"):
            given = getattr(self, name)
            if not 0 <= given < np.inf:
                raise InputError(f"{name} must be a finite number of nats ≥ 0, got {given}")
        if not np.isfinite(self.coupling):
            raise InputError(f"coupling must be a finite number of nats, got {self.coupling}")


def _field(n: int, edges: Ints, couplings: _Couplings, random_state: RandomState) -> MarkovRandomField:
    """Potentials and priors for a graph."""
    rng = generator(random_state)
    agree = np.eye(couplings.n_states)
    potential: Floats
    if couplings.coupling_spread:
        potential = rng.normal(couplings.coupling, couplings.coupling_spread, len(edges))[:, None, None] * agree
    else:
        potential = couplings.coupling * agree
    log_priors = rng.normal(0.0, couplings.prior_strength, (n, couplings.n_states))
    return MarkovRandomField.from_edges(edges, log_priors=log_priors, log_potential=potential)
