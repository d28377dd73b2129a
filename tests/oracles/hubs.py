"""Stars in closed form: a target of two states in the centre, leaves around it, ψ = homophily.

The target's log-odds is its prior's plus the messages of the leaves that are in, each in or out with chance 1/2.
Nothing here is shared with the package.
"""

from math import ceil, exp, floor, lgamma, log, sqrt

import numpy as np


def message(log_odds, homophily):
    """Log-odds that a leaf sends."""
    p = 1.0 / (1.0 + exp(-log_odds))
    one = homophily * p + (1 - homophily) * (1 - p)
    return log(one) - log(1 - one)


def prior_for(sent, homophily):
    """Log-odds of the prior with which a leaf sends `sent`."""
    one = 1.0 / (1.0 + exp(-sent))
    p = (one - (1 - homophily)) / (2 * homophily - 1)
    return log(p) - log(1 - p)


def symmetric_kl(log_odds, log_odds_belief):
    p = 1.0 / (1.0 + np.exp(-log_odds))
    q = 1.0 / (1.0 + exp(-log_odds_belief))
    return -(p - q) * (log_odds - log_odds_belief)


def half_binomial(n, deviations=14.0):
    """Counts that matter and their probabilities."""
    reach = deviations * sqrt(n) / 2 + 1
    counts = np.arange(max(0, floor(n / 2 - reach)), min(n, ceil(n / 2 + reach)) + 1)
    logs = np.array([lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2.0) for k in counts])
    return counts, np.exp(logs)


def value_in_two_groups(worth, sent, sizes, which):
    """Value of a leaf of group `which`; the groups send `sent`[0] and `sent`[1] a leaf, `sizes` many."""
    rest = [size - (group == which) for group, size in enumerate(sizes)]
    (k0, p0), (k1, p1) = half_binomial(rest[0]), half_binomial(rest[1])
    total = k0[:, None] * sent[0] + k1[None, :] * sent[1]
    return float(p0 @ (worth(total + sent[which]) - worth(total)) @ p1)


def value_on_lattice(worth, steps, delta, which):
    """Value of leaf `which`; leaf j sends steps[j] * delta, the steps being integers."""
    low = sum(min(step, 0) for step in steps) - min(steps[which], 0)
    high = sum(max(step, 0) for step in steps) - max(steps[which], 0)
    law = np.zeros(high - low + 1)
    law[-low] = 1.0
    for j, step in enumerate(steps):
        if j != which:
            shifted = np.roll(law, step)  # what wraps around is 0
            law = 0.5 * (law + shifted)
    totals = np.arange(low, high + 1) * delta
    return float(law @ (worth(totals + steps[which] * delta) - worth(totals)))
