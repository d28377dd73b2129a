import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import keyplayers as kp

WEIGHTS = np.linspace(-1, 1, 100_000)


def model(rows):
    """A logistic regression on 100,000 columns."""
    assert rows.format == "csr"
    return 1 / (1 + np.exp(-(rows @ WEIGHTS)))


def row(n_stored, n_columns=100_000):
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(n_columns, n_stored, replace=False))
    return sparse.csr_array((rng.random(n_stored), columns, [0, n_stored]), shape=(1, n_columns))


def test_players_are_the_stored_entries_only():
    found = kp.McXai(model).explain(row(40), random_state=0)
    assert len(found) == 40
    assert found.flipped
    batch = row(40).copy()
    batch.data[np.isin(batch.indices, found.key_set)] = 0
    assert (model(batch)[0] > 0.5) != (model(row(40))[0] > 0.5)


def test_a_stored_zero_is_no_action_and_a_missing_value_is_one():
    given = sparse.csr_array((np.array([0.0, np.nan, 2.0]), [1, 2, 3], [0, 3]), shape=(1, 5))
    assert kp.Sparse().bind(given).maskable.tolist() == [False, True, True]


def test_entries_stored_twice_are_one_player():
    given = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 0], [4, 4, 2])), shape=(1, 6))
    bound = kp.Sparse().bind(given)
    assert sorted(zip(bound.names, bound.display_values, strict=True)) == [(2, "3"), (4, "3")]
    assert given.nnz == 3  # and the caller's row is as it was


def test_a_batch_takes_memory_for_what_is_stored_only():
    bound = kp.Sparse().bind(row(300))
    masked = np.random.default_rng(1).random((256, 300)) < 0.5
    tracemalloc.start()
    bound.rows(masked, np.zeros(256, dtype=np.int64))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6  # a dense batch takes 205 MB


@pytest.mark.parametrize(
    ("space", "instance", "message"),
    [
        (kp.Sparse(), np.zeros(4), "takes a sparse row of SciPy, got ndarray; dense rows are for Tabular"),
        (kp.Sparse(), sparse.eye_array(3, format="csr"), r"takes one row.*got shape \(3, 3\)"),
        (kp.Sparse(feature_names=["a"]), row(2, 9), "must name all 9 columns of the row, got 1"),
        (kp.Sparse(feature_names=["a"] * 9), row(2, 9), "distinct, but 'a' stands more than once"),
    ],
)
def test_what_is_no_row_or_no_names_is_refused(space, instance, message):
    with pytest.raises(kp.InputError, match=message):
        space.bind(instance)


def test_rows_of_a_sparse_matrix_go_through_a_batch():
    rows = sparse.vstack([row(5), row(9)], format="csr")
    found = kp.explain_many(kp.McXai(model), rows, random_state=0, n_jobs=1)
    assert [len(each) for each in found] == [5, 9]
