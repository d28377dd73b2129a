"""Factors over any number of variables: what a field is made of, where it is not given by its edges.

A factor of three or more variables becomes an *auxiliary variable* of the pairwise field: one state for each
possible entry of its table, the table as its prior, and an edge to each of its variables that lets only entries
pass that agree with the variable's state. Marginals are the same, and belief propagation sends the messages of the
factor graph.
"""

from collections.abc import Hashable

import numpy as np

from .._base.arrays import Floats
from ..errors import UnknownNameError
from .build.factors import Factor
from .field import MarkovRandomField


def factors_of(mrf: MarkovRandomField) -> list[Factor]:
    """The factors that a field is a product of: priors that say something, edges, factors of more variables.

    Returns
    -------
    list of Factor
        Tables are exp of the field's logarithms; one that would overflow, or be 0 everywhere, has its largest
        entry scaled to 1.
    """
    real = mrf.real
    found = []
    for v in np.flatnonzero(real).tolist():
        log_prior = mrf.log_priors[mrf.offsets[v] : mrf.offsets[v + 1]]
        if log_prior.any():
            found.append(Factor((mrf.names[v],), _exp(log_prior)))
    for e, (a, b) in enumerate(mrf.edges.tolist()):
        if real[a] and real[b]:
            p = mrf.potential_index[e]
            cells = mrf.log_potentials[mrf.potential_offsets[p] : mrf.potential_offsets[p + 1]]
            found.append(Factor((mrf.names[a], mrf.names[b]), _exp(cells.reshape(mrf.potential_shapes[p]))))
    return found + [factor_of(mrf, mrf.names[v]) for v in np.flatnonzero(~real).tolist()]


def factor_of(mrf: MarkovRandomField, name: Hashable) -> Factor:
    """The factor that an auxiliary variable stands for, with its table.

    Raises
    ------
    UnknownNameError
        No factor of more than two variables is called so.
    """
    v = mrf.index(name)
    if mrf.real[v]:
        raise UnknownNameError(f"{name!r} is a variable; {_shown(mrf)}")
    members, entries = mrf.entries_at(v)
    logs = np.full(mrf.n_states[members], -np.inf)
    logs[tuple(entries)] = mrf.log_priors[mrf.offsets[v] : mrf.offsets[v + 1]]
    return Factor(tuple(mrf.names[int(u)] for u in members), _exp(logs), name)


def _exp(logs: Floats) -> Floats:
    top = logs.max()
    with np.errstate(over="ignore", under="ignore"):
        table = np.exp(logs)
    scaled: Floats = table if np.isfinite(table).all() and table.any() else np.exp(logs - top)
    return scaled


def _shown(mrf: MarkovRandomField) -> str:
    names = mrf.factors
    return f"factors of more than two variables are {', '.join(map(repr, names[:6]))}" if names else "no factor"
