import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyplayers as kp
from keyplayers.readers.edge_files import read_potential, read_priors
from keyplayers.readers.evidence import read_evidence

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
        ("e.csv", "source,target\na,b\na\n", r"e\.csv: line 3 has 1 cell, where the first has 2: a"),
        ("e.csv", "source,target\na,b\na,\n", r"e\.csv: row 2 has no target"),
        ("e.csv", "source target\na b\n", r"needs two columns, found 1 .*separated by commas"),
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
    assert read_evidence(write(tmp_path / "h.csv", "name,state\na,spam\nb,\n3,0\n"), mrf).found == {
        "a": "spam",
        3: "ham",
    }
    soft = read_evidence(write(tmp_path / "s.csv", "name,ham,spam\na,1,3\n"), mrf).found
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
        [("a", 1), (1, ("x", 2.5))],
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
    mrf = kp.MarkovRandomField.from_edges([(1j, "b")], potential=S)
    with pytest.raises(kp.InputError, match="the name 1j cannot be written"):
        kp.write_mrf(mrf, tmp_path / "f.npz")


def test_pickles_are_not_opened(tmp_path):
    path = str(tmp_path / "e.npz")
    np.savez(path, edges=np.array([[0, 1]], dtype=object))
    with pytest.raises(kp.FileFormatError, match="plain arrays"):
        kp.read_mrf(path, homophily=0.7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source,source\na,b\n", r"e\.csv: column names must be distinct, but 'source' stands more than once"),
        ("source,target,w,w\na,b,1,2\n", r"'w' stands more than once"),
    ],
)
def test_repeated_columns_are_refused(tmp_path, text, message):
    with pytest.raises(kp.FileFormatError, match=message):
        kp.read_mrf(write(tmp_path / "e.csv", text), potential=S)


def test_what_is_no_utf_8_is_refused_with_its_line(tmp_path):
    for name, data, message in (
        ("e.csv", b"source,target\na,b\n\xe9,c\n", r"e\.csv: line 3 is not UTF-8"),
        ("f.csv.gz", gzip.compress(b"source,target\na,b\n\xe9,c\n"), r"f\.csv\.gz: line 3 is not UTF-8"),
        ("g.csv", b"source,target\xe9\na,b\n", r"g\.csv: line 1 is not UTF-8"),
        ("h.csv", "source,target\na,b\n".encode("utf-16"), r"h\.csv: the file is UTF-16"),
        ("i.csv.gz", b"no gzip", r"i\.csv\.gz: .*header"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(kp.FileFormatError, match=message):
            kp.read_mrf(tmp_path / name, potential=S)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_a_folder_and_a_missing_file_are_what_they_are(tmp_path, suffix):
    (tmp_path / f"folder.{suffix}").mkdir()
    with pytest.raises(IsADirectoryError):
        kp.read_mrf(tmp_path / f"folder.{suffix}", potential=S)
    with pytest.raises(FileNotFoundError):
        kp.read_mrf(tmp_path / f"none.{suffix}", potential=S)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("source, target\na , b\nb,c\n", ["a", "b", "c"]),  # blanks belong to nobody
        ("1, 2\n2,3\n", [1, 2, 3]),
        ("source,target\ra,b\r", ["a", "b"]),  # lines end as on old Macs
        ('"so,urce",target\n007,7\n', ["007", 7]),  # a comma in a name of a column
    ],
)
def test_untidy_text_is_read_as_it_is_meant(tmp_path, text, names):
    (tmp_path / "e.csv").write_bytes(text.encode())
    assert list(kp.read_mrf(tmp_path / "e.csv", potential=S).names) == names


def test_numbers_may_have_blanks_around_them(tmp_path):
    table = read_priors(write(tmp_path / "p.csv", "name, x, y\na, 0.9, 0.1\n"))
    assert table.state_names == ("x", "y")
    assert np.allclose(np.exp(table.log_rows), [0.9, 0.1])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_in_parquet_are_names_whatever_their_type(tmp_path, kind):
    table = pa.table({"source": pa.array(["1", "x"]).cast(kind), "target": pa.array(["7", "1"]).cast(kind)})
    pq.write_table(table, tmp_path / "e.parquet")
    mrf = kp.read_mrf(tmp_path / "e.parquet", potential=S)
    assert sorted(mrf.names, key=str) == [1, 7, "x"]


def test_a_matrix_as_an_array_and_types_by_number(tmp_path):
    path = write(tmp_path / "e.csv", "source,target,type\na,b,5\n")
    expected = np.array([[3.0, 1.0], [1.0, 2.0]])
    for given in (expected, {5: expected}, {"5": expected}):
        mrf = kp.read_mrf(path, potential=given)
        assert np.allclose(np.exp(mrf.log_potential("a", "b")), expected)
        mrf = kp.read_mrf(path, log_potential=np.log(expected))
        assert np.allclose(np.exp(mrf.log_potential("a", "b")), expected)


def test_soft_evidence_goes_by_the_names_of_the_states(tmp_path):
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], potential=S, states=["y", "x"])
    by_name = read_evidence(write(tmp_path / "e.csv", "name,x,y\na,0.4,0.6\n"), mrf).found
    assert by_name["a"].tolist() == [0.6, 0.4]
    by_order = read_evidence(write(tmp_path / "f.csv", "name,first,second\na,0.4,0.6\n"), mrf).found
    assert by_order["a"].tolist() == [0.4, 0.6]
    for text, message in (
        ("name,x,z\na,0.4,0.6\n", r"row 1: variable 'a' has states y, x; the columns of weights are x, z"),
        ("name,x,y\na,0.4,0.6\na,0.1,0.9\n", r"row 2: variable 'a' stands in a row above too"),
    ):
        with pytest.raises(kp.FileFormatError, match=message):
            read_evidence(write(tmp_path / "g.csv", text), mrf)


def test_states_beside_missing_ones_are_numbers_still(tmp_path):
    pq.write_table(pa.table({"name": ["a", "b"], "state": [1.0, None]}), tmp_path / "e.parquet")
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], potential=S)
    assert read_evidence(str(tmp_path / "e.parquet"), mrf).found == {"a": 1}


def test_columns_of_priors_belong_to_the_states_they_name(tmp_path):
    edges = write(tmp_path / "e.csv", "source,target\na,b\n")
    priors = read_priors(write(tmp_path / "p.csv", "name,x,y\na,0.9,0.1\n"))
    mrf = kp.read_mrf(edges, priors=priors, potential=S, states=["y", "x"])
    assert mrf.states("a") == ("y", "x")
    assert np.allclose(np.exp(mrf.log_prior("a")), [0.1, 0.9])
    for states in (["x", "z"], {"a": ["y", "x"]}):
        with pytest.raises(kp.InputError, match="the columns of the priors are x, y, but the states"):
            kp.read_mrf(edges, priors=priors, potential=S, states=states)


def test_an_npz_keeps_variables_without_edges_and_their_order(tmp_path):
    path = tmp_path / "e.npz"
    np.savez(path, edges=[[3, 0]], names=["a", "b", "c", "d"])
    mrf = kp.read_mrf(path, potential=S)
    assert list(mrf.names) == ["a", "b", "c", "d"]
    assert mrf.edges.tolist() == [[3, 0]]
    # whoever has a prior comes first, as everywhere
    mrf = kp.read_mrf(path, priors={"d": [0.3, 0.7]}, potential=S)
    assert list(mrf.names) == ["d", "a", "b", "c"]
    assert np.allclose(kp.belief_propagation(mrf).belief("a"), [0.34, 0.66])
    np.savez(path, edges=[[1, 0]], n_variables=4)
    mrf = kp.read_mrf(path, priors={1: [0.3, 0.7]}, potential=S)
    assert sorted(mrf.names) == [0, 1, 2, 3]
    assert np.allclose(kp.belief_propagation(mrf).belief(0), [0.34, 0.66])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"edges": [[0.0, 1.0]]}, "'edges' must be integers"),
        ({"edges": [[0, 2]], "names": ["a", "b"]}, "edge 0 .* out of range: the variables are 0 to 1"),
        ({"edges": [[0, -1]], "names": ["a", "b"]}, "edge 0 .* out of range"),
        ({"edges": [[0, 1]], "names": ["a", "b"], "priors": np.ones((3, 2))}, "3 priors, but"),
        ({"edges": [[0, 1]], "n_variables": 5, "priors": np.ones((3, 2))}, "3 priors, but n_variables=5"),
        ({"edges": [[0, 1]], "n_variables": [3, 4]}, "'n_variables' must be one integer"),
        ({"edges": [[0, 1]], "n_variables": 3, "names": ["a", "b"]}, "disagree on the number of variables"),
    ],
)
def test_an_npz_that_contradicts_itself_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "e.npz", **arrays)
    with pytest.raises(kp.InputError, match=message):
        kp.read_mrf(tmp_path / "e.npz", potential=S)
