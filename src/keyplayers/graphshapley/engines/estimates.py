"""What draws say of values: ratio estimates from batches, their standard errors, and whether chains agree."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from ..._base.arrays import Bools, Floats, Ints
from ..game.ranges import RULE_OF_THREE
from .memory import inflations

# Batches that each chain keeps; when all are full they are joined in pairs, so between half and all of them
# are in use. Fewer would make the standard errors themselves uncertain, more would be shorter than the chain's
# memory.
BATCHES = 32
# Players whose standard errors decide when to stop.
_WATCHED = 5
# Chains disagree where the differences between them would arise by chance less often than this (for any player).
_DISAGREEMENT = 1e-4
# Effective number of contributions, (Σ|y|)²/Σy², below which a standard error may be luck.
_FEW = 50.0
# A chain must be so many times longer than it remembers: by the longest memory of watched players, which is noisy,
# and by the median of all. Memories of so few batches are no concern.
_MEMORIES = (8.0, 20.0)
_SHORTEST_MEMORIES = (2.0, 1.3)
# Contributions whose variance is at most this share of their mean's square differ by rounding.
_ROUNDING = 1e-12


class Tally(NamedTuple):
    """What one chain has seen."""

    counter: Ints  # [2] draws so far, draws per batch
    sums: Floats  # [B, n] of the contributions in each batch
    visits: Floats  # [B, n]
    totals: (
        Floats  # [n, 4] over all: the part due to the prior, the direction, the squared and absolute contribution
    )

    @classmethod
    def empty(cls, n: int) -> "Tally":
        """Nothing seen yet."""
        counter = np.array([0, 1])
        return cls(counter, np.zeros((BATCHES, n)), np.zeros((BATCHES, n)), np.zeros((n, 4)))

    @property
    def n_used(self) -> int:
        """Batches in use."""
        return math.ceil(int(self.counter[0]) / int(self.counter[1]))


@dataclass(frozen=True, eq=False)
class Estimate:
    """Ratio estimates from batches; the players of one label share theirs."""

    values: Floats  # [n] NaN where never visited
    std_errors: Floats  # [n]
    visits: Floats  # [n] coalitions seen that hold the player
    effective_sizes: Floats  # [n] independent coalitions that would have given the same standard error
    degrees: int  # of freedom of the standard errors
    chains_agree: bool | None  # None: the chains are too short to tell
    p_agreement: float  # chance of larger differences between the chains, over all players
    unseen: Floats  # [n] what standard errors are at least, for contributions not seen


class Players(NamedTuple):
    """What is known of the players before any draw."""

    labels: Ints  # [n] players of one label are equal, and share their estimate
    silent: Bools  # [n] whose value is known to be 0
    bounds: Floats  # [n] proven bound on the absolute contribution, inf without one, 0 where it is always the same
    multiplicity: Floats  # [n] how many players one draw may show of the same label

    @classmethod
    def of(cls, labels: Ints, silent: Bools, bounds: Floats) -> "Players":
        """With the multiplicities of their labels."""
        return cls(labels, silent, bounds, np.bincount(labels)[labels].astype(np.float64))

    def by_label(self) -> "Players":
        """One of each label: silent where all are, with the largest bound."""
        n = int(self.labels.max()) + 1
        silent, bounds = np.ones(n, dtype=bool), np.zeros(n)
        np.logical_and.at(silent, self.labels, self.silent)
        np.maximum.at(bounds, self.labels, self.bounds)
        return Players(np.arange(n), silent, bounds, np.bincount(self.labels, minlength=n).astype(np.float64))


class Moments(NamedTuple):
    """Sums over single contributions."""

    squares: Floats  # [n]
    magnitudes: Floats  # [n] absolute values
    spread: float  # how far the worth varied over the coalitions seen


@dataclass(frozen=True)
class Goal:
    """When values are precise enough: standard errors of the largest ones. None: never."""

    std_error: float | None  # in the unit of the worth
    relative: float | None = None  # as a share of the largest value

    def is_met(self, estimate: Estimate) -> bool:
        """Whether to stop; never while the chains disagree."""
        values, errors = estimate.values[1:], estimate.std_errors[1:]
        if not estimate.chains_agree or np.isnan(values).all():
            return False
        allowed = self.std_error
        if self.relative is not None:
            allowed = self.relative * float(np.nanmax(np.abs(values)))
        return allowed is not None and bool((errors[largest(values)] <= allowed).all())


def estimate_values(tallies: list[Tally], players: Players, spread: float, *, dependent: bool) -> Estimate:
    """What the draws of all chains say.

    Parameters
    ----------
    spread
        How far the worth varied over the coalitions seen.
    dependent
        Whether a chain's draws depend on those before.
    """
    labels = players.labels
    used = [tally.n_used for tally in tallies]
    sums = np.concatenate([tally.sums[:n] for tally, n in zip(tallies, used, strict=True)])
    visits = np.concatenate([tally.visits[:n] for tally, n in zip(tallies, used, strict=True)])
    totals = sum((tally.totals for tally in tallies), np.zeros((len(labels), 4)))
    sums, by_label_visits, moments = (pool(labels, rows) for rows in (sums, visits, totals.T))
    by_label = ratio_estimate(
        sums,
        by_label_visits,
        Moments(moments[2], moments[3], spread),
        players.by_label(),
        np.repeat(np.arange(len(tallies)), used),
        dependent=dependent,
    )
    return Estimate(
        by_label.values[labels],
        by_label.std_errors[labels],
        visits.sum(axis=0),
        by_label.effective_sizes[labels],
        by_label.degrees,
        by_label.chains_agree,
        by_label.p_agreement,
        by_label.unseen[labels],
    )


def ratio_estimate(
    sums: Floats, visits: Floats, moments: Moments, players: Players, chain_of: Ints, *, dependent: bool
) -> Estimate:
    """Ratio estimates ΣY/ΣN with standard errors from batches, and whether the chains agree.

    Parameters
    ----------
    sums, visits
        [B, n] Y and N: summed contributions and visits of each player in each batch.
    chain_of
        [B] the chain of each batch.
    dependent
        Whether a chain's draws depend on those before.

    Notes
    -----
    Batches that remember those before them count as fewer; where they remember too much of their chain's length
    only the chains as wholes are trusted, and `chains_agree` is None: nobody can tell.

    A kind of coalition in which a player contributes R and which has not been seen in m looks has, by the rule of
    three, a chance of less than 3/m (in 95 of 100 cases): 1.96 standard errors are at least 3 R/m, R being the
    proven bound. Where exact zeros leave no bound, and few contributions make up the sum, the spread seen stands
    for it.
    """
    n_batches, total = len(sums), visits.sum(axis=0)
    squares, magnitudes, spread = moments
    with np.errstate(invalid="ignore", divide="ignore"):
        values = sums.sum(axis=0) / total
        residuals = sums - values * visits
        # a player whose contribution is always the same: what is left is rounding
        single = np.maximum(squares / total - values**2, 0.0)
        varies = single > _ROUNDING * (values**2 + spread**2)
        chains = _compare(residuals, chain_of, varies, largest(values), dependent=dependent)
        independent = n_batches / chains.inflations
        variance = chains.inflations * (residuals**2).sum(axis=0) / total**2
        variance *= independent / np.maximum(independent - 1.0, 1.0)
        if not chains.agree:
            # only the chains as wholes can then be trusted to be independent
            n = len(chains.sums)
            variance = np.maximum(variance, n / max(n - 1, 1) * (chains.sums**2).sum(axis=0) / total**2)
        effective = np.where(varies, single / variance, np.inf)
        looks = total / players.multiplicity / chains.inflations
        few = magnitudes**2 / squares / players.multiplicity < _FEW
        farthest = np.where(players.bounds > 0, players.bounds + np.abs(values), 0.0)
        unseen = RULE_OF_THREE * np.where(np.isfinite(farthest), farthest, np.where(few, spread, 0.0)) / looks
    std_errors = np.maximum(np.sqrt(variance), unseen) if chains.degrees > 0 else np.full(len(values), np.nan)
    std_errors[total == 0] = np.nan
    for known, at in ((values, 0.0), (std_errors, 0.0), (unseen, 0.0), (effective, np.inf)):
        known[players.silent] = at
    return Estimate(values, std_errors, total, effective, chains.degrees, chains.agree, chains.p, unseen)


def largest(values: Floats) -> Ints:
    """Positions of the values that decide when to stop."""
    order: Ints = np.argsort(-np.abs(np.nan_to_num(values)), kind="stable")[:_WATCHED]
    return order


def pool(labels: Ints, rows: Floats) -> Floats:
    """Sums [R, L] of rows [R, n] over the players of each label."""
    n_labels = int(labels.max()) + 1
    pooled = np.zeros((len(rows), n_labels))
    for row, into in zip(rows, pooled, strict=True):
        into += np.bincount(labels, weights=row, minlength=n_labels)
    return pooled


class _Chains(NamedTuple):
    """What the chains say of each other."""

    inflations: Floats  # [n] see memory.py
    sums: Floats  # [C, n] residuals of each chain
    agree: bool | None  # None: they are too short to tell
    p: float  # chance of larger differences, over all players
    degrees: int  # of freedom of the standard errors


def _compare(residuals: Floats, chain_of: Ints, varies: Bools, watched: Ints, *, dependent: bool) -> _Chains:
    """An F test of means of chains against batches within chains, Bonferroni over players."""
    chains, counts = np.unique(chain_of, return_counts=True)
    n_chains, n_batches = len(chains), len(residuals)
    sums = np.stack([residuals[chain_of == c].sum(axis=0) for c in chains])
    grown = inflations(residuals, chain_of) if dependent else np.ones(residuals.shape[1])
    watched = watched[varies[watched]]
    longest = float(grown[watched].max(initial=1.0))
    limits = np.maximum(_SHORTEST_MEMORIES, counts.max() / np.array(_MEMORIES))
    median = float(np.median(grown[varies])) if varies.any() else 1.0
    if dependent and (longest > limits[0] or median > limits[1]):
        return _Chains(grown, sums, None if n_chains > 1 else False, 1.0, n_chains - 1)
    degrees = max(int(n_batches / longest) - 1, min(n_chains, n_batches) - 1)
    within_degrees = n_batches / grown[varies] - n_chains
    if n_chains < 2 or not varies.any() or within_degrees.min() < 1:
        return _Chains(grown, sums, True, 1.0, degrees)
    tested = residuals[:, varies]
    means = sums[:, varies] / counts[:, None]
    between = (counts[:, None] * means**2).sum(axis=0) / (n_chains - 1)
    within = ((tested - means[np.searchsorted(chains, chain_of)]) ** 2).sum(axis=0) / (n_batches - n_chains)
    p = fdtrc(n_chains - 1, within_degrees, between / (within * grown[varies]))  # chance of a larger F
    smallest = min(1.0, float(p.min()) * len(p))
    agree = smallest >= _DISAGREEMENT
    return _Chains(grown, sums, agree, smallest, degrees if agree else n_chains - 1)
