import os
import signal
import subprocess
import sys

import pytest

from keyplayers._base.interrupts import ended_by, heed_termination, noted_interrupts

END = """
import signal, sys
from keyplayers._base.interrupts import deferred_interrupt, heed_termination, noted_interrupts
try:
    with heed_termination(), noted_interrupts(), deferred_interrupt() as pressed:
        signal.raise_signal(signal.{name})
        print(pressed(), flush=True)
        raise KeyboardInterrupt
finally:
    print("never", flush=True)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_program_tidies_up_and_ends_by_the_signal(name):
    path = os.pathsep.join(os.path.abspath(place) for place in sys.path if place)
    done = subprocess.run(
        [sys.executable, "-c", END.format(name=name)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert (done.returncode, done.stdout) == (-getattr(signal, name), "True\n")


def test_the_outer_block_knows_which_signal_it_was():
    with heed_termination(survive=True):
        with pytest.raises(KeyboardInterrupt), heed_termination(), noted_interrupts():
            signal.raise_signal(signal.SIGTERM)
        assert ended_by() == signal.SIGTERM
    assert ended_by() is None
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_who_listens_already_is_left_in_peace():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with heed_termination():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
