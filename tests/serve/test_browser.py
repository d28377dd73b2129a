"""The page in a browser, from a real server."""

import threading

import pytest

from keyplayers.serve import Session
from tests.report.conftest import HOSTILE, star

uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("starlette")


@pytest.fixture
def address():
    """Of a server in a thread: a target among hostile names, with evidence that is one-sided."""
    from keyplayers.serve.app import make_app
    from keyplayers.serve.server import listen

    mrf = star(HOSTILE[1:], HOSTILE[0]).observe({HOSTILE[1]: "<b>good</b>", HOSTILE[2]: "<b>good</b>"})
    with listen(0) as listening:
        host = f"127.0.0.1:{listening.getsockname()[1]}"
        config = uvicorn.Config(
            make_app(Session(mrf), "token", {host}), log_level="error", lifespan="off", ws="none"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://{host}/token/"
        server.should_exit = True
        thread.join()


def wait(browser, script):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser.driver, 30).until(lambda _: browser.run(f"return {script}"))


SEEN = "document.querySelector('#beliefs tr:last-child td:last-child')?.textContent"


@pytest.mark.filterwarnings("ignore::keyplayers.errors.KeyPlayersWarning")
def test_search_switch_and_explain_among_hostile_names(browser, address):
    browser.go(address)
    browser.find("#text").send_keys("document.title='run'</script>")
    wait(browser, "document.querySelectorAll('#found li').length === 2")
    assert browser.texts("#found .look") == [HOSTILE[1], HOSTILE[0]]
    browser.all("#found .look")[1].click()
    before = wait(browser, SEEN)
    assert browser.texts("#name") == [HOSTILE[0]]
    assert browser.texts("#evidence th")[0] == HOSTILE[0]

    first = browser.find("#evidence [aria-pressed=true]")
    first.click()
    wait(browser, f"{SEEN} !== '{before}' && document.querySelector('#changes').textContent === '1 changed'")
    assert browser.texts("#evidence [aria-pressed=false]") == ["off"]
    browser.find("#reset").click()
    wait(browser, f"{SEEN} === '{before}'")

    for about, words in (("players", "is believed"), ("flip", "the model says")):
        browser.find(f"#{about}").click()
        browser.driver.switch_to.frame(browser.find("#frame"))
        wait(browser, f"document.querySelector('h1')?.textContent.includes({words!r})")
        assert browser.run("return document.title") != "run"
        assert browser.run("return origin") == "null"
        browser.driver.switch_to.default_content()
    browser.check_fits()
    browser.check_quiet(address)


def test_evidence_is_added_to_someone_who_had_none(browser, address):
    browser.go(address, width=400)
    wait(browser, "document.querySelectorAll('#found .look').length > 2")
    browser.find("#found .look").click()
    before = wait(browser, SEEN)
    select = browser.find("#evidence tr:nth-child(1) select")
    browser.run("arguments[0].value = '1'; arguments[0].onchange()", select)
    wait(browser, f"{SEEN} === '1' && {SEEN} !== '{before}'")
    browser.find("#found li:nth-child(4) .add").click()
    wait(browser, "document.querySelectorAll('#evidence th')[1].textContent.length > 0")
    browser.check_fits()
    # whose own state is observed has no belief to explain: the frame is told so, with a status of its own
    assert all("status of 400" in message for message in browser.errors())
