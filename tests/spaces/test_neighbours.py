"""Real rows that the model decides otherwise, as what masking puts in."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from keyplayers import InputError, Tabular
from keyplayers.spaces import NeighbourSpace

N = 40
RNG = np.random.default_rng(0)
DATA = {
    "age": RNG.integers(18, 80, N).tolist(),
    "income": [None if i % 9 == 0 else float(x) for i, x in enumerate(RNG.normal(50, 20, N).round(1))],
    "city": RNG.choice(["a", "b", "c"], N).tolist(),
    "ok": (RNG.random(N) < 0.4).tolist(),
    "day": [datetime.datetime(2020, 1, 1) + datetime.timedelta(int(i)) for i in RNG.integers(0, 99, N)],
}
MAKE = {"pandas": pd.DataFrame, "nullable": lambda d: pd.DataFrame(d).convert_dtypes(), "polars": pl.DataFrame,
        "pyarrow": pa.table}  # fmt: skip


def row(table, at):
    return table.iloc[[at]] if isinstance(table, pd.DataFrame) else table[at : at + 1]


def listed(rows):
    if isinstance(rows, pd.DataFrame):
        rows = rows.astype(object).where(rows.notna(), None)
        return rows.to_dict("records")
    return rows.to_pylist() if isinstance(rows, pa.Table) else rows.to_dicts()


def plain_distance(a, b, free):
    """Column by column, in plain Python."""
    total = 0.0
    for name in free:
        x, y = a[name], b[name]
        if x is None or y is None:
            total += (x is None) != (y is None)
        elif name in ("age", "income", "day"):
            known = [v for v in DATA[name] if v is not None]
            if name == "day":
                x, y, known = x.timestamp(), y.timestamp(), [v.timestamp() for v in known]
            low, high = np.quantile(known, (0.05, 0.95))
            total += min(1.0, abs(x - y) / (high - low))
        else:
            total += x != y
    return total / len(free)


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("fixed", [None, ["age", "city"]])
def test_rows_come_in_the_order_of_their_distance(make, fixed):
    table = MAKE[make](DATA)
    space: NeighbourSpace = Tabular(baseline="nearest_unlike", background=table, fixed=fixed)
    assert space.seeks_neighbours
    records = [{name: DATA[name][i] for name in DATA} for i in range(N)]
    free = [name for name in DATA if name not in (fixed or ())]
    for at in (0, 3, 9):
        near = space.neighbours(row(table, at))
        expected = [plain_distance(records[at], other, free) for other in records]
        assert near.distances == pytest.approx(expected)
        assert near.order[0] == expected.index(0)
        assert (np.diff(near.distances[near.order]) >= 0).all()


@pytest.mark.parametrize("make", MAKE)
def test_masking_goes_towards_a_row_that_exists(make):
    table = MAKE[make](DATA)
    space = Tabular(baseline="nearest_unlike", background=table, fixed=["age"], groups={"place": ["city", "ok"]})
    near = space.neighbours(row(table, 3))
    picks = near.order[[1, 5, 9]]
    batch = near.rows(picks)
    assert type(batch) is type(table)
    own = listed(row(table, 3))[0]
    for got, pick in zip(listed(batch), picks, strict=True):
        # fixed columns stay, all else is the row's own
        assert got == listed(row(table, int(pick)))[0] | {"age": own["age"]}
    bound = near.towards(int(picks[0]))
    assert bound.names == ("place", "age", "income", "day")
    assert not bound.maskable[1]
    assert bound.n_backgrounds == 1
    nothing, everything = np.zeros((1, 4), dtype=bool), np.ones((1, 4), dtype=bool)
    assert listed(bound.rows(nothing, np.zeros(1, dtype=int))) == [own]
    assert listed(bound.rows(everything, np.zeros(1, dtype=int))) == listed(batch)[:1]


def test_rows_of_arrays_are_near_too():
    x = np.array([[0.0, 5.0], [1.0, 5.0], [9.0, 4.0], [1.5, 5.0]])
    near = Tabular(baseline="nearest_unlike", background=x).neighbours([1.4, 5.0])
    assert near.order.tolist() == [3, 1, 0, 2]
    assert near.rows(np.array([2, 0])).tolist() == [[9.0, 4.0], [0.0, 5.0]]
    words = np.array([["a", 1.0], ["b", 2.0], ["a", None]], dtype=object)
    near = Tabular(baseline="nearest_unlike", background=words).neighbours(np.array(["b", 1.9], dtype=object))
    assert near.order[0] == 1


def test_what_neighbours_need_is_said():
    with pytest.raises(InputError, match="baseline='nearest_unlike' needs background rows"):
        Tabular(baseline="nearest_unlike")
    with pytest.raises(InputError, match="none were given"):
        Tabular().neighbours([1.0])
    with pytest.raises(InputError, match="depends on the model's decisions"):
        Tabular(baseline="nearest_unlike", background=np.ones((2, 1))).bind([1.0])
    with pytest.raises(InputError, match="n_neighbours must be a whole number of at least 1"):
        Tabular(n_neighbours=0)


def test_fixed_columns_are_never_masked():
    table = pd.DataFrame({"age": [20, 50], "sex": ["f", "m"], "x": [1.0, 2.0], "y": [3.0, 4.0]})
    masked = np.ones((1, 4), dtype=bool)
    for space in (
        Tabular(background=table.iloc[[1]], fixed=["age", "sex"]),
        Tabular(baseline={"x": 0, "y": 0}, fixed=["age", "sex"]),  # no baseline is needed there
        Tabular(baseline=table.iloc[[1]], fixed=[0, 1]),
    ):
        bound = space.bind(table.iloc[[0]])
        assert bound.maskable.tolist() == [False, False, True, True]
        got = bound.rows(masked, np.zeros(1, dtype=int))
        assert got[["age", "sex"]].equals(table.loc[[0], ["age", "sex"]])
        assert got["x"][0] != 1.0
    groups = {"person": ["age", "sex"], "rest": ["x", "y"]}
    bound = Tabular(background=table.iloc[[1]], groups=groups, fixed=["person"]).bind(table.iloc[[0]])
    assert bound.maskable.tolist() == [False, True]
    bound = Tabular(background=table.iloc[[1]], groups=groups, fixed=["age"]).bind(table.iloc[[0]])
    got = bound.rows(np.ones((1, 2), dtype=bool), np.zeros(1, dtype=int))
    assert got.iloc[0].tolist() == [20, "m", 2.0, 4.0]
    assert Tabular(baseline=0, fixed=[1]).bind([1.0, 2.0]).maskable.tolist() == [True, False]
    with pytest.raises(InputError, match="fixed: no column 'wage'"):
        Tabular(background=table, fixed=["wage"]).bind(table.iloc[[0]])
    with pytest.raises(InputError, match="fixed must be None or a sequence of names, got 'age'"):
        Tabular(background=table, fixed="age")
