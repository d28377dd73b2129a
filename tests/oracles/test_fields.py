"""The oracles themselves, against numbers worked out by hand."""

import math

import pytest

from tests.oracles.fields import enumerate_assignments, flood
from tests.random_fields import random_plain_field


def test_enumeration_of_two_variables():
    truth = enumerate_assignments([[1, 1], [1, 1]], [(0, 1)], [[[0, 3], [2, 2]]])
    assert truth.log_partition == pytest.approx(math.log(7))
    assert truth.marginals == [pytest.approx([3 / 7, 4 / 7]), pytest.approx([2 / 7, 5 / 7])]
    assert truth.pairs == [[pytest.approx([0, 3 / 7]), pytest.approx([2 / 7, 2 / 7])]]
    assert truth.max_marginals == [pytest.approx([0.6, 0.4]), pytest.approx([0.4, 0.6])]
    assert (truth.modes, truth.best_log_weight) == ([[0, 1]], pytest.approx(math.log(3)))


def test_enumeration_reads_rows_as_states_of_the_first_end():
    truth = enumerate_assignments([[1, 1], [1, 1, 1]], [(1, 0)], [[[1, 0], [0, 2], [0, 4]]])
    assert truth.marginals == [pytest.approx([1 / 7, 6 / 7]), pytest.approx([1 / 7, 2 / 7, 4 / 7])]


def test_nothing_is_possible_where_three_must_differ_in_two_states():
    differ = [[0, 1], [1, 0]]
    truth = enumerate_assignments([[1, 1]] * 3, [(0, 1), (1, 2), (0, 2)], [differ] * 3)
    assert truth.log_partition == -math.inf
    assert truth.modes == []


def test_flooding_starts_uniform_and_reaches_the_marginals_of_a_tree_in_its_diameter():
    s = [[0.9, 0.1], [0.1, 0.9]]
    sweeps = flood([[0.7, 0.3], [1, 1], [1, 1]], [(0, 1), (1, 2)], [s, s], 3)
    assert [sweep.beliefs[2] for sweep in sweeps] == [
        pytest.approx([0.5, 0.5]),
        pytest.approx([0.5, 0.5]),
        pytest.approx([0.628, 0.372]),
        pytest.approx([0.628, 0.372]),
    ]
    assert sweeps[1].messages[0, 1] == pytest.approx([0.66, 0.34])


def test_a_message_does_not_come_back_to_its_sender():
    s = [[0.9, 0.1], [0.1, 0.9]]
    priors, edges = [[0.7, 0.3], [1.0, 2.0], [0.2, 0.8]], [(0, 1), (2, 1)]
    last = flood(priors, edges, [s, s], 4)[-1]
    for belief, marginal in zip(last.beliefs, enumerate_assignments(priors, edges, [s, s]).marginals, strict=True):
        assert belief == pytest.approx(marginal)


def test_random_fields_are_of_every_kind():
    fields = [random_plain_field(seed, cyclic=seed % 2 == 1) for seed in range(300)]
    assert max(len(field.edges) for field in fields) == 14
    assert any(not field.edges for field in fields)
    assert any(len(field.edges) >= len(field.priors) for field in fields)
    assert {len(row) for field in fields for row in field.priors} == {2, 3, 4, 5}
    assert any(field.mrf.observed.any() for field in fields)
    assert any(field.mrf.n_components > 1 and field.edges for field in fields)
    assert all(field.mrf.is_forest for field in fields[::2])
    assert all(field.truth.modes for field in fields)
