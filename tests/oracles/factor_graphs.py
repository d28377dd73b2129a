"""Factor graphs the slow way: marginals by listing assignments, propagation between variables and factors.

A factor is (variables, table); variables are 0 .. n-1 with `counts` states.
"""

import itertools

import numpy as np


def joint_weights(counts, factors):
    """Weight of every assignment, as an array with one axis per variable."""
    weights = np.zeros(counts)
    for x in itertools.product(*map(range, counts)):
        weights[x] = np.prod([table[tuple(x[v] for v in variables)] for variables, table in factors])
    return weights


def marginals(counts, factors):
    """Marginal of each variable, and log Z."""
    weights = joint_weights(counts, factors)
    total = weights.sum()
    n = len(counts)
    return [weights.sum(axis=tuple(u for u in range(n) if u != v)) / total for v in range(n)], np.log(total)


def propagate(counts, factors, n_sweeps):
    """Beliefs after parallel sum-product on the factor graph (Kschischang, Frey, Loeliger 2001, eqs. 5 and 6)."""
    pairs = [(f, v) for f, (variables, _) in enumerate(factors) for v in variables]
    to_variable = {pair: np.ones(counts[pair[1]]) for pair in pairs}
    for _ in range(n_sweeps):
        to_factor = {}
        for f, v in pairs:
            message = np.ones(counts[v])
            for g, u in pairs:
                if u == v and g != f:
                    message = message * to_variable[g, u]
            to_factor[f, v] = message / message.sum()
        for f, v in pairs:
            variables, table = factors[f]
            message = np.zeros(counts[v])
            for x in itertools.product(*(range(counts[u]) for u in variables)):
                weight = table[x]
                for u, state in zip(variables, x, strict=True):
                    if u != v:
                        weight = weight * to_factor[f, u][state]
                message[x[variables.index(v)]] += weight
            to_variable[f, v] = message / message.sum()
    beliefs = []
    for v, count in enumerate(counts):
        belief = np.ones(count)
        for f, u in pairs:
            if u == v:
                belief = belief * to_variable[f, u]
        beliefs.append(belief / belief.sum())
    return beliefs
