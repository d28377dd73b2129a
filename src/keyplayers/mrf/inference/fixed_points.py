"""Whether a hub is surer than its neighbourhood allows, because its own message comes back to it along cycles.

A field with cycles may have several fixed points, each of which looks certain. At a hub of many weak edges they
show: the belief is far surer than all its neighbours' own evidence together. How likely each is follows from the
Bethe approximation of log Z with the hub held in one state or the other.
"""

from collections.abc import Callable

import numpy as np

from ..._base.arrays import Ints
from ..field import MarkovRandomField
from .beliefs import BeliefState, Doubt

# A hub has so many neighbours, and is looked at when it is surer than this, in nats ...
_HUB = 100
_SURE = 20.0
# ... and surer than so many times what its neighbours' priors say.
_AMPLIFIED = 2.0


def find_doubt(state: BeliefState, infer: Callable[[MarkovRandomField], BeliefState]) -> Doubt | None:
    """The hub that is most too sure, and the log-odds that the weights of its states allow; None: no such hub.

    Parameters
    ----------
    infer
        Propagation, for the field with the hub held.
    """
    mrf = state.mrf
    k = mrf.uniform_n_states
    hubs = np.flatnonzero((np.diff(mrf.slots.offsets) >= _HUB) & ~mrf.observed)
    if k is None or k < 2 or not len(hubs):
        return None
    rows = state.log_beliefs.reshape(-1, k)[hubs]
    ranked = np.argsort(-rows, axis=1, kind="stable")[:, :2]
    sure = rows[np.arange(len(hubs)), ranked[:, 0]] - rows[np.arange(len(hubs)), ranked[:, 1]]
    worst, excess = -1, 0.0
    for i in np.flatnonzero((sure > _SURE) & np.isfinite(sure)).tolist():
        allowed = _SURE + _AMPLIFIED * abs(_told(mrf, int(hubs[i]), ranked[i]))
        if sure[i] - allowed > excess:
            worst, excess = i, float(sure[i] - allowed)
    if worst < 0:
        return None
    name = mrf.names[int(hubs[worst])]
    log_weights = []
    for position in ranked[worst].tolist():
        held = mrf.log_priors.copy()
        own = slice(int(hubs[worst]) * k, (int(hubs[worst]) + 1) * k)
        held[own] = np.where(np.arange(k) == position, held[own], -np.inf)
        log_weights.append(infer(mrf.with_log_priors(held)).log_partition)
    weighed = log_weights[0] - log_weights[1]
    if not np.isfinite(weighed) or weighed > sure[worst] / 2:
        return None
    return Doubt(name, mrf.states(name)[int(ranked[worst, 0])], float(sure[worst]), float(weighed))


def _told(mrf: MarkovRandomField, hub: int, pair: Ints) -> float:
    """Log-odds of two states of a hub by its own prior and those of its neighbours, one step away."""
    slots, k = mrf.slots, int(mrf.n_states[0])
    own = mrf.log_priors[hub * k + pair]
    at = np.arange(slots.offsets[hub], slots.offsets[hub + 1])
    tables = mrf.log_potentials.reshape(-1, k, k)[slots.tables[at] >> 1]
    tables = np.where((slots.tables[at] & 1 == 1)[:, None, None], tables.transpose(0, 2, 1), tables)
    joint = tables[:, pair, :] + mrf.log_priors.reshape(-1, k)[slots.neighbours[at]][:, None, :]
    said = np.logaddexp.reduce(joint, axis=2)
    with np.errstate(invalid="ignore"):
        total = float((own[0] - own[1]) + (said[:, 0] - said[:, 1]).sum())
    return total if np.isfinite(total) else np.inf
