"""How far beliefs can be trusted, in a sentence."""

from typing import TYPE_CHECKING

import numpy as np

from ..field import MarkovRandomField
from .elimination import treewidth_bound

if TYPE_CHECKING:
    from .beliefs import BeliefState

# where an exact check is offered: so many edges, and so many numbers in the tables it would fill
_CHEAP_EDGES = 20_000
_CHEAP_ENTRIES = 2**22
# a belief is near certain from here on, and a field is saturated when more than half of its beliefs are
_SURE = 0.99


def caveat(state: "BeliefState") -> str:
    """How far the beliefs can be trusted; empty where they are exact."""
    if state.exact:
        return ""
    offer = offer_exact(state.mrf)
    if not state.converged:
        return "not converged: do not rely on these numbers" + (f"; {offer}" if offer else "")
    why = "" if state.mrf.is_forest else "the graph has cycles, so "
    parts = [f"{why}these are approximations"]
    if state.doubt is not None:
        parts.append(str(state.doubt))
    told = tell_saturation(state)
    return "; ".join([*parts, *filter(None, (told, offer))])


def offer_exact(mrf: MarkovRandomField) -> str:
    """Whether exact inference would be cheap; empty where it would not."""
    if mrf.n_edges > _CHEAP_EDGES:
        return ""
    bound = treewidth_bound(mrf, max_entries=_CHEAP_ENTRIES)
    return "" if bound.exceeded else f"exact_marginals can check them (treewidth {bound.width})"


def tell_saturation(state: "BeliefState") -> str:
    """That most beliefs are near certain, as potentials that are too strong make them; empty if they are not."""
    mrf = state.mrf
    free = ~mrf.observed
    if state.exact or not free.any():
        return ""
    sure = np.maximum.reduceat(state.log_beliefs, mrf.offsets[:-1])[free] > np.log(_SURE)
    if 2 * sure.sum() <= len(sure):
        return ""
    from ..criticality import criticality

    strength = criticality(mrf)
    if strength <= 1:  # the evidence itself is strong: no cycle amplifies it
        return ""
    return (
        f"{100 * sure.mean():.0f} % of the beliefs are surer than {_SURE:g}, and messages grow along cycles "
        f"(criticality {strength:.2g}, above 1): the potentials may be too strong for this graph"
    )
