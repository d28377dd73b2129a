import os
import stat
import threading

import pytest

from keyplayers._base.atomic import replacing


def test_threads_that_write_to_one_path_leave_one_whole_file(tmp_path):
    path = tmp_path / "x.json"
    seen, stop = set(), threading.Event()

    def write(letter):
        for _ in range(150):
            with replacing(path) as part:
                part.write_text(letter * 20_000)

    def read():
        while not stop.is_set():
            if path.exists():
                seen.add(path.read_text())

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(letter,)) for letter in "abc"]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert seen <= {letter * 20_000 for letter in "abc"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_the_mode_of_a_file_is_kept(tmp_path, mode):
    path = tmp_path / "x.csv"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as part:
        part.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_a_new_file_has_the_mode_that_the_user_gives_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "x.csv") as part:
            part.write_text("new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x.csv").stat().st_mode) == 0o640


def test_what_fails_leaves_nothing_and_a_long_name_is_no_reason_to(tmp_path):
    path = tmp_path / ("x" * 248 + ".npz")
    with pytest.raises(ValueError, match="no"), replacing(path):
        raise ValueError("no")
    assert list(tmp_path.iterdir()) == []
    with replacing(path) as part:
        assert part.suffix == ".npz"
        part.write_text("new")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="nowhere/x.json"), replacing(tmp_path / "nowhere" / "x.json"):
        pass
