from keyplayers._base.progress import Lines, duration, show_progress


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_logs_get_a_line_every_half_minute(capsys):
    clock = Clock()
    lines = Lines(clock)
    lines.begin("targets on 2 workers", 5881)
    for _ in range(200):
        clock.now += 1.25
        lines.advance(1, "0.8/s")
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "keyplayers: 5,881 targets on 2 workers, about 2.0 h"
    assert told[1] == "keyplayers: targets on 2 workers: 26 of 5,881 (0%), 2.0 h left, 0.8/s"
    assert len(told) == 1 + 8


def test_short_work_is_not_announced(capsys):
    clock = Clock()
    with Lines(clock) as lines:
        lines.begin("sweeps")
        for _ in range(30):
            clock.now += 1.0
            lines.advance()
        lines.end()
        lines.begin("targets", 100)
        for _ in range(20):
            clock.now += 1.0
            lines.advance(5)
    assert capsys.readouterr().err == "keyplayers: sweeps: 30, 1.0/s\n"


def test_durations():
    assert [duration(s) for s in (0, 59.4, 90, 5400, 200_000)] == ["0 s", "59 s", "2 min", "1.5 h", "2.3 d"]


def test_where_no_terminal_is_there_are_lines(capsys):
    assert isinstance(show_progress(), Lines)
