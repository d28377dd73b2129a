"""A browser that nobody sees, and pages for it."""

import json
import shutil
import tempfile
import warnings

import pytest

import keyplayers as kp

# none of these may call out of its own accord
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# names that break pages which take them for markup, for code, or for short
HOSTILE = (
    "<script>document.title='run'</script>",
    "</script><script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "\"><svg onload=document.title='run'>",
    'it\'s "quoted" & {{ 7 * 7 }} ${7*7} {% x %}',
    "long " * 2000,
    "\u202eشرير\u202c عربي",
    "<!--",
    "__proto__",
    "constructor",
)


class Browser:
    """What a test does with pages, and what they did on their own."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, *, width=1280, dark=False):
        return self.go(f"file://{path}", width=width, dark=dark)

    def go(self, address, *, width=1280, dark=False):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self._requests(), self.errors()
        self.driver.get(address)
        return self

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def texts(self, css):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(x => x.textContent)", css)

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def _requests(self):
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = (event["params"] for event in events if event["method"] == "Network.requestWillBeSent")
        return [params["request"]["url"] for params in sent]

    def check_quiet(self, *own):
        """Nothing was asked but of our own addresses, nothing failed, and no name has run as code."""
        assert [url for url in self._requests() if not url.startswith(("file:", "data:", *own))] == []
        assert self.errors() == []
        assert self.run("return document.title") != "run"

    def check_fits(self):
        """Nothing scrolls sideways, and no two names in a picture touch."""
        width, seen = self.run("const d = document.documentElement; return [d.scrollWidth, d.clientWidth]")
        assert width <= seen
        boxes = self.run(
            "return [...document.querySelectorAll('.net text')].map(t => t.getBoundingClientRect())"
            ".map(r => [r.left, r.top, r.right, r.bottom])"
        )
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                assert a[0] >= b[2] - 1 or b[0] >= a[2] - 1 or a[1] >= b[3] - 3 or b[1] >= a[3] - 3


@pytest.fixture(scope="session")
def driver():
    if not (CHROMIUM and DRIVER):
        pytest.skip("no browser is installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    folder = tempfile.mkdtemp(prefix="keyplayers-browser-")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield started
    started.quit()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def browser(driver):
    return Browser(driver)


@pytest.fixture(scope="session")
def karate():
    """Of the karate club's member 8: both sides are near."""
    networkx = pytest.importorskip("networkx")
    club = networkx.karate_club_graph()
    mrf = kp.MarkovRandomField.from_edges(
        [(int(a), int(b)) for a, b in club.edges], homophily=0.6, states=["Mr. Hi", "Officer"]
    ).observe({0: "Mr. Hi", 33: "Officer"})
    return kp.GraphShapley(mrf).explain(8)


def star(names, target="target"):
    """A target whose neighbours have these names, and priors from one side to the other."""
    priors = {name: [0.2 + 0.6 * i / len(names), 0.8 - 0.6 * i / len(names)] for i, name in enumerate(names)}
    edges = [(target, name) for name in names]
    return kp.MarkovRandomField.from_edges(edges, priors, homophily=0.9, states=["<b>good</b>", 'b"a"d'])


@pytest.fixture(scope="session")
def hostile():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kp.GraphShapley(star(HOSTILE[1:], HOSTILE[0])).explain(HOSTILE[0])
