"""Evidence from frames and Series, and a database at both ends."""

from contextlib import ExitStack

import numpy as np
import pytest

import keyplayers as kp

STATES = ["honest", "fraud"]


@pytest.fixture
def mrf():
    edges = [("ann", "bob"), ("bob", "cy"), ("cy", "dan"), ("cy", "eve")]
    return kp.MarkovRandomField.from_edges(edges, homophily=0.8, states=STATES)


def beliefs(mrf):
    return np.array(kp.belief_propagation(mrf).beliefs)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_of_names_and_states_is_evidence(mrf, library):
    kit = pytest.importorskip(library)
    columns = {"Account": ["ann", "dan", "bob"], "label": ["honest", "fraud", None]}
    frame = kit.table(columns) if library == "pyarrow" else kit.DataFrame(columns)
    expected = mrf.observe({"ann": "honest", "dan": "fraud"})
    assert np.array_equal(beliefs(mrf.observe(frame)), beliefs(expected))


def test_numbers_beside_missing_ones_stay_whole():
    pandas = pytest.importorskip("pandas")
    mrf = kp.MarkovRandomField.from_edges([(0, 1), (1, 2)], homophily=0.8)
    frame = pandas.DataFrame({"name": [0, 1, 2], "state": [1.0, np.nan, 0.0]})
    assert np.array_equal(beliefs(mrf.observe(frame)), beliefs(mrf.observe({0: 1, 2: 0})))
    series = pandas.Series([1, 0], index=[0, 2])
    assert np.array_equal(beliefs(mrf.observe(series)), beliefs(mrf.observe({0: 1, 2: 0})))


def test_weights_go_by_the_names_of_the_states(mrf):
    pandas = pytest.importorskip("pandas")
    swapped = pandas.DataFrame({"name": ["ann"], "fraud": [0.2], "honest": [0.6]})
    unnamed = pandas.DataFrame({"name": ["ann"], "w0": [0.6], "w1": [0.2]})
    expected = beliefs(mrf.observe({"ann": [0.6, 0.2]}))
    assert np.array_equal(beliefs(mrf.observe(swapped)), expected)
    assert np.array_equal(beliefs(mrf.observe(unnamed)), expected)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"name": ["ann", "ann"], "state": ["honest", "fraud"]},
            r"row 1 .*'ann' is 'fraud' here, but 'honest' above",
        ),
        ({"name": ["ann"]}, "needs columns name and state"),
        (
            {"name": ["ann"], "honest": [1], "other": [2]},
            "has states honest, fraud; the columns of weights are honest",
        ),
        ({"name": ["ann", "ann"], "honest": [1, 1], "fraud": [2, 1]}, "stands in a row above too"),
        ({"name": ["ann"], "honest": ["x"], "fraud": [2]}, "not numeric"),
    ],
)
def test_evidence_that_says_two_things_is_refused(mrf, columns, message):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(kp.InputError, match=message):
        mrf.observe(pandas.DataFrame(columns))


def test_unknown_names_of_a_frame_are_an_error_or_skipped(mrf):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"name": ["ann", "zoe"], "state": ["honest", "fraud"]})
    with pytest.raises(kp.UnknownNameError, match="zoe"):
        mrf.observe(frame)
    assert "zoe" in mrf.observe(frame, unknown="skip").notes[-1]
    with pytest.raises(kp.InputError, match="got list"):
        mrf.observe([("ann", "honest")])


def test_a_database_gives_the_field_and_takes_the_answers(mrf, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "bank.duckdb")) as bank:
        bank.execute("create table payments (payer text, payee text)")
        bank.executemany(
            "insert into payments values (?, ?)", [("ann", "bob"), ("bob", "cy"), ("cy", "dan"), ("cy", "eve")]
        )
        bank.execute(
            "create table known as select * from (values ('ann', 'honest'), ('dan', 'fraud')) t(account, status)"
        )
        bank.execute("create table scores as select 'eve' as account, 0.3 as honest, 0.7 as fraud")
        field = kp.MarkovRandomField.from_edges(
            bank.sql("from payments"), priors=bank.sql("from scores"), homophily=0.8, states=STATES
        ).observe(bank.sql("from known"))
        state = kp.belief_propagation(field)
        answers, reasons = state.to_frame("pyarrow"), kp.GraphShapley(field).explain("cy").to_frame("pyarrow")
        bank.register("answers", answers)
        bank.register("reasons", reasons)
        bank.execute("create table beliefs as from answers")
        bank.execute("create table explained as from reasons")
    with duckdb.connect(str(tmp_path / "bank.duckdb"), read_only=True) as bank:
        kept = dict(bank.sql("select name, fraud from beliefs").fetchall())
        first = bank.sql("select name from explained order by abs(value) desc limit 1").fetchall()
    assert kept == {name: state.belief(name)[1] for name in field.names}
    assert first == [("dan",)]
    expected = kp.MarkovRandomField.from_edges(
        [("ann", "bob"), ("bob", "cy"), ("cy", "dan"), ("cy", "eve")],
        priors={"eve": [0.3, 0.7]},
        homophily=0.8,
        states=STATES,
    ).observe({"ann": "honest", "dan": "fraud"})
    assert kept == pytest.approx(
        {n: kp.belief_propagation(expected).belief(n)[1] for n in expected.names}, rel=1e-12
    )


def test_a_cursor_of_adbc_gives_edges_priors_and_evidence(tmp_path):
    sqlite = pytest.importorskip("adbc_driver_sqlite.dbapi")
    with sqlite.connect(str(tmp_path / "bank.sqlite")) as bank, ExitStack() as open_cursors:

        def stream(query):
            cursor = open_cursors.enter_context(bank.cursor())
            cursor.execute(query)
            return cursor.fetch_record_batch()

        mrf = kp.MarkovRandomField.from_edges(
            stream("select 'ann' as source, 'bob' as target union select 'bob', 'cy'"),
            priors=stream("select 'cy' as name, 0.2 as honest, 0.8 as fraud"),
            homophily=0.8,
        ).observe(stream("select 'ann' as name, 'honest' as state"))
    assert mrf.n_edges == 2
    assert mrf.observed.tolist().count(True) == 1
    assert kp.belief_propagation(mrf).belief("cy")[1] == pytest.approx(0.32 * 0.8 / (0.68 * 0.2 + 0.32 * 0.8))
