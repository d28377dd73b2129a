"""Damaged files: an error that names the file, never a wrong number or a crash in a kernel."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf.storage import _pack_json, load_state, save_state

FIELDS = {
    "binary": kp.MarkovRandomField.from_edges(
        [("a", "b"), ("b", "c")], {"a": [0.2, 0.8]}, homophily=0.7, states=["x", "y"]
    ),
    "mixed": kp.MarkovRandomField.from_edges(
        [(0, 1), (1, 2)], [[1, 1], [1, 2, 1], [3, 1]], potential=[np.ones((2, 3)), np.ones((3, 2))]
    ),
}
DAMAGES = {
    "shorter": lambda array: array[:-1],
    "other type": lambda array: array.astype("f4"),
    "below range": lambda array: array * 0 - 1,
    "above range": lambda array: array + 100,
    "not a number": lambda array: np.full_like(array, np.nan, dtype="f8"),
    "text": lambda array: np.array("x"),
    "empty": lambda array: np.zeros(0),
    "other shape": lambda array: array.reshape(-1, 1),
}
# numbers that make another field, which is as good as the first
HARMLESS = {("log_priors", "below range"), ("log_priors", "above range")} | {
    ("log_potentials", damage) for damage in ("below range", "above range")
}


@pytest.fixture(params=FIELDS)
def arrays(request, tmp_path):
    """A saved state as arrays, and where it stands."""
    save_state(kp.belief_propagation(FIELDS[request.param]), tmp_path / "s.npz")
    with np.load(tmp_path / "s.npz") as members:
        return dict(members), tmp_path / "s.npz"


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "name",
    [
        "keyplayers_field",
        "names",
        "state_names",
        "n_states",
        "log_priors",
        "edges",
        "potential_index",
        "potential_shapes",
        "log_potentials",
    ],
)
def test_a_damaged_field_is_refused(arrays, name, damage):
    whole, path = arrays
    if (name, damage) in HARMLESS or (whole[name].ndim == 0 and damage == "shorter"):
        return
    if name in ("names", "state_names", "keyplayers_field") and damage in ("other type", "other shape"):
        return  # the same bytes, or the same number
    np.savez(path, **(whole | {name: DAMAGES[damage](whole[name])}))
    with pytest.raises(kp.FileFormatError, match=r"s\.npz: "):
        kp.read_mrf(path)


@pytest.mark.parametrize("position", [-1, 3, 10**9])
def test_states_of_a_variable_that_does_not_exist_are_refused(arrays, position):
    whole, path = arrays
    states = _pack_json({str(position): ["x", "y"]})
    np.savez(path, **(whole | {"state_names": states}))
    with pytest.raises(kp.FileFormatError, match=r"s\.npz: the field is damaged: .*names of states"):
        kp.read_mrf(path)


@pytest.mark.parametrize("damage", ["shorter", "not a number", "text", "empty", "other shape"])
@pytest.mark.parametrize("name", ["settings", "messages", "log_beliefs"])
def test_a_damaged_state_is_refused(arrays, name, damage):
    whole, path = arrays
    if (name, damage) in {("log_beliefs", "not a number"), ("settings", "other shape")}:
        return  # a warm start does not read them; the same bytes
    np.savez(path, **(whole | {name: DAMAGES[damage](whole[name])}))
    with pytest.raises(kp.FileFormatError, match=r"s\.npz: the state is damaged"):
        load_state(path)


def test_what_is_whole_is_read(arrays):
    whole, path = arrays
    np.savez(path, **whole)
    assert load_state(path).beliefs is not None
    assert kp.read_mrf(path).n_edges == 2


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "field.npz"
    kp.write_mrf(FIELDS["binary"], path)
    before = path.read_bytes()
    with pytest.raises(kp.InputError, match="cannot be written"):
        kp.write_mrf(kp.MarkovRandomField.from_edges([(1 + 2j, 0)], homophily=0.8), path)
    assert path.read_bytes() == before
    with pytest.raises(FileNotFoundError, match="none"):
        kp.write_mrf(FIELDS["binary"], tmp_path / "none" / "field.npz")
    assert [found.name for found in tmp_path.iterdir()] == ["field.npz"]
