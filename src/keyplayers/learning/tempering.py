"""How strong a potential may be before beliefs are surer than they should be."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._base.arrays import Floats, Ints
from ..errors import ContradictionError, ConvergenceWarning, PrecisionWarning
from ..mrf.field import MarkovRandomField
from ..mrf.inference.propagation import belief_propagation
from .counting import Estimate, centred
from .graph import LabelledGraph

#: Powers of the potential that are tried, weak ones first. Below the first an edge hardly says anything.
STRENGTHS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
#: Shrinkages of an estimate that are tried (`counting.estimate`); the first is that of the search for a strength.
SHRINKAGES = (np.inf, 10.0, 1.0)
# ... and factors of the best of them that are tried in the end.
_FINER = (0.85, 1.2)
# Past the best strength, so many worse ones in a row end the search.
_PATIENCE = 2
# Held-out runs: what later sweeps change is far below what labels can tell apart.
_MAX_SWEEPS = 30
_TOLERANCE = 1e-2
# Each third of the labels is held out once; of more labels than this one third says enough.
_FOLDS = 3
_MANY = 3000
# Fewer labels, of all or of the rarest class, cannot choose between strengths.
_FEWEST = 12
_FEWEST_PER_CLASS = 3
# Beliefs beyond this are near certain; so large a share of them may be wrong.
SURE = 0.99
_MAX_WRONG = 0.05
# A loss counts a label that was believed impossible as this likely.
_LEAST = 1e-9
# Strengths of edges at hubs are rounded to so many steps per factor of e, so that few potentials are distinct.
_STEPS = 8


class Temper(NamedTuple):
    """How an estimate is made weaker."""

    strength: float  # power of the potentials, 0 to 1
    hubs: bool = False  # whether an edge counts less the more edges its ends have
    degrees: bool = False  # whether the number of edges of a variable says something of it
    shrinkage: float = SHRINKAGES[0]  # of the estimate


class Parameters(NamedTuple):
    """What makes a field, in nats."""

    log_potentials: Floats  # [L, T, K, K] of each strength and kind
    strengths: Floats  # [L]
    log_shares: Floats  # [K] share of each class
    log_correction: Floats  # [K] what is added to every prior where the number of edges counts


class Trial(NamedTuple):
    """What held-out labels say of a temper."""

    temper: Temper
    loss: float  # mean -log belief of the true label, nats
    accuracy: float
    n_sure: int  # beliefs beyond .99
    n_wrong: int  # ... of which so many are wrong
    gain: float = 0.0  # by how much the loss is below that of the priors alone
    gain_error: float = 0.0  # its standard error, over labels

    @property
    def too_sure(self) -> bool:
        """Whether more near-certain beliefs are wrong than may be, and not by chance (two standard errors)."""
        allowed = _MAX_WRONG * self.n_sure
        return bool(self.n_wrong > allowed + 2 * np.sqrt(allowed) + 1)


@dataclass(frozen=True, eq=False)
class Tempering:
    """Fields of one graph by estimate and temper."""

    graph: LabelledGraph
    estimates: Callable[[Ints, float], Estimate]  # from labels [N] and a shrinkage
    hubs: tuple[bool, ...] = (False, True)  # what may be tried
    degrees: tuple[bool, ...] = (False, True)

    def field(self, labels: Ints, temper: Temper, estimated: Estimate | None = None) -> MarkovRandomField:
        """The field with these labels [N] as evidence."""
        graph = self.graph
        estimated = estimated or self.estimates(labels, temper.shrinkage)
        made = parameters(graph, estimated, temper, labels)
        rows = log_priors(graph, made)
        known = np.flatnonzero(labels >= 0)
        rows[known] = -np.inf
        rows[known, labels[known]] = 0.0
        strengths = edge_strengths(graph, temper, graph.joints.edges)
        return graph.field(made.log_potentials, np.searchsorted(made.strengths, strengths), rows)

    def choose(self) -> tuple[Trial, ...]:
        """Trials on held-out labels, the best first; none where there are too few labels."""
        labels = self.graph.labels
        sizes = np.bincount(labels[labels >= 0], minlength=self.graph.n_states)
        if sizes.sum() < _FEWEST or sizes.min() < _FEWEST_PER_CLASS:
            return ()
        folds = list(_folds(labels))
        alone, losses = self._losses(folds, Temper(0.0))
        trials = [alone]
        for hubs in self.hubs:
            trials += self._climb(folds, Temper(0.0, hubs, self.degrees[0]))
        for degrees in self.degrees[1:]:
            trials += self._climb(folds, min(trials, key=_rank).temper._replace(degrees=degrees))
        trials += self._refine(folds, min(trials, key=_rank))
        trials.sort(key=_rank)
        gains = losses - self._losses(folds, trials[0].temper)[1]
        error = float(gains.std() / np.sqrt(len(gains)))
        trials[0] = trials[0]._replace(gain=float(gains.mean()), gain_error=error)
        return tuple(trials)

    def _climb(self, folds: list[tuple[Ints, Ints]], temper: Temper) -> list[Trial]:
        """Trials of rising strength, until it only gets worse."""
        trials: list[Trial] = []
        for strength in STRENGTHS:
            trials.append(self._try(folds, temper._replace(strength=strength)))
            losses = [trial.loss for trial in trials]
            if len(losses) - 1 - int(np.argmin(losses)) >= _PATIENCE:
                break
        return trials

    def _refine(self, folds: list[tuple[Ints, Ints]], found: Trial) -> list[Trial]:
        """Trials near the best one: other shrinkages, then finer steps of strength."""
        best, trials = found.temper, [found]
        if self.graph.n_states > 2 or self.graph.directed:
            near = [s for s in STRENGTHS if best.strength / 2 <= s <= best.strength * 2]
            for shrinkage in SHRINKAGES[1:]:
                trials += [self._try(folds, best._replace(strength=s, shrinkage=shrinkage)) for s in near]
            best = min(trials, key=_rank).temper
        finer = (best.strength * factor for factor in _FINER)
        return trials[1:] + [self._try(folds, best._replace(strength=s)) for s in finer if 0 < s <= 1]

    def _try(self, folds: list[tuple[Ints, Ints]], temper: Temper) -> Trial:
        return self._losses(folds, temper)[0]

    def _losses(self, folds: list[tuple[Ints, Ints]], temper: Temper) -> tuple[Trial, Floats]:
        """A trial, and the loss of each held-out label."""
        told = np.concatenate([self._held_out(seen, hidden, temper) for seen, hidden in folds])
        truth, surest = told.T
        right, sure = truth >= surest, surest > SURE
        losses: Floats = -np.log(np.maximum(truth, _LEAST))
        wrong = int((sure & ~right).sum())
        return Trial(temper, float(losses.mean()), float(right.mean()), int(sure.sum()), wrong), losses

    def _held_out(self, seen: Ints, hidden: Ints, temper: Temper) -> Floats:
        """[n, 2] beliefs of the hidden variables: in the true state, and the largest."""
        beliefs = propagate(self.field(seen, temper))
        rows = np.flatnonzero(hidden >= 0)
        return np.column_stack([beliefs[rows, hidden[rows]], beliefs[rows].max(axis=1)])


def propagate(mrf: MarkovRandomField) -> Floats:
    """[N, K] beliefs, good enough to be compared with labels; without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", PrecisionWarning)
        try:
            state = belief_propagation(mrf, schedule="flooding", max_sweeps=_MAX_SWEEPS, tolerance=_TOLERANCE)
        except ContradictionError:
            return np.array(mrf.priors)
    beliefs: Floats = state.beliefs
    return beliefs


def parameters(graph: LabelledGraph, estimated: Estimate, temper: Temper, labels: Ints) -> Parameters:
    """What an estimate becomes.

    Where the number of edges counts, each edge speaks for the classes that have many, and so the prior must speak
    against them: edges are Poisson counts, as in a stochastic block model.
    """
    strengths = edge_strengths(graph, temper, graph.joints.edges)
    levels = np.unique(strengths)
    sources, targets = estimated.source_effects, estimated.target_effects
    correction = np.zeros(graph.n_states)
    if temper.degrees:
        sources, targets = sources + estimated.edge_effects[0], targets + estimated.edge_effects[1]
        correction = -_mean_strengths(graph, strengths, labels)
    effects = sources[:, :, None] + targets[:, None, :]
    tables = [
        level * effects + [centred(level * log, estimated.shares) for log in estimated.associations]
        for level in levels
    ]
    shape = (len(levels), *effects.shape)
    return Parameters(np.array(tables).reshape(shape), levels, np.log(estimated.shares), correction)


def edge_strengths(graph: LabelledGraph, temper: Temper, ends: Ints) -> Floats:
    """[n] the power to which the potential of each edge [n, 2] is taken.

    With `hubs`, edges whose ends have more neighbours than is typical (the geometric mean of both, against its
    median) count less in proportion, and those with fewer count more, up to 1.
    """
    if not temper.hubs or not temper.strength or not len(ends):
        return np.full(len(ends), temper.strength)
    roots = np.sqrt(np.maximum(graph.degrees, 1))
    typical = np.median(roots[graph.joints.edges].prod(axis=1))
    strengths = np.minimum(temper.strength * typical / roots[ends].prod(axis=1), 1.0)
    rounded: Floats = np.exp(np.round(np.log(strengths) * _STEPS) / _STEPS)
    return rounded


def log_priors(graph: LabelledGraph, made: Parameters) -> Floats:
    """[N, K] priors in nats: those of the graph, else the shares of classes."""
    own = np.tile(made.log_shares, (len(graph.names), 1)) if graph.log_priors is None else graph.log_priors
    rows: Floats = own + made.log_correction
    return rows


def _rank(trial: Trial) -> tuple[bool, float]:
    return trial.too_sure, trial.loss


def _mean_strengths(graph: LabelledGraph, strengths: Floats, labels: Ints) -> Floats:
    """[K] summed strength of the edges of a labelled variable, mean of each class, beyond the least."""
    sums = np.bincount(graph.joints.edges.ravel(), np.repeat(strengths, 2), len(graph.names))
    known = labels >= 0
    sizes = np.bincount(labels[known], minlength=graph.n_states)
    means: Floats = np.bincount(labels[known], sums[known], graph.n_states) / np.maximum(sizes, 1)
    least: Floats = means - means.min()
    return least


def _folds(labels: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Labels that stay and labels that are held out, each [N]; classes are shared out evenly."""
    rng = np.random.default_rng(0)
    fold = np.full(len(labels), -1)
    begin = 0
    for state in range(int(labels.max()) + 1):
        members = rng.permutation(np.flatnonzero(labels == state))
        fold[members] = (np.arange(len(members)) + begin) % _FOLDS
        begin += len(members)
    for number in range(_FOLDS if (labels >= 0).sum() <= _MANY else 1):
        held = fold == number
        yield np.where(held, -1, labels), np.where(held, labels, -1)
