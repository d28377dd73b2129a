"""Small random fields for tests: as plain lists for the oracles, and as a `MarkovRandomField`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import keyplayers as kp
from tests.oracles.fields import Enumeration, enumerate_assignments

# the most assignments a field may have, so that listing them stays quick
MAX_ASSIGNMENTS = 4000


@dataclass(frozen=True)
class PlainField:
    """A field as lists; see `tests.oracles.fields`."""

    priors: list[list[float]]
    edges: list[tuple[int, int]]
    potentials: list[list[list[float]]]

    @cached_property
    def mrf(self) -> kp.MarkovRandomField:
        """The same field as the package sees it."""
        edges = np.array(self.edges, dtype=int).reshape(-1, 2)
        return kp.MarkovRandomField.from_edges(edges, self.priors, potential=self.potentials)

    @cached_property
    def truth(self) -> Enumeration:
        """What brute force says."""
        return enumerate_assignments(self.priors, self.edges, self.potentials)


def random_plain_field(
    seed: int,
    *,
    cyclic: bool,
    max_edges: int = 14,
    max_states: int = 5,
    coupling: float = 1.5,
    zeros: float = 0.1,
    evidence: float = 0.15,
    possible: bool = True,
) -> PlainField:
    """A field with at least one possible assignment, unless `possible` is False.

    Parameters
    ----------
    cyclic
        Whether cycles are allowed; else a forest. Both have several components and isolated variables
        now and then.
    max_states
        State counts are 2 .. max_states: all 2 in a third of the fields, one other count in a quarter, mixed
        in the rest.
    coupling
        Standard deviation of log-potentials in nats.
    zeros
        Share of zeros in priors and potentials.
    evidence
        Share of observed variables.
    possible
        Whether one assignment is kept possible; else only each prior and each potential by itself is.
    """
    rng = np.random.default_rng([seed, cyclic])
    n = int(rng.integers(1, 16))
    kind = rng.random()
    if max_states == 2 or kind < 0.35:
        n_states = [2] * n
    elif kind < 0.6:
        n_states = [int(rng.integers(3, max_states + 1))] * n
    else:
        n_states = rng.integers(2, max_states + 1, n).tolist()
    hidden = [int(rng.integers(k)) for k in n_states]  # stays possible
    priors = []
    for v, k in enumerate(n_states):
        row = np.exp(rng.normal(0, 1, k)) * (rng.random(k) >= zeros)
        if rng.random() < evidence:
            row[:] = 0
        row[hidden[v]] = np.exp(rng.normal())
        priors.append(row.tolist())
    while np.prod([np.count_nonzero(row) for row in priors], dtype=float) > MAX_ASSIGNMENTS:
        priors.pop()
    n = len(priors)
    edges = _random_edges(rng, n, cyclic, max_edges)

    potentials = []
    for a, b in edges:
        matrix = np.exp(rng.normal(0, coupling, (n_states[a], n_states[b])))
        matrix *= rng.random(matrix.shape) >= zeros
        kept = (hidden[a], hidden[b]) if possible else rng.integers(matrix.shape)
        matrix[*kept] = np.exp(rng.normal(0, coupling))
        potentials.append(matrix.tolist())
    return PlainField(priors, edges, potentials)


def _random_edges(rng: np.random.Generator, n: int, cyclic: bool, max_edges: int) -> list[tuple[int, int]]:
    """A forest with random ends, labels and gaps; with `cyclic` some more pairs."""
    labels = rng.permutation(n)
    gap = rng.choice([0.0, 0.0, 0.2])  # whole trees most of the time
    pairs = {(int(rng.integers(v)), v) for v in range(1, n) if rng.random() >= gap}
    pairs = set(sorted(pairs)[:max_edges])
    if cyclic:
        others = [(a, b) for b in range(n) for a in range(b) if (a, b) not in pairs]
        rng.shuffle(others)
        pairs |= {(int(a), int(b)) for a, b in others[: int(rng.integers(0, max_edges - len(pairs) + 1))]}
    edges = []
    for a, b in sorted(pairs):
        ends = int(labels[a]), int(labels[b])
        edges.append(ends if rng.random() < 0.5 else ends[::-1])
    rng.shuffle(edges)
    return [(int(a), int(b)) for a, b in edges]
