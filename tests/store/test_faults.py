"""What may happen to a store: writers that are killed, files that are torn, disks that are full, two writers."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.batch.store import parts
from keyplayers.batch.store.lock import WriterLock
from keyplayers.errors import KeyPlayersWarning
from tests.toy_explainers import Noisy

NAMES = [f"acct_{i:03}" for i in range(300)]
RUN = """
import sys
import joblib
import keyplayers.batch.run  # what takes long to load
import keyplayers as kp
from tests.toy_explainers import Noisy
names = [f"acct_{i:03}" for i in range(300)]
print("ready", flush=True)
explainer = Noisy(seconds=float(sys.argv[3]))
kp.explain_many(explainer, names, store=sys.argv[1], prefer=sys.argv[2], n_jobs=2, random_state=1)
print("done", flush=True)
"""


def finish(process):
    """Wait for its end; it must be a good one."""
    out, _ = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "done\n")


def start(path, prefer="threads", seconds=0.03):
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(path), prefer, str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(["src", ".", *sys.path])},
    )
    assert process.stdout.readline() == "ready\n"
    return process


def count_parts(path):
    return len(list((path / "targets").glob("part-*"))) if path.exists() else 0


def content(store):
    """Every value by target and rank, as bits."""
    table = store.players.to_table().sort_by([("target", "ascending"), ("rank", "ascending")])
    return table["target"].to_pylist(), table["player"].to_pylist(), table["value"].to_numpy().tobytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run in one go."""
    path = tmp_path_factory.mktemp("whole") / "s"
    process = start(path, seconds=0)
    finish(process)
    return kp.open_store(path)


def test_a_run_that_was_killed_at_any_moment_gives_the_same_values(tmp_path, whole):
    path = tmp_path / "s"
    moments = random.Random(7)
    killed, seen = 0, [0]
    for attempt in range(10):
        before = count_parts(path)
        process = start(path, "processes" if attempt in (4, 9) else "threads", seconds=0.15)
        if attempt % 2 == 0:  # every other time not before something was committed
            while process.poll() is None and count_parts(path) <= before:
                time.sleep(0.005)
        time.sleep(moments.uniform(0.0, 0.8))
        killed += process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if (path / "manifest.json").exists():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                store = kp.open_store(path)  # readable, without a complaint
            seen.append(len(store))
            assert store.to_frame().groupby("target").size().eq(4).all()
    assert killed == 10
    assert seen == sorted(seen)  # nothing is lost
    assert len(set(seen)) > 3
    assert seen[-1] < 300
    process = start(path, seconds=0)
    finish(process)
    store = kp.open_store(path)
    assert set(store) == set(NAMES)
    assert content(store) == content(whole)
    assert all(store[name].values.tobytes() == whole[name].values.tobytes() for name in NAMES[::37])
    left = {entry.name for entry in path.iterdir()}
    assert left == {"manifest.json", "writer.lock", "targets", "players"}


def test_the_second_of_two_writers_is_told_and_damages_nothing(tmp_path, whole):
    path = tmp_path / "s"
    process = start(path, seconds=0.03)
    while not (path / "manifest.json").exists() or not list((path / "targets").iterdir()):
        time.sleep(0.01)
    with pytest.raises(kp.StoreLockedError, match=rf"being written by process {process.pid} on .* since"):
        kp.explain_many(Noisy(), NAMES, store=path)
    assert len(kp.open_store(path)) < 300  # read while it is written
    finish(process)
    assert content(kp.open_store(path)) == content(whole)
    assert len(kp.explain_many(Noisy(), NAMES, store=path)) == 300  # the lock is free


def test_readers_see_whole_stores_while_a_writer_merges(tmp_path, monkeypatch):
    monkeypatch.setattr("keyplayers.batch.rounds._GROWTH", 1.0)
    monkeypatch.setattr("keyplayers.batch.store.writer._MANY", 4)
    path = tmp_path / "s"
    kp.explain_many(Noisy(), NAMES[:1], store=path, random_state=1)
    writer = threading.Thread(target=kp.explain_many, args=(Noisy(), NAMES), kwargs={"store": path})
    writer.start()
    sizes = []
    store = kp.open_store(path)
    while writer.is_alive():
        assert store.to_frame().groupby("target").size().eq(4).all()
        assert store.summary()["target"].is_unique
        assert all(store[name].target == name for name in list(store)[:3])
        sizes.append(len(store.refresh()))
    writer.join()
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 3
    assert len(store.refresh()) == 300


def test_a_store_is_locked_within_one_process_as_well(tmp_path):
    class Nested:
        def explain(self, target, /, *, random_state=None, progress=None):
            kp.explain_many(Noisy(), ["b"], store=tmp_path / "s")

    with pytest.warns(KeyPlayersWarning, match="is being written by process"):
        kp.explain_many(Nested(), ["a"], store=tmp_path / "s")


def test_a_forked_worker_does_not_keep_the_lock_of_its_dead_parent(tmp_path):
    code = """if True:
        import os, sys, time, pathlib
        from keyplayers.batch.store.lock import WriterLock
        with WriterLock(pathlib.Path(sys.argv[1])):
            if os.fork() == 0:
                print("forked", flush=True)
                time.sleep(60)
                os._exit(0)
            time.sleep(60)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "lock")],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(["src", *sys.path])},
    )
    try:
        assert process.stdout.readline() == "forked\n"
        with pytest.raises(kp.StoreLockedError), WriterLock(tmp_path / "lock"):
            pass
        process.kill()
        process.wait()
        with WriterLock(tmp_path / "lock"):  # though the child lives
            pass
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()


@pytest.mark.parametrize(
    ("owner", "free"),
    [
        ({"pid": 1, "host": "elsewhere", "boot": "x"}, False),  # another machine: nobody here can know
        ({"pid": 1, "boot": "x"}, True),  # this one, before it was started again
        ({"pid": 1, "host": "elsewhere"}, True),  # another container of this system
        ({"pid": os.getpid()}, True),  # a number that is used again
    ],
)
def test_locks_that_were_left_behind(tmp_path, owner, free):
    path = tmp_path / "s"
    kp.explain_many(Noisy(), ["a"], store=path)
    assert (path / "writer.lock").read_text() == ""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    mine = {"host": os.uname().nodename, "boot": boot, "since": "yesterday"}
    (path / "writer.lock").write_text(json.dumps(mine | owner))
    if free:
        assert len(kp.explain_many(Noisy(), ["b"], store=path)) == 2
    else:
        with pytest.raises(
            kp.StoreLockedError, match=r"process 1 on elsewhere since yesterday.*delete .*writer.lock"
        ):
            kp.explain_many(Noisy(), ["b"], store=path)


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def overwrite(path):
    path.write_text("not a table")


@pytest.mark.parametrize("folder", ["targets", "players"])
@pytest.mark.parametrize("damage", [truncate, flip, overwrite, Path.unlink])
def test_damaged_files_are_left_out_and_their_targets_done_again(tmp_path, folder, damage):
    path = tmp_path / "s"
    explainer = Noisy(seconds=0.0)
    names = NAMES[:40]
    kp.explain_many(explainer, names, store=path, random_state=1)
    before = content(kp.open_store(path))
    victim = sorted((path / folder).iterdir())[1]
    damage(victim)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KeyPlayersWarning)
        damaged = kp.open_store(path)
    readable = 0
    for name in damaged:
        try:
            readable += damaged[name].target == name
        except kp.FileFormatError as error:
            assert "explaining into the store again" in str(error)  # noqa: PT017
    assert 0 < readable <= 40
    if damage is Path.unlink and folder == "targets":  # as if it had never been
        again = kp.explain_many(explainer, names, store=path)
    else:
        with pytest.warns(KeyPlayersWarning, match=r"left out 1 file\(s\) under targets/ that are damaged"):
            again = kp.explain_many(explainer, names, store=path)
        assert all(entry.name.startswith(victim.stem) for entry in (path / "damaged").iterdir())
    assert content(again) == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert content(kp.open_store(path)) == before


def test_foreign_files_are_left_alone(tmp_path):
    path = tmp_path / "s"
    kp.explain_many(Noisy(), ["a"], store=path)
    for folder in (path, path / "targets", path / "players"):
        (folder / "notes.txt").write_text("mine")
    with pytest.warns(KeyPlayersWarning, match=r"not of this store \(notes.txt\)"):
        store = kp.explain_many(Noisy(), ["a", "b"], store=path)
    assert list(store) == ["a", "b"]
    assert len(list(path.rglob("notes.txt"))) == 3


class SmallDisk:
    """Files take so many bytes together, then the disk is full in the middle of a write."""

    def __init__(self, size):
        self.left = size

    def open(self, path, mode="r", **options):
        file = open(path, mode, **options)  # noqa: SIM115
        return Filling(file, self) if "w" in mode else file


class Filling:
    def __init__(self, file, disk):
        self._file, self._disk = file, disk

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def write(self, data):
        fits = memoryview(data).cast("B")[: self._disk.left]
        self._file.write(fits)
        self._disk.left -= len(fits)
        if len(fits) < len(memoryview(data).cast("B")):
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("size", [0, 100, 3_000, 9_000, 16_000, 23_000, 40_000])
def test_a_full_disk_breaks_nothing(tmp_path, monkeypatch, size):
    path = tmp_path / "s"
    names = NAMES[:60]
    disk = SmallDisk(size)
    monkeypatch.setattr(parts, "open", disk.open, raising=False)
    with pytest.raises(OSError, match="No space left on device") as full:
        kp.explain_many(Noisy(), names, store=path, random_state=1)
    assert full.value.errno == errno.ENOSPC
    monkeypatch.undo()
    if size == 0:
        assert not (path / "manifest.json").exists()
    elif (path / "manifest.json").exists():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            store = kp.open_store(path)
        assert len(store) < 60
        assert f"{len(store)} targets are safe" in str(full.value) or size <= 100
        assert all(store[name].target == name for name in store)
    # with space again, it goes on
    store = kp.explain_many(Noisy(), names, store=path, random_state=1)
    fresh = kp.explain_many(Noisy(), names, random_state=1)
    assert all(store[ex.target].values.tobytes() == ex.values.tobytes() for ex in fresh)
    assert not list(path.rglob(".tmp-*"))


def test_a_crash_between_any_two_steps_loses_no_target_and_doubles_none(tmp_path, monkeypatch):
    """Steps are the writes, renames and removals of a writer that merges."""

    class Crash(BaseException):
        pass

    monkeypatch.setattr("keyplayers.batch.store.writer._MANY", 4)
    monkeypatch.setattr("keyplayers.batch.rounds._GROWTH", 1.0)  # rounds of two targets
    step = 0
    while True:
        path, left, done = tmp_path / f"s{step}", step, {"steps": 0}

        def counted(function, left=left, done=done):
            def run(*arguments, **options):
                if done["steps"] >= left:
                    raise Crash  # for ever: a dead process tidies nothing up
                done["steps"] += 1
                return function(*arguments, **options)

            return run

        class Dying(Filling):
            def write(self, data, counted=counted):
                self._file.write(memoryview(data).cast("B")[:20])  # what is on disk when it dies
                counted(self._file.write)(memoryview(data).cast("B")[20:])

        def dying(path, mode="r"):
            file = open(path, mode)  # noqa: SIM115
            return Dying(file, None) if "w" in mode else file

        with monkeypatch.context() as patch:
            patch.setattr(parts, "open", dying, raising=False)
            patch.setattr(os, "replace", counted(os.replace))
            patch.setattr(Path, "unlink", counted(Path.unlink))
            try:
                kp.explain_many(Noisy(), NAMES[:8], store=path, random_state=1)
                break
            except Crash:
                pass
        if (path / "manifest.json").exists():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                store = kp.open_store(path)
            assert store.to_frame().groupby("target").size().eq(4).all() or not len(store)
            assert len(store.summary()) == len(set(store))
        assert len(kp.explain_many(Noisy(), NAMES[:8], store=path, random_state=1)) == 8
        frame = kp.open_store(path).to_frame()
        assert frame.groupby("target").size().eq(4).all()
        assert len(frame) == 32
        step += 1
    assert step > 10
    assert np.isfinite(frame["value"]).all()


@pytest.mark.parametrize("name", ["writer.lock", "manifest.json", "targets", "players", "damaged"])
def test_links_in_a_store_are_refused_and_what_they_lead_to_stays(tmp_path, name):
    path, elsewhere = tmp_path / "s", tmp_path / "elsewhere"
    kp.explain_many(Noisy(), ["a"], store=path)
    is_folder = name in ("targets", "players", "damaged")
    if is_folder:
        elsewhere.mkdir()
        (elsewhere / "part-00000007-89abcdef.parquet").write_text("mine")
        (elsewhere / ".tmp-mine").write_text("mine")
    else:
        elsewhere.write_text("mine")
    victim = path / name
    if victim.exists():
        victim.rename(tmp_path / "moved")
    victim.symlink_to(elsewhere)
    with pytest.raises(OSError, match=f"symbolic link.*{name}"):
        kp.explain_many(Noisy(), ["b"], store=path)
    left = [p.read_text() for p in elsewhere.iterdir()] if is_folder else [elsewhere.read_text()]
    assert set(left) == {"mine"}


def test_a_foreign_file_in_the_place_of_the_lock_is_left_as_it_is(tmp_path):
    path = tmp_path / "s"
    path.mkdir()
    (path / "writer.lock").write_text("my poem")
    with pytest.raises(kp.InputError, match="is no lock of a store"):
        kp.explain_many(Noisy(), ["a"], store=path)
    assert (path / "writer.lock").read_text() == "my poem"
    (path / "writer.lock").write_text("")
    os.link(path / "writer.lock", tmp_path / "twin")
    with pytest.raises(kp.InputError, match="is no lock of a store"):
        kp.explain_many(Noisy(), ["a"], store=path)


def test_temporary_files_that_are_links_or_folders_do_no_harm(tmp_path):
    path = tmp_path / "s"
    kp.explain_many(Noisy(), ["a"], store=path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    (path / ".tmp-link").symlink_to(tmp_path / "mine" / "file")
    (path / ".shared-link").symlink_to(tmp_path / "mine")
    (path / "targets" / ".tmp-folder").mkdir()
    assert len(kp.explain_many(Noisy(), ["a", "b"], store=path)) == 2
    assert (tmp_path / "mine" / "file").read_text() == "mine"


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL])
def test_a_file_system_without_locks_is_named_as_such(tmp_path, monkeypatch, number):
    def refuse(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("keyplayers.batch.store.lock._take", refuse)
    with pytest.raises(kp.InputError, match=r"on a file system that keeps no locks .*another one"):
        kp.explain_many(Noisy(), ["a"], store=tmp_path / "s")


def test_a_part_cannot_hide_later_ones(tmp_path):
    path = tmp_path / "s"
    kp.explain_many(Noisy(), ["a"], store=path)
    kp.explain_many(Noisy(), ["b"], store=path)
    first, second = sorted((path / "targets").iterdir())
    rows = parts.open_part(path, first.name).read_rows()
    parts.write_part(path, 0, rows, [second.name])
    listed, _ = parts.list_parts(path)
    assert second.name in [part.name for part in listed]
