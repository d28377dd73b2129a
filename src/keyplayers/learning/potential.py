"""`learn_potential`: how neighbours' states go together, from a partly labelled graph."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .._base.arrays import Floats, Ints
from ..errors import InputError
from ..mrf.criticality import criticality
from ..mrf.field import MarkovRandomField
from .counting import Estimate, count, estimate
from .graph import Interval, LabelledGraph, read_graph
from .pseudo import pseudo_likelihood_associations
from .tempering import STRENGTHS, Parameters, Temper, Tempering, Trial, edge_strengths, log_priors, parameters

Method = Literal["counts", "pseudo_likelihood"]
_METHODS = ("counts", "pseudo_likelihood")
# A potential helps where it beats the priors alone by so many standard errors: the best of many trials is lucky.
_CLEAR = 3.0


@dataclass(frozen=True, eq=False, repr=False)
class LearnedPotential:
    """Potentials and priors learned from labels, and how they were made."""

    potential: Any  # [K, K]; {type: [K, K]}; or [E, K, K] in the order of the edges that were given
    log_priors: Floats  # [N, K] nats, of all variables; their labels are no part of it
    states: tuple[Hashable, ...]
    compatibility: Mapping[Any, Floats]  # type, interval of weights or "": [K, K] the untempered estimate
    shares: Floats  # [K] share of each class among the labels, shrunk towards equal ones
    method: str  # "counts" or "pseudo_likelihood"
    strength: float  # power to which the estimate was taken: 1 as it is, 0 no effect
    criticality: float  # t · ρ of the field: above 1 messages grow along cycles
    n_labels: int
    n_pairs: int  # edges between two labelled variables
    trials: tuple[Trial, ...]  # what held-out labels said, the best first; none where there were too few
    notes: tuple[str, ...]
    graph: LabelledGraph
    temper: Temper

    @cached_property
    def priors(self) -> Mapping[Hashable, list[float]]:
        """{name: [K]} priors of all variables; their labels are no part of it."""
        return dict(zip(self.graph.names, np.exp(self.log_priors).tolist(), strict=True))

    @cached_property
    def field(self) -> MarkovRandomField:
        """The field that was learned, with the labels as evidence."""
        return make_field(self.graph, self.method, self.temper)

    def __repr__(self) -> str:
        kinds = len(self.compatibility)
        what = "one potential" if kinds == 1 else f"{kinds} potentials"
        return (
            f"<LearnedPotential of {len(self.states)} states: {what} from {self.n_labels:,} labels and "
            f"{self.n_pairs:,} labelled pairs ({self.method}, strength {self.strength:g}, "
            f"criticality {self.criticality:.3g})>"
        )


def learn_potential(
    edges: Any,
    labels: Any,
    *,
    method: Method = "counts",
    states: Sequence[Hashable] | None = None,
    per_type: bool = False,
    edge_types: Sequence[Hashable] | None = None,
    edge_weights: Any = None,
    directed: bool = False,
    hubs: bool | None = None,
    degrees: bool | None = None,
    strength: float | None = None,
) -> LearnedPotential:
    """Potentials and priors from a graph of which some variables are labelled.

    What a class share explains is prior, what neighbours add to it is potential. The estimate is then taken to the
    power (0 to 1) that serves held-out labels best, because potentials that fit single pairs make beliefs of whole
    graphs surer than they should be. Edges with a label at neither end count only there.

    Parameters
    ----------
    edges
        Whatever `MarkovRandomField.from_edges` takes, or a field, whose priors are kept (its potentials are not).
    labels
        ``{name: label}``, a frame of names and labels, or one per variable [N] (None, NaN and negative numbers:
        unknown).
    method
        "counts": closed form, robust for few labels; "pseudo_likelihood": by a search, better where many labels
        stand side by side.
    states
        All states in their order; default: the labels.
    per_type, edge_types
        One potential per edge type (of a column ``type``, a third entry, or [E]; of a field: per potential).
    edge_weights
        [E] or the name of a column: the potential is a function of the weight, constant on a few intervals of
        either sign.
    directed
        Whether source and target may play different parts; rows of the potential = source.
    hubs
        Whether edges of variables with many neighbours count less, which gives each edge a potential of its own;
        None: if held-out labels say so.
    degrees
        Whether the number of neighbours of a variable says something of its class; None: likewise.
    strength
        The power, instead of a choice by held-out labels.

    Returns
    -------
    LearnedPotential
        ``MarkovRandomField.from_edges(edges, learned.priors, potential=learned.potential, states=learned.states)``
        is the field without the labels, `learned.field` the one with them.

    Raises
    ------
    InputError
        Labels, edges or options cannot be used, or all labels are the same.
    UnknownNameError
        A label names an unknown variable or state.

    References
    ----------
    Wainwright, Jaakkola and Willsky, AISTATS 2003 (pseudo-moment matching); Besag, The Statistician 24 (1975),
    doi:10.2307/2987782 (pseudo-likelihood); Decelle, Krzakala, Moore and Zdeborova, Phys. Rev. E 84 (2011),
    doi:10.1103/PhysRevE.84.066106 (block models by propagation).

    Examples
    --------
    >>> import keyplayers as kp
    >>> edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    >>> learned = kp.learn_potential(edges, {"a": "ok", "b": "ok", "c": "ok", "d": "fraud"})
    >>> learned.states, learned.n_pairs
    (('fraud', 'ok'), 3)
    >>> mrf = kp.MarkovRandomField.from_edges(
    ...     edges, learned.priors, potential=learned.potential, states=learned.states
    ... )
    >>> mrf.n_edges
    4
    """
    _check(method, strength)
    graph = read_graph(
        edges,
        labels,
        states=states,
        per_type=per_type,
        edge_types=edge_types,
        edge_weights=edge_weights,
        directed=directed,
    )
    return learn_on(graph, method=method, hubs=hubs, degrees=degrees, strength=strength)


def learn_on(
    graph: LabelledGraph, *, method: str, hubs: bool | None, degrees: bool | None, strength: float | None
) -> LearnedPotential:
    """The same for a graph that was read."""
    tempering = Tempering(graph, _estimates(graph, method), _allowed(hubs), _allowed(degrees))
    trials = () if strength is not None else tempering.choose()
    if trials:
        temper = trials[0].temper
    else:
        temper = Temper(1.0 if strength is None else float(strength), bool(hubs), bool(degrees))
    mrf = tempering.field(graph.labels, temper)
    if not trials and strength is None:
        temper, mrf = _below_critical(tempering, temper, mrf)
    estimated = tempering.estimates(graph.labels, temper.shrinkage)
    made = parameters(graph, estimated, temper, graph.labels)
    counted = count(graph, graph.labels)
    return LearnedPotential(
        potential=_as_given(graph, made, temper),
        log_priors=_normalised(log_priors(graph, made)),
        states=graph.states,
        compatibility={
            kind: np.exp(log) for kind, log in zip(graph.kind_names, estimated.associations, strict=True)
        },
        shares=estimated.shares,
        method=method,
        strength=temper.strength,
        criticality=criticality(mrf),
        n_labels=int(counted.classes.sum()),
        n_pairs=int(counted.pairs.sum()) // (1 if graph.directed else 2),
        trials=trials,
        notes=tuple(_notes(graph, temper, trials, int(counted.pairs.sum()))),
        graph=graph,
        temper=temper,
    )


def make_field(graph: LabelledGraph, method: str, temper: Temper) -> MarkovRandomField:
    """The field that a graph's labels and a temper make, with the labels as evidence."""
    return Tempering(graph, _estimates(graph, method)).field(graph.labels, temper)


def _estimates(graph: LabelledGraph, method: str) -> Any:
    known: dict[tuple[int, float], Estimate] = {}

    def make(labels: Ints, shrinkage: float) -> Estimate:
        key = hash(labels.tobytes()), shrinkage
        if key not in known:
            found = estimate(count(graph, labels), shrinkage)
            if method == "pseudo_likelihood":
                found = found._replace(associations=pseudo_likelihood_associations(graph, labels, shrinkage))
            known[key] = found
        return known[key]

    return make


def _below_critical(
    tempering: Tempering, temper: Temper, mrf: MarkovRandomField
) -> tuple[Temper, MarkovRandomField]:
    """The strongest temper with which messages do not grow along cycles."""
    labels = tempering.graph.labels
    for weaker in STRENGTHS[::-1]:
        temper = temper._replace(strength=weaker)
        mrf = tempering.field(labels, temper)
        if criticality(mrf) <= 1:
            break
    return temper, mrf


def _as_given(graph: LabelledGraph, made: Parameters, temper: Temper) -> Any:
    """The potential in the form that belongs to the edges as they were given."""
    by_interval = isinstance(graph.kind_names[0], Interval)
    if temper.hubs or by_interval:
        levels = np.searchsorted(made.strengths, edge_strengths(graph, temper, graph.ends))
        levels = np.minimum(levels, len(made.strengths) - 1)  # a self-loop may be like no edge
        return np.exp(made.log_potentials[levels, graph.kinds])
    if graph.kind_names == ("",):
        return np.exp(made.log_potentials[0, 0]) if len(made.strengths) else np.ones((graph.n_states,) * 2)
    return dict(zip(graph.kind_names, np.exp(made.log_potentials[0]), strict=True))


def _notes(graph: LabelledGraph, temper: Temper, trials: tuple[Trial, ...], n_pairs: int) -> list[str]:
    notes = [] if graph.note_on_lonely is None else [graph.note_on_lonely]
    if not n_pairs:
        notes.append("no edge joins two labelled variables: nothing is known of how neighbours go together")
    if not trials:
        notes.append("too few labels to hold some out: the strength is the largest that keeps criticality below 1")
        return notes
    if trials[0].gain < _CLEAR * trials[0].gain_error or not temper.strength:
        notes.append("propagation does not help here: held-out labels are told as well by the priors alone")
    if temper.strength < 1:
        notes.append(f"tempered to the power {temper.strength:g}, which tells held-out labels best")
    if temper.hubs:
        notes.append("edges of variables with many neighbours count less, so each edge has its own potential")
    if temper.degrees:
        notes.append("the number of neighbours counts as evidence, and the priors make up for it")
    return notes


def _check(method: str, strength: float | None) -> None:
    if method not in _METHODS:
        raise InputError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    if strength is not None and not 0 <= strength <= 1:
        raise InputError(f"strength must be a number from 0 to 1, got {strength!r}")


def _allowed(asked: bool | None) -> tuple[bool, ...]:
    return (False, True) if asked is None else (asked,)


def _normalised(rows: Floats) -> Floats:
    normalised: Floats = rows - np.logaddexp.reduce(rows, axis=1, keepdims=True)
    return normalised
