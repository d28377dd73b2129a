"""One column, one kind, decided by dtype and background and never by the instance's cell."""

import csv
import datetime
import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from keyplayers import InputError, Tabular

DAY = datetime.datetime(2020, 1, 1)
BERLIN = "Europe/Berlin"
BIG = 2**60 + 1


def masked_and_not(space, row):
    """The instance as it reaches the model, and with everything masked."""
    bound = space.bind(row)
    n = len(bound.names)
    return bound.rows(np.array([[False] * n, [True] * n]), np.zeros(2, dtype=int))


def column(rows, name):
    if isinstance(rows, pd.DataFrame):
        return [None if pd.isna(entry) else entry for entry in rows[name]]
    return rows[name].to_pylist() if isinstance(rows, pa.Table) else rows[name].to_list()


def schema(rows):
    return rows.dtypes.to_dict() if isinstance(rows, pd.DataFrame) else rows.schema


def first(table):
    return table.iloc[[0]] if isinstance(table, pd.DataFrame) else table[:1]


# each column begins with a missing entry where its dtype knows one
COLUMNS = {
    "days": (lambda: pd.Series([None, DAY, DAY + datetime.timedelta(4)], dtype="datetime64[ns]"),
             pd.Timestamp("2020-01-03")),
    "days of a zone": (
        lambda: pd.Series(pd.to_datetime([None, "2020-01-01", "2020-01-05"])).dt.tz_localize(BERLIN),
        pd.Timestamp("2020-01-03", tz=BERLIN),
    ),
    "durations": (lambda: pd.Series(pd.to_timedelta([None, 1, 4], unit="h")), pd.Timedelta(150, "min")),
    "dates among objects": (
        lambda: pd.Series([None, DAY.date(), DAY.date() + datetime.timedelta(4)], dtype=object),
        datetime.date(2020, 1, 3),
    ),
    "nullable flags": (lambda: pd.Series([None, True, True, False], dtype="boolean"), True),
    "flags among objects": (lambda: pd.Series([None, True, True, False], dtype=object), True),
    "Arrow's flags": (lambda: pd.Series([None, False, False, True], dtype="bool[pyarrow]"), False),
    "nullable integers": (lambda: pd.Series([None, 1, 2, 4], dtype="Int64"), 2),
    "Arrow's integers": (lambda: pd.Series([None, 1, 2, 4], dtype="int64[pyarrow]"), 2),
    "large identifiers": (lambda: pd.Series([None, BIG, BIG + 2], dtype="Int64"), BIG + 1),
    "nullable floats": (lambda: pd.Series([None, 1.5, 2.0], dtype="Float64"), 1.75),
    "texts": (lambda: pd.Series([None, "a", "b", "b"], dtype="string"), "b"),
    "text codes": (lambda: pd.Series([None, "01", "02", "02"], dtype=object), "02"),
    "categories": (lambda: pd.Series([None, "x", "y", "y"], dtype=pd.CategoricalDtype(["z", "y", "x"])), "y"),
    "categories of numbers": (lambda: pd.Series([None, 3, 7, 7], dtype="category"), 7),
    "Arrow's days": (lambda: pd.Series([None, DAY, DAY], dtype="timestamp[us][pyarrow]"), pd.Timestamp(DAY)),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_missing_cell_is_masked_like_any_other(name, at):
    make, typical = COLUMNS[name]
    table = pd.DataFrame({"a": make(), "b": np.arange(len(make()))})
    rows = masked_and_not(Tabular(background=table), table.iloc[[at]])
    assert column(rows, "a") == [column(table, "a")[at], typical]
    assert rows["a"].dtype == table["a"].dtype


POLARS = {
    "days": (pl.Series([None, DAY.date(), DAY.date() + datetime.timedelta(4)]), datetime.date(2020, 1, 3)),
    "times": (pl.Series([None, DAY, DAY + datetime.timedelta(hours=2)]), DAY + datetime.timedelta(hours=1)),
    "times of a zone": (pl.Series([None, DAY, DAY], dtype=pl.Datetime("us", BERLIN)),
                        pl.Series([DAY], dtype=pl.Datetime("us", BERLIN))[0]),
    "durations": (pl.Series([None, datetime.timedelta(hours=1), datetime.timedelta(hours=2)]),
                  datetime.timedelta(minutes=90)),
    "times of a day": (pl.Series([None, datetime.time(7), datetime.time(9), datetime.time(8)]), datetime.time(8)),
    "flags": (pl.Series([None, True, True, False]), True),
    "integers": (pl.Series([None, 1, 2, 4]), 2),
    "large identifiers": (pl.Series([None, 2**63 + 1, 2**63 + 3], dtype=pl.UInt64), 2**63 + 2),
    "texts": (pl.Series([None, "a", "b", "b"]), "b"),
    "categories": (pl.Series([None, "x", "y", "y"], dtype=pl.Categorical), "y"),
    "an enumeration": (pl.Series([None, "x", "y", "y"], dtype=pl.Enum(["z", "y", "x"])), "y"),
}  # fmt: skip


@pytest.mark.parametrize("name", POLARS)
@pytest.mark.parametrize("arrow", [False, True])
def test_null_is_masked_like_any_other_cell(name, arrow):
    series, typical = POLARS[name]
    table = pl.DataFrame({"a": series, "b": list(range(len(series)))})
    cells = series.to_list()
    for at in (0, 1, 2):
        rows = masked_and_not(
            Tabular(background=table.to_arrow() if arrow else table),
            (table.to_arrow() if arrow else table)[at : at + 1],
        )
        if arrow:
            rows = pl.from_arrow(rows)
        assert rows["a"].to_list() == [cells[at], typical]
        assert arrow or rows["a"].dtype == series.dtype


def test_an_enumeration_stays_one_beside_arrays():
    dtype = pl.Enum(["low", "high"])
    table = pl.DataFrame({"level": pl.Series(["low", "high", "high"], dtype=dtype), "x": [1.0, 2.0, 3.0]})
    rows = masked_and_not(Tabular(background=table), table[:1])
    assert rows["level"].dtype == dtype
    assert rows["level"].to_list() == ["low", "high"]


PEOPLE = {
    "age": [20, 50, 31], "income": [1.5, 2.0, None], "city": ["a", "b", "b"], "code": ["01", "02", "02"],
    "ok": [True, False, True], "day": [DAY, DAY + datetime.timedelta(2), DAY + datetime.timedelta(4)],
}  # fmt: skip
SPELLED = {"age": 20, "income": 1.5, "city": "a", "code": "01", "ok": True, "day": "2020-01-01"}
TABLES = {
    "pandas": lambda: pd.DataFrame(PEOPLE).astype({"city": "category"}),
    "objects": lambda: pd.DataFrame(PEOPLE, dtype=object),
    "nullable": lambda: pd.DataFrame(PEOPLE).convert_dtypes(),
    "Arrow's": lambda: pd.DataFrame(PEOPLE).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: pl.DataFrame(PEOPLE, schema_overrides={"city": pl.Enum(["b", "a"])}),
    "pyarrow": lambda: pa.table(PEOPLE),
}


def ways(table):
    """The first row in every form in which it comes."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(SPELLED))
    writer.writeheader()
    writer.writerow(SPELLED)
    text.seek(0)
    yield "a frame", first(table)
    yield "json", json.loads(json.dumps(SPELLED))
    yield "csv", next(csv.DictReader(text))
    yield "in another order", dict(reversed(SPELLED.items()))
    yield "numbers of another type", SPELLED | {"age": 20.0, "income": "1.5"}
    if isinstance(table, pd.DataFrame):
        yield "a Series", table.iloc[0]
        yield "a frame of json", pd.DataFrame([SPELLED])
        spelled = ",".join(SPELLED) + "\n" + ",".join(map(str, SPELLED.values()))
        yield "a frame of csv", pd.read_csv(io.StringIO(spelled), dtype={"code": str})
    if isinstance(table, pl.DataFrame):
        yield "a frame of json", pl.DataFrame([SPELLED])
    if isinstance(table, pa.Table):
        yield "a frame of json", pa.Table.from_pylist([SPELLED])


@pytest.mark.parametrize("kind", TABLES)
def test_a_row_is_read_alike_in_whatever_form_it_comes(kind):
    table = TABLES[kind]()
    space = Tabular(background=table)
    expected = masked_and_not(space, first(table))
    assert schema(expected) == schema(table)
    assert column(expected, "age") == [20, 34]
    for how, row in ways(table):
        rows = masked_and_not(space, row)
        assert schema(rows) == schema(expected), how
        for name in PEOPLE:
            if kind == "objects" and name == "day":  # objects do not say what a text stands for
                continue
            assert column(rows, name) == column(expected, name), (how, name)


def test_a_code_that_a_reader_took_for_a_number_is_a_text_again():
    table = pd.DataFrame({"plz": ["1", "7", "7"], "x": [1.0, 2.0, 3.0]})
    space = Tabular(background=table)
    for cell in (7, 7.0, np.int64(7)):
        assert column(masked_and_not(space, {"plz": cell, "x": 1}), "plz") == ["7", "7"]
    with pytest.raises(InputError, match="column 'plz' holds 9, but in the background it is of .*: no text"):
        space.bind({"plz": 9, "x": 1})


def test_categories_narrower_than_the_backgrounds_are_widened_and_new_ones_kept():
    wide = pd.DataFrame({"kind": pd.Categorical(["x", "y", "y"], categories=["z", "y", "x"])})
    narrow = pd.DataFrame({"kind": pd.Categorical(["x"], categories=["x"])})
    rows = masked_and_not(Tabular(background=wide), narrow)
    assert rows["kind"].dtype == wide["kind"].dtype
    assert rows["kind"].tolist() == ["x", "y"]
    new = pd.DataFrame({"kind": pd.Categorical(["w"], categories=["w", "v"])})
    rows = masked_and_not(Tabular(background=wide), new)
    assert rows["kind"].cat.categories.tolist() == ["z", "y", "x", "w", "v"]
    assert rows["kind"].tolist() == ["w", "y"]
    numbers = pd.DataFrame({"kind": pd.Categorical([1, 2, 2])})
    assert masked_and_not(Tabular(background=numbers), {"kind": "1"})["kind"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("cell", "background", "message"),
    [
        ("x", [1, 2], "column 'a' holds 'x', but in the background it is of int64: no number"),
        ("maybe", [True, False], "of bool: neither true nor false"),
        ("yesterday", pd.to_datetime(["2020-01-01"]), "neither day nor time"),
        (None, [True, False], "column 'a' holds None, which a column of bool cannot hold"),
        (3, pd.to_datetime(["2020-01-01"]), "column 'a' holds 3, which a column of datetime64.* cannot hold"),
        (3, pd.Categorical(["u"]), "of category: none of its categories"),
    ],
)
def test_a_cell_of_another_kind_is_refused_with_its_name(cell, background, message):
    with pytest.raises(InputError, match=message):
        Tabular(background=pd.DataFrame({"a": background})).bind({"a": cell})


def test_cells_that_a_dtype_of_integers_cannot_hold_widen_it():
    table = pd.DataFrame({"a": np.array([1, 2], dtype="int8")})
    for cell, dtype in ((3, "int8"), (300, "int64"), (2.5, "float64"), (None, "float64"), ("2", "int8")):
        rows = masked_and_not(Tabular(background=table), {"a": cell})
        assert rows["a"].dtype == dtype
        assert column(rows, "a")[0] == (2 if cell == "2" else cell)


def test_counts_get_whole_numbers():
    table = pd.DataFrame({"n": [1, 2, 5], "x": [1.0, 2.0, 5.0], "flag": [True, True, False]})
    for word, n in (("mean", 3), ("median", 2)):
        rows = masked_and_not(Tabular(background=table, baseline=word), table.iloc[[0]])
        assert rows["n"].tolist() == [1, n]
        assert rows["n"].dtype == np.int64
        assert rows["flag"].tolist() == [True, True]
        array = masked_and_not(Tabular(background=table[["n", "n"]].to_numpy(), baseline=word), np.array([1, 1]))
        assert array.dtype == np.int64
        assert array.tolist() == [[1, 1], [n, n]]
    assert rows["x"].tolist() == [1.0, 2.0]
    # the row's own dtype does not decide: counts given as a list of floats, floats given as integers
    assert masked_and_not(Tabular(background=np.array([[1], [2], [6]])), [2.0]).tolist() == [[2], [3]]
    assert masked_and_not(Tabular(background=np.array([[1.0], [2.0]])), [2]).tolist() == [[2.0], [1.5]]
    assert masked_and_not(Tabular(background=np.ones((2, 1), dtype=np.float32)), [2]).dtype == np.float32


@pytest.mark.parametrize("cell", ["12", 12, None])
def test_a_column_of_which_nothing_is_known_is_masked_with_nothing(cell):
    table = pd.DataFrame({"a": pd.Series([None, None], dtype="Int64"), "b": [1, 2]})
    rows = masked_and_not(Tabular(background=table), {"a": cell, "b": 2})
    assert column(rows, "a") == [None if cell is None else 12, None]


def test_a_dict_without_background_is_a_frame_or_an_array():
    rows = masked_and_not(Tabular(baseline={"a": 0, "b": "none"}), {"a": 1.5, "b": "x"})
    assert rows.to_dict("list") == {"a": [1.5, 0.0], "b": ["x", "none"]}
    array = masked_and_not(Tabular(baseline=0, feature_names=["p", "q"]), {"q": 2.0, "p": 1.0})
    assert array.tolist() == [[1.0, 2.0], [0.0, 0.0]]
    with pytest.raises(InputError, match="the row lacks the columns 'q'"):
        Tabular(baseline=0, feature_names=["p", "q"]).bind({"p": 1.0})
    with pytest.raises(InputError, match="the background lacks the columns 'z'"):
        Tabular(background=pd.DataFrame({"a": [1]})).bind({"a": 1, "z": 2})
