"""Graphical models from files and objects of other programs."""

import contextlib
import gzip
import json
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keyplayers as kp
from keyplayers.readers.uai import write_marginals
from tests.oracles import factor_graphs as oracle

UAI = """MARKOV
3
2 2 3
2
2 0 1
3 0 1 2
4
 4.000 2.400
 1.000 0.000
12
 2.2500 3.2500 3.7500
 0.0000 0.0000 10.0000
 1.8750 4.0000 3.3330
 2.0000 2.0000 3.4000
"""
BIF = """// an alarm
network "home" {
}
variable burglar { type discrete [ 2 ] { no, yes }; property place = here; }
variable quake { type discrete[2] {no, yes}; }
variable alarm {
  type discrete [ 2 ] { off, on };
}
probability ( burglar ) { table 0.9, 0.1; }
probability ( quake ) { table 0.95, 0.05; }
probability ( alarm | burglar, quake ) { /* off, on */
  default 0.5, 0.5;
  (no, no) 0.99, 0.01;
  (yes, no) 0.1, 0.9;
  (yes, yes) 0.05, 0.95;
}
"""
XMLBIF = """<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> ]>
<BIF VERSION="0.3"><NETWORK><NAME>home</NAME>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>b</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>.3 .7</TABLE></DEFINITION>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>.9 .1 .2 .8</TABLE></DEFINITION>
</NETWORK></BIF>
"""
FG = """# a factor graph
1

3
0 1 5
2 2 3
4
0 1.5
1 2.5
# the first runs fastest
4 0.5
11 1.0
"""
TEXTS = {"uai": UAI, "bif": BIF, "xmlbif": XMLBIF, "fg": FG}


@pytest.fixture
def write(tmp_path):
    """Puts a text into a file."""

    def to(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to


def beliefs_of(mrf):
    return [np.asarray(row) for row in kp.exact_marginals(mrf).beliefs]


def assert_same(one, other, tolerance=1e-12):
    for mine, theirs in zip(beliefs_of(one), beliefs_of(other), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance)


@pytest.fixture
def network(write):
    """A Bayesian network with tables of one to four variables, states that differ, and a zero."""
    return random_network(np.random.default_rng(3))


def random_network(rng, n=7):
    states = {f"v{i}": [f"s{k}" for k in range(rng.integers(2, 4))] for i in range(n)}
    names, factors = list(states), []
    for i, name in enumerate(names):
        parents = sorted(rng.choice(i, min(i, int(rng.integers(0, 4))), replace=False).tolist())
        table = rng.uniform(0.1, 1.0, [len(states[names[p]]) for p in parents] + [len(states[name])])
        if len(parents) > 1:
            table[(0,) * table.ndim] = 0.0
        factors.append(([*(names[p] for p in parents), name], table / table.sum(axis=-1, keepdims=True)))
    return kp.MarkovRandomField.from_factors(
        factors, variables={k: len(v) for k, v in states.items()}, states=states
    )


def test_a_uai_network_is_read_as_it_is_written(write):
    mrf = kp.read_mrf(write("x.uai", UAI))
    pair, triple = np.array([4, 2.4, 1, 0]), np.array(UAI.split()[-12:], dtype=float)
    expected, log_z = oracle.marginals(
        [2, 2, 3], [((0, 1), pair.reshape(2, 2)), ((0, 1, 2), triple.reshape(2, 2, 3))]
    )
    found = kp.exact_marginals(mrf)
    assert found.log_partition == pytest.approx(log_z)
    for v in range(3):
        np.testing.assert_allclose(found.belief(v), expected[v])


def test_a_bif_has_names_states_and_defaults(write):
    mrf = kp.read_mrf(write("x.bif", BIF))
    assert mrf.variables == ("burglar", "quake", "alarm")
    assert mrf.factors == ("P(alarm | burglar, quake)",)
    assert mrf.states("alarm") == ("off", "on")
    p_on = 0.9 * 0.95 * 0.01 + 0.9 * 0.05 * 0.5 + 0.1 * 0.95 * 0.9 + 0.1 * 0.05 * 0.95
    assert kp.exact_marginals(mrf).belief("alarm")[1] == pytest.approx(p_on)


def test_a_table_of_a_bif_has_the_variable_first_and_its_last_parent_fastest(write):
    rows = "(no, no) 0.1, 0.9; (no, yes) 0.2, 0.8; (yes, no) 0.3, 0.7; (yes, yes) 0.4, 0.6;"
    head = BIF[: BIF.index("probability ( alarm")]
    by_rows = kp.read_mrf(write("a.bif", head + f"probability ( alarm | burglar, quake ) {{ {rows} }}"))
    table = "table 0.1, 0.2, 0.3, 0.4, 0.9, 0.8, 0.7, 0.6;"
    whole = kp.read_mrf(write("b.bif", head + f"probability ( alarm | burglar, quake ) {{ {table} }}"))
    assert_same(by_rows, whole)


def test_an_xmlbif_has_the_variable_fastest(write):
    mrf = kp.read_mrf(write("x.xmlbif", XMLBIF))
    assert kp.exact_marginals(mrf).belief("b").tolist() == pytest.approx([0.3 * 0.9 + 0.7 * 0.2, 0.59])


def test_a_factor_graph_has_the_first_variable_fastest(write):
    mrf = kp.read_mrf(write("x.fg", FG))
    assert mrf.variables == (0, 1, 5)
    table = np.zeros((2, 2, 3))
    table[0, 0, 0], table[1, 0, 0], table[0, 0, 1], table[1, 1, 2] = 1.5, 2.5, 0.5, 1.0
    expected, _ = oracle.marginals([2, 2, 3], [((0, 1, 2), table)])
    for found, wanted in zip(beliefs_of(mrf), expected, strict=True):
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("kind", TEXTS)
def test_files_are_known_by_content_and_unpacked(write, kind):
    plain = kp.read_mrf(write(f"x.{kind}", TEXTS[kind]))
    assert_same(plain, kp.read_mrf(write(f"x.{kind}.gz", gzip.compress(TEXTS[kind].encode()))))
    if kind != "fg":
        assert_same(plain, kp.read_mrf(write("anonymous", TEXTS[kind])))
        assert_same(plain, kp.read_mrf(write("packed.data", gzip.compress(TEXTS[kind].encode()))))


@pytest.mark.parametrize("kind", ["npz", "uai", "bif", "xmlbif", "bifxml", "fg"])
def test_what_is_written_is_read_back_with_the_same_beliefs(network, tmp_path, kind):
    kp.write_mrf(network, tmp_path / f"x.{kind}")
    assert_same(network, kp.read_mrf(tmp_path / f"x.{kind}"))


@pytest.mark.parametrize("seed", range(5))
def test_every_network_is_taken_apart_into_its_conditionals(tmp_path, seed):
    network = random_network(np.random.default_rng(seed), n=9)
    kp.write_mrf(network, tmp_path / "x.bif")
    assert_same(network, kp.read_mrf(tmp_path / "x.bif"))


def test_what_is_no_bayesian_network_is_not_written_as_one(tmp_path):
    mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "c"), ("a", "c")], homophily=0.8)
    with pytest.raises(kp.InputError, match="no Bayesian network"):
        kp.write_mrf(mrf, tmp_path / "x.bif")


@pytest.mark.parametrize("text", ["2 0 1 2 0", "1 2 0 1 2 0", "1\n2 0 1 2 0\n"])
def test_uai_evidence_is_read_with_and_without_a_count_of_samples(write, text):
    from keyplayers.readers.evidence import read_evidence

    mrf = kp.read_mrf(write("x.uai", UAI))
    assert read_evidence(str(write("x.uai.evid", text)), mrf).found == {0: 1, 2: 0}
    assert read_evidence(str(write("y.uai.evid", "0")), mrf).found == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 9 0", "line 1: an observed variable must be an integer from 0 to 2, got '9'"),
        ("1\n0\n5", "line 3: the state of variable 0 must be an integer from 0 to 1"),
        ("2 0 1", "expected 2 pairs"),
        ("2 0 1 0 0", "observed as 1 and as 0"),
    ],
)
def test_wrong_uai_evidence_says_where(write, text, message):
    from keyplayers.readers.evidence import read_evidence

    mrf = kp.read_mrf(write("x.uai", UAI))
    with pytest.raises(kp.FileFormatError, match=message):
        read_evidence(str(write("x.evid", text)), mrf)


def test_marginals_are_written_for_variables_only(write, tmp_path):
    state = kp.exact_marginals(kp.read_mrf(write("x.uai", UAI)))
    write_marginals(state, str(tmp_path / "x.MAR"))
    head, row = (tmp_path / "x.MAR").read_text().splitlines()
    numbers = row.split()
    assert (head, numbers[:2], len(numbers)) == ("MAR", ["3", "2"], 1 + 3 + 7)
    assert float(numbers[2]) == state.belief(0)[0]


WRONG = [
    ("x.uai", UAI.replace("MARKOV", "MARKO"), "line 1: a UAI network begins with"),
    ("x.uai", UAI.replace("3.7500", "3,75"), "line 11: the table of factor 1: '3,75' is no number"),
    ("x.uai", UAI.replace("2 0 1\n", "2 0 7\n"), "line 5: a variable of factor 0 must be an integer from 0 to 2"),
    ("x.uai", UAI.replace("\n12\n", "\n13\n"), "line 10: .* 2×2×3 = 12 entries, not 13"),
    ("x.uai", UAI[:-40], "the file ends after"),
    ("x.uai", UAI + "7", "line 15: nothing more is expected"),
    ("x.uai", UAI.replace("2 2 3\n", "2 2 999999999\n"), "should have 2×2×999999999"),
    ("x.uai", UAI.replace("10.0000", "-1"), "numbers >= 0, got -1"),
    ("x.bif", BIF.replace("(yes, no)", "(yes, maybe)"), "line 14: 'quake' has no state 'maybe'"),
    ("x.bif", BIF.replace("0.1, 0.9;\n  (yes", "0.1;\n  (yes"), "line 14: .* needs 2 numbers here, got 1"),
    ("x.bif", BIF.replace("  default 0.5, 0.5;\n", ""), "no row for 1 of 4"),
    ("x.bif", BIF.replace("alarm | burglar", "alarm | thief"), "line 11: variable 'thief' was not declared"),
    ("x.bif", BIF[:-3], "the file ends where"),
    ("x.xmlbif", XMLBIF.replace("</NETWORK>", ""), "line 8: mismatched tag"),
    ("x.xmlbif", XMLBIF.replace(".9 .1 .2 .8", ".9 .1 .2"), "line 7: .* needs 4 numbers, got 3"),
    ("x.xmlbif", XMLBIF.replace("<!ELEMENT BIF ( NETWORK )*>", '<!ENTITY a "b">'), "line 2: entities"),
    ("x.fg", FG.replace("11 1.0", "12 1.0"), "places in its table must be integers from 0 to 11"),
    ("x.fg", FG.replace("2 2 3", "2 2 x"), "line 6: a number of states"),
    ("x.uai.gz", gzip.compress(UAI.encode())[:40], "damaged"),
    ("x.uai", UAI.encode("utf-16"), "not UTF-8"),
    ("x.graphml", "<graphml><node", "line 1"),
    ("x.gexf", "nothing", "line 1"),
    ("x.gml", "graph [ node [ id 0 ", "x.gml"),
    ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 9\n1 1 1\n", "x.mtx"),
    ("x.what", "what is this", "cannot read a field in this format"),
]


@pytest.mark.parametrize(("name", "text", "message"), WRONG, ids=range(len(WRONG)))
def test_a_damaged_file_says_where(write, name, text, message):
    path = write(name, text)
    with pytest.raises(kp.FileFormatError, match=message) as caught:
        kp.read_mrf(path)
    assert str(path) in str(caught.value)


def test_a_model_takes_no_options_of_edge_tables(write):
    with pytest.raises(kp.FileFormatError, match="takes no homophily"):
        kp.read_mrf(write("x.uai", UAI), homophily=0.8)


def mutate(text, data):
    """A text with a few of its bytes, or words, changed, doubled or left out."""
    words = text.split(" ")
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(words) - 1))
        junk = st.sampled_from(
            ["", "-1", "1e400", "nan", "99999999999999999999", "{", ")", "<", "|", "\n", "é", "0"]
        )
        words[i : i + data.draw(st.integers(0, 2))] = data.draw(st.lists(junk, max_size=2))
        words = words or [""]
    return " ".join(words)


@pytest.mark.parametrize("kind", TEXTS)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_in_a_file_is_read_or_refused(write, kind, data):
    path = write(f"x.{kind}", mutate(TEXTS[kind], data))
    with contextlib.suppress(kp.InputError, kp.TooLargeError):
        kp.read_mrf(path)


# --- graphs


@pytest.mark.parametrize("kind", ["graphml", "gexf", "gml", "mtx"])
def test_graphs_are_read_as_edge_tables_are(tmp_path, kind):
    import scipy.io

    graph = nx.karate_club_graph()
    path = tmp_path / f"x.{kind}"
    if kind == "mtx":
        scipy.io.mmwrite(path, nx.to_scipy_sparse_array(graph))
    else:
        getattr(nx, f"write_{kind}")(nx.Graph(graph.edges), path)
    found = kp.read_mrf(path, homophily=0.8)
    assert (found.n_variables, found.n_edges) == (34, 78)


# --- objects


@pytest.mark.filterwarnings("ignore")
def test_models_of_pgmpy_are_read(network, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    kp.write_mrf(network, tmp_path / "x.bif")
    theirs = readwrite.BIFReader(str(tmp_path / "x.bif")).get_model()
    markov = theirs.to_markov_model()
    for model in (theirs, markov, markov.to_factor_graph()):
        found = kp.exact_marginals(kp.read_mrf(model))
        for name in network.variables:
            np.testing.assert_allclose(found.belief(name), kp.exact_marginals(network).belief(name), atol=1e-12)
    kp.write_mrf(network, tmp_path / "x.uai")
    by_number = kp.read_mrf(readwrite.UAIReader(str(tmp_path / "x.uai")).get_model())
    for v, name in enumerate(network.variables):
        found = kp.exact_marginals(by_number).belief(f"var_{v}")
        np.testing.assert_allclose(found, kp.exact_marginals(network).belief(name), atol=1e-12)
    kp.write_mrf(network, tmp_path / "x.xmlbif")
    theirs = readwrite.XMLBIFReader(str(tmp_path / "x.xmlbif")).get_model()
    by_pgmpy = kp.exact_marginals(kp.read_mrf(theirs))
    np.testing.assert_allclose(by_pgmpy.belief("v6"), kp.exact_marginals(network).belief("v6"), atol=1e-12)


def test_models_of_pyagrum_are_read_and_it_reads_what_is_written(network, tmp_path):
    gum = pytest.importorskip("pyagrum")
    expected = kp.exact_marginals(network)
    for suffix, digits in ((".bif", 1e-6), (".bifxml", 1e-12)):  # its BIF reader keeps eight digits
        path = tmp_path / f"x{suffix}"
        kp.write_mrf(network, path)
        theirs = gum.loadBN(str(path))
        found = kp.exact_marginals(kp.read_mrf(theirs))
        engine = gum.LazyPropagation(theirs)
        for name in network.variables:
            np.testing.assert_allclose(found.belief(name), expected.belief(name), atol=digits)
            np.testing.assert_allclose(engine.posterior(name).toarray(), expected.belief(name), atol=digits)


def test_markov_fields_of_pyagrum_are_read(network, tmp_path):
    pytest.importorskip("pyagrum")
    kp.write_mrf(network, tmp_path / "x.uai")
    # in a process of its own: its Markov fields do not live together with torch
    code = (
        "import sys, pyagrum, keyplayers as kp; theirs = pyagrum.loadMRF(sys.argv[1]); "
        "engine = pyagrum.ShaferShenoyMRFInference(theirs); engine.makeInference(); "
        "found = kp.read_mrf(theirs); print([row.tolist() for row in kp.exact_marginals(found).beliefs]); "
        "print([engine.posterior(name).toarray().tolist() for name in found.variables])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.uai")], capture_output=True, text=True, check=True
    )
    ours, theirs = map(json.loads, run.stdout.splitlines()[:2])
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_data_of_pytorch_geometric_are_read():
    data = pytest.importorskip("torch_geometric.data")
    torch = pytest.importorskip("torch")
    both = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    found = kp.read_mrf(data.Data(edge_index=both, num_nodes=4), homophily=0.8)
    assert (found.n_variables, found.n_edges) == (4, 2)
    weighted = data.Data(edge_index=both, num_nodes=4, edge_attr=torch.tensor([[1.0], [1.0], [2.0], [2.0]]))
    found = kp.read_mrf(weighted, homophily=0.8, edge_weights="edge_attr")
    np.testing.assert_allclose(found.log_potential(1, 2)[0, 0], 2 * np.log(0.8))
    with pytest.raises(kp.InputError, match="no attribute 'weight'"):
        kp.read_mrf(weighted, homophily=0.8, edge_weights="weight")


def test_nothing_heavy_is_imported_before_such_an_object_arrives(tmp_path):
    (tmp_path / "x.bif").write_text(BIF)
    code = (
        "import sys, keyplayers as kp; kp.read_mrf(sys.argv[1]); kp.read_mrf([(0, 1)], homophily=.8); "
        "print([m for m in ('pgmpy', 'pyagrum', 'torch', 'networkx', 'pandas') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(Path(tmp_path, "x.bif"))], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
