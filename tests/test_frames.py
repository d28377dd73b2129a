import datetime
from decimal import Decimal

import pytest

import keyplayers as kp

ODD = [(1, "a"), frozenset({1}), 10**30, b"x", datetime.date(2020, 1, 2), Decimal("1.5"), "text", True, 2.5]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", ODD, ids=repr)
def test_any_name_goes_into_any_frame(backend, name):
    for other in ("z", ("z",), 1.5):
        mrf = kp.MarkovRandomField.from_edges([(name, other)] if name != other else [(name, 0)], homophily=0.8)
        frame = kp.belief_propagation(mrf).to_frame(backend)
        names = frame["name"].to_pylist() if backend == "pyarrow" else frame["name"].to_list()
        assert all(
            str(shown) == str(given) or shown == given for shown, given in zip(names, mrf.names, strict=True)
        )


@pytest.mark.parametrize("name", [Decimal("1.50"), datetime.time(1, 2, 3), datetime.date(2020, 1, 2), 10**30])
def test_names_come_back_from_files(tmp_path, name):
    mrf = kp.MarkovRandomField.from_edges([(name, "z")], homophily=0.8)
    kp.write_mrf(mrf, tmp_path / "f.npz")
    assert list(kp.read_mrf(tmp_path / "f.npz").names) == [name, "z"]


def test_evidence_must_be_a_mapping():
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], homophily=0.8)
    for given in (None, ["a"], "a"):
        with pytest.raises(kp.InputError, match="evidence must be {name: state or weights}"):
            mrf.observe(given)


def test_columns_of_pandas_may_be_called_by_numbers():
    pd = pytest.importorskip("pandas")
    edges = pd.DataFrame([["a", "b"], ["b", "c"]])
    mrf = kp.MarkovRandomField.from_edges(edges, pd.DataFrame([["b", 0.3, 0.7]]), homophily=0.8)
    assert list(mrf.names) == ["b", "a", "c"]
    assert mrf.states("a") == (1, 2)
    priors = pd.DataFrame({"name": ["a"], 0: [0.3], 1: [0.7]})
    assert kp.MarkovRandomField.from_edges(edges, priors, homophily=0.8).states("a") == (0, 1)


def test_columns_called_the_same_are_refused():
    pd = pytest.importorskip("pandas")
    edges = pd.DataFrame([["a", "b", "c"]], columns=["source", "target", "target"])
    with pytest.raises(kp.InputError, match="'target' stands more than once"):
        kp.MarkovRandomField.from_edges(edges, homophily=0.8)


def test_states_may_be_any_iterable_but_a_number():
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], homophily=0.8, states=iter(["x", "y"]))
    assert mrf.states("a") == ("x", "y")
    with pytest.raises(kp.InputError, match="states must be a list of names"):
        kp.MarkovRandomField.from_edges([("a", "b")], homophily=0.8, states=3)
