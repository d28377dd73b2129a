"""`MarkovRandomField`: a pairwise field as frozen arrays, its checks and its evidence."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._base.arrays import Bools, Floats, Ints
from .._base.markup import table_html
from .._base.names import Names, plain_name
from .._base.segments import offsets_of
from ..errors import ContradictionError, InputError, UnknownNameError

if TYPE_CHECKING:
    from .build.factors import Factor
    from .build.request import EdgesLike, PotentialLike, PriorsLike, StatesLike

# how many state names a representation or a message shows
_SHOWN = 6


class Slots(NamedTuple):
    """Directed edges grouped by the variable that sends; slot s carries one message."""

    offsets: Ints  # [N+1] slots of variable v: offsets[v] .. offsets[v+1]
    neighbours: Ints  # [2E] who receives
    reverse: Ints  # [2E] slot of the opposite direction
    tables: Ints  # [2E] 2 * potential, plus 1 where it is read transposed


@dataclass(frozen=True, eq=False, repr=False)
class MarkovRandomField:
    """A pairwise Markov random field: P(x) ∝ Π_i φ_i(x_i) · Π_(i,j) ψ_ij(x_i, x_j).

    Make one with `from_edges`; `observe` gives a new field with evidence. State counts may differ between
    variables. All arrays are read-only.

    References
    ----------
    Koller and Friedman, *Probabilistic Graphical Models*, 2009, section 4.2.
    """

    names: Names  # [N] what the variables are called
    n_states: Ints  # [N] state counts
    log_priors: Floats  # [sum of n_states] log φ in nats, variable after variable; -inf is an exact zero
    edges: Ints  # [E, 2] positions of the two ends
    potential_index: Ints  # [E] row of the table of potentials
    potential_shapes: Ints  # [P, 2] state counts of the first and of the second end
    log_potentials: Floats  # [sum of the tables' sizes] log ψ in nats, table after table, row-major
    state_names: Mapping[int, tuple[Hashable, ...]] | tuple[Hashable, ...] | None  # per variable | all | numbers
    notes: tuple[str, ...] = ()  # what was taken by guess when the field was built, a sentence each
    auxiliary: Bools | None = None  # [N] which only stand for a factor of three or more variables; None: none does

    def __post_init__(self) -> None:
        for array in (self.n_states, self.log_priors, self.edges, self.potential_index):
            array.flags.writeable = False
        self.potential_shapes.flags.writeable = False
        self.log_potentials.flags.writeable = False

    @classmethod
    def from_edges(
        cls,
        edges: "EdgesLike",
        priors: "PriorsLike | None" = None,
        *,
        potential: "PotentialLike | None" = None,
        log_potential: "PotentialLike | None" = None,
        homophily: float | None = None,
        edge_weights: "Sequence[float] | Floats | str | None" = None,
        log_priors: "PriorsLike | None" = None,
        edge_types: "Sequence[Hashable] | None" = None,
        states: "StatesLike | None" = None,
        duplicates: str = "error",
        self_loops: str = "error",
        missing_priors: str = "uniform",
        n_variables: int | None = None,
        names: "Sequence[Hashable] | None" = None,
        source: str | None = None,
        target: str | None = None,
    ) -> "MarkovRandomField":
        """A field from a list or table of edges.

        Parameters
        ----------
        edges
            [E, 2] integer array or tensor (variables are called 0 .. N-1, and so where all entries of a list are
            integers), [2, E] likewise; a list of pairs of names; a data frame of any library or an Arrow stream
            with columns source, target[, type] (or from and to, src and dst, u and v, ..; if no column is called
            so, the first two count, and `notes` says so), whose integers are names; an adjacency matrix of
            scipy.sparse; a graph of networkx or igraph, whose isolated nodes stay.
        priors
            φ, not necessarily normalised: [N, K] array or a list of N rows (names 0 .. N-1; rows may differ in
            length), ``{name: row}``, or a data frame with a name column followed by one column per state.
            A variable without one is uniform.
        potential
            ψ, rows = states of the first end: one [K, K] matrix for all edges; one per edge as a list of
            matrices or [E, K, K]; or ``{type: matrix}``.
        log_potential, log_priors
            The same in nats, instead of `potential` and `priors`; -inf is an exact zero.
        homophily
            Instead of a potential: the probability p that neighbours agree; ψ(x, x) = p, and
            (1 − p)/(K − 1) elsewhere. Needs equal state counts (2 where nothing says otherwise).
        edge_weights
            [E] or the name of a column: how often each edge counts, ψ to the power of the weight. Only
            with `homophily`.
        edge_types
            [E] the type of each edge where `edges` has none and `potential` is ``{type: matrix}``.
        states
            Names of the states, one list for all variables or ``{name: list}``. Default: the columns of a
            frame of priors, else 0 .. K-1.
        duplicates
            What to do where several edges join the same two variables: "error"; "merge" keeps one where
            their potentials are equal (reciprocal rows of a directed table); "multiply" multiplies them.
        self_loops
            "error" or "drop".
        missing_priors
            "uniform", or "error" to insist on a prior for every variable.
        n_variables
            N, where the edges are positions and isolated variables come after the last one that has an edge.
        names
            [N] what the variables are called, where the edges are positions.
        source, target
            Columns of a frame that hold the ends, where they are called otherwise.

        Raises
        ------
        InputError
            Something cannot be used: a prior that is negative, NaN or all zero, a potential whose shape
            does not fit its edge, a missing name, ... The message names the edge or the variable.
        """
        from .build.assembly import build_field
        from .build.request import FieldRequest

        request = FieldRequest(
            edges=edges,
            priors=priors,
            log_priors=log_priors,
            potential=potential,
            log_potential=log_potential,
            homophily=homophily,
            edge_weights=edge_weights,
            edge_types=edge_types,
            states=states,
            duplicates=duplicates,
            self_loops=self_loops,
            missing_priors=missing_priors,
            n_variables=n_variables,
            names=names,
            source=source,
            target=target,
        )
        return cls(*build_field(request))

    @classmethod
    def from_factors(
        cls,
        factors: "Iterable[Factor | tuple[Any, ...]]",
        *,
        variables: "Sequence[Hashable] | Mapping[Hashable, int] | None" = None,
        states: "StatesLike | None" = None,
    ) -> "MarkovRandomField":
        """A field that is the product of factors over any number of variables.

        A factor of three or more variables becomes an auxiliary variable (`factors` names them): exact, and belief
        propagation is that of the factor graph. It comes after the variables, is no player, counts no hop, and is
        left out of beliefs.

        Parameters
        ----------
        factors
            ``(variables, table)`` or ``(variables, table, name)``, such as `Factor`: names, and an array >= 0 with
            one axis per variable. Factors of the same variables are multiplied into one.
        variables
            All variables in their order, or ``{name: number of states}``; default: those of the factors.
        states
            Names of the states, one list for all variables or ``{name: list}``. Default: 0 .. K-1.

        Raises
        ------
        InputError
            A table does not fit its variables, or holds what it must not; the message names the factor.
        ContradictionError
            A table is 0 everywhere.
        TooLargeError
            A table is too large to become an auxiliary variable; the message says how large it is.

        Examples
        --------
        >>> import keyplayers as kp
        >>> xor = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
        >>> mrf = kp.MarkovRandomField.from_factors(
        ...     [(["A", "B", "C"], xor, "parity"), (["A"], [1, 3]), (["B"], [1, 4])]
        ... )
        >>> mrf.variables, mrf.factors
        (('A', 'B', 'C'), ('parity',))
        >>> kp.belief_propagation(mrf).belief("C").round(3).tolist()
        [0.65, 0.35]
        """
        from .build.factors import build_from_factors

        return cls(*build_from_factors(factors, variables=variables, states=states))

    @property
    def n_variables(self) -> int:
        """Number of variables N, the auxiliary ones included."""
        return len(self.n_states)

    @cached_property
    def real(self) -> Bools:
        """[N] which variables are no auxiliary ones."""
        return np.ones(self.n_variables, dtype=bool) if self.auxiliary is None else ~self.auxiliary

    @property
    def variables(self) -> Sequence[Hashable]:
        """Names of the variables without the auxiliary ones."""
        if self.auxiliary is None:
            return self.names
        return tuple(name for name, real in zip(self.names, self.real.tolist(), strict=True) if real)

    @property
    def factors(self) -> tuple[Hashable, ...]:
        """Names of the factors of three or more variables, which are auxiliary variables."""
        if self.auxiliary is None:
            return ()
        return tuple(self.names[v] for v in np.flatnonzero(self.auxiliary).tolist())

    @property
    def priors(self) -> list[Floats]:
        """[N] rows of K numbers: φ of each variable, normalised."""
        rows = np.split(self.log_priors, self.offsets[1:-1]) if self.n_variables else []
        weights = [np.exp(row - row.max()) for row in rows]
        return [row / row.sum() for row in weights]

    @property
    def n_edges(self) -> int:
        """Number of edges E."""
        return len(self.edges)

    @cached_property
    def offsets(self) -> Ints:
        """[N+1] where each variable's states begin in `log_priors`."""
        return offsets_of(self.n_states)

    @cached_property
    def potential_offsets(self) -> Ints:
        """[P+1] where each table begins in `log_potentials`."""
        return offsets_of(self.potential_shapes.prod(axis=1))

    @cached_property
    def uniform_n_states(self) -> int | None:
        """The common state count K, or None where state counts differ."""
        if not self.n_variables:
            return None
        first = int(self.n_states[0])
        return first if bool((self.n_states == first).all()) else None

    @cached_property
    def slots(self) -> Slots:
        """The directed edges, grouped by sender."""
        return index_slots(self.edges, self.potential_index, self.n_variables)

    @cached_property
    def components(self) -> Ints:
        """[N] number of the connected component of each variable."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ones = np.ones(self.n_edges, dtype=bool)
        adjacency = coo_array(
            (ones, (self.edges[:, 0], self.edges[:, 1])), shape=(self.n_variables, self.n_variables)
        )
        labels: Ints = connected_components(adjacency, directed=False)[1]
        return labels

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(self.components.max(initial=-1)) + 1

    @property
    def is_forest(self) -> bool:
        """Whether the graph has no cycle, so that propagation is exact."""
        return self.n_edges < max(self.n_variables, 1) and self.n_edges == self.n_variables - self.n_components

    @cached_property
    def observed(self) -> Bools:
        """[N] whether a variable's prior leaves only one of several states."""
        possible = np.add.reduceat(np.isfinite(self.log_priors), self.offsets[:-1], dtype=np.int64)
        observed: Bools = (possible == 1) & (self.n_states > 1)
        return observed

    def index(self, name: Hashable) -> int:
        """Position of a variable.

        Raises
        ------
        UnknownNameError
            No variable is called so.
        """
        return self.names.find(name)

    def states(self, name: Hashable) -> tuple[Hashable, ...]:
        """Names of a variable's states."""
        return self.states_at(self.index(name))

    def states_at(self, position: int) -> tuple[Hashable, ...]:
        """Names of the states of the variable at `position`."""
        if isinstance(self.state_names, tuple):
            return self.state_names
        own = None if self.state_names is None else self.state_names.get(position)
        return tuple(range(int(self.n_states[position]))) if own is None else own

    def state_index(self, name: Hashable, state: Hashable) -> int:
        """Position of a variable's state, given its name or (where no state is called so) its number.

        Raises
        ------
        UnknownNameError
            The variable has no such state; the message lists those it has.
        """
        names = self.states(name)
        state = plain_name(state)
        if state in names:
            return names.index(state)
        if isinstance(state, int) and not isinstance(state, bool) and 0 <= state < len(names):
            return state
        shown = ", ".join(repr(known) for known in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise UnknownNameError(f"variable {name!r} has no state {state!r}; its states are {shown}")

    def log_prior(self, name: Hashable) -> Floats:
        """[K] log φ of a variable in nats."""
        return self._log_prior_at(self.index(name))

    def log_potential(self, a: Hashable, b: Hashable) -> Floats:
        """[K_a, K_b] log ψ of the edge between two variables in nats, rows = states of `a`.

        Raises
        ------
        UnknownNameError
            A variable or the edge does not exist.
        """
        return self.log_potential_at(self.find_slot(a, b))

    def find_slot(self, a: Hashable, b: Hashable) -> int:
        """The slot of the directed edge from `a` to `b`."""
        sender, receiver = self.index(a), self.index(b)
        slots = self.slots
        begin, end = slots.offsets[sender], slots.offsets[sender + 1]
        found = np.flatnonzero(slots.neighbours[begin:end] == receiver)
        if not found.size:
            raise UnknownNameError(f"there is no edge between {a!r} and {b!r}")
        return int(begin + found[0])

    def log_potential_at(self, slot: int) -> Floats:
        """[K_sender, K_receiver] log ψ of a directed edge in nats."""
        table, transposed = divmod(int(self.slots.tables[slot]), 2)
        begin, end = self.potential_offsets[table : table + 2]
        matrix = self.log_potentials[begin:end].reshape(self.potential_shapes[table])
        return matrix.T if transposed else matrix

    def log_weight(self, assignment: Mapping[Hashable, Hashable]) -> float:
        """log of Π φ · Π ψ for one state of every variable, in nats (-inf where impossible).

        Raises
        ------
        InputError
            A variable is missing.
        """
        missing = [name for name in self.variables if name not in assignment]
        if missing:
            raise InputError(f"the assignment must name every variable; {missing[0]!r} is missing")
        x = np.zeros(self.n_variables, dtype=np.int64)
        for position, name in enumerate(self.names):
            if name in assignment:
                x[position] = self.state_index(name, assignment[name])
        return self.log_weight_at(self._completed(x))

    def _completed(self, x: Ints) -> Ints:
        """[N] states, those of auxiliary variables as the others demand (0 where none is possible)."""
        for v in np.flatnonzero(~self.real).tolist():
            members, entries = self.entries_at(v)
            x[v] = (entries == x[members][:, None]).all(axis=0).argmax()
        return x

    def entries_at(self, position: int) -> tuple[Ints, Ints]:
        """Positions [n] of a factor's variables, and [n, K] the state of each in each state of the factor."""
        begin, end = self.slots.offsets[position : position + 2].tolist()
        entries = [self.log_potential_at(slot).argmax(axis=1) for slot in range(begin, end)]
        return self.slots.neighbours[begin:end].astype(np.int64), np.array(entries, dtype=np.int64)

    def log_weight_at(self, x: Ints) -> float:
        """The same for positions of states [N]."""
        first, second = self.edges[:, 0], self.edges[:, 1]
        cells = self.potential_offsets[self.potential_index] + (
            x[first] * self.potential_shapes[self.potential_index, 1] + x[second]
        )
        return float(self.log_priors[self.offsets[:-1] + x].sum() + self.log_potentials[cells].sum())

    def observe(self, evidence: Any, *, unknown: Literal["error", "skip"] = "error") -> "MarkovRandomField":
        """A new field in which variables are observed.

        Parameters
        ----------
        evidence
            ``{name: state}`` for hard evidence (the state's name, or its number), ``{name: weights [K]}`` for
            soft evidence, which multiplies the prior. Or a frame with a column of names and one of states, or
            one of weights per state (rows without a state say nothing); or a pandas Series of states, names in
            its index.
        unknown
            What to do with names that no variable has: "error", or "skip"; `notes` then counts them.

        Raises
        ------
        UnknownNameError
            No such variable (unless it is skipped) or state.
        InputError
            Weights of the wrong length, negative, NaN or all zero.
        ContradictionError
            The prior excludes what was observed.
        """
        if unknown not in ("error", "skip"):
            raise InputError(f"unknown must be error or skip, got {unknown!r}")
        from .build.evidence import read_evidence

        evidence = read_evidence(evidence, lambda name: self.states(name) if name in self.names else ())
        skipped = [name for name in evidence if name not in self.names] if unknown == "skip" else []
        log_priors = self.log_priors.copy()
        for name, given in evidence.items():
            if unknown == "skip" and name not in self.names:
                continue
            position = self.index(name)
            mine = slice(self.offsets[position], self.offsets[position + 1])
            log_priors[mine] += self._log_evidence(name, given)
            if not np.isfinite(log_priors[mine]).any():
                raise ContradictionError(
                    f"variable {name!r}: its prior excludes the evidence {given!r} "
                    f"(log prior {self.log_priors[mine].tolist()})"
                )
        field = self.with_log_priors(log_priors)
        if not skipped:
            return field
        note = f"evidence for {len(skipped)} unknown names was skipped, such as {skipped[0]!r}"
        return replace(field, notes=(*self.notes, note))

    def with_log_priors(self, log_priors: Floats) -> "MarkovRandomField":
        """The same graph and potentials with other priors (flat, nats)."""
        field = replace(self, log_priors=log_priors)
        for cached in ("offsets", "potential_offsets", "uniform_n_states", "slots", "components", "real"):
            if cached in self.__dict__:
                field.__dict__[cached] = self.__dict__[cached]
        return field

    def _log_prior_at(self, position: int) -> Floats:
        return self.log_priors[self.offsets[position] : self.offsets[position + 1]]

    def _log_evidence(self, name: Hashable, given: Any) -> Floats:
        names = self.states(name)
        is_state = isinstance(given, Hashable) and (given in names or not isinstance(given, Sequence))
        if is_state or isinstance(given, str):
            weights = np.full(len(names), -np.inf)
            weights[self.state_index(name, given)] = 0.0
            return weights
        from .build.priors import log_weights

        weights = log_weights(given, f"the evidence of variable {name!r}")
        if weights.shape != (len(names),):
            raise InputError(
                f"the evidence of variable {name!r} has shape {weights.shape}, but it has {len(names)} states"
            )
        return weights

    def __repr__(self) -> str:
        counts = self.n_states[self.real]
        low, high = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
        states = f"{low} states" if low == high and low else f"{low} to {high} states"
        n_factors = len(self.factors)
        factors = f"{n_factors:,} factor{'s' * (n_factors > 1)} of more than two, " if n_factors else ""
        return (
            f"<MarkovRandomField of {self.n_variables - n_factors:,} variables, {factors}{self.n_edges:,} edges, "
            f"{states}>"
        )

    def _repr_html_(self) -> str:
        n_observed = int(self.observed.sum())
        shown = [name for name, _ in zip(self.names, range(10), strict=False)]
        rows = [[name, ", ".join(map(str, self.states(name))), *self._prior_in_words(name)] for name in shown]
        notes = [f"{n_observed:,} observed", *self.notes]
        return table_html(repr(self)[1:-1], ["variable", "states", "prior", "neighbours"], rows, notes)

    def _prior_in_words(self, name: Hashable) -> list[Any]:
        weights = np.exp(self.log_prior(name))
        position = self.index(name)
        prior = ", ".join(f"{p:.3g}" for p in weights / weights.sum())
        return [prior, int(self.slots.offsets[position + 1] - self.slots.offsets[position])]


def index_slots(edges: Ints, potential_index: Ints, n_variables: int) -> Slots:
    """The slots of edges [E, 2] that have these potentials [E]; those of a variable in the order of its edges."""
    from . import _field_kernels as kernels

    offsets = offsets_of(np.bincount(edges.ravel(), minlength=n_variables))
    n_slots = 2 * len(edges)
    slots = Slots(offsets, *(np.empty(n_slots, dtype=np.int32) for _ in range(3)))
    kernels.fill_slots(_read_only(edges), _read_only(potential_index), offsets[:-1].copy(), slots)
    return slots


def _read_only(array: Ints) -> Ints:
    """The array as a kernel expects it that is compiled once, for the arrays of fields."""
    view = array.view()
    view.flags.writeable = False
    return view
