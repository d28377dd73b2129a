"""Models of other libraries, recognised by the names of their types: nothing is imported for it."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..mrf.build.factors import Factor
from ..mrf.field import MarkovRandomField
from .bayes import conditional_name


def reader_of(source: Any) -> Callable[..., MarkovRandomField] | None:
    """What reads an object of this kind; None where it is no model."""
    for kind in type(source).__mro__:
        found = _KINDS.get((kind.__module__.partition(".")[0].lower(), kind.__name__))
        if found is not None:
            return found
    return None


def _model(
    factors: Sequence[Factor],
    states: Mapping[Hashable, Sequence[Hashable]],
    source: Any,
    options: Mapping[str, Any],
) -> MarkovRandomField:
    if options:
        raise InputError(f"a {type(source).__name__} is a whole model, so it takes no {', '.join(options)}")
    counts = {name: len(own) for name, own in states.items()}
    numbered = all(list(own) == list(range(len(own))) for own in states.values())
    return MarkovRandomField.from_factors(factors, variables=counts, states=None if numbered else dict(states))


# --- pgmpy


def _from_pgmpy(network: Any, **options: Any) -> MarkovRandomField:
    """A Bayesian or Markov network, or a factor graph."""
    directed = hasattr(network, "get_cpds")
    given = network.get_cpds() if directed else network.get_factors()
    states: dict[Hashable, list[Hashable]] = {}
    factors = [_pgmpy_factor(factor, states, directed) for factor in given]
    # a factor graph has factors for nodes too
    variables = list(states) if hasattr(network, "get_factor_nodes") else list(network.nodes())
    missing = [name for name in variables if name not in states]
    if missing:
        raise InputError(f"variable {missing[0]!r} of the {type(network).__name__} has no factor")
    return _model(factors, {name: states[name] for name in variables}, network, options)


def _pgmpy_factor(factor: Any, states: dict[Hashable, list[Hashable]], directed: bool) -> Factor:
    """One factor, its axes in the order of the states seen first. Writes: states."""
    table = np.asarray(factor.values, dtype=np.float64)
    for axis, name in enumerate(factor.variables):
        own = list(factor.state_names[name])
        known = states.setdefault(name, own)
        if own != known:
            if sorted(map(str, own)) != sorted(map(str, known)):
                raise InputError(f"the factors of variable {name!r} disagree on its states: {known} and {own}")
            table = np.take(table, [own.index(state) for state in known], axis=axis)
    variable, *parents = factor.variables
    return Factor(tuple(factor.variables), table, conditional_name(variable, parents) if directed else None)


# --- pyAgrum


def _from_pyagrum(network: Any, **options: Any) -> MarkovRandomField:
    """A Bayesian network or a Markov random field."""
    variables = [network.variable(node) for node in sorted(network.nodes())]
    states = {variable.name(): list(variable.labels()) for variable in variables}
    directed = hasattr(network, "cpt")
    if directed:
        tensors = [network.cpt(node) for node in sorted(network.nodes())]
    else:
        tensors = [network.factor(scope) for scope in network.factors()]
    return _model([_pyagrum_factor(tensor, directed) for tensor in tensors], states, network, options)


def _pyagrum_factor(tensor: Any, directed: bool) -> Factor:
    names = list(tensor.names)
    # its arrays have the first variable on the last axis
    table = np.asarray(tensor.toarray(), dtype=np.float64).transpose()
    return Factor(names, table, conditional_name(names[0], names[1:]) if directed else None)


# --- PyTorch Geometric


def _from_geometric(data: Any, **options: Any) -> MarkovRandomField:
    """The edges of a `Data`; where each stands in both directions, one of the two."""
    if getattr(data, "edge_index", None) is None:
        raise InputError("the Data has no edge_index, so it has no edges")
    edges = np.asarray(data.edge_index, dtype=np.int64).T
    weights = options.get("edge_weights")
    if isinstance(weights, str):
        options["edge_weights"] = _attribute(data, weights, len(edges))
    kept = _once(edges)
    for name in ("edge_weights", "edge_types"):
        if options.get(name) is not None and len(options[name]) == len(edges):
            options[name] = np.asarray(options[name])[kept]
    return MarkovRandomField.from_edges(edges[kept], n_variables=int(data.num_nodes), **options)


def _attribute(data: Any, name: str, n_edges: int) -> Any:
    found = getattr(data, name, None)
    values = None if found is None else np.asarray(found, dtype=np.float64)
    if values is None or values.size != n_edges:
        raise InputError(f"the Data has no attribute {name!r} with one number per edge")
    return values.reshape(-1)


def _once(edges: Any) -> Any:
    """[E] rows to keep: all, or where every edge stands in both directions those from the smaller end."""
    flat = edges @ np.array([int(edges.max(initial=0)) + 1, 1])
    back = edges[:, ::-1] @ np.array([int(edges.max(initial=0)) + 1, 1])
    return edges[:, 0] <= edges[:, 1] if set(flat.tolist()) == set(back.tolist()) else np.ones(len(edges), bool)


_KINDS: dict[tuple[str, str], Callable[..., MarkovRandomField]] = {
    **{
        ("pgmpy", name): _from_pgmpy
        for name in (
            "BayesianNetwork", "DiscreteBayesianNetwork", "MarkovNetwork", "DiscreteMarkovNetwork", "FactorGraph",
        )
    },
    ("pyagrum", "BayesNet"): _from_pyagrum,
    ("pyagrum", "MarkovRandomField"): _from_pyagrum,
    ("torch_geometric", "Data"): _from_geometric,
}  # fmt: skip
