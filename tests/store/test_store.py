import datetime
import json
import signal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import keyplayers as kp
from keyplayers.batch.store import writer
from keyplayers.batch.store.encoding import DONE, Outcome, decode, encode
from keyplayers.batch.store.writer import Writer
from keyplayers.errors import KeyPlayersWarning
from tests.toy_explainers import Choosy, Noisy, toy

MADE_WITH = {"explainer": "x", "settings": {"a": 1}, "fingerprint": "f", "seed": None}


def outcome(target, values=(0.5, 0.25)):
    return Outcome(target, DONE, toy(str(target), np.array(values), 1), (), 0.5)


def fill(path, targets, per_part=1, **options):
    with Writer(path, MADE_WITH) as writer:
        for i in range(0, len(targets), per_part):
            writer.commit(encode([outcome(target, **options) for target in targets[i : i + per_part]]))
    return kp.open_store(path)


def content(store):
    """Every value, by target."""
    frame = store.to_frame()
    return {t: own["value"].to_numpy().tobytes() for t, own in frame.groupby("target", sort=True)}


@pytest.fixture
def store(tmp_path):
    with pytest.warns(KeyPlayersWarning, match="1 of 4 targets failed"):
        return kp.explain_many(Noisy(), ["x", "bad", "y", 17], store=tmp_path / "s", random_state=1)


def test_an_explanation_comes_back_as_it_was(store):
    (fresh,) = kp.explain_many(Noisy(), ["y"], random_state=1)
    found = store["y"]
    assert found.values.tobytes() == fresh.values.tobytes()
    assert (found.players, found.kind, found.settings) == (fresh.players, "toy", fresh.settings)
    assert store[17].target == 17


def test_it_is_a_mapping_of_what_could_be_explained(store):
    assert list(store) == ["x", "y", 17]
    assert len(store) == 3
    assert "x" in store
    assert "bad" not in store
    assert [] not in store
    assert store.get("nobody") is None
    assert store.counts == {"done": 3, "failed": 1}
    assert store.failures == {"bad": "ValueError: bad target"}
    assert repr(store) == f"<Store {store.path}: 3 explanations, 1 failed>"
    with pytest.raises(kp.UnknownNameError, match="'bad' could not be explained: ValueError: bad target"):
        _ = store["bad"]
    with pytest.raises(kp.UnknownNameError, match="no target 'nobody' among its 4"):
        _ = store["nobody"]


def test_the_summary_has_a_row_per_target(store):
    summary = store.summary().set_index("target")
    assert summary["status"].to_dict() == {"x": "done", "bad": "failed", "y": "done", 17: "done"}
    assert summary.loc["x", "top_player"] == "ann"
    assert summary.loc["x", "top_value"] == store["x"].values[0]
    assert summary.loc["x", "sentence"] == "About x."
    assert summary.loc["bad", "error"] == "bad target"
    assert summary.loc["x", "partial"] == False  # noqa: E712  a fact of the method
    assert "explanation" not in summary
    assert store.summary("polars").shape == store.summary("pyarrow").to_pandas().shape


def test_the_table_of_players_is_lazy_and_flat(store):
    dataset = store.players
    assert dataset.count_rows() == 12
    frame = store.to_frame()
    assert frame["player"].tolist()[:4] == ["ann", "bob", "cy", 7]
    assert frame["rank"].tolist()[:4] == [1, 2, 3, 4]
    assert (frame["half"] == frame["value"] / 2).all()
    assert store.to_frame("polars", top=1)["rank"].to_list() == [1, 1, 1]
    # readable without this package
    assert pd.read_parquet(store.path / "players")["value"].sum() == pytest.approx(frame["value"].sum())


@pytest.mark.parametrize(
    "name", ["a b", "", "ü/..", 17, -3, 2.5, True, (1, "a"), datetime.date(2020, 1, 2), b"\x00", float("inf")]
)
def test_names_of_all_types_come_back(tmp_path, name):
    store = fill(tmp_path / "s", [name, "other"])
    assert list(store) == [name, "other"]
    assert type(next(iter(store))) is type(name)
    assert store[name].target == str(name)
    assert set(store.to_frame()["target"]) == {name, "other"}
    assert list(store.summary()["target"]) == [name, "other"]


def test_texts_that_look_like_numbers_are_other_targets(tmp_path):
    store = fill(tmp_path / "s", ["17", 17, "int 17"], per_part=3)
    assert list(store) == ["17", 17, "int 17"]
    pairs = store.similar()
    assert len(pairs) == 3
    assert {type(name) for name in [*pairs["target"], *pairs["other"]]} == {str, int}


def test_a_store_of_nothing_can_be_asked(tmp_path):
    for store in (fill(tmp_path / "a", []), fill(tmp_path / "b", ["alone"], values=())):
        assert len(store.to_frame()) == 0
        assert len(store.recurring()) == 0
        assert len(store.similar()) == 0
        assert len(store.summary()) == len(store)
    assert len(store.similar("alone")) == 0


def test_recurring_players(tmp_path):
    with Writer(tmp_path / "s", MADE_WITH) as writer:
        writer.commit(encode([outcome("t1", (3.0, -2.0, 0.0)), outcome("t2", (1.0, 0.5))]))
        writer.commit(encode([outcome("t3", (np.nan, -4.0))]))
    frame = kp.open_store(tmp_path / "s").recurring()
    assert frame["player"].tolist() == ["bob", "ann"]  # cy makes no difference, NaN is no value
    assert frame["n_targets"].tolist() == [3, 2]
    assert frame["total"].tolist() == [-5.5, 4.0]
    assert frame["mean"].tolist() == pytest.approx([-5.5 / 3, 2.0])
    assert frame["mean_absolute"].tolist() == pytest.approx([6.5 / 3, 2.0])
    top = kp.open_store(tmp_path / "s").recurring(top=1)
    assert (top["player"].tolist(), top["n_targets"].tolist()) == (["ann"], [2])


def test_similar_explanations_are_those_of_dense_cosines(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    vectors = np.round(rng.normal(size=(40, 4)), 1) * (rng.random((40, 4)) < 0.6)
    with Writer(tmp_path / "s", MADE_WITH) as writer:
        for i in range(0, 40, 7):
            writer.commit(encode([outcome(f"t{j:02}", vectors[j]) for j in range(i, min(i + 7, 40))]))
    store = kp.open_store(tmp_path / "s")
    lengths = np.linalg.norm(vectors, axis=1)
    cosines = vectors @ vectors.T / np.maximum(np.outer(lengths, lengths), 1e-300)
    upper = np.triu_indices(40, 1)
    best = np.sort(cosines[upper])[::-1][:25]
    assert best[-1] < 1
    monkeypatch.setattr("keyplayers.batch.store.views._BLOCK_PAIRS", 100)  # two rows at a time
    found = store.similar(k=25)
    assert found["similarity"].to_numpy() == pytest.approx(best)
    for target, other, similarity in found.itertuples(index=False):
        assert cosines[int(target[1:]), int(other[1:])] == pytest.approx(similarity)
    whole = int(np.flatnonzero(np.abs(vectors).min(axis=1) > 0)[0])
    mine = store.similar(f"t{whole:02}", k=5)
    assert mine["similarity"].to_numpy() == pytest.approx(np.sort(np.delete(cosines[whole], whole))[::-1][:5])
    assert set(mine["target"]) == {f"t{whole:02}"}
    assert (store.similar(k=1000, at_least=0.9)["similarity"] >= 0.9).all()
    with pytest.raises(kp.UnknownNameError, match="no explanation of 'zz'"):
        store.similar("zz")


def test_what_is_there_is_not_done_again(tmp_path):
    first = kp.explain_many(Noisy(), ["a", "b"], store=tmp_path / "s")
    seed = json.loads((tmp_path / "s" / "manifest.json").read_text())["seed"]
    assert first.manifest["seed"] == seed
    workers = {name: first[name].worker for name in first}
    second = kp.explain_many(Noisy(), ["b", "c", "b"], store=tmp_path / "s")  # no seed: that of the store
    assert list(second) == ["a", "b", "c"]
    assert {name: second[name].worker for name in first} == workers
    again = kp.explain_many(Noisy(), ["c"], random_state=seed["entropy"])
    assert again[0].values.tobytes() == second["c"].values.tobytes()
    assert list(first) == ["a", "b"]  # as it was when it was opened
    assert list(first.refresh()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("explainer", "seed", "message"),
    [
        (Noisy(n_steps=2), 1, "n_steps was 1 and is now 2"),
        (Noisy(), 2, "seed was"),
        (Choosy(), 1, "explainer was"),
    ],
)
def test_other_settings_are_refused(tmp_path, explainer, seed, message):
    kp.explain_many(Noisy(), ["a"], store=tmp_path / "s", random_state=1)
    with pytest.raises(kp.InputError, match=message):
        kp.explain_many(explainer, ["b"], store=tmp_path / "s", random_state=seed)
    assert list(kp.open_store(tmp_path / "s")) == ["a"]


def test_another_field_is_refused(tmp_path):
    kp.explain_many(Choosy(), ["a"], store=tmp_path / "s")
    with pytest.raises(kp.InputError, match="the field, model or data is not the same"):
        kp.explain_many(Choosy("b"), ["b"], store=tmp_path / "s")


@pytest.mark.parametrize("change", ["prior", "edge", "name", "evidence", "worth", "law"])
def test_a_field_explainer_tells_what_decides_its_numbers(change):
    def made(edges=(("a", "b"), ("b", "c")), priors=((0.3, 0.7),), worth="log_odds", evidence=(), law="uniform"):
        mrf = kp.MarkovRandomField.from_edges(list(edges), dict(zip("a", priors, strict=True)), homophily=0.8)
        return kp.GraphShapley(mrf.observe(dict(evidence)), worth=worth, law=law).identity()

    changed = {
        "prior": made(priors=((0.3, 0.8),)),
        "edge": made(edges=(("a", "b"), ("a", "c"))),
        "name": made(edges=(("a", "b"), ("b", "d"))),
        "evidence": made(evidence=(("c", 1),)),
        "worth": made(worth="symmetric_kl"),
        "law": made(law="shapley"),
    }
    assert made() == made()
    assert changed[change] != made()
    assert (changed[change][0] == made()[0]) == (change not in ("worth", "law"))


def test_another_version_is_told(tmp_path):
    kp.explain_many(Noisy(), ["a"], store=tmp_path / "s")
    path = tmp_path / "s" / "manifest.json"
    path.write_text(path.read_text().replace(f'"{kp.__version__}"', '"0.0.1"'))
    with pytest.warns(KeyPlayersWarning, match=r"begun by version 0\.0\.1"):
        kp.explain_many(Noisy(), ["b"], store=tmp_path / "s")
    path.write_text(path.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(kp.FileFormatError, match="has layout 99; this version reads layout 1"):
        kp.open_store(tmp_path / "s")


def test_failed_and_partial_targets_are_done_again_on_request(tmp_path):
    slow = Noisy(n_steps=100, seconds=0.002)
    path = tmp_path / "s"
    kp.explain_many(slow, ["a", "b"], store=path, max_seconds_per_target=0.02, random_state=3)
    with pytest.warns(KeyPlayersWarning, match="failed"):
        kp.explain_many(slow, ["c", "bad"], store=path)
    before = kp.open_store(path)
    assert before.counts == {"partial": 2, "done": 1, "failed": 1}
    same = kp.explain_many(slow, ["a", "b", "c", "bad"], store=path)
    assert same.counts == before.counts
    done = kp.explain_many(slow, ["a", "b", "c"], store=path, retry=["partial", "failed"])
    assert done.counts == {"done": 3}
    assert done["c"].worker == before["c"].worker
    assert done.players.count_rows() == 12
    fresh = kp.explain_many(slow, ["a"], random_state=3)[0]
    assert done["a"].values.tobytes() == fresh.values.tobytes()


def test_small_parts_are_merged_and_everything_stays(tmp_path, monkeypatch):
    names = [f"t{i}" for i in range(100)]
    rng = np.random.default_rng(1)
    path = tmp_path / "s"
    with Writer(path, MADE_WITH) as writer:
        for name in names:
            writer.commit(encode([outcome(name, rng.normal(size=3))]))
            assert len(list((path / "targets").iterdir())) < 32
    store = kp.open_store(path)
    assert list(store) == names
    rng = np.random.default_rng(1)
    assert all(store[name].values.tobytes() == rng.normal(size=3).tobytes() for name in names)
    assert {p.name for p in (path / "targets").iterdir()} == {p.name for p in (path / "players").iterdir()}
    # a large part is left alone
    monkeypatch.setattr("keyplayers.batch.store.writer._SMALL_BYTES", 1)
    with Writer(path, MADE_WITH) as writer:
        n = len(list((path / "targets").iterdir()))
        writer.merge()
        assert len(list((path / "targets").iterdir())) == n


def test_a_reader_is_not_disturbed_by_a_writer_that_merges(tmp_path):
    path = tmp_path / "s"
    fill(path, [f"t{i}" for i in range(20)])
    store = kp.open_store(path)
    frames = [store.to_frame(), store.summary(), store.recurring()]
    with Writer(path, MADE_WITH) as writer:
        writer.merge()
    assert len(list((path / "targets").iterdir())) == 1
    pd.testing.assert_frame_equal(store.to_frame(), frames[0])
    again = fill(path, ["new"])
    assert store["t3"].target == "t3"
    assert len(again) == 21


def test_rows_of_targets_are_found_in_groups(tmp_path):
    names = [f"t{i}" for i in range(600)]
    store = fill(tmp_path / "s", names, per_part=600)
    assert pq.read_metadata(next((store.path / "targets").iterdir())).num_row_groups == 3
    assert [store[name].target for name in (names[0], names[255], names[256], names[599])] == [
        names[0],
        names[255],
        names[256],
        names[599],
    ]


def test_what_is_no_store_is_told(tmp_path):
    with pytest.raises(kp.FileFormatError, match="is no store"):
        kp.open_store(tmp_path / "nothing")
    (tmp_path / "thesis.doc").write_text("x")
    with pytest.raises(kp.InputError, match=r"no store and not empty \(it holds 'thesis.doc'\)"):
        kp.explain_many(Noisy(), ["a"], store=tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.doc"]


def test_columns_that_parts_do_not_share_are_joined(tmp_path):
    class Varied(Noisy):
        def explain(self, target, /, *, random_state=None, progress=None):
            found = super().explain(target, random_state=random_state, progress=progress)
            further = {"a": {"fact": 1}, "b": {"fact": 0.5, "word": "x"}, "c": {"word": None, "flag": True}}
            object.__setattr__(found, "to_dict", lambda: {"schema": 1, **further[target]})
            return found

    for target in "abc":
        store = kp.explain_many(Varied(), [target], store=tmp_path / "s")
    frame = store.summary("pyarrow").to_pydict()
    assert frame["fact"] == [1.0, 0.5, None]
    assert frame["word"] == [None, "x", None]
    assert frame["flag"] == [None, None, True]
    with Writer(store.path, json.loads((store.path / "manifest.json").read_text())) as writer:
        writer.merge()
    assert kp.open_store(store.path).summary("pyarrow").to_pydict()["fact"] == [1.0, 0.5, None]


def test_an_explanation_that_cannot_be_written_fails_by_itself(tmp_path):
    class Odd(Noisy):
        def explain(self, target, /, *, random_state=None, progress=None):
            found = super().explain(target, random_state=random_state, progress=progress)
            if target == "nan":
                object.__setattr__(found, "to_dict", lambda: {"fact": float("nan")})
            if target == "huge":
                object.__setattr__(found, "to_dict", lambda: {"fact": 2**70})
            return found

    with pytest.warns(KeyPlayersWarning, match="1 of 4 targets failed; the first, 'nan': ValueError"):
        store = kp.explain_many(Odd(), ["a", "nan", "b", "huge"], store=tmp_path / "s")
    assert list(store) == ["a", "b", "huge"]
    assert store.summary()["fact"].tolist()[-1] == str(2**70)


def test_ctrl_c_while_a_part_is_written_waits_until_it_is_whole(tmp_path, monkeypatch):
    write_part = writer.write_part

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return write_part(*arguments)

    monkeypatch.setattr(writer, "write_part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "s", ["a", "b"])
    assert list(kp.open_store(tmp_path / "s")) == ["a"]


@pytest.mark.parametrize("change", [{"settings": 3}, {"seed": None}, {"version": 1}, {"explainer": []}])
def test_a_damaged_manifest_is_refused(tmp_path, change):
    kp.explain_many(Noisy(), ["a"], store=tmp_path / "s")
    path = tmp_path / "s" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(kp.FileFormatError, match=f"{next(iter(change))} is missing or wrong"):
        kp.open_store(tmp_path / "s")


@pytest.mark.parametrize("document", [b"[" * 100_000, b"{", b"\xff", b"{}", b'{"kind": "toy", "schema": 1}'])
def test_a_row_that_holds_no_explanation_is_refused(document):
    with pytest.raises(kp.FileFormatError):
        decode(document)
