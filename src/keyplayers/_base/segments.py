"""Ragged arrays: rows of different lengths in one flat array, with offsets that say where each begins."""

import numpy as np

from .arrays import Floats, Ints


def offsets_of(lengths: Ints) -> Ints:
    """[n+1] where rows of these lengths begin, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def concatenated_ranges(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """All numbers of the ranges begin .. end-1, one range after the other, and which range each is from."""
    lengths = np.asarray(ends) - begins
    owner = np.repeat(np.arange(len(lengths)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.arange(len(owner)) - before[owner] + np.asarray(begins)[owner], owner


def segment_max(values: Floats, offsets: Ints) -> Floats:
    """[n] the largest entry of each segment; no segment is empty."""
    if len(offsets) == 1:
        return np.zeros(0)
    tops: Floats = np.maximum.reduceat(values, offsets[:-1])
    return tops


def subtract_segment_max(values: Floats, offsets: Ints) -> tuple[Floats, Floats]:
    """Each segment less its largest entry, and these largest entries [n]."""
    tops = segment_max(values, offsets)
    return values - np.repeat(tops, np.diff(offsets)), tops


def segment_log_sums(logs: Floats, offsets: Ints) -> Floats:
    """[n] log Σ exp of each segment; no segment is empty, and none is all -inf."""
    if len(offsets) == 1:
        return np.zeros(0)
    relative, tops = subtract_segment_max(logs, offsets)
    log_sums: Floats = tops + np.log(np.add.reduceat(np.exp(relative), offsets[:-1]))
    return log_sums


def stable_order(keys: Ints, bound: int) -> Ints:
    """[n] positions that sort integers 0 .. bound-1, equal ones in their order, in linear time.

    NumPy's stable sort is a radix sort for 16 bits only.
    """
    order: Ints = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    shift = 16
    while bound > 1 << shift:
        digits = (keys[order] >> shift & 0xFFFF).astype(np.uint16)
        order = order[np.argsort(digits, kind="stable")]
        shift += 16
    return order
