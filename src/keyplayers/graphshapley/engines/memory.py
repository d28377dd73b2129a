"""How long chains remember: batches of draws that depend on each other make standard errors too small."""

import numpy as np

from ..._base.arrays import Floats, Ints

# Pairs of lags count as long as they are above what independent batches would show by chance, in standard errors.
_BY_CHANCE = 1.0


def inflations(residuals: Floats, chain_of: Ints) -> Floats:
    """[n] how many times larger the variance of the sum of all batches is than that of as many independent ones.

    Autocovariances of neighbouring lags are added in pairs until a pair is no more than chance, the initial
    positive sequence of a reversible chain. Where a chain does not forget at all, what is left is the variance
    between chains.

    Parameters
    ----------
    residuals
        [B, n] of each batch, with mean 0 over all; the batches of a chain in their order.
    chain_of
        [B] the chain of each.

    References
    ----------
    Geyer, "Practical Markov chain Monte Carlo", Statistical Science 1992, doi:10.1214/ss/1177011137, section 3.3.
    """
    chains = [residuals[chain_of == chain] for chain in np.unique(chain_of)]
    longest = max(len(chain) for chain in chains)
    squares = (residuals**2).sum(axis=0)
    chance = _BY_CHANCE * squares * np.sqrt(2.0 / max(len(residuals), 1))
    total, going = squares.copy(), np.ones(residuals.shape[1], dtype=bool)
    for lag in range(1, longest, 2):
        pair = _products(chains, lag) + _products(chains, lag + 1)
        going &= pair > chance
        if not going.any():
            break
        total += np.where(going, 2.0 * pair, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(squares > 0, total / squares, 1.0)
    return np.maximum(found, 1.0)


def _products(chains: list[Floats], lag: int) -> Floats:
    """[n] products of batches so far apart, added up."""
    found = np.zeros(chains[0].shape[1])
    for chain in chains:
        if len(chain) > lag:
            found += (chain[lag:] * chain[:-lag]).sum(axis=0)
    return found
