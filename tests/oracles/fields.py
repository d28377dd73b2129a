"""Fields by brute force, and textbook belief propagation. Lists of floats in, lists of floats out.

A field is given as `priors` (one list of weights per variable), `edges` (pairs of positions) and
`potentials` (one list of rows per edge, rows = states of the first end). Nothing is normalised.
"""

import math
from dataclasses import dataclass

Row = list[float]
Matrix = list[list[float]]


@dataclass
class Enumeration:
    """What a listing of every assignment says; `pairs` and `marginals` are empty where nothing is possible."""

    log_partition: float  # -inf where nothing is possible
    marginals: list[Row]
    pairs: list[Matrix]  # one per edge, rows = states of the first end
    max_marginals: list[Row]  # largest weight of an assignment with that state, scaled to sum 1
    best_log_weight: float
    modes: list[list[int]]  # all assignments whose weight is within a billionth of the best


def enumerate_assignments(
    priors: list[Row], edges: list[tuple[int, int]], potentials: list[Matrix]
) -> Enumeration:
    """Visit every assignment and add up its weight."""
    n = len(priors)
    # an edge is looked at as soon as its later end has a state
    closing: list[list[tuple[int, Matrix, bool]]] = [[] for _ in range(n)]
    for (a, b), potential in zip(edges, potentials, strict=True):
        closing[max(a, b)].append((min(a, b), potential, a > b))
    weighted: list[tuple[list[int], float]] = []
    states = [0] * n

    def visit(v: int, weight: float) -> None:
        if v == n:
            weighted.append((states.copy(), weight))
            return
        for x, prior in enumerate(priors[v]):
            w = weight * prior
            for u, potential, backwards in closing[v]:
                w *= potential[x][states[u]] if backwards else potential[states[u]][x]
            if w > 0:
                states[v] = x
                visit(v + 1, w)

    visit(0, 1.0)
    if not weighted:
        return Enumeration(-math.inf, [], [], [], -math.inf, [])

    total = math.fsum(weight for _, weight in weighted)
    best = max(weight for _, weight in weighted)
    marginals = [[0.0] * len(row) for row in priors]
    largest = [[0.0] * len(row) for row in priors]
    pairs = [[[0.0] * len(row) for row in potential] for potential in potentials]
    for x, weight in weighted:
        for v in range(n):
            marginals[v][x[v]] += weight
            largest[v][x[v]] = max(largest[v][x[v]], weight)
        for (a, b), pair in zip(edges, pairs, strict=True):
            pair[x[a]][x[b]] += weight
    return Enumeration(
        log_partition=math.log(total),
        marginals=[_normalised(row) for row in marginals],
        pairs=[[[weight / total for weight in row] for row in pair] for pair in pairs],
        max_marginals=[_normalised(row) for row in largest],
        best_log_weight=math.log(best),
        modes=[x for x, weight in weighted if weight >= best * (1 - 1e-9)],
    )


@dataclass
class Sweep:
    """Messages and beliefs after a number of synchronous sweeps from uniform messages."""

    messages: dict[tuple[int, int], Row]  # (sender, receiver) -> weights that sum to 1
    beliefs: list[Row]


def flood(
    priors: list[Row],
    edges: list[tuple[int, int]],
    potentials: list[Matrix],
    n_sweeps: int,
    *,
    max_product: bool = False,
) -> list[Sweep]:
    """Synchronous belief propagation, every sweep from 0 (uniform messages) to `n_sweeps`.

    Raises ZeroDivisionError where a message has no possible state.
    """
    combine = max if max_product else sum
    neighbours: list[list[int]] = [[] for _ in priors]
    # weight[j, i][x_j][x_i]
    weight: dict[tuple[int, int], Matrix] = {}
    for (a, b), potential in zip(edges, potentials, strict=True):
        neighbours[a].append(b)
        neighbours[b].append(a)
        weight[a, b] = potential
        weight[b, a] = [list(column) for column in zip(*potential, strict=True)]

    def incoming(messages: dict[tuple[int, int], Row], v: int, without: int | None = None) -> Row:
        product = _normalised(priors[v])
        for k in neighbours[v]:
            if k != without:
                product = [p * m for p, m in zip(product, messages[k, v], strict=True)]
        return product

    def state(messages: dict[tuple[int, int], Row]) -> Sweep:
        return Sweep(messages, [_normalised(incoming(messages, v)) for v in range(len(priors))])

    messages = {(j, i): _normalised([1.0] * len(priors[i])) for j, i in weight}
    sweeps = [state(messages)]
    for _ in range(n_sweeps):
        new = {}
        for j, i in weight:
            cavity = incoming(messages, j, without=i)
            new[j, i] = _normalised(
                [
                    combine(cavity[xj] * weight[j, i][xj][xi] for xj in range(len(cavity)))
                    for xi in range(len(priors[i]))
                ]
            )
        messages = new
        sweeps.append(state(messages))
    return sweeps


def _normalised(row: Row) -> Row:
    total = sum(row)
    return [weight / total for weight in row]
