"""How near a field is to the point beyond which one piece of evidence can tip all of it."""

import numpy as np

from .._base.arrays import Floats, Ints
from .field import MarkovRandomField, index_slots
from .inference.elimination import fixed_variables
from .pendant import strip_leaves

# Power iterations: the ratio of successive sums settles to the tolerance below within a few dozen on real graphs.
_MAX_STEPS = 1000
_TOLERANCE = 1e-9
# How many of the last ratios must agree.
_SETTLED = 5


def criticality(mrf: MarkovRandomField) -> float:
    """How strongly a change of a message comes back along cycles: t · ρ.

    Below 1 belief propagation has one fixed point and converges to it from any start. Above 1 it may have several;
    a single observed variable can then tip the whole field, and beliefs are surer than the evidence allows. With
    homophily h and two states, t = 2h - 1 on every edge, and ρ grows with how densely the graph is woven.

    Returns
    -------
    The spectral radius of the non-backtracking matrix of the unobserved part, each directed edge weighted with
    t = tanh of a quarter of the largest log odds ratio of its potential (1 where an entry is 0). 0 on forests.

    Notes
    -----
    Power iteration; the cost is linear in the edges.

    References
    ----------
    Mooij and Kappen, "Sufficient conditions for convergence of the sum-product algorithm", IEEE Trans. Inf. Theory
    53 (2007), doi:10.1109/TIT.2007.909166, theorem 4 and corollary 4.

    Examples
    --------
    >>> import keyplayers as kp
    >>> ring = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (2, 0)], homophily=0.8)
    >>> round(kp.criticality(ring), 3)
    0.6
    """
    edges, index = _cyclic_part(mrf)
    if not len(edges):
        return 0.0
    slots = index_slots(edges, index, mrf.n_variables)
    strengths = _strengths(mrf)[slots.tables >> 1]
    senders = slots.neighbours[slots.reverse]
    flow = np.ones(len(senders))
    ratios: list[float] = []
    for _ in range(_MAX_STEPS):
        arriving = np.bincount(slots.neighbours, flow, mrf.n_variables)
        # half of what was stays, or the flow would swing for ever on bipartite graphs
        sent = (strengths * (arriving[senders] - flow[slots.reverse]) + flow) / 2
        ratios.append(float(sent.sum() / flow.sum()))
        flow = sent / sent.max()
        lately = ratios[-_SETTLED:]
        if len(lately) == _SETTLED and max(lately) - min(lately) < _TOLERANCE:
            break
    return max(2 * ratios[-1] - 1, 0.0)


def _cyclic_part(mrf: MarkovRandomField) -> tuple[Ints, Ints]:
    """Edges on and between cycles of unobserved variables, and their potentials."""
    free = ~fixed_variables(mrf)[mrf.edges].any(axis=1)
    edges, index = mrf.edges[free], mrf.potential_index[free]
    slots = index_slots(edges, index, mrf.n_variables)
    kept = strip_leaves(slots.offsets, slots.neighbours).in_core[edges].all(axis=1)
    return edges[kept], index[kept]


def _strengths(mrf: MarkovRandomField) -> Floats:
    """[P] tanh of a quarter of the largest log odds ratio of each potential."""
    strengths = np.ones(len(mrf.potential_shapes))
    for shape in np.unique(mrf.potential_shapes, axis=0):
        at = np.flatnonzero((mrf.potential_shapes == shape).all(axis=1))
        cells = mrf.potential_offsets[at][:, None] + np.arange(shape.prod())
        logs = mrf.log_potentials[cells].reshape(-1, *shape)
        finite = np.isfinite(logs).all(axis=(1, 2))
        largest = np.zeros(int(finite.sum()))
        for i in range(1, shape[0]):
            for j in range(i):  # log of ψ(i, .) / ψ(j, .), over all pairs of columns
                largest = np.maximum(largest, np.ptp(logs[finite, i] - logs[finite, j], axis=1))
        strengths[at[finite]] = np.tanh(largest / 4)
    return strengths
