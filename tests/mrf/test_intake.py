"""Whatever people bring as edges is read right, or refused in one sentence."""

import warnings

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import keyplayers as kp
from keyplayers.mrf.build.columns import find_edge_columns, find_name_column

CHAIN = np.array([[0, 1], [1, 2], [2, 3]])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PendingDeprecationWarning)  # people still bring them
    MATRIX = np.asmatrix(CHAIN)


def field(edges, **options):
    return kp.MarkovRandomField.from_edges(edges, **{"homophily": 0.9} | options)


class Tensor:
    """An array of another library: NumPy can read it, its elements are tensors that are hashed by identity."""

    def __init__(self, array):
        self.array = np.asarray(array)
        self.shape = self.array.shape

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __len__(self):
        return len(self.array)

    def __iter__(self):
        return (Tensor(row) for row in self.array)

    def __eq__(self, other):
        return self.array == np.asarray(other)

    def __hash__(self):
        return id(self)


class Stream:
    """Arrow's PyCapsule stream and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "edges",
    [
        CHAIN.tolist(),
        CHAIN,
        CHAIN.astype(np.uint8),
        CHAIN.T,
        Tensor(CHAIN),
        Tensor(CHAIN.T),
        MATRIX,
        CHAIN.astype(object),
        sparse.coo_array((np.ones(3), (CHAIN[:, 0], CHAIN[:, 1])), shape=(4, 4)),
        sparse.csr_matrix((np.ones(6), (CHAIN.ravel("F"), CHAIN[:, ::-1].ravel("F"))), shape=(4, 4)),
        igraph.Graph(CHAIN.tolist()),
        nx.path_graph(4),
        (pair for pair in CHAIN.tolist()),
    ],
    ids=lambda edges: type(edges).__name__,
)
def test_a_chain_is_a_chain_whoever_brings_it(edges):
    mrf = field(edges)
    assert list(mrf.names) == [0, 1, 2, 3]
    assert mrf.edges.tolist() == CHAIN.tolist()
    assert mrf.n_components == 1


@pytest.mark.parametrize("edges", [np.array([[0, 1], [0, 2]]), Tensor([[0, 1], [0, 2]])])
def test_a_square_array_has_an_edge_per_row(edges):
    assert field(edges).edges.tolist() == [[0, 1], [0, 2]]


def test_isolated_nodes_of_graphs_stay():
    graph = nx.Graph([("a", "b")])
    graph.add_node("alone")
    assert list(field(graph).names) == ["a", "b", "alone"]
    assert list(field(graph, priors={"b": [1, 2]}).names) == ["b", "a", "alone"]
    assert field(sparse.csr_array((5, 5))).n_variables == 5
    assert field(igraph.Graph(3, [(0, 1)])).n_variables == 3
    named = igraph.Graph(3, [(0, 1)])
    named.vs["name"] = ["x", "y", "z"]
    assert list(field(named).names) == ["x", "y", "z"]


def test_graphs_bring_weights_and_types():
    graph = nx.Graph()
    graph.add_edge("a", "b", rating=2.0, type="knows")
    graph.add_edge("b", "c", rating=-1.0, type="owns")
    weighted = field(graph, edge_weights="rating")
    assert np.diff(weighted.log_potential("a", "b")[0])[0] == pytest.approx(-2 * np.log(9))
    assert np.diff(weighted.log_potential("b", "c")[0])[0] == pytest.approx(np.log(9))
    typed = field(graph, homophily=None, potential={"knows": [[2, 1], [1, 2]], "owns": [[1, 5], [5, 1]]})
    assert typed.log_potential("b", "c")[0, 1] == pytest.approx(np.log(5))
    ratings = sparse.csr_array(np.array([[0, 3.0], [3.0, 0]]))
    assert np.diff(field(ratings, edge_weights="weight").log_potential(0, 1)[0])[0] == pytest.approx(
        -3 * np.log(9)
    )
    graph.add_edge("c", "d")
    with pytest.raises(kp.InputError, match="no attribute 'rating'"):
        field(graph, edge_weights="rating")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: Stream(pa.table(columns))])
@pytest.mark.parametrize(
    "columns", [("Source", "TARGET"), ("from", "to"), ("src", "dst"), ("U", "V"), ("FromNodeId", "ToNodeId")]
)
def test_columns_are_found_by_their_usual_names(make, columns):
    mrf = field(make({"Id": [10, 11], columns[0]: ["a", "b"], columns[1]: ["b", "c"]}))
    assert mrf.edges.tolist() == [[0, 1], [1, 2]]
    assert list(mrf.names) == ["a", "b", "c"]
    assert mrf.notes == ()


def test_what_was_taken_by_guess_is_told():
    frame = pd.DataFrame({"Id": [1, 2], "x": ["a", "b"], "y": ["b", "c"]})
    mrf = field(frame)
    assert mrf.notes == ("edges go from column 'Id' to column 'x', the first two of 3",)
    assert mrf.observe({"a": 1}).notes == mrf.notes
    asked = field(frame, source="x", target="y")
    assert (list(asked.names), asked.notes) == (["a", "b", "c"], ())
    assert field(frame[["x", "y"]]).notes == ()


def test_the_usual_names_of_columns():
    assert find_edge_columns(["target", "Type", "source"])[:3] == ("source", "target", "Type")
    assert find_edge_columns(["Source", "source", "target"])[:2] == ("source", "target")
    assert find_edge_columns(["u", "source", "target", "v"])[:2] == ("source", "target")
    assert find_name_column(["score", "Account"]) == "Account"
    assert find_name_column(["who", "score"]) == "who"


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("edges.csv", "read_mrf"),
        ({"a": ["b"]}, "got dict: list its items as pairs"),
        ({("a", "b")}, "a set has no order"),
        (pd.Series([1, 2]), "a single column"),
        (7, r"got int$"),
        (None, "got NoneType"),
        (np.ones((2, 2), dtype=bool), "no list of edges"),
        (np.zeros((2, 3)), r"have shape \[E, 2\], got \(2, 3\)"),
        (np.zeros(4, dtype=int), r"got \(4,\)"),
        (sparse.csr_array((2, 3)), r"must be square, got shape \(2, 3\)"),
        ([("a", object())], "the name of the target of edge 0 is a object"),
        ([("a", "b"), (Tensor([1]), "b")], "the name of the source of edge 1 is a Tensor"),
        ([{"a", "b"}], "edge 0 must be"),
        (pd.DataFrame({"a": [1]}), "two columns, source and target; found a"),
    ],
)
def test_what_cannot_be_edges_is_refused(edges, message):
    with pytest.raises(kp.InputError, match=message):
        field(edges)


def test_columns_that_are_asked_for_must_be_there():
    frame = pd.DataFrame({"a": [1], "b": [2]})
    with pytest.raises(kp.InputError, match="no column 'c'; the columns are a, b"):
        field(frame, source="a", target="c")
    with pytest.raises(kp.InputError, match="name both columns"):
        field(frame, source="a")
