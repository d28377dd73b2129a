"""What draws say of values: ratio estimates from batches, their standard errors, and whether chains agree."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from ..._base.arrays import Bools, Floats, Ints

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
    chains_agree: bool
    p_agreement: float  # chance of larger differences between the chains, over all players


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


def estimate_values(tallies: list[Tally], labels: Ints, silent: Bools, spread: float) -> Estimate:
    """What the draws of all chains say.

    Parameters
    ----------
    labels
        [n] players of one label are equal, and share their estimate.
    silent
        [n] players whose value is known to be 0.
    spread
        How far the worth varied over the coalitions seen.
    """
    used = [tally.n_used for tally in tallies]
    sums = np.concatenate([tally.sums[:n] for tally, n in zip(tallies, used, strict=True)])
    visits = np.concatenate([tally.visits[:n] for tally, n in zip(tallies, used, strict=True)])
    totals = sum((tally.totals for tally in tallies), np.zeros((len(labels), 4)))
    sums, by_label_visits, moments = (pool(labels, rows) for rows in (sums, visits, totals.T))
    all_silent = np.ones(int(labels.max()) + 1, dtype=bool)
    all_silent[labels[~silent]] = False
    by_label = ratio_estimate(
        sums,
        by_label_visits,
        squares=moments[2],
        magnitudes=moments[3],
        spread=spread,
        chain_of=np.repeat(np.arange(len(tallies)), used),
        silent=all_silent,
    )
    return Estimate(
        by_label.values[labels],
        by_label.std_errors[labels],
        visits.sum(axis=0),
        by_label.effective_sizes[labels],
        by_label.degrees,
        by_label.chains_agree,
        by_label.p_agreement,
    )


def ratio_estimate(
    sums: Floats,
    visits: Floats,
    *,
    squares: Floats,
    magnitudes: Floats,
    spread: float,
    chain_of: Ints,
    silent: Bools,
) -> Estimate:
    """Ratio estimates ΣY/ΣN with standard errors from batches, and whether the chains agree.

    Parameters
    ----------
    sums, visits
        [B, n] Y and N: summed contributions and visits of each player in each batch.
    squares, magnitudes
        [n] summed squares and summed absolute values of single contributions.
    spread
        How far the worth varied over the coalitions seen.
    chain_of
        [B] the chain of each batch.
    silent
        [n] players whose value is known to be 0.
    """
    n_batches = len(sums)
    total = visits.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = sums.sum(axis=0) / total
        residuals = sums - values * visits
        variance = n_batches / max(n_batches - 1, 1) * (residuals**2).sum(axis=0) / total**2
        # a player whose contribution is always the same: what is left is rounding
        single = np.maximum(squares / total - values**2, 0.0)
        varies = single > _ROUNDING * (values**2 + spread**2)
        p_agreement, by_chain, n_chains = _compare_chains(residuals[:, varies], residuals, chain_of)
        agree = p_agreement >= _DISAGREEMENT
        degrees = n_batches - 1
        if not agree:
            # only the chains as wholes can then be trusted to be independent
            variance = np.maximum(variance, n_chains / (n_chains - 1) * (by_chain**2).sum(axis=0) / total**2)
            degrees = n_chains - 1
        effective = np.where(varies, single / variance, np.inf)
        # Where a few large contributions make up the sum (minor players have heavy tails) the standard error
        # may be small by luck: allow for one coalition more in which the player decides all.
        weighty = magnitudes**2 / squares
        variance = np.where(weighty >= _FEW, variance, variance + (spread / total) ** 2)
    std_errors = np.sqrt(variance) if degrees > 0 else np.full(len(values), np.nan)
    std_errors[total == 0] = np.nan
    values[silent], std_errors[silent], effective[silent] = 0.0, 0.0, np.inf
    return Estimate(values, std_errors, total, effective, degrees, bool(agree), float(p_agreement))


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


def _compare_chains(tested: Floats, residuals: Floats, chain_of: Ints) -> tuple[float, Floats, int]:
    """An F test of means of chains against batches within chains, Bonferroni over players; sums per chain."""
    chains, counts = np.unique(chain_of, return_counts=True)
    n_chains, n_batches = len(chains), len(residuals)
    by_chain = np.stack([residuals[chain_of == c].sum(axis=0) for c in chains])
    within_degrees = n_batches - n_chains
    if n_chains < 2 or within_degrees < 1 or not tested.size:
        return 1.0, by_chain, n_chains
    means = np.stack([tested[chain_of == c].mean(axis=0) for c in chains])
    between = (counts[:, None] * means**2).sum(axis=0) / (n_chains - 1)
    within = ((tested - means[np.searchsorted(chains, chain_of)]) ** 2).sum(axis=0) / within_degrees
    p = fdtrc(n_chains - 1, within_degrees, between / within)  # chance of a larger F
    return min(1.0, float(p.min()) * len(p)), by_chain, n_chains
