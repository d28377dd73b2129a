"""What changed between two explanations, and between two stores."""

import json
import warnings

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.errors import InputError
from tests.toy_explainers import toy

EDGES = [("x", "a"), ("x", "b"), ("x", "c")]


def explain(evidence, target="x", edges=EDGES, **settings):
    mrf = kp.MarkovRandomField.from_edges(edges, homophily=0.9, states=["good", "bad"]).observe(evidence)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kp.GraphShapley(mrf, **settings).explain(target)


@pytest.fixture
def week():
    return explain({"a": "good"}), explain({"a": "good", "b": "bad", "d": "bad"}, edges=[*EDGES[:2], ("x", "d")])


def test_players_are_new_gone_changed_or_the_same(week):
    found = kp.compare(*week)
    status = dict(zip(found.players, found.status, strict=True))
    assert status == {"a": "changed", "b": "changed", "d": "new", "c": "gone"}
    for player, (before, after), change in zip(found.players, found.values, found.changes, strict=True):
        own = [0.0 if player not in ex.players else ex.value(player) for ex in week]
        assert np.nan_to_num([before, after]) == pytest.approx(own)
        assert change == pytest.approx(own[1] - own[0])
    assert np.all(np.diff(np.abs(found.changes)) <= 0)
    assert found.sentence.startswith("x: good (0.9) -> bad (0.9).")
    assert "New: d" in found.sentence


def test_nothing_has_changed_between_an_explanation_and_itself(week):
    found = kp.compare(week[0], week[0])
    assert set(found.status) == {"same"}
    assert not found.changes.any()
    assert "No player's value differs" in found.sentence


def test_changes_within_standard_errors_are_none():
    first, second = (toy("t", np.array(values), 0) for values in ([2.0, 1.0], [2.1, 3.0]))
    for each in (first, second):
        each.std_errors[:] = 0.1
    assert kp.compare(first, second).status == ("changed", "same")


def test_settings_that_differ_are_told(week):
    other = explain({"a": "good"}, law="shapley")
    assert kp.compare(week[0], other).settings["law"] == ("uniform", "shapley")


def test_units_and_kinds_must_agree(week):
    with pytest.raises(InputError, match="cannot be compared"):
        kp.compare(week[0], toy("t", np.ones(2), 0))
    with pytest.raises(InputError, match="two explanations or two stores"):
        kp.compare(week[0], "store")


def test_a_comparison_is_a_frame_json_and_a_picture(week):
    figure = pytest.importorskip("matplotlib.figure")
    found = kp.compare(*week)
    frame = found.to_frame("pyarrow")
    assert frame.column_names == ["name", "first", "second", "change", "status"]
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["players"][0]["name"] == found.players[0]
    ax = found.plot(figure.Figure().subplots(), top=3)
    first, second = (next(line for line in ax.lines if line.get_label() == name) for name in ("first", "second"))
    assert first.get_xdata() == pytest.approx(np.nan_to_num(found.values[:3, 0]))
    assert second.get_xdata() == pytest.approx(np.nan_to_num(found.values[:3, 1]))
    assert "<table>" in found._repr_html_()


@pytest.fixture
def stores(tmp_path):
    found = []
    for i, (evidence, targets) in enumerate(
        (({"a": "good"}, "xbc"), ({"a": "bad"}, "xb"), ({"a": "good"}, "xbca"))
    ):
        mrf = kp.MarkovRandomField.from_edges(EDGES, homophily=0.9, states=["good", "bad"]).observe(evidence)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(
                kp.explain_many(kp.GraphShapley(mrf), list(targets), random_state=0, store=tmp_path / str(i))
            )
    return found


def test_stores_tell_who_is_decided_otherwise_new_gone_or_the_same(stores):
    found = kp.compare(stores[0], stores[1])
    status = dict(zip(found.columns["target"], found.columns["status"], strict=True))
    assert status == {"x": "flipped", "b": "flipped", "c": "gone"}
    assert found.sentence == "Of 3 targets: 2 flipped, 1 gone. Decided otherwise now: b, x."
    again = kp.compare(stores[0], stores[2])
    assert again.counts == {"flipped": 0, "changed": 0, "new": 1, "gone": 0, "same": 3}
    assert "<table>" in again._repr_html_()
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_command_compares_files_and_folders(stores, week, tmp_path, capsys):
    from keyplayers.cli import main

    for ex, name in zip(week, ("1.json", "2.json"), strict=True):
        ex.save(tmp_path / name)
    main(["compare", str(tmp_path / "1.json"), str(tmp_path / "2.json")])
    assert capsys.readouterr().out.startswith("x: good (0.9) -> bad (0.9).")
    main(["compare", str(tmp_path / "0"), str(tmp_path / "1"), "--json"])
    assert json.loads(capsys.readouterr().out)["counts"]["flipped"] == 2
    main(["compare", str(tmp_path / "0"), str(tmp_path / "1"), "-o", str(tmp_path / "t.csv")])
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 4
