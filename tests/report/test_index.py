"""A folder of pages: an index, and a page for each target."""

import re
import warnings

import pytest

import keyplayers as kp
from keyplayers.errors import InputError
from keyplayers.report import write_index
from tests.report.conftest import HOSTILE, star
from tests.toy_explainers import Noisy

ROWS = ".index tbody tr"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    mrf = kp.scale_free_field(120, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kp.explain_many(kp.GraphShapley(mrf, radius=1), list(mrf.names), random_state=0, store=folder / "s")


@pytest.fixture(scope="module")
def pages(store, tmp_path_factory):
    return write_index(store, tmp_path_factory.mktemp("pages") / "new").parent


def first_column(browser):
    return browser.texts(".index tbody th")


def test_the_index_lists_sorts_filters_and_searches(browser, store, pages):
    browser.open(pages / "index.html")
    assert len(browser.all(ROWS)) == 50
    assert "120 targets" in browser.texts("h1")[0]
    browser.all(".index thead button")[4].click()  # by the size of the value, largest first
    largest = max(abs(found.values[0]) for found in store.values())
    first = store[int(first_column(browser)[0])]
    assert abs(first.values[0]) == pytest.approx(largest, rel=1e-3)
    browser.all(".index thead button")[0].click()
    assert first_column(browser)[:3] == ["0", "1", "2"]  # numbers, not letters
    next(b for b in browser.all("button") if b.text == "Next").click()
    assert first_column(browser)[0] == "50"
    browser.find("input[type=search]").send_keys("that 77 believes")
    found = first_column(browser)
    assert "77" in found
    assert all("77" in row for row in browser.texts(ROWS))
    assert browser.texts("[role=status]")[0] == f"1 to {len(found)} of {len(found)} (all: 120)"
    browser.find("input[type=search]").clear()
    browser.run("const s = document.querySelector('select'); s.value = '1'; s.dispatchEvent(new Event('change'))")
    said = {str(store[target].states[store[target].belief.argmax()]) for target in map(int, first_column(browser))}
    assert said == {"1"}
    browser.check_quiet()
    for width in (1280, 400):
        browser.open(pages / "index.html", width=width).check_fits()


def test_a_page_from_the_index_and_back(browser, store, pages):
    browser.open(pages / "index.html")
    browser.find(".index tbody a").click()
    target = next(iter(store))
    assert browser.texts("h1")[0].startswith(f"Why {target} is believed to be")
    assert browser.texts(".ranking .who button")[0] == str(store[target].players[0])
    browser.find(".kicker a").click()
    assert len(browser.all(ROWS)) == 50
    browser.check_quiet()


def test_a_target_takes_few_bytes(store, pages):
    sizes = [path.stat().st_size for path in pages.rglob("targets/*/*.html")]
    assert len(sizes) == 120
    assert max(sizes) + (pages / "index.html").stat().st_size / 120 < 10_000


def test_hostile_targets_and_failures_are_shown_and_run_nothing(browser, tmp_path):
    mrf = star(HOSTILE[1:], HOSTILE[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kp.explain_many(kp.GraphShapley(mrf), [*HOSTILE, "nobody"], random_state=0, store=tmp_path / "s")
        index = write_index(found, tmp_path / "pages")
    browser.open(index, width=400)
    assert len(browser.all(ROWS)) == len(HOSTILE) + 1
    assert "1 could not be explained" in browser.texts(".warning")[0]
    assert "nobody" in browser.texts("tbody")[0]
    assert len(browser.all(".index tbody a")) == len(HOSTILE)
    browser.check_quiet()
    for page in (tmp_path / "pages").rglob("targets/*/*.html"):
        assert page.stat().st_size < 20_000
        browser.open(page, width=400).check_fits()
        browser.check_quiet()


def test_any_explainer_has_pages(tmp_path):
    found = kp.explain_many(Noisy(), ["a", "b"], random_state=0, store=tmp_path / "s")
    index = write_index(found, tmp_path / "pages")
    assert len(list((tmp_path / "pages").rglob("targets/*/*.html"))) == 2
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", index.read_text())


def test_pages_are_written_anew_and_never_over_something_else(store, pages, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("dear")
    with pytest.raises(InputError, match="not empty"):
        write_index(store, tmp_path / "full")
    write_index(store, pages)
    assert len(list(pages.rglob("targets/*/*.html"))) == 120
