"""The mean-field bound by visiting every assignment, linearised propagation by iterating. Plain Python."""

import math
from itertools import product


def expected_log_weight_and_entropy(priors, edges, potentials, marginals):
    """Σ_x q(x) (log weight(x) - log q(x)) for a product q of distributions."""
    total = 0.0
    for x in product(*(range(len(row)) for row in priors)):
        q = math.prod(marginals[v][s] for v, s in enumerate(x))
        if q == 0:
            continue
        weight = math.prod(priors[v][s] for v, s in enumerate(x))
        for (a, b), table in zip(edges, potentials, strict=True):
            weight *= table[x[a]][x[b]]
        total += q * ((math.log(weight) if weight > 0 else -math.inf) - math.log(q))
    return total


def tree_bound(priors, edges, potentials, probabilities, trees, log_partition):
    """Mean log Z of trees whose potentials are to the power of one over their edge's probability."""
    total = 0.0
    for tree in trees:
        tables = [[[x ** (1 / probabilities[e]) for x in row] for row in potentials[e]] for e in tree]
        total += log_partition(priors, [edges[e] for e in tree], tables)
    return total / len(trees)


def linearised(start, edges, coupling, n_rounds=20000):
    """B = E + A B H - D B H² by iteration from B = 0; residuals all."""
    k = len(coupling)
    square = [[sum(coupling[i][m] * coupling[m][j] for m in range(k)) for j in range(k)] for i in range(k)]
    beliefs = [[0.0] * k for _ in start]
    for _ in range(n_rounds):
        new = [list(row) for row in start]
        for a, b in edges:
            for to, source in ((a, b), (b, a)):
                for j in range(k):
                    new[to][j] += sum(beliefs[source][i] * coupling[i][j] for i in range(k))
                    new[to][j] -= sum(beliefs[to][i] * square[i][j] for i in range(k))
        if max(abs(x - y) for r, s in zip(new, beliefs, strict=True) for x, y in zip(r, s, strict=True)) < 1e-14:
            return new
        beliefs = new
    return beliefs
