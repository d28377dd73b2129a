"""Ragged arrays."""

import numpy as np
import pytest

from keyplayers._base.segments import concatenated_ranges, segment_log_sums, stable_order, subtract_segment_max


def test_ranges_come_one_after_the_other_with_their_owner():
    numbers, owner = concatenated_ranges(np.array([3, 5, 5, 0]), np.array([5, 5, 6, 2]))
    assert numbers.tolist() == [3, 4, 5, 0, 1]
    assert owner.tolist() == [0, 0, 2, 3, 3]


def test_segments_less_their_maximum_and_their_log_sums():
    logs, offsets = np.array([1.0, 3.0, -np.inf, 5.0]), np.array([0, 2, 4])
    relative, tops = subtract_segment_max(logs, offsets)
    assert relative.tolist() == [-2.0, 0.0, -np.inf, 0.0]
    assert tops.tolist() == [3.0, 5.0]
    assert np.allclose(segment_log_sums(logs, offsets), [np.log(np.exp(1) + np.exp(3)), 5.0])
    assert segment_log_sums(np.zeros(0), np.zeros(1, dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("bound", [3, 2**16, 2**16 + 1, 2**31])
def test_a_stable_order_is_that_of_a_stable_sort(bound):
    keys = np.random.default_rng(0).integers(0, bound, 10_000).astype(np.int32)
    keys[::7] = keys[0]
    assert (stable_order(keys, bound) == np.argsort(keys, kind="stable")).all()
