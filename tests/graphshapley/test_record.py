"""JSON against the schema that the docs print, files there and back, sentences."""

import copy
import datetime
import gzip
import json
import re
import uuid
import warnings
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import keyplayers as kp

from .balls import on_subtrees

S = [[0.9, 0.1], [0.1, 0.9]]
DOCS = Path(__file__).parents[2] / "docs" / "json.md"

pytestmark = pytest.mark.filterwarnings("ignore::keyplayers.KeyPlayersWarning")


@pytest.fixture(scope="module")
def schema():
    block = re.search(r"```json\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(block.group(1))


def triangle(**options):
    edges = [("X", "X1"), ("X1", "X2"), ("X", "X2")]
    return kp.MarkovRandomField.from_edges(edges, {"X1": [0.2, 0.8], "X2": [0.6, 0.4]}, potential=S, **options)


def examples():
    """Explanations of every sort."""
    mrf = triangle(states=["ham", "spam"])
    yield "loop", on_subtrees(mrf, worth="log_odds").explain("X", random_state=7)
    yield "walks", kp.GraphShapley(mrf, law="shapley").explain("X")
    yield "exact", on_subtrees(mrf, beliefs=kp.exact_marginals(mrf), worth="log_odds").explain("X")
    yield "contrast", on_subtrees(mrf, contrast=("spam", "ham"), radius=None).explain("X")
    yield "observed", on_subtrees(mrf.observe({"X": "ham"})).explain("X")
    yield "lonely", on_subtrees(kp.MarkovRandomField.from_edges([(1, 2)], {0: [1, 3]}, potential=S)).explain(0)
    names = [
        "text",
        17,
        (1, ("a", 2)),
        2.5,
        frozenset({1}),
        datetime.date(2020, 2, 3),
        b"raw",
        uuid.UUID(int=5),
        -0.5,
    ]
    odd = kp.MarkovRandomField.from_edges(
        [(names[0], name) for name in names[1:]],
        {name: [i + 1, 2, 0] for i, name in enumerate(names)},
        potential=np.eye(3) + 0.2,
        states=[0, "one", (2,)],
    )
    seen = odd.observe({17: "one"})
    yield "what if", kp.GraphShapley(seen, what_if=True, max_evals=200).explain("text", random_state=0)
    yield "odd names", on_subtrees(odd, worth="probability").explain("text")
    zeros = kp.MarkovRandomField.from_edges([(0, 1)], [[1, 0, 2], [1, 1, 1]], potential=np.ones((3, 3)))
    yield "zeros", on_subtrees(zeros, worth="log_odds", state=1).explain(0)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    CASES = dict(examples())


@pytest.mark.parametrize("case", CASES)
def test_json_follows_the_documented_schema(case, schema):
    data = CASES[case].to_dict()
    text = json.dumps(data, allow_nan=False)
    jsonschema.validate(json.loads(text), schema)
    assert json.loads(text) == data


def test_a_saved_file_follows_it_too(schema, tmp_path):
    CASES["loop"].save(tmp_path / "x.json")
    jsonschema.validate(json.loads((tmp_path / "x.json").read_text()), schema)


def test_the_schema_refuses_what_is_wrong(schema):
    good = CASES["loop"].to_dict()
    for spoil in (
        lambda data: data.pop("belief"),
        lambda data: data.update(worth=7),
        lambda data: data["players"][0].update(path=[]),
        lambda data: data["players"][0].pop("value"),
        lambda data: data.update(surprise=1),
    ):
        bad = copy.deepcopy(good)
        spoil(bad)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_the_promised_example_holds():
    """The keys of api.md, with the numbers of a triangle."""
    data = CASES["loop"].to_dict()
    assert (data["schema"], data["kind"], data["target"], data["states"]) == (
        1,
        "graphshapley",
        "X",
        ["ham", "spam"],
    )
    assert (data["worth"], data["unit"], data["engine"], data["n_evaluations"]) == (
        "log_odds", "log-odds", "enumeration", 5
    )  # fmt: skip
    assert data["ball"]["log10_coalitions"] == pytest.approx(0.699, abs=1e-3)
    assert data["seed"] == 7
    assert data["version"] == kp.__version__
    player = data["players"][0]
    assert (player["name"], player["distance"], player["path"]) == ("X1", 1, ["X1", "X"])
    assert player["log10_coalitions"] == pytest.approx(0.602, abs=1e-3)


@pytest.mark.parametrize("suffix", ["json", "json.gz", "npz"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_saved_reads_back(case, suffix, tmp_path):
    found = CASES[case]
    path = tmp_path / f"ex.{suffix}"
    found.save(path)
    back = kp.load(path)
    assert back.to_dict() == found.to_dict()
    assert (back.target, back.players, back.unit, back.sentence) == (
        found.target, found.players, found.unit, found.sentence
    )  # fmt: skip
    assert [type(name) for name in back.players] == [type(name) for name in found.players]
    assert back.states == found.states
    assert back.paths == found.paths
    for array in ("values", "std_errors", "belief", "log_belief", "probabilistic", "distances"):
        np.testing.assert_array_equal(getattr(back, array), getattr(found, array))
    assert back.ball is None
    assert back.to_frame().equals(found.to_frame())
    assert repr(back) == repr(found)


def test_arrays_of_an_npz_open_without_pickle(tmp_path):
    CASES["loop"].save(tmp_path / "ex.npz")
    with np.load(tmp_path / "ex.npz", allow_pickle=False) as members:
        assert members["/players/value"].tolist() == CASES["loop"].values.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no explanation"),
        (b"[1, 2]", "an explanation is a JSON object, got list"),
        (b'{"kind": "other"}', "got 'other'"),
        (b'{"kind": "graphshapley"}', "schema must be a version number, got None"),
        (b'{"kind": "graphshapley", "schema": 99}', "schema 99 is newer"),
        (b'{"kind": "graphshapley", "schema": 1}', "'players' is missing"),
        (b"\x80\x04K\x01.", "is no explanation"),
    ],
)
def test_files_that_are_no_explanations_are_refused(content, message, tmp_path):
    path = tmp_path / "ex.json"
    path.write_bytes(content)
    with pytest.raises(kp.FileFormatError, match=message) as caught:
        kp.load(path)
    assert "ex.json" in str(caught.value)
    with gzip.open(tmp_path / "ex.json.gz", "wb") as file:
        file.write(content)
    with pytest.raises(kp.FileFormatError, match=message):
        kp.load(tmp_path / "ex.json.gz")


def test_suffixes_and_missing_files(tmp_path):
    with pytest.raises(kp.InputError, match=r"kept in \.json, \.json\.gz, \.npz, got '.*ex\.pkl'"):
        CASES["loop"].save(tmp_path / "ex.pkl")
    with pytest.raises(FileNotFoundError):
        kp.load(tmp_path / "none.json")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(kp.FileFormatError, match="is no explanation"):
        kp.load(tmp_path / "broken.npz")


def test_an_npz_with_pickled_objects_is_refused(tmp_path):
    np.savez(tmp_path / "evil.npz", json=np.array([{"kind": "graphshapley"}], dtype=object))
    with pytest.raises(kp.FileFormatError, match="is no explanation"):
        kp.load(tmp_path / "evil.npz")


def test_the_sentence_says_who_and_how():
    mrf = kp.MarkovRandomField.from_edges(
        [("X", "P3"), ("P3", "R12"), ("X", "P4"), ("P4", "R7")],
        {"R12": [0.02, 0.98], "R7": [0.7, 0.3]},
        potential=S,
        states=["an honest user", "a spammer"],
    )
    found = on_subtrees(mrf, worth="log_odds").explain("X")
    assert found.sentence == (
        "The field believes that X is a spammer (0.71). For a spammer: R12, reached through P3. "
        "Against a spammer: R7, reached through P4. What connects: P3."
    )


def test_beliefs_near_certainty_keep_a_digit_that_shows_it():
    mrf = kp.MarkovRandomField.from_edges([(0, 1)], [[1, 1e5], [1, 2]], potential=S)
    assert "(0.9999942)" in on_subtrees(mrf, worth="log_odds").explain(0).sentence
