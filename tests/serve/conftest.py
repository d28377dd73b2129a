"""The browser of the report's tests."""

from tests.report.conftest import browser, driver

__all__ = ["browser", "driver"]
