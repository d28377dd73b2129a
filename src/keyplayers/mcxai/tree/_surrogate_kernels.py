# mypy: ignore-errors
"""Kernel of the surrogate that learns from the tree. Arrays only; see surrogates.py."""

from ..._base.compiled import kernel


@kernel
def fit_win_rates(nodes, terms, n_sweeps):
    """Fit an additive Q to the win rates in the tree by Kaczmarz steps, weighted by visits: n / (n + 2).

    Writes: terms.
    """
    prior, pairs = terms.prior, terms.pairs
    bias = terms.bias[0]
    for _sweep in range(n_sweeps):
        for t in range(1, nodes.size[0]):
            visits = nodes.n_visits[t]
            if visits == 0:
                continue
            action = nodes.players[t]
            value = bias + prior[action]
            n_terms = 2
            node = nodes.parents[t]
            while node > 0:
                value += pairs[nodes.players[node], action]
                n_terms += 1
                node = nodes.parents[node]
            error = nodes.rewards[t] / visits - value
            step = 0.5 * error / n_terms * visits / (visits + 2)
            bias += step
            prior[action] += step
            node = nodes.parents[t]
            while node > 0:
                pairs[nodes.players[node], action] += step
                node = nodes.parents[node]
    terms.bias[0] = bias
