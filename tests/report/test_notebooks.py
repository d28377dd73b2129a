"""What a notebook shows of an object."""

import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

import keyplayers as kp
from tests.report.conftest import HOSTILE, star


class Reader(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    mrf = star(HOSTILE[1:], HOSTILE[0])
    explainer = kp.GraphShapley(mrf, radius=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = explainer.explain(HOSTILE[0])
        store = kp.explain_many(explainer, [HOSTILE[0]], store=tmp_path_factory.mktemp("s") / "s", random_state=0)
    model = kp.McXai(lambda rows: np.tile([0.4, 0.6], (len(rows), 1)), max_evals=50)
    return {
        "field": mrf,
        "beliefs": kp.belief_propagation(mrf),
        "ball": kp.ball(mrf, HOSTILE[0]),
        "explanation": found,
        "explainer": explainer,
        "classifier": model,
        "store": store,
        "comparison": kp.compare(found, found),
    }


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("field", "MarkovRandomField of 10 variables"),
        ("beliefs", "BeliefState of 10 variables"),
        ("ball", "10 variables, 9 edges"),
        ("explanation", "The field believes that"),
        ("explainer", "radius"),
        ("classifier", "max_evals"),
        ("store", "1 explanations"),
        ("comparison", "No player's value differs"),
    ],
)
def test_objects_are_small_tables_that_no_name_can_leave(objects, name, holds):
    shown = Reader(objects[name]._repr_html_())
    assert holds in shown.text
    assert set(shown.tags) <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "table" in shown.tags
    assert len(objects[name]._repr_html_()) < 20_000
