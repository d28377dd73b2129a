from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import keyplayers as kp

S = [[0.9, 0.1], [0.1, 0.9]]
from_edges = kp.MarkovRandomField.from_edges


def test_an_array_of_edges_numbers_the_variables():
    mrf = from_edges(np.array([[0, 1], [1, 3]]), potential=S)
    assert list(mrf.names) == [0, 1, 2, 3]
    assert (mrf.n_variables, mrf.n_edges, mrf.n_components) == (4, 2, 2)


def test_pairs_of_names_come_in_order_of_priors_then_of_appearance():
    mrf = from_edges([("b", "c"), ("a", "b")], {"a": [0.7, 0.3]}, potential=S)
    assert list(mrf.names) == ["a", "b", "c"]
    assert np.allclose(mrf.log_prior("a"), np.log([0.7, 0.3]))
    assert np.array_equal(mrf.log_prior("c"), [0, 0])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda d: pl.LazyFrame(d)])
def test_frames_of_any_library_give_the_same_field(make):
    edges = make({"source": ["x", "y"], "target": ["y", "z"], "type": ["same", "other"]})
    priors = make({"name": ["z", "x"], "ham": [0.2, 0.5], "spam": [0.8, 0.5]})
    mrf = from_edges(edges, priors, potential={"same": S, "other": [[1, 2], [3, 4]]})
    assert list(mrf.names) == ["z", "x", "y"]
    assert mrf.states("x") == ("ham", "spam")
    assert np.allclose(np.exp(mrf.log_potential("y", "z")), [[1, 2], [3, 4]])
    assert np.allclose(np.exp(mrf.log_potential("z", "y")), [[1, 3], [2, 4]])


def test_names_of_any_hashable_kind_are_kept():
    names = ["text", 17, (1, "tuple"), 2.5, frozenset({1})]
    mrf = from_edges(list(pairwise(names)), potential=S)
    assert list(mrf.names) == names
    assert mrf.index((1, "tuple")) == 2


def test_reciprocal_rows_merge_where_potentials_agree():
    edges = [(0, 1), (1, 0), (1, 2)]
    mrf = from_edges(edges, potential=S, duplicates="merge")
    assert mrf.edges.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(kp.InputError, match="edge 0 .* and edge 1 .* different potentials"):
        from_edges(edges, potential=[[1, 2], [3, 4]], duplicates="merge")


def test_multiplied_duplicates_are_read_from_the_first_edges_side():
    mrf = from_edges(
        [(1, 2), (0, 1), (1, 0), (0, 1)],
        potential=[S, [[4, 1], [1, 4]], [[3, 1], [2, 1]], [[1, 2], [1, 1]]],
        duplicates="multiply",
    )
    assert mrf.edges.tolist() == [[1, 2], [0, 1]]
    expected = np.array([[4, 1], [1, 4]]) * np.array([[3, 1], [2, 1]]).T * np.array([[1, 2], [1, 1]])
    assert np.allclose(np.exp(mrf.log_potential(0, 1)), expected)
    assert np.allclose(np.exp(mrf.log_potential(1, 2)), S)


def test_dropped_self_loops_keep_the_other_edges_potentials():
    mrf = from_edges([(0, 0), (0, 1)], potential=[S, [[1, 2], [3, 4]]], self_loops="drop")
    assert np.allclose(np.exp(mrf.log_potential(0, 1)), [[1, 2], [3, 4]])


def test_homophily_is_the_agreement_and_weights_are_its_power():
    mrf = from_edges([(0, 1), (1, 2)], np.ones((3, 3)), homophily=0.8, edge_weights=[1, 2])
    assert np.allclose(np.exp(mrf.log_potential(0, 1)), np.full((3, 3), 0.1) + 0.7 * np.eye(3))
    assert np.allclose(np.exp(mrf.log_potential(1, 2)), (np.full((3, 3), 0.1) + 0.7 * np.eye(3)) ** 2)


def test_observing_gives_a_new_field_and_names_states():
    mrf = from_edges([("a", "b")], potential=S, states=["ham", "spam"])
    seen = mrf.observe({"a": "spam", "b": [3, 1]})
    assert np.array_equal(seen.log_prior("a"), [-np.inf, 0])
    assert np.allclose(seen.log_prior("b"), np.log([3, 1]))
    assert np.array_equal(mrf.log_prior("a"), [0, 0])
    assert seen.observed.tolist() == [True, False]


def test_names_of_states_win_over_their_numbers():
    mrf = from_edges([(0, 1)], potential=S, states=[1, 0])
    assert mrf.state_index(0, 1) == 0


def test_the_weight_of_an_assignment():
    mrf = from_edges([("a", "b")], {"a": [0.2, 0.8], "b": [3, 1, 2]}, potential=[[1, 2, 3], [4, 5, 6]])
    assert np.isclose(mrf.log_weight({"a": 1, "b": 2}), np.log(0.8 * 2 * 6))


def test_arrays_of_a_field_are_read_only():
    mrf = from_edges([(0, 1)], potential=S)
    with pytest.raises(ValueError, match="read-only"):
        mrf.log_priors[0] = 1


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        (dict(edges=[(0, 1)], priors=[[0, 0], [1, 1]]), "variable 0 excludes every state"),
        (dict(edges=[(0, 1)], priors=[[1, 1], [-1, 1]]), r"variable 1 must be finite numbers ≥ 0, got \[-1"),
        (dict(edges=[("a", "b")], priors={"a": [1, 1], "b": [np.nan, 1]}), "variable 'b' must be finite"),
        (dict(edges=[("a", "b")], priors={"a": [1, 1], "b": ["x", 1]}), "variable 'b' must be numbers"),
        (dict(edges=[(0, 5)], priors=np.ones((2, 2))), r"edge 0 \(0 - 5\) is out of range.*0 to 1"),
        (dict(edges=[("a", "b")], priors=np.ones((2, 2))), "edges must be positions, but source holds 'a'"),
        (dict(edges=[("a", None)]), "target of edge 0 is missing"),
        (dict(edges=pd.DataFrame({"s": [1.0, np.nan], "t": [2.0, 3.0]})), "source of edge 1 is missing"),
        (dict(edges=[("a", float("nan")), ("a", 1)]), "target of edge 0 is missing"),
        (dict(edges=[("a", ["b"])]), "target of edge 0 must be hashable"),
        (dict(edges=[("a", "b", "c")]), r"edge 0 must be \(source, target\)"),
        (dict(edges=["ab"]), "edge 0 must be"),
        (dict(edges=np.zeros((3, 3), int)), r"shape \[E, 2\], got \(3, 3\)"),
        (dict(edges=[("a", "a")]), "edge 0 .* joins a variable to itself"),
        (dict(edges=[("a", "b"), ("b", "a")]), "edge 0 .* and edge 1 .* join the same variables"),
        (dict(edges=[(0, 10**9)]), "identifiers"),
        (dict(edges=[("a", "b")], priors={"a": [1, 1]}, missing_priors="error"), "'b' .* has no prior"),
        (dict(edges=[(0, 1)], potential=[[1, -1], [1, 1]]), "potential must hold finite numbers"),
        (dict(edges=[(0, 1)], potential=[[0, 0], [0, 0]]), "potential must not be all zero"),
        (dict(edges=[(0, 1)], potential=[[1, np.nan], [1, 1]]), "potential must hold finite numbers"),
        (dict(edges=[("a", "b")], potential=np.zeros((1, 2, 2))), "potential of edge 0 .*'a' - 'b'.* all zero"),
        (dict(edges=[(0, 1)], potential=[S, S]), r"one potential per edge \(1\), got 2"),
        (dict(edges=[(0, 1)], priors=[[1, 1], [1, 1, 1]], potential=np.ones((3, 2))), "shape 3×2, but 0 has 2"),
        (dict(edges=[("a", "b", "x")], potential={"y": S}), "type 'x', for which there is no potential"),
        (dict(edges=[("a", "b")], potential=None), "needs a potential"),
        (dict(edges=[("a", "b")], potential=None, homophily=1.5), "probability between 0 and 1, got 1.5"),
        (dict(edges=[(0, 1)], priors=[[1, 1], [1, 1, 1]], potential=None, homophily=0.5), "equal state counts"),
        (dict(edges=[("a", "b")], potential=None, homophily="much"), "probability between 0 and 1, got 'much'"),
        (dict(edges=[(0, 1)], potential=np.eye(2) * 1j), "matrix of numbers"),
        (dict(edges=[("a", "b")], states=["x", "x"]), "distinct names"),
        (dict(edges=[("a", "b")], states=["x", "y", "z"]), "has 3 states|has shape|shape 2×2"),
        (dict(edges=[("a", "b")], duplicates="first"), "duplicates must be one of"),
    ],
)
def test_bad_input_is_named(kwargs, message):
    with pytest.raises(kp.InputError, match=message):
        from_edges(**({"potential": S} | kwargs))


@pytest.mark.parametrize("state", ["green", 2, -1])
def test_an_unknown_state_lists_the_known_ones(state):
    mrf = from_edges([("a", "b")], potential=S, states=["ham", "spam"])
    with pytest.raises(kp.UnknownNameError, match="'a' has no state .* 'ham', 'spam'"):
        mrf.observe({"a": state})


def test_an_unknown_name_is_answered_with_close_ones():
    mrf = from_edges([("acct_17", "acct_18"), (4, "acct_18")], potential=S)
    with pytest.raises(kp.UnknownNameError, match="did you mean 'acct_17'"):
        mrf.index("acct17")
    with pytest.raises(KeyError, match="did you mean 4"):
        mrf.index("4")


def test_evidence_that_the_prior_excludes_is_a_contradiction():
    mrf = from_edges([("a", "b")], {"a": [1, 0]}, potential=S)
    with pytest.raises(kp.ContradictionError, match="'a'"):
        mrf.observe({"a": 1})
    with pytest.raises(kp.InputError, match="evidence of variable 'b' .*≥ 0"):
        mrf.observe({"b": [-1, 2]})
    with pytest.raises(kp.InputError, match="shape"):
        mrf.observe({"b": [1, 2, 3]})


@pytest.mark.parametrize("as_column", [list, np.array, pd.Series, pl.Series, pa.array])
def test_types_of_edges_may_be_any_column(as_column):
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    mrf = from_edges(edges, potential={"like": S, "hate": [[0.1, 0.9], [0.9, 0.1]]},
                     edge_types=as_column(["like", "hate", "like"]))  # fmt: skip
    assert mrf.potential_index.tolist() == [0, 1, 0]


def test_evidence_for_unknown_names_is_skipped_and_counted_on_request():
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], homophily=0.8)
    evidence = {"a": 1, "zoe": 0, "yan": [1, 2]}
    with pytest.raises(kp.UnknownNameError, match="zoe"):
        mrf.observe(evidence)
    seen = mrf.observe(evidence, unknown="skip")
    assert seen.observed.tolist() == [True, False]
    assert seen.notes == ("evidence for 2 unknown names was skipped, such as 'zoe'",)
    assert mrf.observe({"a": 1}, unknown="skip").notes == ()
    with pytest.raises(kp.InputError, match="unknown must be error or skip, got 'ignore'"):
        mrf.observe(evidence, unknown="ignore")
    with pytest.raises(kp.UnknownNameError, match="no state 7"):
        mrf.observe({"a": 7}, unknown="skip")
