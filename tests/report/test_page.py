"""Pages of single explanations: what they say, and what they do in a browser."""

import json
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.errors import InputError
from keyplayers.report.data import page_data
from keyplayers.report.limits import ONE_OF_MANY, ONE_PAGE, probabilities, significant
from keyplayers.report.page import as_script, render_page
from tests.report.conftest import HOSTILE, star
from tests.toy_explainers import toy

BUTTON = ".ranking .who button"


def data_of(found, limits=ONE_PAGE):
    return page_data(found.structure, found, limits)


@pytest.fixture
def page(tmp_path):
    """Writes an explanation's page, and gives its path."""

    def write(found):
        found.report(tmp_path / "page.html")
        return tmp_path / "page.html"

    return write


@pytest.fixture(scope="session")
def wine():
    pytest.importorskip("pandas")
    datasets, linear = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.linear_model")
    rows, classes = datasets.load_wine(return_X_y=True, as_frame=True)
    model = linear.LogisticRegression(max_iter=5000).fit(rows, classes)
    space = kp.Tabular(baseline="nearest_unlike", background=rows)
    return kp.McXai(model, space).explain(rows.iloc[[0]], random_state=0)


def test_the_page_asks_nothing_of_the_outside(karate):
    text = render_page(karate)

    addresses, policy = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            addresses.extend(value for name, value in attrs if name in ("src", "href", "action", "srcset", "data"))
            policy.extend(value for name, value in attrs if name == "content" and "src" in value)

    Reader().feed(text)
    assert addresses == ["data:,"]
    assert set(re.findall(r"https?://[^\s\"')]+", text)) == {"http://www.w3.org/2000/svg"}  # no address: a name
    assert policy[0].startswith("default-src 'none'; script-src 'sha256-")


def test_no_data_can_leave_the_element_that_holds_it():
    written = as_script({"name": "</script><!--<script>&\u2028"})
    assert not set("<>&\u2028") & set(written)
    assert json.loads(written) == {"name": "</script><!--<script>&\u2028"}


def test_numbers_keep_the_digits_that_matter():
    assert significant(np.array([1.23456, np.nan])) == [1.235, None]
    assert probabilities(np.array([0.5, 0.123456, 0.99999876, 1.0])) == [0.5, 0.1235, 0.999998760, 1.0]


def test_the_page_of_a_belief_says_what_the_explanation_says(browser, page, karate):
    browser.open(page(karate))
    assert browser.texts("h1") == ["Why 8 is believed to be Officer"]
    assert karate.sentence in browser.texts(".sentence")[0]
    assert browser.texts(BUTTON)[:3] == ["33", "0", "32"]
    assert browser.texts("tbody .value")[0].startswith(f"{karate.values[0]:.3f}")
    assert "speaks against Officer" in browser.texts("tbody .value")[1]
    facts = " ".join(browser.texts(".facts dd"))
    assert "log-odds of Officer" in facts
    assert f"{karate.coverage:.0%}" in facts
    assert len(browser.all(".net .node")) == 1 + len(browser.run(f"return {DATA}.nodes.name"))
    browser.check_fits()
    browser.check_quiet()


DATA = "JSON.parse(document.getElementById('data').textContent)"


def test_who_is_picked_shows_its_path_and_the_belief_without_it(browser, page, karate):
    browser.open(page(karate))
    browser.all(BUTTON)[2].click()
    detail = browser.texts(".detail")[0]
    without = kp.what_if(karate.beliefs.mrf, 8, {32: kp.REMOVED}, beliefs=karate.beliefs)
    assert f"Officer: 0.55 → {without.after[1]:.2f}" in detail
    assert "It would be Mr. Hi." in detail
    assert browser.texts(".path li") == ["32", "8"]
    assert browser.texts("tr.picked button") == ["32"]
    browser.find(".net .node[aria-label^='33:']").click()
    assert browser.texts("tr.picked button") == ["33"]
    browser.check_quiet()


def test_the_picture_is_hovered_dragged_zoomed_and_driven_by_keys(browser, page, karate):
    from selenium.webdriver import ActionChains, Keys

    browser.open(page(karate))
    node = browser.find(".net .node[aria-label^='0:']")
    ActionChains(browser.driver).move_to_element(node).perform()
    assert "speaks against Officer" in browser.texts(".tip")[0]
    before, view = node.get_dom_attribute("transform"), browser.find(".net svg").get_dom_attribute("viewBox")
    ActionChains(browser.driver).drag_and_drop_by_offset(node, 40, 30).perform()
    assert node.get_dom_attribute("transform") != before
    assert browser.all("tr.picked") == []  # a drag is no click
    browser.find("button[aria-label='Zoom in']").click()
    assert browser.find(".net svg").get_dom_attribute("viewBox") != view
    first = browser.find(".net .node[tabindex='0']")
    browser.run("arguments[0].focus()", first)
    ActionChains(browser.driver).send_keys(Keys.ARROW_RIGHT, Keys.ENTER).perform()
    assert browser.texts("tr.picked button") == ["0"]
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    assert browser.all("tr.picked") == []
    browser.check_quiet()


def test_the_ranking_is_filtered_searched_sorted_and_shown_whole(browser, page, karate):
    browser.open(page(karate))
    assert len(browser.all(BUTTON)) == 15
    next(b for b in browser.all(".tools button") if b.text.startswith("Against")).click()
    assert browser.texts(BUTTON) == ["0"]
    next(b for b in browser.all(".tools button") if b.text.startswith("All")).click()
    next(b for b in browser.all("button") if b.text.startswith("Show all")).click()
    names = browser.texts(BUTTON)
    assert len(names) > 15
    browser.find("input[type=search]").send_keys("33")
    assert browser.texts(BUTTON) == ["33"]


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False)])
def test_hostile_names_are_shown_and_run_nothing(browser, page, hostile, width, dark):
    browser.open(page(hostile), width=width, dark=dark)
    names = " ".join(browser.texts(BUTTON))
    for name in HOSTILE[1:]:
        assert ("10,000 characters" if len(name) > 300 else name.replace("\u202e", "\\u202e")[:8]) in names
    assert HOSTILE[0] in browser.texts("h1")[0]
    for i in range(len(HOSTILE) - 1):
        browser.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", BUTTON, i)
        browser.check_fits()
    browser.check_quiet()


def test_a_hub_shows_equal_players_as_one_and_counts_the_others(browser, page):
    names = [f"told {i}" for i in range(150)] + [f"mute {i}" for i in range(600)]
    priors = {f"told {i}": [0.3 + i / 500, 0.7 - i / 500] for i in range(150)}
    priors |= {f"mute {i}": [0.1, 0.9] for i in range(600)}
    mrf = kp.MarkovRandomField.from_edges([("hub", name) for name in names], priors, homophily=0.55)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kp.GraphShapley(mrf).explain("hub")
    data = data_of(found)
    assert data["nodes"]["count"][0] == 600
    assert data["others"]["count"] + sum(data["nodes"]["count"]) == 750
    drawn = sum(v * n for v, n in zip(data["nodes"]["value"], data["nodes"]["count"], strict=True))
    assert drawn + data["others"]["value"] == pytest.approx(found.values.sum(), rel=1e-3)
    for width in (1280, 400):
        browser.open(page(found), width=width)
        assert browser.texts(BUTTON)[0].startswith("600 equal neighbours such as mute")
        browser.check_fits()
    browser.check_quiet()


def test_a_loaded_explanation_has_a_page_without_what_ifs(browser, page, karate, tmp_path):
    karate.save(tmp_path / "ex.json")
    found = kp.load(tmp_path / "ex.json")
    assert set(data_of(found)["without"]["removed"]) == {None}
    browser.open(page(found))
    browser.all(BUTTON)[0].click()
    assert "Best path" in browser.texts(".detail")[0]
    assert "Without it" not in browser.texts(".detail")[0]
    browser.check_quiet()


def test_what_makes_an_answer_doubtful_is_told():
    grid = kp.grid_field(4, 4, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = kp.belief_propagation(grid, max_sweeps=1, schedule="flooding")
        found = kp.GraphShapley(grid, beliefs=state).explain(grid.names[5])
    assert "did not converge" in render_page(found)
    assert not found.inference.converged


def test_an_observed_target_and_one_without_neighbours_have_pages(browser, page):
    mrf = star(["a", "b"], "t").observe({"t": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        browser.open(page(kp.GraphShapley(mrf).explain("t")))
    assert "was observed" in browser.texts("body")[0]
    alone = kp.MarkovRandomField.from_edges([("a", "b")], homophily=0.8, n_variables=None)
    browser.open(page(kp.GraphShapley(alone, radius=0).explain("a")))
    browser.check_quiet()


def test_a_classifiers_page_shows_sets_trail_and_alternatives(browser, page, wine):
    browser.open(page(wine))
    body = browser.texts("main")[0]
    for player in (*wine.key_set, *wine.opposition):
        assert str(player) in body
    assert len(browser.texts(".trail li")) == 2 + len(wine.games)
    assert len(browser.all(".rows td.changed")) == sum(len(each.changes) for each in wine.alternatives[:3])
    shown = wine.display_values[wine.key_set[0]]
    assert f"{shown[0]} → {shown[1]}" in body
    browser.all(BUTTON)[0].click()
    assert "Masked to" in browser.texts(".detail")[0]
    browser.check_fits()
    browser.open(page(wine), width=400, dark=True).check_fits()
    browser.check_quiet()


def test_an_unknown_structure_has_its_ranking(browser, page):
    found = toy("t", np.array([2.0, 1.0, -0.5]), 0)
    browser.open(page(found))
    assert browser.texts(BUTTON) == ["ann", "bob", "cy"]
    browser.check_quiet()


def test_one_page_of_many_is_small(karate, hostile):
    for found in (karate, hostile):
        assert len(as_script(data_of(found, ONE_OF_MANY))) < 8_000


def test_a_page_ends_in_html(karate, tmp_path):
    with pytest.raises(InputError, match=r"\.html"):
        karate.report(tmp_path / "page.txt")


def test_texts_images_and_series_show_what_carries_and_what_opposes(browser, page):
    def model(texts):
        p = np.array([0.5 + 0.3 * ("good" in text) - 0.2 * ("bad" in text) for text in texts])
        return np.column_stack([1 - p, p])

    found = kp.McXai(model, kp.Text()).explain("A <b>good</b> film,\nbut a bad end.", random_state=0)
    browser.open(page(found), width=400).check_fits()
    assert browser.texts("mark.mark-for")[0].startswith("good")
    assert browser.texts("mark.mark-against")[0].startswith("bad")
    assert browser.texts(".text")[0].startswith("A <b>good")
    browser.check_quiet()

    def bright(images):
        p = np.array([0.9 if np.asarray(image)[:4, :4].mean() > 0.5 else 0.1 for image in images])
        return np.column_stack([1 - p, p])

    picture = np.zeros((16, 16))
    picture[:4, :4] = 1.0
    found = kp.McXai(bright, kp.Image()).explain(picture, random_state=0)
    browser.open(page(found)).check_fits()
    assert browser.run("const i = document.querySelector('.image'); return [i.naturalWidth, i.naturalHeight]") == [
        16,
        16,
    ]
    browser.check_quiet()

    def high(series):
        p = np.array([1 / (1 + np.exp(-4 * (np.nanmax(values) - 2))) for values in series])
        return np.column_stack([1 - p, p])

    values = np.sin(np.arange(80) / 4.0)
    values[40:44] += 3.0
    found = kp.McXai(high, kp.Series()).explain(values, random_state=0)
    browser.open(page(found), width=400, dark=True).check_fits()
    assert len(browser.all(".series polyline")) == 1
    assert len(browser.all(".series rect")) == len(found.key_set) + len(found.opposition)
    browser.check_quiet()
