"""Laws and value functions on grids: shared out, added up, taken apart again."""

from dataclasses import dataclass, field

import numpy as np
from scipy import fft

from ..._base.arrays import Floats, Ints

# Points over which a mass is shared out, and the largest of |θ(θ²-1)(θ²-4)(θ-3)| / 6! for 0 <= θ <= 1: for any g
# the error in the mean of g is at most this times h⁶ sup|g⁽⁶⁾|, the remainder of Lagrange's interpolation.
POINTS = 6
SHARE_ERROR = 5 / 1024
# Cells on either side of a range that sharing out may touch.
MARGIN = 3
# Standard deviations to either side of the mean that a window covers where the true range is wider.
_DEVIATIONS = 10.0


@dataclass(eq=False)
class Rows:
    """Laws on cells: row r has mass masses[r, i] at (offsets[r] + i) h."""

    offsets: Ints  # [R]
    masses: Floats  # [R, L]

    @property
    def length(self) -> int:
        return int(self.masses.shape[1])

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(eq=False)
class _Pairing:
    """Rows 2i and 2i + 1 were added up and the window of the sum cut out."""

    rows: Rows  # before
    n_rows: int  # of them not counting one put in to make their number even
    starts: Ints  # [R/2] first cell of the window within the full sum


@dataclass(eq=False)
class _Joining:
    """A batch was put below the rows at hand."""

    n_rows: int
    length: int
    batch: int


@dataclass(eq=False)
class Sum:
    """The sum of a variable's messages, and how it came about."""

    step: float  # h
    steps: list[_Pairing | _Joining] = field(default_factory=list)
    first: int = 0  # batch with which it began
    lengths: list[int] = field(default_factory=list)  # of the batches
    law: Rows | None = None  # one row
    variation: float = 1.0  # bound on the total variation of partial sums, at least 1
    lost: float = 0.0  # mass outside of windows


def shares(x: Floats) -> tuple[Ints, Floats]:
    """The six cells nearest to points x (in units of h) [P, 6], and Lagrange's weights there [P, 6]."""
    floor = np.floor(x)
    theta = (x - floor)[:, None]
    nodes = np.arange(-2, 4)
    weights = np.ones((len(x), POINTS))
    for i, node in enumerate(nodes):
        for other in nodes:
            if other != node:
                weights[:, i] *= (theta[:, 0] - other) / (node - other)
    return floor.astype(np.int64)[:, None] + nodes, weights


def share_out(points: Floats, masses: Floats, hull: tuple[float, float], h: float) -> Rows:
    """A row with the points' masses shared out; its cells cover the hull."""
    offset = int(np.floor(hull[0] / h)) - MARGIN
    length = int(np.ceil(hull[1] / h)) - offset + MARGIN + 1
    cells, weights = shares(points / h)
    shared = (weights * masses[:, None]).ravel()
    row: Floats = np.bincount((cells - offset).ravel(), weights=shared, minlength=length).astype(np.float64)
    return Rows(np.array([offset]), row[None])


def interpolate(function: Floats, offset: int, h: float, points: Floats) -> Floats:
    """[2, P] a function [2, L] on cells from `offset`, at points: the transpose of sharing out."""
    cells, weights = shares(points / h)
    found: Floats = (function[:, cells - offset] * weights).sum(axis=-1)
    return found


def binomial(n: int) -> tuple[Floats, Floats]:
    """Counts within the window of a binomial with chance 1/2, and their probabilities."""
    reach = _DEVIATIONS * np.sqrt(n) / 2.0 + 1.0
    counts = np.arange(max(0, int(n / 2 - reach)), min(n, int(np.ceil(n / 2 + reach))) + 1)
    log_factorials = np.append(0.0, np.cumsum(np.log(np.arange(1.0, n + 1.0))))
    logs = log_factorials[n] - log_factorials[counts] - log_factorials[n - counts] - n * np.log(2.0)
    chances = np.exp(logs)
    return counts.astype(np.float64), chances / chances.sum()


def add_up(total: Sum, batches: list[Rows]) -> None:
    """Add up all rows, short ones first, two at a time. Writes everything but the step into `total`."""
    order = sorted(range(len(batches)), key=lambda i: batches[i].length)
    total.first = order.pop(0)
    rows = batches[total.first]
    reach = max(batch.length for batch in batches)
    while order or len(rows) > 1:
        following = batches[order[0]] if order else None
        if following is not None and (len(rows) == 1 or following.length <= rows.length):
            total.steps.append(_Joining(len(rows), rows.length, order.pop(0)))
            rows = _join(rows, following)
            continue
        total.variation *= max(1.0, float(np.abs(rows.masses).sum(axis=1).max()))
        pairing, rows, lost = _pair(rows, reach)
        total.steps.append(pairing)
        total.lost += lost
    total.variation *= max(1.0, float(np.abs(rows.masses).sum()))
    total.law = rows


def _join(above: Rows, below: Rows) -> Rows:
    length = max(above.length, below.length)
    masses = np.zeros((len(above) + len(below), length))
    masses[: len(above), : above.length] = above.masses
    masses[len(above) :, : below.length] = below.masses
    return Rows(np.concatenate([above.offsets, below.offsets]), masses)


def _pair(rows: Rows, reach: int) -> tuple[_Pairing, Rows, float]:
    """Sums of rows 2i and 2i + 1, cut to their windows; `reach` more cells stay on either side."""
    n_rows = len(rows)
    if n_rows % 2:
        nothing = np.zeros((1, rows.length))
        nothing[0, 0] = 1.0
        rows = Rows(np.append(rows.offsets, 0), np.concatenate([rows.masses, nothing]))
    full_length = 2 * rows.length - 1
    size = fft.next_fast_len(full_length, real=True)
    spectra = fft.rfft(rows.masses, size, axis=1)
    full = fft.irfft(spectra[0::2] * spectra[1::2], size, axis=1)[:, :full_length]
    starts, length = _window(full, reach)
    cells = np.minimum(starts[:, None] + np.arange(length), full_length - 1)
    masses = np.take_along_axis(full, cells, axis=1)
    lost = float(np.abs(full).sum() - np.abs(masses).sum())
    return (
        _Pairing(rows, n_rows, starts),
        Rows(rows.offsets[0::2] + rows.offsets[1::2] + starts, masses),
        max(0.0, lost),
    )


def _window(full: Floats, reach: int) -> tuple[Ints, int]:
    """Start of each row's window (mean ± 10 standard deviations ± `reach`, within the row) and their length."""
    cells = np.arange(full.shape[1])
    mean = full @ cells
    deviation = np.sqrt(np.maximum(full @ (cells**2.0) - mean**2, 0.0))
    low = np.maximum(0, np.floor(mean - _DEVIATIONS * deviation).astype(np.int64) - reach)
    high = np.minimum(full.shape[1] - 1, np.ceil(mean + _DEVIATIONS * deviation).astype(np.int64) + reach)
    length = int((high - low).max()) + 1
    return np.minimum(low, full.shape[1] - length), length


def take_apart(total: Sum, function: Floats) -> list[Floats]:
    """Value functions [2, R, L] of all batches' rows, given that of their sum [2, L], the others averaged out."""
    functions = function[:, None, :]
    found: dict[int, Floats] = {}
    for step in reversed(total.steps):
        if isinstance(step, _Joining):
            found[step.batch] = functions[:, step.n_rows :, : total.lengths[step.batch]]
            functions = functions[:, : step.n_rows, : step.length]
        else:
            functions = _unpair(step, functions)
    found[total.first] = functions
    return [found[i] for i in range(len(total.lengths))]


def _unpair(pairing: _Pairing, functions: Floats) -> Floats:
    rows = pairing.rows
    full = _widen(functions, pairing.starts, 2 * rows.length - 1)
    size = fft.next_fast_len(full.shape[-1], real=True)
    spectra = np.conj(fft.rfft(rows.masses, size, axis=1))
    others = np.empty_like(spectra)
    others[0::2], others[1::2] = spectra[1::2], spectra[0::2]
    wide = np.repeat(fft.rfft(full, size, axis=-1), 2, axis=1)
    apart: Floats = fft.irfft(wide * others, size, axis=-1)[..., : rows.length]
    return apart[:, : pairing.n_rows]


def _widen(functions: Floats, starts: Ints, full_length: int) -> Floats:
    """Functions [2, R, L] on windows, carried on by their last values."""
    cells = np.clip(np.arange(full_length) - starts[:, None], 0, functions.shape[-1] - 1)
    return np.take_along_axis(functions, np.broadcast_to(cells, (2, *cells.shape)), axis=-1)


def power(one: Rows, n: int) -> tuple[Rows, Rows, Ints]:
    """Laws of the sum of n and of n - 1 independent copies; where the window of the first starts."""
    fewer = _copies(one, n - 1)
    pair = _join(fewer, one)
    pairing, many, _ = _pair(pair, one.length)
    return many, fewer, pairing.starts


def _copies(one: Rows, n: int) -> Rows:
    if n == 1:
        return one
    half = _copies(one, n // 2)
    many = _pair(_join(half, half), one.length)[1]
    return _pair(_join(many, one), one.length)[1] if n % 2 else many


def rest_of_power(function: Floats, one: Rows, fewer: Rows, starts: Ints) -> Floats:
    """Value function [2, L] of one copy's message, given that of the sum, the other copies averaged out."""
    pairing = _Pairing(_join(fewer, one), 2, starts)
    return _unpair(pairing, function[:, None, :])[:, 1, : one.length]
