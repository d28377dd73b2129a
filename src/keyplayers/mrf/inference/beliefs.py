"""`BeliefState`: what inference knows when it stops, and what can be read off it."""

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.frames import make_frame
from ..._base.markup import table_html
from ...errors import InputError, PrecisionWarning
from ..field import MarkovRandomField


class Decoding(NamedTuple):
    """A jointly most likely assignment, what it weighs, and what no assignment can exceed."""

    states: Ints  # [N]
    log_weight: float  # nats; -inf where it is impossible
    log_bound: float  # nats; equal to `log_weight` where the assignment is known to be a most likely one

    @property
    def gap(self) -> float:
        """By how many nats a better assignment could exceed this one."""
        return 0.0 if self.log_bound == self.log_weight else self.log_bound - self.log_weight


class Doubt(NamedTuple):
    """A variable that is surer than it should be, since the field has several fixed points."""

    variable: Hashable
    state: Hashable  # the one that is believed
    log_odds: float  # nats by which it is believed over the next
    weighed: float  # ... and by which it should be, by the Bethe log Z with the variable held in either state

    def __str__(self) -> str:
        return (
            f"propagation has several fixed points: variable {self.variable!r} is believed to be {self.state!r} "
            f"with log-odds of {self.log_odds:.1f} nats, but weighing its states against each other gives "
            f"{self.weighed:.1f}; other starts or schedules may end at the opposite"
        )


class Origin(Protocol):
    """Where beliefs come from: messages of belief propagation, or a calibrated clique tree."""

    @property
    def log_partition(self) -> float:
        """log Z in nats, exact or an approximation."""

    def edge_belief(self, slot: int) -> Floats:
        """[K_sender, K_receiver] belief of both ends of a directed edge."""

    def mode(self) -> Decoding:
        """A most likely assignment."""


@dataclass(frozen=True)
class MarginalsOnly:
    """Beliefs of an algorithm that knows no more than the probabilities of single variables."""

    algorithm: str

    @property
    def log_partition(self) -> float:
        """Unknown: NaN."""
        return np.nan

    def edge_belief(self, slot: int) -> Floats:
        """Refused."""
        raise InputError(f"{self.algorithm} gives beliefs of variables, not of edges")

    def mode(self) -> Decoding:
        """Refused."""
        raise InputError(f"{self.algorithm} gives beliefs of variables, not a jointly most likely assignment")


@dataclass(frozen=True, eq=False, repr=False)
class BeliefState:
    """Beliefs of all variables, and how they were found."""

    mrf: MarkovRandomField
    log_beliefs: Floats  # [sum of K] log b in nats, variable after variable; -inf is an exact zero
    origin: Origin
    schedule: str  # "two-pass", "flooding", "sequential", "residual"; "exact"; or what another algorithm is called
    converged: bool
    exact: bool  # whether the beliefs are the marginals (forests, exact inference)
    residuals: Floats = field(default_factory=lambda: np.zeros(0))  # [sweeps] largest change of a probability
    log_residuals: Floats = field(default_factory=lambda: np.zeros(0))  # [sweeps] ... of a log ratio, in nats
    damping: float = 0.0
    max_product: bool = False
    tolerance: float = 0.0  # on `log_residuals`
    start: str = "cold"  # "cold": uniform messages; "warm": those of another state
    doubt: Doubt | None = None  # a hub that is surer than it should be, where one was noticed

    @classmethod
    def from_marginals(
        cls,
        mrf: MarkovRandomField,
        marginals: Any,
        *,
        schedule: str,
        converged: bool = True,
        exact: bool = False,
    ) -> "BeliefState":
        """A state of another algorithm's probabilities.

        Parameters
        ----------
        marginals
            [N, K], or N rows of K probabilities each; normalised here.
        schedule
            What the algorithm is called.

        Raises
        ------
        InputError
            A row is missing, has another length than its variable has states, or holds no probabilities.
        """
        rows = [np.asarray(row, dtype=np.float64) for row in marginals]
        if len(rows) != mrf.n_variables:
            raise InputError(f"there must be {mrf.n_variables} rows of marginals, got {len(rows)}")
        for position, row in enumerate(rows):
            if (
                row.shape != (mrf.n_states[position],)
                or not (np.isfinite(row) & (row >= 0)).all()
                or not row.any()
            ):
                raise InputError(
                    f"the marginals of variable {mrf.names[position]!r} must be {mrf.n_states[position]} numbers "
                    f">= 0, not all 0, got {row.tolist()}"
                )
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([row / row.sum() for row in rows])) if rows else np.zeros(0)
        return cls(mrf, logs, MarginalsOnly(schedule), schedule, converged, exact)

    @property
    def n_sweeps(self) -> int:
        """How many sweeps were made: rounds in which every variable that took part sent once."""
        return len(self.residuals)

    @property
    def log_partition(self) -> float:
        """log Z in nats: the Bethe approximation, exact on forests.

        After max-product it is the log weight of the assignment that `map` gives instead: on forests that of the
        best one.

        References
        ----------
        Yedidia, Freeman and Weiss, IEEE Trans. Inf. Theory 51 (2005), doi:10.1109/TIT.2005.850085, eq. 37.
        """
        return self.origin.log_partition

    @property
    def log_partition_bounds(self) -> tuple[float, float]:
        """Numbers between which log Z is proven to lie, in nats; infinite where nothing is known.

        The same number twice where it is exact. Tree-reweighted propagation bounds it from above, and asks mean
        field for the other side; mean field bounds it from below.
        """
        if self.exact and not self.max_product and np.isfinite(self.log_partition):
            return self.log_partition, self.log_partition
        bounds: tuple[float, float] = getattr(self.origin, "log_partition_bounds", (-np.inf, np.inf))
        return bounds

    @property
    def std_errors(self) -> Floats:
        """[sum of K] standard errors of beliefs, flat as `log_beliefs`: 0 where exact, NaN where nobody knows."""
        unknown = np.full(len(self.log_beliefs), 0.0 if self.exact else np.nan)
        errors: Floats = getattr(self.origin, "std_errors", unknown)
        return errors

    @cached_property
    def beliefs(self) -> Any:
        """Probabilities: an array [N, K], or a list of N arrays where state counts differ.

        One row per variable in the order of `mrf.variables`: auxiliary ones have none.
        """
        flat = np.exp(self.log_beliefs)
        if self.mrf.auxiliary is not None:
            rows = np.split(flat, self.mrf.offsets[1:-1])
            own = [rows[v] for v in np.flatnonzero(self.mrf.real).tolist()]
            return np.array(own) if len({len(row) for row in own}) == 1 else own
        k = self.mrf.uniform_n_states
        if k is not None:
            return flat.reshape(-1, k)
        return np.split(flat, self.mrf.offsets[1:-1]) if self.mrf.n_variables else np.zeros((0, 0))

    def belief(self, name: Hashable) -> Floats:
        """[K] probabilities of one variable's states.

        Raises
        ------
        UnknownNameError
            No variable is called so.
        """
        return np.exp(self.log_belief(name))

    def log_belief(self, name: Hashable) -> Floats:
        """[K] log probabilities of one variable's states, in nats."""
        position = self.mrf.index(name)
        return self.log_beliefs[self.mrf.offsets[position] : self.mrf.offsets[position + 1]]

    def edge_belief(self, a: Hashable, b: Hashable) -> Floats:
        """[K_a, K_b] probabilities of two neighbours' states together.

        Raises
        ------
        UnknownNameError
            A variable or the edge does not exist.
        """
        return self.origin.edge_belief(self.mrf.find_slot(a, b))

    def map(self) -> dict[Hashable, Hashable]:
        """A jointly most likely assignment: variable to state.

        Exact on forests, after `exact_marginals`, and where elimination is cheap. Elsewhere the best that a search
        finds: `decoding.log_weight` says what it weighs, `decoding.gap` how many nats more a better one could
        weigh (0 where it is known to be the best). Not the same as `most_likely_states`: the most likely state of
        each variable may not go together.

        Warns
        -----
        PrecisionWarning
            No possible assignment was found.
        """
        decoding = self.decoding
        if decoding.log_weight == -np.inf:
            warnings.warn(
                "map() found no possible assignment; exact_marginals tells whether there is one, where feasible",
                PrecisionWarning,
                stacklevel=2,
            )
        return self._named(decoding.states)

    @cached_property
    def decoding(self) -> Decoding:
        """The assignment of `map` as positions [N], its log weight, and a bound on that of any other (nats)."""
        return self.origin.mode()

    def most_likely_states(self) -> dict[Hashable, Hashable]:
        """The most likely state of each variable by itself (ties: the first)."""
        offsets = self.mrf.offsets
        k = self.mrf.uniform_n_states
        if k is not None:
            best = self.log_beliefs.reshape(-1, k).argmax(axis=1)
        else:
            best = np.array([self.log_beliefs[a:b].argmax() for a, b in pairwise(offsets)])
        return self._named(best)

    def to_frame(self, backend: str = "pandas") -> Any:
        """One row per variable: name and one column per state, with its probability.

        Where state counts or state names differ: one row per variable and state (name, state, belief).

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow".
        """
        return make_frame(belief_columns(self), backend)

    @cached_property
    def caveat(self) -> str:
        """How far the beliefs can be trusted, in one sentence; empty where they are exact."""
        from .caveats import caveat

        return caveat(self)

    def _named(self, chosen: Ints) -> dict[Hashable, Hashable]:
        mrf = self.mrf
        return {mrf.names[i]: mrf.states_at(i)[int(chosen[i])] for i in np.flatnonzero(mrf.real).tolist()}

    def __repr__(self) -> str:
        how = "exact" if self.exact else ("converged, with cycles" if self.converged else "NOT converged")
        residual = f", residual {self.residuals[-1]:.2g}" if self.n_sweeps else ""
        return (
            f"<BeliefState of {self.mrf.n_variables:,} variables: {self.schedule}, {self.n_sweeps} sweeps"
            f"{residual}, {how}>"
        )

    def _repr_html_(self) -> str:
        rows = []
        for name, _ in zip(self.mrf.names, range(10), strict=False):
            belief = self.belief(name)
            best = int(belief.argmax())
            rows.append([name, self.mrf.states(name)[best], float(belief[best])])
        notes = [self.caveat] if self.caveat else []
        return table_html(repr(self)[1:-1], ["variable", "most believed", "probability"], rows, notes)


def belief_columns(state: BeliefState) -> dict[str, Any]:
    """The beliefs as columns of a table, see `BeliefState.to_frame`."""
    mrf = state.mrf
    common = common_states(mrf)
    if common is not None:
        columns = {"name": list(mrf.variables)}
        rows = state.beliefs
        for i, given in enumerate(common):
            if str(given) in columns:
                raise InputError(f"a state must not be called {given!r} in a table: there is such a column")
            columns[str(given)] = rows[:, i]
        return columns
    real = np.flatnonzero(mrf.real)
    return {
        "name": [mrf.names[i] for i in np.repeat(real, mrf.n_states[real]).tolist()],
        "state": [str(given) for i in real.tolist() for given in mrf.states_at(i)],
        "belief": np.concatenate([np.zeros(0), *state.beliefs]),
    }


def common_states(mrf: MarkovRandomField) -> tuple[Hashable, ...] | None:
    """The states of all variables but auxiliary ones, where they are called the same; else None."""
    if mrf.auxiliary is None and not isinstance(mrf.state_names, Mapping):
        return None if mrf.uniform_n_states is None else mrf.states_at(0)
    kinds = {mrf.states_at(i) for i in np.flatnonzero(mrf.real).tolist()}
    return kinds.pop() if len(kinds) == 1 else None
