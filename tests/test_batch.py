import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest

import keyplayers as kp
from keyplayers._base.progress import Silent
from keyplayers.errors import KeyPlayersWarning
from tests.toy_explainers import Choosy, Noisy, toy

NAMES = [f"acct_{i}" for i in range(40)]


def values(found):
    return {ex.target: ex.values.tobytes() for ex in found}


@pytest.fixture(scope="module")
def expected():
    found = kp.explain_many(Noisy(), NAMES, random_state=5, n_jobs=1)
    assert len({ex.values.tobytes() for ex in found}) == len(NAMES)  # a stream for each
    return values(found)


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"n_jobs": 3, "prefer": "processes"}, {"n_jobs": -1}])
def test_numbers_do_not_depend_on_workers(options, expected):
    assert values(kp.explain_many(Noisy(), NAMES, random_state=5, **options)) == expected


def test_numbers_depend_neither_on_the_order_nor_on_the_other_targets(expected):
    found = values(kp.explain_many(Noisy(), NAMES[30:4:-1], random_state=5))
    assert found.items() <= expected.items()
    assert len(found) == 26


def test_another_seed_gives_other_numbers_and_none_a_fresh_one(expected):
    runs = [values(kp.explain_many(Noisy(), NAMES[:1], random_state=seed)) for seed in (6, None, None)]
    assert len({run["acct_0"] for run in [expected, *runs]}) == 4


def test_a_target_can_be_explained_again_from_its_recorded_seed():
    batched = kp.explain_many(Noisy(), NAMES[:3], random_state=5)[1]
    seed = batched.settings["seed"]
    assert 0 <= seed < 2**52
    alone = Noisy().explain("acct_1", random_state=seed, progress=Silent())
    assert alone.values.tobytes() == batched.values.tobytes()


def test_what_comes_back_stands_in_the_order_of_the_targets():
    assert [ex.target for ex in kp.explain_many(Noisy(), NAMES[::-1], n_jobs=2)] == NAMES[::-1]
    assert kp.explain_many(Noisy(), []) == []


def test_the_callers_joblib_context_has_the_last_word():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        found = kp.explain_many(Choosy(), NAMES, random_state=5)
    assert {ex.worker.split("/")[0] for ex in found} == {str(os.getpid())}
    assert len({ex.worker for ex in kp.explain_many(Noisy(), NAMES)}) == 1  # no context: a single worker


def test_the_explainer_says_whether_it_wants_processes():
    found = kp.explain_many(Choosy(), NAMES, n_jobs=2)
    assert str(os.getpid()) not in {ex.worker.split("/")[0] for ex in found}
    found = kp.explain_many(Noisy(seconds=0.002), NAMES, n_jobs=2)
    assert {ex.worker.split("/")[0] for ex in found} == {str(os.getpid())}


def test_many_small_targets_move_on_to_processes(monkeypatch, expected):
    monkeypatch.setattr("keyplayers.batch.rounds._WORTH_PROCESSES_SECONDS", 0)
    monkeypatch.setattr("keyplayers.batch.rounds._MOSTLY_PYTHON_SECONDS", 10)  # whatever else the machine does
    found = kp.explain_many(Noisy(), NAMES, random_state=5, n_jobs=2)
    assert values(found) == expected
    here = [ex.worker.split("/")[0] == str(os.getpid()) for ex in found]
    assert here == [True] * 4 + [False] * 36  # after the first round
    for options in ({"prefer": "threads"}, {"n_jobs": 1}):
        found = kp.explain_many(Noisy(), NAMES, **{"n_jobs": 2, **options})
        assert {ex.worker.split("/")[0] for ex in found} == {str(os.getpid())}
    with joblib.parallel_config(backend="threading", n_jobs=2):
        found = kp.explain_many(Noisy(), NAMES)
    assert {ex.worker.split("/")[0] for ex in found} == {str(os.getpid())}
    found = kp.explain_many(Unsendable(), NAMES, n_jobs=2)
    assert all(found)


def test_a_failing_target_is_told_and_the_rest_goes_on(expected):
    with pytest.warns(KeyPlayersWarning, match=r"1 of 3 targets failed; the first, 'bad': bad target"):
        found = kp.explain_many(Noisy(), [NAMES[0], "bad", NAMES[1]], random_state=5, n_jobs=2)
    assert not found[1]
    assert (found[1].target, found[1].error_type, found[1].error) == ("bad", "ValueError", "bad target")
    assert values(filter(None, found)).items() <= expected.items()


def test_a_target_that_takes_too_long_gives_what_there_is():
    explainer = Noisy(n_steps=2000, seconds=0.005)
    began = time.monotonic()
    found = kp.explain_many(explainer, ["a", "b"], n_jobs=2, max_seconds_per_target=0.2)
    assert time.monotonic() - began < 9  # of ten seconds
    assert [ex.partial for ex in found] == [True, True]
    assert not kp.explain_many(explainer.__class__(), ["a"], max_seconds_per_target=60)[0].partial


class Deaf:
    """Has nothing to show when its time is up."""

    def explain(self, target, /, *, random_state=None, progress=None):
        while True:
            time.sleep(0.01)
            progress.advance()


def test_a_target_without_a_partial_result_fails_when_its_time_is_up():
    with pytest.warns(KeyPlayersWarning, match="no result within 0.1 seconds"):
        (found,) = kp.explain_many(Deaf(), ["a"], max_seconds_per_target=0.1)
    assert found.error_type == "TimeIsUp"


@pytest.mark.parametrize(
    "options",
    [{"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": 2, "prefer": "processes"}],
    ids=["one", "threads", "procs"],
)
def test_ctrl_c_leaves_the_rounds_that_were_complete(tmp_path, options):
    explainer = Noisy(n_steps=5, seconds=0.01)  # takes Ctrl-C for its own partial result

    def press():
        path = tmp_path / "store" / "targets"
        while not (path.exists() and len(list(path.glob("part-*"))) > 1):
            time.sleep(0.01)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    names = [f"t{i}" for i in range(2000)]
    presser = threading.Thread(target=press)
    presser.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kp.explain_many(explainer, names, random_state=1, store=tmp_path / "store", **options)
    assert time.monotonic() - began < 25  # of fifty
    presser.join()
    store = kp.open_store(tmp_path / "store")
    assert 0 < len(store) < 2000
    assert store.counts["partial"] == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # and it goes on where it was
    more = kp.explain_many(explainer, [*store, "new"], store=tmp_path / "store")
    assert len(more) == len(store) + 1


class Warner:
    def explain(self, target, /, *, random_state=None, progress=None):
        if target == "b":
            warnings.warn("doubtful", kp.PrecisionWarning, stacklevel=2)
        return toy(target, np.zeros(1), random_state)


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_warnings_stay_with_their_target(tmp_path, prefer):
    with pytest.warns(KeyPlayersWarning, match="1 of 3 targets came with warnings; the first, 'b'"):
        store = kp.explain_many(Warner(), ["a", "b", "c"], store=tmp_path / "s", n_jobs=2, prefer=prefer)
    assert store.warnings == {"b": ["PrecisionWarning: doubtful"]}
    assert store.summary()["warnings"].map(len).tolist() == [0, 1, 0]


class Seen:
    """What it was given, as the name of a player."""

    def explain(self, instance, /, *, random_state=None, progress=None):
        return toy(str(instance), np.zeros(1), random_state)


def test_rows_of_tables_are_targets_called_by_their_position(tmp_path):
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]}, index=["r", "s"])
    found = kp.explain_many(Seen(), frame)
    assert found[1].target == str(frame.iloc[[1]])
    assert kp.explain_many(Seen(), pl.from_pandas(frame))[0].target == str(pl.from_pandas(frame)[:1])
    array = np.arange(6).reshape(3, 2)
    store = kp.explain_many(Seen(), array, store=tmp_path / "s")
    assert list(store) == [0, 1, 2]
    assert store[2].target == "[4 5]"
    images = [np.ones((2, 2)), np.zeros((2, 2))]
    assert [ex.target for ex in kp.explain_many(Seen(), images)] == [str(image) for image in images]
    named = kp.explain_many(Seen(), {"first": array[0]}, store=tmp_path / "t")
    assert named["first"].target == "[0 1]"
    named = kp.explain_many(Seen(), {"second": array[1]}, store=tmp_path / "t")
    assert list(named) == ["first", "second"]


def test_rows_of_another_table_are_refused(tmp_path):
    array, frame = np.arange(6).reshape(3, 2), pd.DataFrame({"x": [1, 2], "y": ["a", None]})
    tables = [array, frame, [array, array]]
    for i, table in enumerate(tables):
        for _ in range(2):
            kp.explain_many(Seen(), table, store=tmp_path / str(i))
    for i, table in enumerate([array + 1, frame.assign(y="b"), [array, array + 1]]):
        with pytest.raises(kp.InputError, match="the rows are those of another table"):
            kp.explain_many(Seen(), table, store=tmp_path / str(i))


def test_numbers_of_numpy_and_frames_are_plain_names():
    found = kp.explain_many(Noisy(), np.array([3, 5]), random_state=1)
    assert values(found) == values(kp.explain_many(Noisy(), [3, 5], random_state=1))
    assert kp.explain_many(Noisy(), pd.Series(["a"]))[0].target == "a"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": "acct_17"}, "targets must be several"),
        ({"targets": 17}, "targets must be several"),
        ({"max_seconds_per_target": 0}, "must be positive"),
        ({"retry": ["done"]}, "retry takes 'failed' and 'partial', got 'done'"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"random_state": -1}, "must not be negative"),
    ],
)
def test_what_cannot_be_done_is_refused(options, message):
    with pytest.raises(kp.InputError, match=message):
        kp.explain_many(Noisy(), **{"targets": ["a"], **options})


class Unsendable(Noisy):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def test_an_explainer_that_no_process_can_have_is_told():
    with pytest.raises(kp.InputError, match="Unsendable cannot be sent to other processes"):
        kp.explain_many(Unsendable(), ["a", "b"], n_jobs=2, prefer="processes")
    assert len(kp.explain_many(Unsendable(), ["a", "b"], n_jobs=2)) == 2


def test_progress_counts_targets_and_tells_the_rate():
    class Told:
        def __init__(self):
            self.total, self.done, self.notes, self.ended = None, 0, [], False

        def begin(self, label, total=None):
            self.total = total

        def advance(self, amount=1, note=""):
            self.done += amount
            self.notes.append(note)

        def end(self):
            self.ended = True

    told = Told()
    with pytest.warns(KeyPlayersWarning, match="failed"):
        kp.explain_many(Noisy(), [*NAMES, "bad"], progress=told)
    assert (told.total, told.done, told.ended) == (41, 41, True)
    assert all(note.endswith("/s") for note in told.notes[:-1])
    assert told.notes[-1].endswith("/s, 1 failed")


def test_a_field_explainer_is_shared_by_threads_and_processes(tmp_path):
    mrf = kp.tree_field(60, random_state=3)
    explainer = kp.GraphShapley(mrf, worth="log_odds")
    names = list(mrf.names)
    single = {name: explainer.explain(name) for name in names}
    for prefer in ("threads", "processes"):
        store = kp.explain_many(explainer, names, n_jobs=2, prefer=prefer, store=tmp_path / prefer)
        assert set(store) == set(names)
        assert values(store.values()) == values(single.values())
        assert store[names[7]].sentence == single[names[7]].sentence


class Deadly(Noisy):
    """Some targets take the process, or try to."""

    def explain(self, target, /, *, random_state=None, progress=None):
        if target in ("acct_3", "acct_17"):
            os._exit(3)
        if target == "acct_5":
            sys.exit(0)
        return super().explain(target, random_state=random_state, progress=progress)


@pytest.mark.parametrize("stored", [True, False])
def test_a_dead_worker_takes_only_its_own_target_with_it(tmp_path, expected, stored):
    path = tmp_path / "s" if stored else None
    with pytest.warns(KeyPlayersWarning, match="3 of 24 targets failed"):
        found = kp.explain_many(Deadly(), NAMES[:24], random_state=5, n_jobs=2, prefer="processes", store=path)
    good = list(found.values()) if stored else list(filter(None, found))
    assert len(good) == 21
    assert values(good).items() <= expected.items()
    if stored:
        assert set(found.failures) == {"acct_3", "acct_5", "acct_17"}
        assert "the worker process died" in found.failures["acct_17"]
        assert found.failures["acct_5"] == "SystemExit: 0"


def test_a_lone_target_dies_in_a_worker_not_in_the_program():
    with pytest.warns(KeyPlayersWarning, match="1 of 1 targets failed"):
        (found,) = kp.explain_many(Deadly(), ["acct_3"], n_jobs=2, prefer="processes")
    assert found.error_type == "WorkerDiedError"


def test_workers_import_nothing_from_the_current_folder(tmp_path):
    (tmp_path / "here").mkdir()
    for name in ("json", "numpy", "pickle"):
        (tmp_path / "here" / f"{name}.py").write_text("open('imported', 'w').close()")
    (tmp_path / "run.py").write_text(
        "import keyplayers as kp\n"
        "from tests.toy_explainers import Noisy\n"
        "if __name__ == '__main__':\n"
        "    print(len(kp.explain_many(Noisy(), range(4), n_jobs=2, prefer='processes')))\n"
    )
    places = [os.path.abspath(place) for place in ("src", ".", *sys.path)]
    done = subprocess.run(
        [sys.executable, tmp_path / "run.py"],
        cwd=tmp_path / "here",
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
    )
    assert done.stdout == "4\n", done.stderr
    assert not (tmp_path / "here" / "imported").exists()
