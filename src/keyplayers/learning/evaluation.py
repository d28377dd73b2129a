"""`evaluate`: how well beliefs tell labels that were hidden, and whether something simpler does as well."""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Floats, Ints
from .._base.frames import make_frame
from .._base.seeding import RandomState, generator
from ..errors import ConvergenceWarning, InputError, PrecisionWarning
from ..mrf.field import MarkovRandomField
from ..mrf.inference.registry import infer
from .graph import LabelledGraph, read_graph
from .potential import learn_on
from .rivals import class_shares, degree_rule, label_propagation
from .scores import CalibrationBin, Scores, calibration_curve, score

#: The rows of an evaluation.
FIELD, LEARNED = "beliefs of the field", "beliefs, potential learned"
RIVALS = ("label propagation", "degree rule", "priors alone")
# 95 % of intervals hold the truth.
_LEVEL = 0.95
# A split that hides fewer labels says nothing.
_FEWEST = 2

Beliefs = Callable[[Ints], Floats]  # labels [N] that are seen -> probabilities [N, K]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Scores of beliefs and of their rivals on hidden labels, over several splits."""

    scores: Mapping[str, Sequence[Scores]]  # row -> one for each split
    curves: Mapping[str, Sequence[CalibrationBin]]  # row -> calibration over all splits
    states: tuple[Hashable, ...]
    positive: Hashable | None  # the state that AUC and average precision are about; None: all of several
    share: float  # of the labels that were seen
    n_labels: int
    n_splits: int
    notes: tuple[str, ...] = ()  # what to know of the labels

    def mean(self, row: str, measure: str) -> float:
        """Mean of a measure over splits; NaN where no split has one."""
        values = self._values(row, measure)
        return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")

    def half_width(self, row: str, measure: str) -> float:
        """Half the 95 % interval around the mean; NaN for a single split.

        Splits share labels, so they vary less than new data would: the variance is that of the corrected resampled
        t-test.

        References
        ----------
        Nadeau and Bengio, "Inference for the generalization error", Machine Learning 52 (2003),
        doi:10.1023/A:1024068626366.
        """
        return self._half_width(self._values(row, measure))

    def difference(self, row: str, other: str, measure: str) -> tuple[float, float]:
        """Mean by which one row exceeds another, split by split, and half its 95 % interval."""
        differences = self._values(row, measure) - self._values(other, measure)
        return float(differences.mean()), self._half_width(differences)

    @property
    def best(self) -> str:
        """The row of propagation with the highest AUC."""
        return max((row for row in self.scores if row not in RIVALS), key=lambda row: self.mean(row, "auc"))

    @property
    def helps(self) -> bool:
        """Whether propagation ranks hidden labels better than each rival, beyond doubt."""
        return all(gain > doubt for gain, doubt in (self.difference(self.best, row, "auc") for row in RIVALS))

    @property
    def sentence(self) -> str:
        """Whether propagation helps, in one sentence."""
        rival = max(RIVALS, key=lambda row: self.mean(row, "auc"))
        gain, doubt = self.difference(self.best, rival, "auc")
        told = f"AUC {self.mean(self.best, 'auc'):.3f} against {self.mean(rival, 'auc'):.3f} of {rival}"
        doubts = "" if np.isnan(doubt) else f", difference {gain:+.3f} ± {doubt:.3f}"
        if self.helps:
            return f"Propagation helps: {told}{doubts}."
        if gain + doubt < 0:
            return f"Propagation does not help, {rival} does better: {told}{doubts}."
        return f"Propagation does not help beyond doubt: {told}{doubts}."

    def to_dict(self) -> dict[str, Any]:
        """As JSON: a row for each contestant, with means and half widths of 95 % intervals."""
        return {
            "states": list(self.states),
            "positive": self.positive,
            "share": self.share,
            "n_labels": self.n_labels,
            "n_splits": self.n_splits,
            "helps": self.helps,
            "sentence": self.sentence,
            "notes": list(self.notes),
            "rows": [self._row(row) for row in self.scores],
        }

    def to_frame(self, backend: str = "pandas") -> Any:
        """One row per contestant: name, and mean and half width of each measure."""
        rows = [
            {"name": row}
            | {m: self.mean(row, m) for m in Scores._fields}
            | {f"{m}_half_width": self.half_width(row, m) for m in Scores._fields}
            for row in self.scores
        ]
        return make_frame({key: [row[key] for row in rows] for key in rows[0]}, backend)

    def _row(self, row: str) -> dict[str, Any]:
        told = {m: [_or_none(self.mean(row, m)), _or_none(self.half_width(row, m))] for m in Scores._fields}
        return {"name": row, **told, "calibration": [list(each) for each in self.curves[row]]}

    def _values(self, row: str, measure: str) -> Floats:
        return np.array([getattr(scores, measure) for scores in self.scores[row]])

    def _half_width(self, values: Floats) -> float:
        from scipy.stats import t

        n = len(values)
        if n < 2:
            return float("nan")
        hidden_per_seen = (1 - self.share) / self.share
        quantile = float(t.ppf((1 + _LEVEL) / 2, n - 1))
        return quantile * float(values.std(ddof=1)) * float(np.sqrt(1 / n + hidden_per_seen))

    def __repr__(self) -> str:
        rows = "\n".join(
            f"  {row:<28} AUC {self.mean(row, 'auc'):.3f}  accuracy {self.mean(row, 'accuracy'):.3f}  "
            f"calibration error {self.mean(row, 'calibration_error'):.3f}  sure {self.mean(row, 'sure'):.3f}"
            for row in self.scores
        )
        return f"<Evaluation on {self.n_splits} splits of {self.n_labels:,} labels. {self.sentence}\n{rows}>"


def evaluate(
    mrf: Any,
    labels: Any,
    *,
    splits: int = 5,
    share: float = 0.3,
    learn: bool = True,
    algorithm: str = "bp",
    states: Sequence[Hashable] | None = None,
    positive: Hashable | None = None,
    per_type: bool = False,
    edge_types: Sequence[Hashable] | None = None,
    edge_weights: Any = None,
    directed: bool = False,
    method: str = "counts",
    strength: float | None = None,
    random_state: RandomState = 0,
) -> Evaluation:
    """Hide labels, ask for beliefs, compare; beside label propagation, a rule by degree, and the priors alone.

    Parameters
    ----------
    mrf
        A field, whose potentials and priors are tried as they are; or edges, as `learn_potential` takes them.
        Evidence about labelled variables counts only where their label is seen.
    labels
        As of `learn_potential`.
    splits
        How often labels are hidden anew.
    share
        Share of the labels of each class that are seen.
    learn
        Whether to try potentials that are learned from the labels that are seen, too.
    algorithm
        How beliefs are found, see `infer`.
    positive
        Of two states: the one that AUC and average precision are about; default the rarer one.
    states, per_type, edge_types, edge_weights, directed, method, strength
        As of `learn_potential`.
    random_state
        Seed of the splits.

    Raises
    ------
    InputError
        There are too few labels, or an argument is out of range.

    Examples
    --------
    >>> import keyplayers as kp
    >>> import numpy as np
    >>> ring = [(i, (i + 1) % 60) for i in range(60)]
    >>> evaluation = kp.evaluate(ring, np.arange(60) // 10 % 2, share=0.5)
    >>> evaluation.mean(evaluation.best, "auc") > 0.8, evaluation.mean("priors alone", "auc")
    (True, 0.5)
    """
    if not 0 < share < 1 or splits < 1:
        raise InputError(f"share must be between 0 and 1 and splits at least 1, got {share} and {splits}")
    graph = read_graph(
        mrf,
        labels,
        states=states,
        per_type=per_type,
        edge_types=edge_types,
        edge_weights=edge_weights,
        directed=directed,
    )
    contestants = _rivals(graph)
    if learn or not isinstance(mrf, MarkovRandomField):
        contestants = {LEARNED: _learned(graph, method, strength, algorithm), **contestants}
    if isinstance(mrf, MarkovRandomField):
        contestants = {FIELD: _of_field(mrf, graph, algorithm), **contestants}
    chosen = _positive(graph, positive)
    told: dict[str, list[tuple[Floats, Ints]]] = {row: [] for row in contestants}
    for seen, hidden in _splits(graph, share, splits, random_state):
        for row, beliefs in contestants.items():
            told[row].append((beliefs(seen)[hidden], graph.labels[hidden]))
    return Evaluation(
        {row: [score(*each, chosen) for each in own] for row, own in told.items()},
        {
            row: calibration_curve(np.concatenate([b for b, _ in own]), np.concatenate([t for _, t in own]))
            for row, own in told.items()
        },
        graph.states,
        None if chosen is None else graph.states[chosen],
        share,
        int((graph.labels >= 0).sum()),
        splits,
        () if graph.note_on_lonely is None else (graph.note_on_lonely,),
    )


def _rivals(graph: LabelledGraph) -> dict[str, Beliefs]:
    def priors(seen: Ints) -> Floats:
        if graph.log_priors is None:
            return np.tile(class_shares(graph, seen), (len(seen), 1))
        rows: Floats = graph.log_priors - np.logaddexp.reduce(graph.log_priors, axis=1, keepdims=True)
        return np.exp(rows)

    spread, degree, alone = RIVALS
    return {
        spread: lambda seen: label_propagation(graph, seen),
        degree: lambda seen: degree_rule(graph, seen),
        alone: priors,
    }


def _learned(graph: LabelledGraph, method: str, strength: float | None, algorithm: str) -> Beliefs:
    def beliefs(seen: Ints) -> Floats:
        learned = learn_on(graph.labelled(seen), method=method, hubs=None, degrees=None, strength=strength)
        return _infer(learned.field, algorithm)

    return beliefs


def _of_field(mrf: MarkovRandomField, graph: LabelledGraph, algorithm: str) -> Beliefs:
    k = graph.n_states

    def beliefs(seen: Ints) -> Floats:
        rows = mrf.log_priors.reshape(-1, k).copy()
        rows[(graph.labels >= 0) & mrf.observed] = 0.0
        known = np.flatnonzero(seen >= 0)
        rows[known] = -np.inf
        rows[known, seen[known]] = 0.0
        return _infer(mrf.with_log_priors(rows.ravel()), algorithm)

    return beliefs


def _infer(mrf: MarkovRandomField, algorithm: str) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", PrecisionWarning)
        beliefs: Floats = infer(mrf, algorithm).beliefs
    return beliefs


def _splits(
    graph: LabelledGraph, share: float, splits: int, random_state: RandomState
) -> Iterator[tuple[Ints, Ints]]:
    """Labels that are seen [N], and positions of those that are hidden; each class is split by itself."""
    rng = generator(random_state)
    for _ in range(splits):
        seen = np.full(len(graph.labels), -1)
        for state in range(graph.n_states):
            members = rng.permutation(np.flatnonzero(graph.labels == state))
            kept = members[: max(round(share * len(members)), 1)]
            seen[kept] = state
        hidden = np.flatnonzero((graph.labels >= 0) & (seen < 0))
        if len(hidden) < _FEWEST:
            raise InputError(f"there are {int((graph.labels >= 0).sum())} labels: too few to hide some of them")
        yield seen, hidden


def _positive(graph: LabelledGraph, positive: Hashable | None) -> int | None:
    if positive is not None:
        if positive not in graph.states:
            raise InputError(f"positive must be one of the states {graph.states}, got {positive!r}")
        return graph.states.index(positive)
    if graph.n_states != 2:
        return None
    return int(np.argmin(np.bincount(graph.labels[graph.labels >= 0], minlength=2)[::-1]) ^ 1)


def _or_none(number: float) -> float | None:
    return None if np.isnan(number) else number
