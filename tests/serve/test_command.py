"""``keyplayers serve`` from its start to Ctrl-C."""

import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from keyplayers.errors import InputError
from keyplayers.serve.server import listen

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")


def test_the_command_serves_on_the_loopback_address_until_it_is_interrupted(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\nbob,cy\n")
    command = [sys.executable, "-m", "keyplayers", "serve", "edges.csv", "--homophily", "0.8", "-q"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as served:
        address = served.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert len(address.split("/")[3]) >= 43  # 256 bits
        with urllib.request.urlopen(address) as answer:
            assert b"Search a variable" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address[:-4])
        served.send_signal(signal.SIGINT)
        said = served.communicate(timeout=60)
    assert served.returncode == 130
    assert said[0] == ""
    assert said[1].startswith("keyplayers: interrupted")
    assert len(said[1].splitlines()) == 1


def test_a_port_that_cannot_be_had_is_an_error():
    with listen(0) as taken, pytest.raises(InputError, match="cannot be opened"):
        listen(taken.getsockname()[1])
    with pytest.raises(InputError, match="0 to 65535"):
        listen(65536)
