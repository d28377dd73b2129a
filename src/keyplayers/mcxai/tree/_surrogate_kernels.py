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
        for t in range(1, len(nodes)):
            visits = nodes[t].n_visits
            if visits == 0:
                continue
            action = nodes[t].player
            value = bias + prior[action]
            n_terms = 2
            node = nodes[t].parent
            while node > 0:
                value += pairs[nodes[node].player, action]
                n_terms += 1
                node = nodes[node].parent
            error = nodes[t].rewards / visits - value
            step = 0.5 * error / n_terms * visits / (visits + 2)
            bias += step
            prior[action] += step
            node = nodes[t].parent
            while node > 0:
                pairs[nodes[node].player, action] += step
                node = nodes[node].parent
    terms.bias[0] = bias
