"""Explanations as Markdown, pictures and graphs."""

import numpy as np
import pytest

from keyplayers.errors import InputError
from keyplayers.report import to_markdown, write_file
from tests.report.conftest import HOSTILE
from tests.toy_explainers import toy


def cells(markdown, head):
    """Rows of the table whose first head is given, backslashes taken away."""
    lines = markdown.split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows = []
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().replace("\\", "") for cell in line.replace("\\|", "/").strip("|").split("|")])
    return rows


def test_markdown_holds_the_ranking_and_what_it_means(karate):
    text = to_markdown(karate)
    assert text.startswith("# Why 8 is believed to be Officer\n")
    assert karate.sentence in text
    assert cells(text, "state") == [["Mr. Hi", "0.452"], ["Officer", "0.548"]]
    rows = cells(text, "player")
    assert rows[0][:3] == ["33", "1", f"{karate.values[0]:.4g}"]
    assert len(rows) == 20
    assert "of 30)" in text
    assert "**What the values mean.**" in text


def test_names_cannot_leave_their_cells_in_markdown(hostile):
    text = to_markdown(hostile)
    assert "<script" not in text.replace("\\<", "")
    assert len(cells(text, "player")) == len(HOSTILE) - 1
    assert {len(row) for row in cells(text, "player")} == {7}


def test_a_graph_has_players_values_and_edges(karate, hostile, tmp_path):
    networkx = pytest.importorskip("networkx")
    write_file(karate, tmp_path / "a.graphml")
    graph = networkx.read_graphml(tmp_path / "a.graphml", node_type=int)
    assert graph.nodes[0] == {"name": "8", "role": "target"}
    for i, (player, value) in enumerate(karate.top(5), start=1):
        assert (graph.nodes[i]["name"], graph.nodes[i]["value"]) == (str(player), value)
    assert graph.number_of_edges() == karate.n_edges
    assert graph.edges[0, 1]["best_path"]
    write_file(hostile, tmp_path / "b.graphml")
    assert networkx.read_graphml(tmp_path / "b.graphml").number_of_nodes() == len(HOSTILE)


def test_files_go_by_their_suffix(karate, tmp_path):
    begins = {".html": b"<!doctype", ".md": b"# Why", ".png": b"\x89PNG", ".svg": b"<?xml", ".graphml": b"<?xml"}
    for suffix, begin in begins.items():
        write_file(karate, tmp_path / f"a{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes().startswith(begin)
    with pytest.raises(InputError, match=r"\.graphml"):
        write_file(karate, tmp_path / "a.docx")
    with pytest.raises(InputError, match="no graph"):
        write_file(toy("t", np.ones(2), 0), tmp_path / "a.graphml")
