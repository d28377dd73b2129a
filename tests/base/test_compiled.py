"""Where compiled code is kept, and what may happen to it."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import caching

import keyplayers
from keyplayers._base import compiled
from keyplayers.errors import KeyPlayersWarning

PACKAGE = Path(keyplayers.__file__).parent
# as root every file can be written to, unless this privilege is given up
UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
CALLER = """
from {callee_module} import callee
from ..._base.compiled import kernel

@kernel
def caller(x):
    return callee(x) + 1
"""
CALLEE = """
from ..._base.compiled import kernel

@kernel
def callee(x):
    return {factor} * x
"""


@pytest.fixture
def package(tmp_path):
    """A package of two kernel files in different rooms, with the decorator of this one."""
    root = tmp_path / "small"
    for name in ("__init__.py", "errors.py", "_base/__init__.py", "_base/compiled.py", "_base/messages.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, root / name) if name != "__init__.py" else (root / name).touch()
    for room, text in (("a/b", CALLER.format(callee_module="...c.d._callee_kernels")), ("c/d", "")):
        (root / room).mkdir(parents=True)
        for folder in (root / room, (root / room).parent):
            (folder / "__init__.py").touch()
        (root / room / ("_caller_kernels.py" if text else "_callee_kernels.py")).write_text(text)
    write_callee(root, 2)
    return root


def write_callee(root, factor):
    (root / "c" / "d" / "_callee_kernels.py").write_text(CALLEE.format(factor=factor))


def call(package, **environment):
    """What the caller gives for 10, in a process of its own, and what was told."""
    code = "from small.a.b._caller_kernels import caller; print(caller(10), len(caller.stats.cache_hits))"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=kept | {"PYTHONPATH": str(package.parent)} | environment,
    )
    return done.stdout.split()


def folders(parent):
    return sorted(path.name for path in parent.glob("kernels-*"))


def test_a_changed_callee_in_another_file_is_noticed_and_old_code_goes_away(package):
    assert call(package) == ["21", "0"]
    assert call(package) == ["21", "1"]  # kept
    first = folders(package / "__pycache__")
    assert len(first) == 1
    seen = set(first)
    for factor in (3, 4, 5):
        write_callee(package, factor)
        assert call(package) == [str(10 * factor + 1), "0"]
        seen |= set(folders(package / "__pycache__"))
    assert len(seen) == 4
    assert len(folders(package / "__pycache__")) == 3  # of now, and the last two
    assert first[0] not in folders(package / "__pycache__")


def test_the_users_own_folder_is_obeyed(package, tmp_path):
    mine = tmp_path / "mine"
    assert call(package, NUMBA_CACHE_DIR=str(mine)) == ["21", "0"]
    assert call(package, NUMBA_CACHE_DIR=str(mine)) == ["21", "1"]
    assert len(folders(mine)) == 1
    assert folders(package / "__pycache__") == []


def read_only(folder):
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def writable(folder):
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


COMMAND = ["-m", "keyplayers", "beliefs", "../../e.csv", "--homophily", "0.8", "--observe", "a=1", "--quiet"]
CODE = ["-c", "import keyplayers as kp; print(kp.belief_propagation(kp.tree_field(3, random_state=1)).exact)"]


@pytest.mark.skipif(bool(UNPRIVILEGED) and not shutil.which("setpriv"), reason="root can write everywhere")
@pytest.mark.parametrize(
    ("arguments", "home", "shown", "told"),
    [(CODE, "", "True", 1), (COMMAND, "unwritable", "0.8000", 0)],
    ids=["python", "quiet command"],
)
def test_a_read_only_installation_without_a_home_works(tmp_path, arguments, home, shown, told):
    root = tmp_path / "site" / "keyplayers"
    shutil.copytree(PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "e.csv").write_text("source,target\na,b\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    environment = kept | {"PYTHONPATH": str(root.parent), "HOME": home and str(root)}
    read_only(root.parent)
    try:
        done = subprocess.run(
            [*UNPRIVILEGED, sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=root
        )
    finally:
        writable(root.parent)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert done.stderr.count("compiled code cannot be kept") == 1
    assert done.stderr.count("compiling, once for each kind of work (and again at every start)") == told
    assert not list(root.rglob("kernels-*"))


@pytest.mark.parametrize(
    ("environment", "last"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": ""}, "/x/keyplayers"),
        ({"XDG_CACHE_HOME": "", "HOME": "/home/me"}, "/home/me/.cache/keyplayers"),
        ({"XDG_CACHE_HOME": "relative", "HOME": ""}, None),
        ({"XDG_CACHE_HOME": "", "HOME": ""}, None),
    ],
)
def test_places(monkeypatch, environment, last):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(compiled.config, "CACHE_DIR", "")
    places = compiled._parents()
    assert places[0] == PACKAGE / "__pycache__"
    assert places[1:] == ([] if last is None else [Path(last)])


@pytest.fixture
def kept_here(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    compiled._warn_unkept.cache_clear()
    yield tmp_path
    compiled._warn_unkept.cache_clear()


def add_one(x):
    return x + 1


def test_a_full_disk_costs_no_result(kept_here, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    twice = [compiled.kernel(add_one) for _ in range(2)]
    with pytest.warns(KeyPlayersWarning, match=r"could not be kept \(No space left on device") as told:
        assert [add(1) for add in twice] == [2, 2]
    assert len(told) == 1


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_torn_file_costs_no_result(kept_here, suffix):
    assert compiled.kernel(add_one)(1) == 2
    torn = list(kept_here.rglob(f"*.{suffix}"))
    assert torn
    for path in torn:
        path.write_bytes(path.read_bytes()[:40])
    assert compiled.kernel(add_one)(1) == 2
    again = compiled.kernel(add_one)
    assert again(1) == 2
    assert len(again.stats.cache_hits) == 1  # mended


TELL = """
import sys
from keyplayers._base import compiled, messages
{setup}
compiled.cache_folder = lambda: None
def f(x): return x + 1
f.__module__ = "keyplayers.example"
compiled.kernel(f)(1)
compiled.kernel(f)(1.5)
"""


@pytest.mark.parametrize(
    ("setup", "told"),
    [("", 1), ("messages.silence()", 0), ("sys.stderr = None", 0), ("sys.stderr.close()", 0)],
)
def test_compiling_is_told_once_unless_nobody_wants_to_hear_it(setup, told):
    code = TELL.format(setup=setup)
    path = os.pathsep.join([str(PACKAGE.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    assert done.returncode == 0
    assert done.stderr.count("keyplayers: compiling") == told


WORKERS = """
import sys
import numpy as np
import keyplayers as kp
from keyplayers._base.compiled import kernel

class Compiles:
    def explain(self, target, /, *, random_state=None, progress=None):
        def add_one(x): return x + 1
        add_one.__module__ = "keyplayers.example"
        value = np.array([float(kernel(add_one)(1))])
        return kp.Explanation("k", target, ("p",), value, value, "q", "u", 1, "One.", structure=None)

if __name__ == "__main__":
    assert len(kp.explain_many(Compiles(), range(30), n_jobs=2, prefer="processes", store=sys.argv[1])) == 30
"""


def test_workers_do_not_tell_it_again_and_again(tmp_path):
    path = os.pathsep.join([str(PACKAGE.parent), *sys.path])
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "run.py").write_text(WORKERS)
    done = subprocess.run(
        [sys.executable, tmp_path / "run.py", tmp_path / "s"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "keyplayers: compiling, once for each kind of work (kept for later starts)"
    ]
