"""Options of the test run."""

import signal

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fail-on-skip", action="store_true", help="a skipped test fails the run")


def pytest_configure(config: pytest.Config) -> None:
    # started in the background or by nohup this process ignores signals, and so would the programs that tests end
    for name, heard in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, heard)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if session.config.getoption("--fail-on-skip") and skipped and exitstatus == 0:
        reporter.write_line(f"{len(skipped)} skipped, and no test may be skipped here", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
