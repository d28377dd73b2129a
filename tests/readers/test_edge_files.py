import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyplayers as kp
from keyplayers.readers.edge_files import read_evidence, read_potential, read_priors

S = [[0.9, 0.1], [0.1, 0.9]]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_csv_tsv_gz_and_parquet_give_the_same_field(tmp_path):
    text = "source,target,type\nann,bob,x\nbob,cy,y\n"
    paths = [
        write(tmp_path / "e.csv", text),
        write(tmp_path / "e.tsv", text.replace(",", "\t")),
        str(tmp_path / "e.csv.gz"),
        str(tmp_path / "e.parquet"),
    ]
    with gzip.open(paths[2], "wt") as file:
        file.write(text)
    pq.write_table(pa.table({"source": ["ann", "bob"], "target": ["bob", "cy"], "type": ["x", "y"]}), paths[3])
    for path in paths:
        mrf = kp.read_mrf(path, potential={"x": S, "y": [[1, 2], [3, 4]]})
        assert list(mrf.names) == ["ann", "bob", "cy"]
        assert np.allclose(np.exp(mrf.log_potential("bob", "cy")), [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2\n2,3\n", [1, 2, 3]),  # other header names
        ("1,2\n2,3\n", [1, 2, 3]),  # no header
        ("\ufeffsource,target\nx,y\n", ["x", "y"]),  # a byte order mark
        ("w,target,source\n0.5,b,a\n", ["a", "b"]),  # columns by name in any order
        ("source,target\r\nx,y\r\n", ["x", "y"]),
        ('source,target\n"x, y",z\n', ["x, y", "z"]),
        ("source,target\n007,7\n", ["007", 7]),  # not the same account
        ("source,target\nNA,null\n", ["NA", "null"]),  # names, not missing values
    ],
)
def test_names_are_read_faithfully(tmp_path, text, names):
    assert list(kp.read_mrf(write(tmp_path / "e.csv", text), potential=S).names) == names


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.csv", "source,target\na,b\na\n", r"e\.csv: .*Expected 2 columns, got 1"),
        ("e.csv", "source,target\na,b\na,\n", r"e\.csv: row 2 has no target"),
        ("e.csv", "source;target\na;b\n", r"needs two columns, found 1 .*separated by commas"),
        ("e.csv", "", r"e\.csv: line 1 is empty"),
        ("e.xlsx", "x", r"cannot read a field in this format; known are \.csv"),
        ("e.parquet", "no parquet", r"e\.parquet: "),
        ("e.npz", "no zip", r"e\.npz: not an \.npz"),
    ],
)
def test_a_malformed_file_is_named(tmp_path, name, text, message):
    with pytest.raises(kp.FileFormatError, match=message):
        kp.read_mrf(write(tmp_path / name, text), potential=S)


def test_priors_name_states_and_match_names_of_the_edges(tmp_path):
    edges = write(tmp_path / "e.csv", "source,target\n1,x\nx,2\n")
    priors = write(tmp_path / "p.tsv", "name\tham\tspam\n2\t0.2\t0.8\n1\t1\t3\n")
    mrf = kp.read_mrf(edges, priors=read_priors(priors), homophily=0.8)
    assert list(mrf.names) == [2, 1, "x"]
    assert mrf.states("x") == ("ham", "spam")
    assert np.allclose(mrf.log_prior(1), np.log([1, 3]))


def test_a_prior_that_is_no_number_is_named(tmp_path):
    path = write(tmp_path / "p.csv", "name,a,b\nx,1,2\ny,1,many\n")
    with pytest.raises(kp.FileFormatError, match=r"p\.csv: row 2, column 'b': 'many' is no number"):
        read_priors(path)


def test_evidence_is_hard_or_soft(tmp_path):
    mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", 3)], potential=S, states=["ham", "spam"])
    assert read_evidence(write(tmp_path / "h.csv", "name,state\na,spam\nb,\n3,0\n"), mrf) == {
        "a": "spam",
        3: "ham",
    }
    soft = read_evidence(write(tmp_path / "s.csv", "name,ham,spam\na,1,3\n"), mrf)
    assert soft["a"].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,state\na,green\n", "row 1: variable 'a' has no state 'green'; its states are 'ham', 'spam'"),
        ("name,state\na,ham\nz,ham\n", "row 2: there is no variable 'z'"),
        ("name,state\na,ham\na,spam\n", "row 2: variable 'a' is 'spam' here, but 'ham' above"),
        ("name\na\n", "columns name and state"),
    ],
)
def test_bad_evidence_names_the_row(tmp_path, text, message):
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], potential=S, states=["ham", "spam"])
    with pytest.raises(kp.FileFormatError, match=message):
        read_evidence(write(tmp_path / "e.csv", text), mrf)


def test_potentials_from_json_and_csv(tmp_path):
    assert read_potential(write(tmp_path / "p.json", json.dumps({"x": S}))) == {"x": S}
    assert read_potential(write(tmp_path / "p.csv", "0.9,0.1\n0.1,0.9\n")).tolist() == S
    with pytest.raises(kp.FileFormatError, match="line 1, column 2"):
        read_potential(write(tmp_path / "bad.json", "[x"))


def test_edge_weights_from_a_column(tmp_path):
    path = write(tmp_path / "e.csv", "source,target,w\na,b,2\n")
    mrf = kp.read_mrf(path, homophily=0.8, edge_weights="w")
    assert np.allclose(np.exp(mrf.log_potential("a", "b")), np.square([[0.8, 0.2], [0.2, 0.8]]))
    with pytest.raises(kp.FileFormatError, match="no column 'x'"):
        kp.read_mrf(path, homophily=0.8, edge_weights="x")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_edge_tables(tmp_path, save):
    path = str(tmp_path / "e.npz")
    save(path, edges=np.array([[0, 1], [1, 2]], dtype=np.int32), num_nodes=np.array(5), labels=np.zeros(5))
    mrf = kp.read_mrf(path, homophily=0.7)
    assert (mrf.n_variables, mrf.n_edges) == (5, 2)
    save(path, edges=np.array([[0, 1]]), names=np.array(["x", "y"]), priors=np.array([[1.0, 3.0], [1.0, 1.0]]))
    mrf = kp.read_mrf(path, homophily=0.7)
    assert np.allclose(mrf.log_prior("x"), np.log([1, 3]))


def test_a_whole_field_is_mapped_back_equal(tmp_path):
    mrf = kp.MarkovRandomField.from_edges(
        [("a", 1), (1, 2.5)],
        {"a": [0.2, 0.8], 1: [1, 0, 2]},
        potential=[[[1, 2, 3], [3, 1, 1]], [[1, 2], [0, 1], [5, 5]]],
        states={"a": ["ham", "spam"]},
    )
    path = str(tmp_path / "field.npz")
    kp.write_mrf(mrf, path)
    back = kp.read_mrf(path)
    assert back.names == mrf.names
    assert [back.states(name) for name in back.names] == [mrf.states(name) for name in mrf.names]
    for name in ("n_states", "log_priors", "edges", "potential_index", "potential_shapes", "log_potentials"):
        mapped = getattr(back, name)
        assert np.array_equal(mapped, getattr(mrf, name))
        assert isinstance(mapped.base, np.memmap)
        assert mapped.flags.aligned
    assert np.array_equal(kp.belief_propagation(back).log_beliefs, kp.belief_propagation(mrf).log_beliefs)
    with pytest.raises(kp.FileFormatError, match="whole field, so it takes no homophily"):
        kp.read_mrf(path, homophily=0.8)


def test_a_name_that_no_file_can_hold_is_refused(tmp_path):
    mrf = kp.MarkovRandomField.from_edges([((1, 2), "b")], potential=S)
    with pytest.raises(kp.FileFormatError, match=r"the name \(1, 2\) cannot be written"):
        kp.write_mrf(mrf, tmp_path / "f.npz")


def test_pickles_are_not_opened(tmp_path):
    path = str(tmp_path / "e.npz")
    np.savez(path, edges=np.array([[0, 1]], dtype=object))
    with pytest.raises(kp.FileFormatError, match="plain arrays"):
        kp.read_mrf(path, homophily=0.7)
