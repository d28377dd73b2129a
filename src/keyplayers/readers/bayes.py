"""Bayesian networks on their way between files and fields: one conditional table per variable."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .._base.arrays import Floats
from .._base.names import Names
from ..errors import FileFormatError, InputError
from ..mrf.build.factors import Factor, LogFactor
from ..mrf.factors import factors_of
from ..mrf.field import MarkovRandomField
from .texts import make_field

# sums of a distribution may be so far from 1
_TOLERANCE = 1e-6


class Conditional(NamedTuple):
    """P(variable | parents)."""

    variable: Hashable
    parents: Sequence[Hashable]
    table: Floats  # [K_parent, .., K_variable]


@dataclass
class Network:
    """What a file says of a network, as it is read."""

    states: dict[str, tuple[str, ...]] = field(default_factory=dict)
    factors: list[LogFactor] = field(default_factory=list)
    told: set[str] = field(default_factory=set)  # variables whose conditional table was read

    def to_field(self, path: str) -> MarkovRandomField:
        """The network as a field.

        Raises
        ------
        FileFormatError
            A variable has no conditional table.
        """
        missing = [name for name in self.states if name not in self.told]
        if missing:
            raise FileFormatError(f"{path}: variable {missing[0]!r} has no probability ({len(missing)} such)")
        counts = [len(own) for own in self.states.values()]
        states = dict(enumerate(self.states.values()))
        return make_field(path, Names(list(self.states)), counts, self.factors, states)

    def shape(self, variables: Sequence[str]) -> list[int]:
        """State counts of some variables."""
        return [len(self.states[name]) for name in variables]

    def add(self, variable: str, parents: Sequence[str], log_table: Floats) -> None:
        """A conditional table [K_parent, .., K_variable], in nats."""
        position = {name: v for v, name in enumerate(self.states)}
        scope = tuple(position[name] for name in (*parents, variable))
        self.factors.append(LogFactor(scope, log_table, conditional_name(variable, parents)))
        self.told.add(variable)


def conditional_name(variable: Hashable, parents: Sequence[Hashable]) -> str:
    """What the factor of a conditional table is called."""
    return f"P({variable} | {', '.join(map(str, parents))})" if parents else f"P({variable})"


def conditionals(mrf: MarkovRandomField) -> list[Conditional]:
    """The conditional tables that a field is the product of, parents before children.

    Raises
    ------
    InputError
        It is no Bayesian network.

    Notes
    -----
    A variable that only one factor is about, which sums to 1 over its states, has no children: the factor is its
    conditional table, and what is left is a network without it. So they are taken off one by one.
    """
    factors = dict(enumerate(factors_of(mrf)))
    about: dict[Hashable, set[int]] = {name: set() for name in mrf.variables}
    for i, factor in factors.items():
        for name in factor.variables:
            about[name].add(i)
    found: list[Conditional] = []
    waiting = list(mrf.variables)
    while waiting:
        name = waiting.pop()
        if name not in about or len(about[name]) > 1:
            continue
        own = about.pop(name)
        if not own:
            k = len(mrf.states(name))
            found.append(Conditional(name, (), np.full(k, 1.0 / k)))
            continue
        i = own.pop()
        conditional = _as_conditional(factors[i], name)
        if conditional is None:
            about[name] = {i}
            continue
        found.append(conditional)
        for parent in conditional.parents:
            about[parent].discard(i)
            waiting.append(parent)
    if about:
        raise InputError(
            f"this field is no Bayesian network: no table is the distribution of {next(iter(about))!r} given "
            "others (evidence must not be part of it); write it as .uai or .fg"
        )
    return found[::-1]


def _as_conditional(factor: Factor, name: Hashable) -> Conditional | None:
    axis = list(factor.variables).index(name)
    table = np.moveaxis(np.asarray(factor.table), axis, -1)
    if not np.allclose(table.sum(axis=-1), 1.0, rtol=0, atol=_TOLERANCE):
        return None
    return Conditional(name, [other for other in factor.variables if other != name], table)


def texts(names: Sequence[Hashable], what: str) -> list[str]:
    """Names as texts.

    Raises
    ------
    InputError
        Two of them are spelled the same.
    """
    written = [str(name) for name in names]
    if len(set(written)) < len(written):
        raise InputError(f"names of {what} must differ as texts, got {', '.join(map(repr, names[:6]))}")
    return written
