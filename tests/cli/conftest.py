import os
import subprocess
import sys
import warnings
from dataclasses import dataclass

import pytest

from keyplayers.cli import main


@dataclass
class Done:
    status: int
    out: str
    err: str

    def __post_init__(self):
        # said where a kernel was never used before, so not at every run of the tests
        lines = self.err.splitlines(keepends=True)
        self.err = "".join(line for line in lines if not line.startswith("keyplayers: compiling"))


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run the command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            try:
                main([str(argument) for argument in arguments])
                status = 0
            except SystemExit as stop:
                status = stop.code or 0
        caught = capsys.readouterr()
        return Done(status, caught.out, caught.err)

    return run


@pytest.fixture
def program(tmp_path):
    """Run the command line in a process of its own, in an empty folder."""

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "keyplayers", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=120,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "120"},
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run
