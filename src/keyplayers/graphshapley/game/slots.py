"""A field slot by slot, as kernels and paths read it: nothing is padded, so one wide variable costs nobody else.

A slot joins its receiver to its sender; rows of its matrix are states of the receiver, the new member, columns are
those of the sender, its parent.
"""

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from ...mrf.field import MarkovRandomField

# Largest difference of log sums of potentials that is rounding, in nats.
_EQUAL = 1e-14


def per_slot(field: MarkovRandomField) -> tuple[Floats, Ints]:
    """Scaled log-potentials in both directions (flat), and for each slot where its matrix begins and its shape."""
    scaled = scaled_logs(field.log_potentials, field.potential_offsets[:-1])
    shapes = field.potential_shapes.astype(np.int64)
    begins = field.potential_offsets
    turned = [
        scaled[begins[i] : begins[i + 1]].reshape(shape).T.ravel() for i, shape in enumerate(shapes.tolist())
    ]
    table, transposed = field.slots.tables >> 1, field.slots.tables & 1
    places = np.column_stack(
        [
            begins[table] + np.where(transposed, 0, len(scaled)),
            np.where(transposed, shapes[table, 0], shapes[table, 1]),
            np.where(transposed, shapes[table, 1], shapes[table, 0]),
        ]
    )
    return np.concatenate([scaled, *turned]), places


def slot_edges(field: MarkovRandomField) -> Ints:
    """[slots] row of `field.edges` of each slot."""
    n = field.n_variables
    senders = np.repeat(np.arange(n), np.diff(field.slots.offsets))
    keys = np.minimum(senders, field.slots.neighbours) * n + np.maximum(senders, field.slots.neighbours)
    edge_keys = field.edges.min(axis=1).astype(np.int64) * n + field.edges.max(axis=1)
    order = np.argsort(edge_keys)
    rows: Ints = order[np.searchsorted(edge_keys[order], keys)]
    return rows


def silent_slots(field: MarkovRandomField) -> Bools:
    """[slots] whether a receiver that is a leaf with a uniform prior tells the sender nothing."""
    potentials, places = per_slot(field)
    silent = {}
    for begin, n_rows, n_columns in {tuple(place) for place in places.tolist()}:
        sums = np.logaddexp.reduce(potentials[begin : begin + n_rows * n_columns].reshape(n_rows, n_columns))
        silent[begin] = bool(np.ptp(sums) <= _EQUAL) if np.isfinite(sums).all() else False
    return np.array([silent[begin] for begin in places[:, 0].tolist()], dtype=bool)


def scaled_logs(logs: Floats, starts: Ints) -> Floats:
    """Each stretch less its maximum."""
    if not len(starts):
        return logs
    lengths = np.diff(np.append(starts, len(logs)))
    scaled: Floats = logs - np.repeat(np.maximum.reduceat(logs, starts), lengths)
    return scaled
