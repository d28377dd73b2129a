"""What the caller of `MarkovRandomField.from_edges` asks for, checked as far as one argument shows it."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..._base.names import Names
from ...errors import InputError

EdgesLike: TypeAlias = Any  # array, sequence of pairs, data frame, sparse matrix or graph of any library
PriorsLike: TypeAlias = Any  # array, sequence of rows, mapping, or a data frame
PotentialLike: TypeAlias = Any  # array, sequence of arrays, or mapping
StatesLike: TypeAlias = Sequence[Hashable] | Mapping[Hashable, Sequence[Hashable]]

_POLICIES = {
    "duplicates": ("error", "merge", "multiply"),
    "self_loops": ("error", "drop"),
    "missing_priors": ("uniform", "error"),
}


@dataclass(frozen=True, kw_only=True)
class FieldRequest:
    """The arguments of `MarkovRandomField.from_edges`, under the same names."""

    edges: EdgesLike
    priors: PriorsLike | None
    log_priors: PriorsLike | None
    potential: PotentialLike | None
    log_potential: PotentialLike | None
    homophily: float | None
    edge_weights: Any
    edge_types: Sequence[Hashable] | None
    states: StatesLike | None
    duplicates: str
    self_loops: str
    missing_priors: str
    n_variables: int | None
    names: Sequence[Hashable] | None
    source: str | None
    target: str | None

    def __post_init__(self) -> None:
        for option, allowed in _POLICIES.items():
            if getattr(self, option) not in allowed:
                raise InputError(f"{option} must be one of {', '.join(allowed)}, got {getattr(self, option)!r}")
        if self.priors is not None and self.log_priors is not None:
            raise InputError("give priors or log_priors, not both")
        if self.n_potentials > 1:
            raise InputError("give one of potential, log_potential and homophily, not several")
        if self.edge_weights is not None and self.homophily is None:
            raise InputError("edge_weights go with homophily")
        object.__setattr__(self, "states", _listed(self.states))
        if self.names is not None:
            object.__setattr__(self, "names", Names(self.names))
            if self.n_variables not in (None, len(self.names)):
                raise InputError(f"there are {len(self.names)} names, but n_variables={self.n_variables}")

    @property
    def n_potentials(self) -> int:
        """In how many ways the potential was given."""
        return sum(given is not None for given in (self.potential, self.log_potential, self.homophily))

    @property
    def given_potential(self) -> PotentialLike | None:
        """The potential, in whichever domain."""
        return self.potential if self.log_potential is None else self.log_potential

    @property
    def typed(self) -> bool:
        """Whether edges need a type."""
        return isinstance(self.given_potential, Mapping)


def _listed(states: Any) -> StatesLike | None:
    if states is None or isinstance(states, Sequence | Mapping):
        return states
    try:
        return list(states)
    except TypeError:
        raise InputError(f"states must be a list of names, or {{name: list}}, got {states!r}") from None
