import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyplayers import InputError, Tabular
from keyplayers.spaces.tabular.columns.number import Number

FRAME = pd.DataFrame(
    {
        "age": [20, 50, 30],
        "income": [1.5, 2.0, np.nan],
        "city": ["a", "b", "b"],
        "kind": pd.Categorical(["x", "y", "y"], categories=["x", "y", "z"]),
        "ok": [True, False, True],
        "left": pd.array([1, 2, None], dtype="Int64"),
    }
)
POLARS = pl.DataFrame(
    {"age": [20, 50, 30], "income": [1.5, 2.0, None], "city": ["a", "b", "b"], "ok": [True, False, True]}
).with_columns(pl.Series("kind", ["x", "y", "y"], dtype=pl.Categorical))
ARROW = pa.table({"age": [20, 50, 30], "city": ["a", "b", "b"], "ok": [True, False, True]})
BACKGROUND = np.array([[0.0, 5.0, 1.0], [2.0, 5.0, 3.0], [4.0, 5.0, 3.0]])

# every kind of table, bound to its last or only row
BOUND = {
    "pandas": lambda: Tabular(background=FRAME).bind(FRAME.iloc[[0]]),
    "pandas series": lambda: Tabular(background=FRAME).bind(FRAME.iloc[0]),
    "pandas, several rows": lambda: Tabular(background=FRAME, baseline="background").bind(FRAME.iloc[[0]]),
    "polars": lambda: Tabular(background=POLARS).bind(POLARS[:1]),
    "pyarrow": lambda: Tabular(background=ARROW).bind(ARROW.slice(0, 1)),
    "floats": lambda: Tabular(background=BACKGROUND).bind(np.array([1.0, 2.0, 3.0])),
    "float32": lambda: Tabular(baseline=0).bind(np.array([1.0, 2.0, 3.0], dtype=np.float32)),
    "integers": lambda: Tabular(baseline=0).bind(np.array([1, 2, 3], dtype=np.uint8)),
    "objects": lambda: Tabular(baseline=["b", 1.0, None]).bind(np.array(["a", 2.0, True], dtype=object)),
    "strings": lambda: Tabular(baseline=["long word", "b", "c"]).bind(np.array(["a", "b", "d"])),
    "groups": lambda: Tabular(baseline=0, groups={"g": [0, 2]}).bind(np.array([1.0, 2.0, 3.0])),
    "a list": lambda: Tabular(baseline=0).bind([1.0, 2.0, 3.0]),
}


def cells(rows):
    if isinstance(rows, np.ndarray):
        return rows.tolist()
    if isinstance(rows, pd.DataFrame):
        return rows.astype(object).where(rows.notna(), None).to_numpy().tolist()
    if isinstance(rows, pa.Table):
        return [list(r.values()) for r in rows.to_pylist()]
    return [list(r) for r in rows.rows()]


def layout(rows):
    if isinstance(rows, np.ndarray):
        return rows.dtype, rows.shape[1:]
    if isinstance(rows, pd.DataFrame):
        return list(rows.columns), rows.dtypes.tolist()
    return rows.schema


@pytest.mark.parametrize("kind", BOUND)
def test_masking_nothing_gives_the_instance_and_a_batch_equals_its_rows(kind):
    bound = BOUND[kind]()
    n = len(bound.names)
    rng = np.random.default_rng(0)
    masked = rng.random((9, n)) < 0.5
    masked[0] = False
    which = rng.integers(0, bound.n_backgrounds, 9)
    batch = bound.rows(masked, which)
    one_by_one = [bound.rows(masked[i : i + 1], which[i : i + 1]) for i in range(9)]
    assert cells(batch) == [cells(rows)[0] for rows in one_by_one]
    assert all(layout(rows) == layout(batch) for rows in one_by_one)
    assert type(batch) is type(one_by_one[0])
    assert (
        len(set(bound.names)) == n == len(bound.maskable) == len(bound.display_values) == len(bound.display_masked)
    )
    # what cannot be moved is the same masked or not
    still = np.zeros((1, n), dtype=bool)
    still[0, ~bound.maskable] = True
    assert cells(bound.rows(still, which[:1])) == cells(batch)[:1]


def test_the_instance_comes_back_with_its_own_values_and_dtypes():
    rows = BOUND["pandas"]().rows(np.zeros((2, 6), dtype=bool), np.zeros(2, dtype=int))
    expected = pd.concat([FRAME.iloc[[0]]] * 2, ignore_index=True)
    pd.testing.assert_frame_equal(rows, expected)


@given(x=st.lists(st.floats(-5, 5), min_size=1, max_size=6), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_masked_values_come_from_the_baseline(x, seed):
    rng = np.random.default_rng(seed)
    tau, row = rng.normal(size=len(x)), np.array(x)
    kept = row.copy()
    masked = rng.random((5, len(x))) < 0.5
    rows = Tabular(baseline=tau).bind(row).rows(masked, np.zeros(5, dtype=int))
    assert np.array_equal(rows, np.where(masked, tau, row))
    assert np.array_equal(row, kept)


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        (None, [2.0, 5.0, 7 / 3]), ("mean", [2.0, 5.0, 7 / 3]), ("median", [2.0, 5.0, 3.0]),
        ("most_frequent", [0.0, 5.0, 3.0]), ("missing", [np.nan] * 3), (9, [9.0, 9.0, 9.0]),
        ({0: 7, 2: "median"}, [7.0, 5.0, 3.0]), ([1, 2, 3], [1.0, 2.0, 3.0]),
    ],
)  # fmt: skip
def test_baselines(baseline, expected):
    bound = Tabular(background=BACKGROUND, baseline=baseline).bind(np.array([1.0, 2.0, 8.0]))
    rows = bound.rows(np.ones((1, 3), dtype=bool), np.zeros(1, dtype=int))
    np.testing.assert_allclose(rows[0], expected)


def test_a_single_background_row_is_the_baseline():
    bound = Tabular(background=FRAME.iloc[[1]]).bind(FRAME.iloc[[0]])
    assert cells(bound.rows(np.ones((1, 6), dtype=bool), np.zeros(1, dtype=int))) == cells(FRAME.iloc[[1]])


def test_missing_equals_missing():
    bound = Tabular(baseline=[np.nan, 0.0, np.nan]).bind(np.array([np.nan, 0.0, 1.0]))
    assert bound.maskable.tolist() == [False, False, True]


def test_a_group_of_one_column_masks_that_column():
    bound = Tabular(baseline=0, groups={"b": [1]}).bind(np.array([1.0, 2.0, 3.0]))
    assert bound.names == ("b", 0, 2)
    assert bound.rows(np.eye(3, dtype=bool), np.zeros(3, dtype=int)).tolist() == [[1, 0, 3], [0, 2, 3], [1, 2, 0]]


def test_groups_cover_the_rest_column_by_column():
    bound = Tabular(baseline=0, groups=[["b", "c"]], feature_names=list("abcd")).bind(np.ones(4))
    assert bound.names == ("b + c", "a", "d")
    assert bound.rows(np.array([[True, False, False]]), np.zeros(1, dtype=int)).tolist() == [[1.0, 0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("space", "row", "message"),
    [
        (lambda: Tabular(), np.array(["a", 1.0], dtype=object), "column 0 holds 'a': no number"),
        (lambda: Tabular(baseline="mean"), np.ones(2), "needs background rows"),
        (lambda: Tabular(baseline={0: "background"}, background=BACKGROUND), np.ones(3), "is for all columns"),
        (lambda: Tabular(baseline=[1, 2, 3]), np.ones(2), "must have 2 columns"),
        (lambda: Tabular(baseline={"q": 1}), np.ones(2), "no column 'q'"),
        (lambda: Tabular(groups=[[0], [0, 1]]), np.ones(2), "stands in two groups"),
        (lambda: Tabular(), np.ones((2, 2)), "one row|shape"),
        (lambda: Tabular(feature_names=["a"]), np.ones(2), "1 feature_names"),
        (lambda: Tabular(baseline={"kind": "w"}, background=FRAME), FRAME.iloc[[0]], "none of its categories"),
        (lambda: Tabular(background=FRAME[["age"]]), FRAME.iloc[[0]], "lacks the columns 'income'"),
        (lambda: Tabular(background=FRAME), FRAME, "frame given has 3 rows"),
        (lambda: Tabular(baseline=["x", 0]), np.ones(2), "baseline of \\[0\\] does not"),
    ],
)
def test_what_cannot_be_bound_is_refused(space, row, message):
    with pytest.raises(InputError, match=message):
        space().bind(row)


FRAMES = [
    pd.DataFrame,
    lambda data: pd.DataFrame(data).convert_dtypes(),
    lambda data: pd.DataFrame(data, dtype=object),
    pl.DataFrame,
    pa.table,
]


@pytest.mark.parametrize("make", FRAMES)
def test_the_baseline_that_is_given_for_a_column_is_what_masking_puts_in(make):
    days = [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)]
    table = make({"day": days, "home": ["own", "rent"], "ok": [True, False], "n": [3, 4]})
    given = {"day": datetime.datetime(1999, 1, 1), "home": "none", "ok": 0, "n": 0.5}
    # a background must not win over what is given
    bound = Tabular(baseline=given, background=table).bind(table[:1])
    masked = bound.rows(np.ones((1, 4), dtype=bool), np.zeros(1, dtype=int))
    assert cells(masked) == [[datetime.datetime(1999, 1, 1), "none", False, 0.5]]
    assert layout(bound.rows(np.zeros((2, 4), dtype=bool), np.zeros(2, dtype=int))) == layout(masked)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, lambda data: pd.DataFrame(data).convert_dtypes(), pl.DataFrame, pa.table]
)
@pytest.mark.parametrize(
    ("column", "tau"),
    [("ok", 0.5), ("home", 0), ("x", "none"), ("day", 0), ("day", "none"), ("n", "many")],
)
def test_a_baseline_that_a_column_cannot_hold_is_refused_with_its_name(make, column, tau):
    table = make({"day": [datetime.datetime(2020, 1, 1)], "home": ["own"], "ok": [True], "n": [3], "x": [0.5]})
    others = {"day": datetime.datetime(1999, 1, 1), "home": "none", "ok": False, "n": 0, "x": 0}
    with pytest.raises(InputError, match=f"baseline of column '{column}' is {tau!r}, which a column of"):
        Tabular(baseline=others | {column: tau}).bind(table)


@pytest.mark.parametrize(
    ("dtype", "promoted"), [("int8", "float64"), ("Int64", "Float64"), ("int64[pyarrow]", "double[pyarrow]")]
)
@pytest.mark.parametrize("tau", [0.5, "missing"])
def test_columns_of_integers_are_promoted_within_their_kind_of_pandas(dtype, promoted, tau):
    bound = Tabular(baseline=tau).bind(pd.DataFrame({"a": pd.array([3], dtype=dtype)}))
    rows = bound.rows(np.array([[False], [True]]), np.zeros(2, dtype=int))
    # nullable integers know what a missing one is
    assert rows["a"].dtype == (dtype if tau == "missing" and dtype != "int8" else promoted)
    assert rows["a"].isna().tolist() == [False, tau == "missing"]
    assert rows["a"][0] == 3


BIG = 2**60 + 1


@pytest.mark.parametrize("make", [*FRAMES, lambda data: np.array(list(zip(*data.values(), strict=True)))])
def test_integers_that_a_float_cannot_hold_are_not_rounded(make):
    table = make({"id": [BIG, BIG + 4], "n": [1, 3]})
    bound = Tabular(background=table).bind(table[:1])
    assert cells(bound.rows(np.zeros((1, 2), dtype=bool), np.zeros(1, dtype=int))) == [[BIG, 1]]
    first = 0 if isinstance(table, np.ndarray) else "id"
    if make is not FRAMES[2]:  # objects hold anything
        with pytest.raises(InputError, match="id|round those of"):
            Tabular(baseline={first: 0.5}).bind(table[:1])


def test_missing_flags_are_missing_where_a_column_can_hold_them():
    flags = {"ok": [True]}
    for table in (pl.DataFrame(flags), pa.table(flags), pd.DataFrame(flags).convert_dtypes()):
        bound = Tabular(baseline="missing").bind(table)
        assert bound.display_masked == ("missing",)
        assert pd.isna(cells(bound.rows(np.ones((1, 1), dtype=bool), np.zeros(1, dtype=int)))[0][0])
    with pytest.raises(InputError, match="is None, which a column of bool cannot hold"):
        Tabular(baseline="missing").bind(pd.DataFrame(flags))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_in_which_all_is_missing_cannot_be_masked(make):
    table = make({"a": [None, None], "b": [1.0, 2.0]})
    assert Tabular(background=table).bind(table[:1]).maskable.tolist() == [False, True]


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
def test_a_row_of_a_frame_is_a_baseline_whatever_it_holds(make):
    table = make({"day": [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)], "x": [1.0, 2.0]})
    bound = Tabular(baseline=table[1:2]).bind(table[:1])
    assert cells(bound.rows(np.ones((1, 2), dtype=bool), np.zeros(1, dtype=int))) == cells(table[1:2])


def test_columns_of_a_frame_keep_their_names_and_dtypes():
    table = pd.DataFrame({0: [1, 2], "home": pd.Series(["own", "rent"], dtype=object), ("a", 1): [0.5, 1.5]})
    bound = Tabular(background=table).bind(table.iloc[[0]])
    assert bound.names == (0, "home", ("a", 1))
    rows = bound.rows(np.array([[False, True, False]]), np.zeros(1, dtype=int))
    assert list(rows.columns) == [0, "home", ("a", 1)]
    assert rows["home"].dtype == object
    assert Tabular(background=table).bind(table.iloc[0]).names == bound.names


@pytest.mark.parametrize(
    ("row", "space", "message"),
    [
        (np.ones(2, dtype=np.float32), {"baseline": 1e300}, "in which the baseline would be infinite"),
        (np.ones(2), {"baseline": 1j}, "the row holds numbers"),
        (np.ones(2), {"baseline": [[1], [1, 2]]}, "rows of different lengths"),
        (np.array(["2020-01-01"], dtype="M8[D]"), {"baseline": 0}, "the row holds"),
        (np.ones(2), {"background": [[1, "x"], [2, "y"]]}, "holds no numbers in the background"),
        (
            pd.Series({"a": 1.5}),
            {"background": pd.DataFrame({"a": ["u", "v"]}, dtype="category")},
            "holds 1.5, but in the",
        ),
        (pd.Series({"a": 1.5}), {"background": pd.DataFrame({"b": [1.0]})}, "lacks the columns 'a'"),
        (pd.DataFrame({"a": [1.5]}), {"background": pd.DataFrame({"a": []})}, "must have at least one row"),
        (pd.DataFrame({"a": [1]}), {"baseline": {"a": [1, 2]}}, r"is \[1, 2\], which a column of int64 cannot"),
        (
            pd.DataFrame({"a": [[1, 2]]}),
            {"background": pd.DataFrame({"a": [[1, 2], [3, 4]]})},
            "holds list, of which",
        ),
        (
            pd.Series({"a": None}),
            {"background": pd.DataFrame({"a": [True]})},
            "None, which a column of bool",
        ),
    ],
)
def test_values_that_do_not_fit_are_refused(row, space, message):
    with pytest.raises(InputError, match=message):
        Tabular(**space).bind(row)


def test_a_whole_number_beyond_the_integers_promotes_them():
    bound = Tabular(baseline=1e300).bind(np.array([1, 2]))
    assert bound.rows(np.ones((1, 2), dtype=bool), np.zeros(1, dtype=int)).tolist() == [[1e300, 1e300]]


def test_a_background_is_read_once_and_no_part_of_what_is_pickled(monkeypatch):
    asked = []
    typical = Number.typical
    monkeypatch.setattr(Number, "typical", lambda *given: asked.append(given[0].name) or typical(*given))
    space = Tabular(background=np.random.default_rng(0).normal(size=(50, 3)))
    before = pickle.dumps(space)
    bound = space.bind(np.ones(3))
    assert asked == [0, 1, 2]
    again = space.bind(np.zeros(3))
    assert asked == [0, 1, 2]
    assert pickle.dumps(space) == before
    masked, which = np.ones((1, 3), dtype=bool), np.zeros(1, dtype=int)
    assert bound.rows(masked, which).tolist() == again.rows(masked, which).tolist()
    assert bound.rows(masked, which)[0] == pytest.approx(np.asarray(space.background).mean(axis=0))
