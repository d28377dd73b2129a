"""What is imported when: a user who asks for help must not wait for a compiler."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numba", "pandas", "polars", "matplotlib", "joblib", "scipy", "pyarrow", "networkx", "sklearn", "torch")
HEAVY += ("xgboost", "lightgbm", "onnxruntime")


def loaded(code):
    report = f"import sys; print(*(m for m in {HEAVY!r} if m in sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.stderr.split()


@pytest.mark.parametrize(
    "code",
    [
        "import keyplayers",
        "import keyplayers.mrf",
        "from keyplayers.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from keyplayers.cli import main\ntry: main(['beliefs', '--help'])\nexcept SystemExit: pass",
    ],
)
def test_nothing_heavy_is_loaded(code):
    assert loaded(code) == []


def test_a_heavy_import_would_be_seen():
    assert "numba" in loaded("import keyplayers as kp; kp.belief_propagation")


@pytest.mark.parametrize("package", ["keyplayers", "keyplayers.mrf"])
def test_the_lazy_names_are_those_that_type_checkers_see(package):
    package = importlib.import_module(package)
    source = Path(package.__file__).read_text(encoding="utf-8")
    shown = {line.split(" as ")[1] for line in source.splitlines() if line.startswith("    from ")}
    assert shown == set(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("command", ["'beliefs'", "'explain', '--target', 'a'"])
def test_a_table_is_read_without_pandas(tmp_path, command):
    (tmp_path / "e.csv").write_text("source,target\na,b\n")
    call = f"main([{command}, {str(tmp_path / 'e.csv')!r}, '--homophily', '0.8', '--quiet'])"
    found = loaded(f"from keyplayers.cli import main\ntry: {call}\nexcept SystemExit: pass")
    assert "pyarrow" in found
    assert "pandas" not in found
