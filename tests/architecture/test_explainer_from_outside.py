"""An explainer that the package does not know, with a structure that nobody registered: everything works."""

import datetime
import json
from dataclasses import dataclass, field

import numpy as np
import pytest

import keyplayers as kp
from keyplayers import archive
from keyplayers.explanation import Explainer, Explanation, Identity, complete
from tests.cli.conftest import cli as cli


@dataclass(frozen=True)
class Step:
    player: str
    gain: float


@dataclass(frozen=True, eq=False)
class Trace:
    """What only this method knows."""

    base: float
    gains: np.ndarray
    table: np.ndarray
    steps: tuple[Step, ...]
    began: datetime.date
    seen: frozenset
    limits: dict
    model: object = field(default_factory=lambda: lambda x: x)  # no file can hold it


class LeaveOneOut:
    """What the sum of the squares of some numbers loses without each of them."""

    def __init__(self, power=2):
        self.power = power

    def explain(self, target, /, *, random_state=None, progress=None):
        numbers = {"ann": 3.0, "bob": -2.0, (1, "x"): 0.5}
        order = sorted(numbers, key=lambda name: -abs(numbers[name]))
        gains = np.array([numbers[name] ** self.power for name in order])
        steps = tuple(Step(str(name), float(gain)) for name, gain in zip(order, gains, strict=True))
        return Explanation(
            kind="leave_one_out",
            target=target,
            players=tuple(order),
            values=gains,
            std_errors=np.array([0.0, np.nan, np.inf]),
            quantity="loss",
            unit="squares",
            n_evaluations=4,
            sentence=f"{target} is a sum.",
            structure=Trace(
                base=float("-inf"),
                gains=gains,
                table=np.array([[1, 2], [3, 4]]),
                steps=steps,
                began=datetime.date(2020, 2, 29),
                seen=frozenset("ab"),
                limits={"most": 3, "a/b": [0.5, None]},
            ),
            settings={"power": self.power, "seed": random_state},
        )


class Bare(Explainer):
    """Inherits all defaults."""

    def explain(self, target, /, *, random_state=None, progress=None):
        return Explanation(
            "bare", target, ("p",), np.ones(1), np.zeros(1), "worth", "points", 1, "One.", structure=None
        )


@pytest.fixture
def explained():
    return LeaveOneOut().explain("total", random_state=5)


def assert_same(found, expected):
    assert (found.kind, found.target, found.players) == ("leave_one_out", "total", expected.players)
    assert found.values.tobytes() == expected.values.tobytes()
    np.testing.assert_array_equal(found.std_errors, expected.std_errors)
    assert (found.quantity, found.unit, found.n_evaluations) == ("loss", "squares", 4)
    assert found.sentence == expected.sentence
    assert found.settings["power"] == 2
    assert found.base == float("-inf")
    assert found.gains.tobytes() == expected.gains.tobytes()
    assert found.table.dtype == expected.table.dtype
    assert found.table.tolist() == [[1, 2], [3, 4]]
    assert [(step.player, step.gain) for step in found.steps] == [(s.player, s.gain) for s in expected.steps]
    assert (found.began, found.seen, found.limits) == (expected.began, expected.seen, expected.limits)
    with pytest.raises(AttributeError, match="'model' of this Trace could not be kept in a file"):
        _ = found.structure.model


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".npz"])
def test_it_is_saved_and_read_back_and_saved_again(tmp_path, explained, suffix):
    explained.save(tmp_path / f"a{suffix}")
    found = kp.load(tmp_path / f"a{suffix}")
    assert_same(found, explained)
    found.save(tmp_path / f"b{suffix}")
    assert_same(kp.load(tmp_path / f"b{suffix}"), explained)
    assert found.to_dict() == explained.to_dict()


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_it_goes_through_a_batch_into_a_store(tmp_path, explained, prefer):
    store = kp.explain_many(
        LeaveOneOut(), ["total", "other"], store=tmp_path / "s", n_jobs=2, prefer=prefer, random_state=1
    )
    assert_same(store["total"], explained)
    assert store.summary("dict")["unit"] == ["squares", "squares"]
    assert store.manifest["settings"] == {"power": 2}
    assert store.manifest["explainer"].endswith("test_explainer_from_outside.LeaveOneOut")
    assert store.recurring("dict")["player"] == ["ann", "bob", (1, "x")]
    with pytest.raises(kp.InputError, match="power was 2 and is now 3"):
        kp.explain_many(LeaveOneOut(3), ["more"], store=tmp_path / "s")


def test_the_command_line_shows_it(tmp_path, cli):
    kp.explain_many(LeaveOneOut(), ["total", "other"], store="s", random_state=1)
    shown = cli("store", "summary", "s")
    assert "total is a sum." in shown.out
    assert "LeaveOneOut(power=2)" in shown.err
    assert "ann" in cli("store", "top", "s").out
    written = json.loads(cli("store", "export", "s", "--target", "total").out)
    assert written["structure"]["fields"]["limits"] == {"most": 3, "a/b": [0.5, None]}
    assert written["structure"]["left_out"] == ["model"]


def test_the_defaults_of_the_protocol_hold_for_whoever_says_nothing(tmp_path):
    for explainer in (LeaveOneOut(), Bare()):
        whole = complete(explainer)
        assert isinstance(whole, Explainer)
        assert whole.prefer is None
        assert whole.prepare() is None
        assert isinstance(whole.identity(), Identity)
    assert complete(Bare()).identity() == Identity({}, None)
    store = kp.explain_many(Bare(), ["t"], store=tmp_path / "s")
    assert store["t"].structure is None
    assert store["t"].values.tolist() == [1.0]
    with pytest.raises(kp.InputError, match=r"an explainer has explain\(target, .*got int"):
        kp.explain_many(3, ["t"])


def test_a_codec_registered_from_outside_is_found(tmp_path, explained):
    archive.register("leave_one_out", lambda data: pytest.fail("its fields tell how they were kept"))
    explained.save(tmp_path / "a.json")
    assert_same(kp.load(tmp_path / "a.json"), explained)
    data = {"schema": 1, "kind": "mine", "who": "total"}
    with pytest.raises(kp.FileFormatError, match="kind must be one of .*, got 'mine'"):
        archive.explanation_from_dict(data)
    archive.register("mine", lambda data: LeaveOneOut().explain(data["who"]))
    assert archive.explanation_from_dict(data).players == explained.players
    with pytest.raises(kp.InputError, match="a reader is a function"):
        archive.register("mine", "nowhere")


def test_completion_offers_what_the_structure_knows(explained):
    offered = dir(explained)
    assert {"gains", "steps", "values", "top", "structure"} <= set(offered)
    assert not any(name.startswith("_ipython") for name in offered)
    assert offered == sorted(offered)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("players"), "'players' is missing"),
        (lambda data: data["players"][0].pop("value"), "values must have one entry per player"),
        (lambda data: data["structure"].update(fields=3), "this is no leave_one_out explanation"),
        (lambda data: data["structure"]["fields"]["gains"].update(dtype="V8"), "no array has entries of"),
        (lambda data: data["structure"]["fields"]["gains"].update(shape=[10**12]), "cannot reshape"),
    ],
)
def test_a_damaged_record_is_refused(tmp_path, explained, change, message):
    data = explained.to_dict()
    change(data)
    (tmp_path / "x.json").write_text(json.dumps(data))
    with pytest.raises(kp.FileFormatError, match=message):
        kp.load(tmp_path / "x.json")
