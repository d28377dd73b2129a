import json

import numpy as np
import pandas as pd
import pytest

import keyplayers as kp

EDGES = "source,target\nann,bob\nbob,cy\ncy,dan\n"
FLAGS = ["--homophily", "0.8", "--states", "honest,fraud", "--observe", "ann=honest"]


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text(EDGES)
    return path


@pytest.fixture
def expected():
    mrf = kp.MarkovRandomField.from_edges(
        [("ann", "bob"), ("bob", "cy"), ("cy", "dan")], homophily=0.8, states=["honest", "fraud"]
    ).observe({"ann": "honest"})
    return kp.belief_propagation(mrf)


def test_a_table_to_the_terminal_and_a_summary_beside_it(cli, edges):
    done = cli("beliefs", edges, *FLAGS)
    assert done.status == 0
    assert "bob" in done.out
    assert "0.8000" in done.out
    assert "4 variables (1 observed), 3 edges, 1 component" in done.err
    assert "two-pass, 2 sweeps" in done.err
    assert "exact" in done.err


def test_json_holds_all_beliefs(cli, edges, expected):
    done = cli("beliefs", edges, *FLAGS, "--json", "--quiet")
    data = json.loads(done.out)
    assert done.err == ""
    assert data["states"] == ["honest", "fraud"]
    assert data["inference"]["converged"] is True
    assert np.allclose([row["belief"] for row in data["beliefs"]], expected.beliefs, atol=1e-12)
    assert np.isclose(data["log_partition"], expected.log_partition)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "json"])
def test_files_hold_all_beliefs(cli, edges, expected, tmp_path, suffix):
    path = tmp_path / f"out.{suffix}"
    assert cli("beliefs", edges, *FLAGS, "-o", path).status == 0
    match suffix:
        case "json":
            rows = json.loads(path.read_text())["beliefs"]
            found = pd.DataFrame([[row["name"], *row["belief"]] for row in rows])
        case "parquet":
            found = pd.read_parquet(path)
        case _:
            found = pd.read_csv(path, sep="," if suffix == "csv" else "\t")
    assert found.iloc[:, 0].tolist() == ["ann", "bob", "cy", "dan"]
    assert np.allclose(found.iloc[:, 1:].to_numpy(), expected.beliefs, atol=1e-12)


def test_a_saved_state_starts_the_next_run(cli, tmp_path):
    (tmp_path / "e.csv").write_text(
        "source,target\n" + "".join(f"{i},{(i + 1) % 9}\n{i},{(i + 2) % 9}\n" for i in range(9))
    )
    flags = ["--homophily", "0.7", "--observe", "0=0"]
    assert cli("beliefs", "e.csv", *flags, "-o", "state.npz").status == 0
    again = json.loads(cli("beliefs", "e.csv", *flags, "--beliefs", "state.npz", "--json").out)
    assert again["inference"]["start"] == "warm"
    assert again["inference"]["sweeps"] <= 2


def test_evidence_priors_and_potential_from_files(cli, edges, tmp_path):
    (tmp_path / "ev.csv").write_text("name,state\ndan,fraud\n")
    (tmp_path / "p.csv").write_text("name,honest,fraud\nbob,0.5,0.5\nann,3,1\n")
    (tmp_path / "psi.json").write_text("[[0.9, 0.1], [0.2, 0.8]]")
    done = cli("beliefs", edges, "--priors", "p.csv", "--potential", "psi.json", "--evidence", "ev.csv", "--json")
    mrf = kp.MarkovRandomField.from_edges(
        [("ann", "bob"), ("bob", "cy"), ("cy", "dan")],
        {"bob": [0.5, 0.5], "ann": [3, 1]},
        potential=[[0.9, 0.1], [0.2, 0.8]],
    ).observe({"dan": 1})
    rows = {row["name"]: row["belief"] for row in json.loads(done.out)["beliefs"]}
    for name in mrf.names:
        assert np.allclose(rows[name], kp.belief_propagation(mrf).belief(name), atol=1e-12)


def test_the_surest_come_first_unless_a_state_is_asked_for(cli, edges):
    rows = json.loads(cli("beliefs", edges, *FLAGS, "--state", "fraud", "--top", "2", "--json").out)["beliefs"]
    assert [row["name"] for row in rows] == ["dan", "cy"]


def test_other_state_counts_are_shown_by_their_likeliest_state(cli, edges, tmp_path):
    kp.write_mrf(
        kp.MarkovRandomField.from_edges([("a", "b")], {"a": [1, 3], "b": [1, 1, 1]}, potential=np.ones((2, 3))),
        tmp_path / "f.npz",
    )
    done = cli("beliefs", "f.npz")
    assert done.status == 0
    assert "0.7500" in done.out
    assert json.loads(cli("beliefs", "f.npz", "--json").out)["beliefs"][1]["belief"] == pytest.approx([1 / 3] * 3)


def test_what_does_not_converge_is_said(cli, tmp_path):
    (tmp_path / "k4.csv").write_text("a,b\n0,1\n0,2\n0,3\n1,2\n1,3\n2,3\n")
    (tmp_path / "p.csv").write_text("name,x,y\n0,1.1,0.9\n1,1.2,0.8\n2,0.9,1.1\n3,1.3,0.7\n")
    done = cli(
        "beliefs",
        "k4.csv",
        "--homophily",
        "0.1",
        "--priors",
        "p.csv",
        "--schedule",
        "flooding",
        "--max-sweeps",
        "50",
    )
    assert done.status == 0
    assert "warning: belief propagation did not converge in 50 sweeps" in done.err
    assert "try damping=0.5" in done.err
    assert "not converged: do not rely on these numbers" in done.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["beliefs", "nothing.csv", "--homophily", "0.8"], 1, "nothing.csv"),
        (["beliefs", "e.csv"], 1, "an edge needs a potential"),
        (["beliefs", "e.csv", "--homophily", "8"], 1, "probability between 0 and 1, got 8"),
        (["beliefs", "e.csv", "--homophily", "0.8", "--observe", "eve=0"], 1, "there is no variable 'eve'"),
        (["beliefs", "e.csv", "--homophily", "0.8", "--observe", "ann"], 1, "NAME=STATE"),
        (["beliefs", "e.csv", "--homophily", "0.8", "--observe", "ann=7"], 1, "has no state 7"),
        (
            ["beliefs", "e.csv", "--homophily", "0.8", "--schedule", "chaos"],
            1,
            "auto, flooding, sequential, residual",
        ),
        (["beliefs", "e.csv", "--homophily", "0.8", "-o", "x.docx"], 1, "x.docx"),
        (["beliefs", "e.csv", "--homophily", "0.8", "--state", "x"], 1, "has no state 'x'"),
        (["beliefs"], 2, "Missing argument"),
        (["beliefs", "e.csv", "--homophily", "much"], 2, "--homophily"),
        (["believe"], 2, "No such command"),
    ],
)
def test_errors_are_one_line_and_an_exit_status(cli, edges, arguments, status, message):
    done = cli(*arguments)
    assert done.status == status
    assert message in done.err.replace("\n", " ")
    assert "Traceback" not in done.err
    assert status == 2 or len(done.err.strip().splitlines()) == 1


def test_a_process_tells_the_same_and_debug_shows_the_traceback(program, edges):
    done = program("beliefs", edges)
    assert (done.status, done.out, len(done.err.splitlines())) == (1, "", 1)
    assert "an edge needs a potential" in done.err
    done = program("beliefs", edges, "--debug")
    assert done.status == 1
    assert "Traceback" in done.err


def test_a_fault_of_ours_is_one_line_too(cli, edges, monkeypatch):
    monkeypatch.setattr("keyplayers.readers.read_mrf", lambda *_, **__: 1 / 0)
    done = cli("beliefs", edges)
    assert done.status == 1
    assert "this is a fault of keyplayers, --debug shows where" in done.err


def test_the_demo_infers_the_factions(cli):
    done = cli("demo")
    assert done.status == 0
    assert "33 of 34 members are believed to be on the side they went with" in done.out


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none/out.csv", "there is no folder"),
        ("none/out.json", "there is no folder"),
        ("none/out.npz", "there is no folder"),
        ("out.xyz", "the suffix must be one of"),
        ("folder.csv", "it is a folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(cli, edges, tmp_path, path, message):
    (tmp_path / "folder.csv").mkdir()
    # the edges are not even read
    done = cli("beliefs", tmp_path / "missing.csv", *FLAGS, "-o", path)
    assert done.status == 1
    assert message in done.err
    assert done.err.count("\n") == 1


def test_suffixes_may_be_in_upper_case(cli, edges, tmp_path):
    for name in ("OUT.CSV", "OUT.JSON", "OUT.NPZ"):
        assert cli("beliefs", edges, *FLAGS, "-o", name).status == 0
        assert (tmp_path / name).stat().st_size
    assert cli("beliefs", edges, *FLAGS, "--beliefs", "OUT.NPZ").status == 0


def test_what_failed_leaves_the_old_file_as_it_was(cli, edges, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("precious")
    done = cli("beliefs", edges, "--homophily", "0.8", "--states", "name,other", "-o", path)
    assert done.status == 1
    assert path.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["e.csv", "out.csv"]


def test_sources_of_evidence_that_contradict_each_other_are_refused(cli, edges, tmp_path):
    (tmp_path / "v.csv").write_text("name,state\nann,honest\n")
    field = ["--homophily", "0.8", "--states", "honest,fraud"]
    done = cli("beliefs", edges, *field, "--evidence", tmp_path / "v.csv", "--observe", "ann=fraud")
    assert done.status == 1
    assert "variable 'ann': its prior excludes the evidence 'fraud'" in done.err
    done = cli("beliefs", edges, *field, "--observe", "ann=honest", "--observe", "ann=fraud")
    assert done.status == 1
    assert "--observe says that 'ann' is 'fraud' and that it is 'honest'" in done.err
    assert cli("beliefs", edges, *field, "--observe", "ann=honest", "--observe", "ann=honest").status == 0


def test_soft_evidence_and_an_observation_go_together(cli, edges, tmp_path):
    (tmp_path / "v.csv").write_text("name,fraud,honest\nbob,0.9,0.1\n")
    done = cli("beliefs", edges, *FLAGS, "--evidence", tmp_path / "v.csv", "--json")
    found = {row["name"]: row["belief"] for row in json.loads(done.out)["beliefs"]}
    # bob by ann [.8, .2] times evidence [.1, .9]
    assert np.allclose(found["bob"], [0.08 / 0.26, 0.18 / 0.26])


def test_one_of_a_kind_is_not_plural(cli, tmp_path):
    (tmp_path / "e.csv").write_text("source,target\na,b\n")
    done = cli("beliefs", "e.csv", "--homophily", "0.8")
    assert "2 variables (0 observed), 1 edge, 1 component\n" in done.err
    done = cli("ball", "e.csv", "--homophily", "0.8", "--target", "a")
    assert "2 variables, 1 edge, a tree; 1 coalition\n" in done.out


def test_names_do_not_command_the_terminal(cli, tmp_path):
    (tmp_path / "e.csv").write_text('source,target\n[red]a[/red],"b\x1b[31m\nc"\n[red]a[/red],😀\n')
    done = cli("beliefs", "e.csv", "--homophily", "0.8")
    assert "[red]a[/red]" in done.out
    assert r"b\x1b[31m\nc" in done.out
    assert "😀" in done.out
    done = cli("explain", "e.csv", "--homophily", "0.8", "--target", "[red]a[/red]")
    assert "Key players of [red]a[/red]" in done.out
    assert "\x1b" not in done.out


def test_a_number_of_rows_is_not_negative(cli, edges):
    assert cli("beliefs", edges, *FLAGS, "--top", "-1").status == 2
    assert cli("explain", edges, *FLAGS, "--target", "bob", "--top", "-1").status == 2


def test_a_missing_file_is_named_plainly(cli, tmp_path):
    done = cli("beliefs", "none.csv", "--homophily", "0.8")
    assert done.status == 1
    assert done.err == "keyplayers: none.csv: No such file or directory\n"


def test_a_potential_may_be_a_table(cli, edges, tmp_path, expected):
    (tmp_path / "p.csv").write_text("0.8,0.2\n0.2,0.8\n")
    done = cli("beliefs", edges, "--potential", "p.csv", *FLAGS[2:], "--json")
    assert done.status == 0
    assert np.allclose([row["belief"] for row in json.loads(done.out)["beliefs"]], expected.beliefs)


def test_ctrl_c_is_one_line_and_status_130(cli, edges, monkeypatch):
    def press(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("keyplayers.mrf.inference.propagation.belief_propagation", press)
    done = cli("beliefs", edges, *FLAGS)
    assert done.status == 130
    assert done.err == "keyplayers: interrupted\n"


@pytest.mark.parametrize("algorithm", ["trw", "mean_field", "gibbs", "linbp", "exact"])
def test_each_algorithm_has_a_name(cli, edges, algorithm):
    given = ["beliefs", edges, "--homophily", "0.6", "--observe", "ann=1", "--algorithm", algorithm]
    seed = ["--seed", "1"] if algorithm == "gibbs" else []
    data = json.loads(cli(*given, *seed, "--json", "--quiet").out)
    assert data["inference"]["schedule"] == algorithm
    assert data["beliefs"][1]["belief"][1] == pytest.approx(0.6, abs=0.03)
    assert ("std_errors" in data["beliefs"][1]) == (algorithm == "gibbs")
    assert cli(*given, *seed).status == 0


def test_bounds_are_told(cli, tmp_path):
    (tmp_path / "ring.csv").write_text("source,target\na,b\nb,c\nc,a\n")
    done = cli("beliefs", "ring.csv", "--homophily", "0.8", "--observe", "a=1", "--algorithm", "trw")
    assert "log Z is between" in done.err
    assert "go with belief propagation" in cli("beliefs", "ring.csv", "--algorithm", "trw", "--max-product").err
    assert (
        "algorithm must be one of bp, trw"
        in cli("beliefs", "ring.csv", "--homophily", "0.8", "--algorithm", "magic").err
    )
