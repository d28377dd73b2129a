"""The game of subtrees on a ring with leaves, by listing its arcs. Probabilities, two states, no kernels."""

import math


def ring_values(log_odds, agree, leaves):
    """Values of variables 1 .. n-1 of a ring around variable 0 under the log-odds of state 1.

    Every subtree is an arc around 0: so many variables on its right, so many on its left, n - 1 edges at most. A
    leaf that says nothing multiplies the number of subtrees through its variable by two.

    Parameters
    ----------
    log_odds
        [n] of the priors.
    agree
        Probability that neighbours agree.
    leaves
        [n] number of leaves without a prior that hang at each variable.
    """
    n = len(log_odds)

    def message(x):
        return math.log((agree * math.exp(x) + 1 - agree) / ((1 - agree) * math.exp(x) + agree))

    def chains(sign):
        """What the first k variables on one side say to variable 0, k = 0 .. n-1."""
        said = [0.0]
        for k in range(1, n):
            x = 0.0
            for j in range(k, 0, -1):
                x = message(log_odds[sign * j % n] + x)
            said.append(x)
        return said

    right, left = chains(1), chains(-1)
    totals, counts = [0.0] * n, [0.0] * n
    for a in range(n):
        for b in range(n - a):
            if a + b == 0:
                continue  # leaves of 0 alone bear on nobody else
            held = [j % n for j in range(-b, a + 1)]
            weight = 2.0 ** sum(leaves[v] for v in held)
            worth = right[a] + left[b]
            for j in range(1, a + 1):
                totals[j] += weight * (worth - right[j - 1] - left[b])
                counts[j] += weight
            for j in range(1, b + 1):
                totals[-j % n] += weight * (worth - right[a] - left[j - 1])
                counts[-j % n] += weight
    return [totals[v] / counts[v] for v in range(1, n)]
