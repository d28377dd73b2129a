"""``keyplayers learn``: files in, files out."""

import json

import numpy as np
import pytest

import keyplayers as kp


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(0)
    rows, states = ["source,target,type,w"], [0]
    for child in range(1, 200):
        parent, sign = int(rng.integers(child)), int(rng.choice([-1, 1]))
        states.append(states[parent] ^ int((rng.random() < 0.9) == (sign < 0)))
        rows.append(f"v{parent},v{child},{'foe' if sign < 0 else 'friend'},{sign}")
    (tmp_path / "edges.csv").write_text("\n".join(rows))
    labels = [f"v{i},{'bad' if s else 'good'}" if i % 2 else f"v{i}," for i, s in enumerate(states)]
    (tmp_path / "labels.csv").write_text("\n".join(["name,label", *labels]))
    return tmp_path


def test_a_potential_is_read_back(model, cli):
    files = [model / "edges.csv", "--labels", model / "labels.csv"]
    shown = json.loads(
        cli("learn", *files, "--per-type", "-o", model / "p.json", "--priors", model / "pr.csv", "--json").out
    )
    assert shown["potential"]["friend"][0][0] > 1 > shown["potential"]["foe"][0][0]
    given = ["--potential", model / "p.json", "--priors", model / "pr.csv"]
    assert cli("beliefs", model / "edges.csv", *given, "--evidence", model / "labels.csv", "--json").status == 0
    cli("learn", *files, "-o", model / "p.csv")
    assert cli("beliefs", model / "edges.csv", "--potential", model / "p.csv").status == 0
    cli("learn", *files, "--by-weight", "w", "-o", model / "field.npz")
    assert kp.read_mrf(model / "field.npz").n_edges == 199


def test_what_a_file_cannot_hold_is_refused(model, cli):
    files = [model / "edges.csv", "--labels", model / "labels.csv"]
    assert "FIELD.npz" in cli("learn", *files, "--by-weight", "w", "-o", model / "p.csv").err
    assert "POTENTIAL.json" in cli("learn", *files, "--per-type", "-o", model / "p.csv").err
    (model / "labels.csv").write_text("name,label\nv1,good\nv1,bad\n")
    assert "row 2: 'v1' is 'bad' here" in cli("learn", *files).err


def test_an_evaluation_in_words_and_as_json(model, cli):
    files = [model / "edges.csv", "--labels", model / "labels.csv", "--splits", "2"]
    done = cli("evaluate", *files)
    assert done.status == 0
    assert "ropagation" in done.out
    assert "label propagation" in done.out
    data = json.loads(cli("evaluate", *files, "--homophily", "0.8", "--json", "--positive", "bad").out)
    assert data["positive"] == "bad"
    assert data["rows"][0]["name"] == "beliefs of the field"
    assert cli("evaluate", *files, "--per-type", "-o", model / "t.csv").status == 0
    assert (model / "t.csv").read_text().startswith('"name","auc"')


def test_graph_files_are_learned_from(model, cli):
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(6)
    networkx.write_graphml(graph, model / "g.graphml")
    (model / "l.csv").write_text("name,label\n0,a\n1,a\n3,b\n")
    done = cli("learn", model / "g.graphml", "--labels", model / "l.csv", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["n_pairs"] == 1
