"""What is read back is checked: whatever a file holds, the outcome is an explanation or one of our errors."""

import gzip
import io
import json
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyplayers as kp
from keyplayers import archive


@pytest.fixture(scope="module")
def field_explanation():
    mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "c")], homophily=0.8).observe({"a": 1})
    return kp.GraphShapley(mrf, worth="log_odds").explain("b")


@pytest.fixture(scope="module")
def model_explanation():
    def model(rows):
        return 1 / (1 + np.exp(2 - 3 * rows[:, 0] * rows[:, 2]))

    return kp.McXai(model, baseline=0).explain(np.array([1.0, 1.0, 1.0]), random_state=0)


def refused(path, found, change, message):
    data = found.to_dict()
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(kp.FileFormatError, match=message):
        kp.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(belief=[5, -3]), "belief must be probabilities"),
        (lambda d: d.update(belief=[0.5, 0.25, 0.25]), "belief must have one entry per state"),
        (lambda d: d.update(belief=[float("nan"), 1.0]), "belief must be probabilities"),
        (lambda d: d.update(players=[d["players"][0]] * 3), "players must be distinct"),
        (lambda d: d["players"][0].update(std_error=-1), "std_error must not be negative"),
        (lambda d: d["players"][0].update(distance=-1), "distance must not be negative"),
        (lambda d: d["players"][0].update(name=None), "is missing"),
        (lambda d: d.update(n_evaluations=-3), "n_evaluations must be a count"),
        (lambda d: d.update(sentence=7), "sentence must be a text"),
        (lambda d: d.update(states=["x", "x"]), "states must be distinct"),
        (lambda d: d.update(settings=3), "graphshapley explanation"),
    ],
)
def test_what_cannot_be_of_a_field_is_refused(tmp_path, field_explanation, change, message):
    refused(tmp_path / "x.json", field_explanation, change, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(p_target=7), "p_target must be a probability"),
        (lambda d: d["games"][0]["tree"].update(parents=d["games"][0]["tree"]["parents"][::-1]), "earlier nodes"),
        (lambda d: d["games"][0]["tree"]["parents"].__setitem__(1, 1), "earlier nodes"),
        (lambda d: d["games"][0]["tree"]["players"].__setitem__(1, 99), "players of a tree"),
        (lambda d: d["games"][0]["tree"]["n_visits"].pop(), "one entry per node"),
        (lambda d: d["games"][0].update(best_set=["nobody"]), "no player of its game"),
        (lambda d: d["games"][0].update(lower_bound=99), "lower_bound must be between"),
        (lambda d: d["games"][0].update(win_rates=[0.5]), "one entry per player"),
    ],
)
def test_what_cannot_be_of_a_classifier_is_refused(tmp_path, model_explanation, change, message):
    refused(tmp_path / "x.json", model_explanation, change, message)


def bomb():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archived:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
        header += b" " * (118 - len(header)) + b"\n"
        archived.writestr("json.npy", b"\x93NUMPY\x01\x00v\x00" + header)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", b"[" * 100_000),
        ("x.json", b"{}"),
        ("x.json", b"[]"),
        ("x.json", b'{"kind": "graphshapley", "schema": 1' + b"1" * 5000 + b"}"),
        ("x.json", b"\xff\xfe"),
        ("x.json.gz", b"no gzip"),
        ("x.json.gz", gzip.compress(b"{}" * 500)[:-30]),
        ("x.json.gz", gzip.compress(b"{}")[:10] + b"\xff" * 20),
        ("x.npz", b"PK\x03\x04" + b"\x00" * 50),
        ("x.npz", b""),
        ("x.npz", bomb()),
    ],
)
def test_damaged_files_are_one_error(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(kp.FileFormatError, match=name):
        kp.load(tmp_path / name)


def test_pipes_and_folders_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.npz").mkdir()
    for name in ("pipe.json", "folder.npz"):
        with pytest.raises(kp.FileFormatError, match="is no file"):
            kp.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        kp.load(tmp_path / "nothing.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_change_of_any_entry_gives_an_explanation_or_our_error(field_explanation, model_explanation, data):
    document = json.loads(json.dumps(data.draw(st.sampled_from([field_explanation, model_explanation])).to_dict()))
    place = document
    while isinstance(place, dict | list) and place:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            place[key] = data.draw(JSON)
            break
        place = place[key]
    try:
        found = archive.explanation_from_dict(document)
    except kp.FileFormatError:
        return
    assert len(found.values) == len(found.players)
