"""Options of the test run."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fail-on-skip", action="store_true", help="a skipped test fails the run")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if session.config.getoption("--fail-on-skip") and skipped and exitstatus == 0:
        reporter.write_line(f"{len(skipped)} skipped, and no test may be skipped here", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
