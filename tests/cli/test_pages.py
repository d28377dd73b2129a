"""Explanations written for people."""

import json

import pytest

EDGES = "source,target\nann,bob\nbob,cy\ncy,dan\nbob,dan\n"
ASK = ["e.csv", "--homophily", "0.8", "--states", "honest,fraud", "--observe", "ann=fraud"]


@pytest.fixture(autouse=True)
def edges(tmp_path):
    (tmp_path / "e.csv").write_text(EDGES)


def data_of(path):
    text = path.read_text()
    begin = text.index('<script type="application/json" id="data">')
    return json.loads(text[text.index(">", begin) + 1 : text.index("</script>", begin)])


def test_a_page_is_written_beside_the_table(cli, tmp_path):
    done = cli("explain", *ASK, "--target", "bob", "--html", "bob.html")
    assert done.status == 0
    assert done.out.startswith("The field believes that bob is fraud")
    data = data_of(tmp_path / "bob.html")
    assert data["target"] == "bob"
    assert data["nodes"]["name"][0] == "ann"
    assert data["without"]["bare"][0][0] == 0.5  # nothing else is known


def test_quiet_pages_say_nothing(cli, tmp_path):
    done = cli("explain", *ASK, "--target", "bob", "--html", "bob.html", "--quiet")
    assert (done.status, done.out) == (0, "")
    assert (tmp_path / "bob.html").exists()


def test_rows_of_tables_have_pages(cli, tmp_path):
    (tmp_path / "scores.py").write_text(
        "def risk(rows):\n    return (rows['debt'] > rows['income']).astype(float)\n"
    )
    (tmp_path / "d.csv").write_text("debt,income\n3,1\n1,4\n")
    done = cli("explain-model", "scores:risk", "d.csv", "--row", "0", "--html", "row.html")
    assert done.status == 0
    assert data_of(tmp_path / "row.html")["nodes"]["name"][0] == "debt"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--target", "bob", "--html", "bob.txt"], "the suffix must be one of .html, .htm"),
        (["--target", "bob", "--html", "no/bob.html"], "there is no folder"),
        (["--targets", "all", "--html", "all.html"], "keyplayers report STORE -o DIR"),
    ],
)
def test_pages_that_cannot_be_written_are_refused_first(cli, more, message):
    done = cli("explain", *ASK, *more)
    assert done.status == 1
    assert message in done.err


@pytest.mark.parametrize("suffix", [".html", ".md", ".png", ".svg", ".pdf", ".graphml"])
def test_output_writes_for_people(cli, tmp_path, suffix):
    done = cli("explain", *ASK, "--target", "bob", "-q", "-o", f"bob{suffix}")
    assert (done.status, done.out) == (0, "")
    assert (tmp_path / f"bob{suffix}").stat().st_size > 500


def test_many_targets_are_no_picture(cli):
    done = cli("explain", *ASK, "--targets", "all", "-o", "all.png")
    assert done.status == 1
    assert "the suffix must be one of .csv" in done.err


def test_a_store_becomes_a_folder_of_pages(cli, tmp_path):
    assert cli("explain", *ASK, "--targets", "all", "--store", "s", "-q", "--seed", "0").status == 0
    done = cli("report", "s", "-o", "pages", "-q")
    assert (done.status, done.out) == (0, "pages/index.html\n")
    assert [row[0] for row in data_of(tmp_path / "pages" / "index.html")["rows"]] == ["bob", "cy", "dan"]
    assert cli("report", "nothing", "-o", "pages").status == 1
    assert cli("report", "s", "-o", ".").status == 1
