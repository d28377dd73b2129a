"""Text tables of strangers are read right or refused with the line; what was taken by guess is told."""

import contextlib
import csv
import gzip
import io
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyplayers as kp
from keyplayers.readers.edge_files import read_priors
from keyplayers.readers.evidence import read_evidence
from keyplayers.readers.tables import read_table


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def read(path, **options):
    return kp.read_mrf(path, **{"homophily": 0.8} | options)


@pytest.mark.parametrize(
    ("name", "text", "edges"),
    [
        ("e.csv", "Id,Source,Target\n1,a,b\n2,b,c\n", [("a", "b"), ("b", "c")]),
        ("e.csv", "a,b\nb,c\nc,d\n", [("a", "b"), ("b", "c"), ("c", "d")]),
        ("e.csv", "1,2\n2,3\n", [(1, 2), (2, 3)]),
        ("e.csv", "user,product\nann,lamp\nbob,lamp\n", [("ann", "lamp"), ("bob", "lamp")]),
        ("e.csv", "source;target\na;b\n", [("a", "b")]),
        ("e.csv", "source\ttarget\na\tb\n", [("a", "b")]),
        ("e.tsv", "source\ttarget\na b\tc\n", [("a b", "c")]),
        ("e.txt", "# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n", [(0, 1), (1, 2)]),
        ("e.txt", "% bip\n 1  2 \n 2   3\n", [(1, 2), (2, 3)]),
        ("e.edgelist", "a b\nb c\n", [("a", "b"), ("b", "c")]),
        ("e.edges", "a,b,0.5\n#c\nb,c,0.1\n", [("a", "b"), ("b", "c")]),
        ("e.csv", '"so\nurce",target\n007,7\n', [("007", 7)]),
        ("e.csv", "source\u0085x,target\n007,7\n", [("007", 7)]),
        ("e.csv", "source\u2028,target\x0c\n007,7\n", [("007", 7)]),
        ("e.csv", 'source,target\n"a\nb",c\n', [("a\nb", "c")]),
        ("e.csv", "\ufeffsource,target\na,b\n", [("a", "b")]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_edges_are_read_as_they_are_meant(tmp_path, name, text, edges, packed):
    path = tmp_path / (name + ".gz" * packed)
    mrf = read(write(path, gzip.compress(text.encode()) if packed else text))
    found = [(mrf.names[a], mrf.names[b]) for a, b in mrf.edges.tolist()]
    assert found == edges


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("source,target\na,b\n", None),
        ("1,2\n2,3\n", None),
        ("a,b\nb,c\n", "the first line (a, b) is taken as an edge"),
        ("user,product\nann,lamp\n", "the first line (user, product) is taken as the names of the columns"),
        ("source;target\na;b\n", "columns are separated by semicolons"),
        ("x,y,z\na,b,c\n", "edges go from column 'x' to column 'y', the first two of 3"),
    ],
)
def test_every_guess_is_told(tmp_path, text, note):
    notes = read(write(tmp_path / "e.csv", text)).notes
    assert (not notes) if note is None else any(note in told for told in notes)


def test_columns_and_header_can_be_said(tmp_path):
    path = write(tmp_path / "e.csv", "Id,x,y\n1,a,b\n")
    assert list(read(path, source="x", target="y").names) == ["a", "b"]
    with pytest.raises(kp.FileFormatError, match=r"e\.csv: there is no column 'z'; the columns are Id, x, y"):
        read(path, source="x", target="z")
    assert len(read(write(tmp_path / "f.csv", "u,v\na,b\n"), header=False).edges) == 2


def test_line_breaks_in_quotes_lose_nobody_at_the_borders_of_blocks(tmp_path):
    rows = [(f"account {i}\nof somebody", f"b{i % 977}") for i in range(90_000)]
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("source", "target"), *rows])
    path = write(tmp_path / "e.csv", text.getvalue())
    assert os.path.getsize(path) > 2**21
    table = read_table(path)
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source,target\na,b\nb,c,d\n", "line 3 has 3 cells, where the first has 2: b, c, d"),
        ('source,target\n"a\nb",c\nd\n', "line 4 has 1 cell, where the first has 2: d"),
        (b"source,target\na,\xff\n", "line 2 is not UTF-8"),
        ("", "line 1 is empty"),
        ("source,target,source\na,b,c\n", "'source' stands more than once"),
        ("s,t\na,b\n".encode("utf-16"), "UTF-16"),
        ("s,t\na,b\n".encode("utf-16-le"), "UTF-16"),
        ("source,target\na,\n", "row 1 has no target"),
    ],
)
def test_what_is_no_table_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(kp.FileFormatError, match=rf"e\.csv: {message}|{message}"):
        read(write(tmp_path / "e.csv", text))


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=6).filter(
    str.strip
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8))
def test_no_accepted_table_differs_from_what_another_reader_sees(tmp_path_factory, rows):
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("source", "target"), *rows])
    path = write(tmp_path_factory.mktemp("t") / "e.csv", text.getvalue())
    table = read_table(path)
    theirs = list(csv.reader(io.StringIO(text.getvalue(), newline="")))
    ours = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    # Arrow trims the blanks of Unicode
    assert [tuple(cell.strip() for cell in row) for row in theirs[1:]] == [
        tuple(cell.strip() for cell in row) for row in ours
    ]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["e.csv", "e.tsv", "e.txt", "e.csv.gz", "e.parquet", "e.npz"]))
def test_no_bytes_get_out_anything_but_a_field_or_our_error(tmp_path_factory, data, name):
    path = write(tmp_path_factory.mktemp("t") / name, data)
    with contextlib.suppress(kp.InputError):
        read(path)


@pytest.mark.parametrize("cut", [1, 4, 8, 20, 60])
@pytest.mark.parametrize("name", ["e.parquet", "e.npz", "e.csv.gz"])
def test_torn_files_are_said_to_be_torn(tmp_path, name, cut):
    whole = tmp_path / name
    if name == "e.parquet":
        pq.write_table(pa.table({"source": ["a"] * 50, "target": ["b"] * 50}), whole)
    elif name == "e.npz":
        np.savez_compressed(whole, edges=np.arange(100).reshape(-1, 2))
    else:
        whole.write_bytes(gzip.compress(b"source,target\n" + b"".join(b"a%d,b%d\n" % (i, i) for i in range(50))))
    torn = write(tmp_path / ("torn-" + name), whole.read_bytes()[:-cut])
    with pytest.raises(kp.FileFormatError, match="torn-e"):
        read(torn)


def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "e.csv")
    with pytest.raises(kp.FileFormatError, match="is a pipe"):
        read(str(tmp_path / "e.csv"))


def test_scores_are_probabilities_of_the_last_state(tmp_path):
    edges = write(tmp_path / "e.csv", "source,target\na,b\n")
    priors = read_priors(write(tmp_path / "p.csv", "account,score\na,0.9\n"))
    mrf = read(edges, priors=priors, states=["honest", "fraud"])
    assert np.exp(mrf.log_prior("a")).tolist() == pytest.approx([0.1, 0.9])
    assert any("'score' of the priors is taken as the probability of the last" in note for note in mrf.notes)
    frame = kp.MarkovRandomField.from_edges([("a", "b")], {"a": [0.9]}, homophily=0.8)
    assert np.exp(frame.log_prior("a")).tolist() == pytest.approx([0.1, 0.9])
    for score in ("7", "-0.1"):
        with pytest.raises(kp.InputError, match="is a single number"):
            read_priors(write(tmp_path / "p.csv", f"account,score\na,{score}\n"))


def test_priors_without_a_header_lose_no_row(tmp_path):
    table = read_priors(write(tmp_path / "p.csv", "a,0.9,0.1\nb,0.2,0.8\n"))
    assert list(table.names) == ["a", "b"]
    assert table.state_names is None
    assert "is taken as a prior" in table.notes[0]


def test_a_column_of_words_is_no_state(tmp_path):
    with pytest.raises(kp.FileFormatError, match="column 'comment': 'hello' is no number"):
        read_priors(write(tmp_path / "p.csv", "name,x,y,comment\na,0.9,0.1,hello\n"))


def test_evidence_of_strangers_can_be_skipped(tmp_path):
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], homophily=0.8, states=["x", "y"])
    path = write(tmp_path / "v.csv", "Account,Label\nzed,x\na,y\n")
    with pytest.raises(kp.FileFormatError, match="row 1: there is no variable 'zed'"):
        read_evidence(path, mrf)
    evidence = read_evidence(path, mrf, unknown="skip")
    assert evidence.found == {"a": "y"}
    assert "1 row is about 'zed'" in evidence.notes[0]
    headless = read_evidence(write(tmp_path / "w.csv", "a,y\nb,x\n"), mrf)
    assert headless.found == {"a": "y", "b": "x"}
    assert "is taken as evidence" in headless.notes[0]
