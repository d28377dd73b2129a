"""Evidence that is switched: what is believed then, and what cannot be."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.errors import ContradictionError, InputError, UnknownNameError
from keyplayers.serve import Session


@pytest.fixture
def mrf():
    edges = [("ann", "bob"), ("bob", "cy"), ("cy", "dan"), ("cy", "eve"), ("eve", "bob")]
    made = kp.MarkovRandomField.from_edges(edges, {"eve": [0.4, 0.6]}, homophily=0.8, states=["honest", "fraud"])
    return made.observe({"ann": "honest", "dan": "fraud"})


def believed(session, mrf, name):
    return [row[2] for row in session.account(mrf.index(name))["beliefs"]]


@pytest.mark.parametrize(
    ("choices", "priors"),
    [
        ({"dan": "none"}, {"dan": [0.0, 0.0]}),
        ({"eve": 1}, {"eve": [-np.inf, 0.0]}),
        ({"ann": "none", "dan": 0, "bob": 1}, {"ann": [0, 0], "dan": [0, -np.inf], "bob": [-np.inf, 0]}),
    ],
)
def test_beliefs_are_those_of_a_field_with_that_evidence(mrf, choices, priors):
    session = Session(mrf)
    for name, choice in choices.items():
        session.choose(mrf.index(name), choice)
    log_priors = mrf.log_priors.reshape(-1, 2).copy()
    for name, row in priors.items():
        log_priors[mrf.index(name)] = row
    afresh = kp.belief_propagation(mrf.with_log_priors(log_priors.ravel()))
    assert believed(session, mrf, "cy") == pytest.approx(afresh.belief("cy"), abs=1e-3)


def test_what_was_switched_off_can_be_switched_on_again(mrf):
    session = Session(mrf)
    before = session.account(mrf.index("cy"))
    session.choose(mrf.index("dan"), "none")
    assert session.account(mrf.index("cy"))["changes"] == 1
    session.choose(mrf.index("dan"), "given")
    assert session.account(mrf.index("cy")) == before
    session.choose(mrf.index("dan"), 0)
    session.reset()
    assert session.account(mrf.index("cy")) == before


def test_evidence_around_is_told_with_what_was_given_and_what_is_chosen(mrf):
    session = Session(mrf, radius=1)
    session.choose(mrf.index("eve"), "none")
    rows = session.account(mrf.index("cy"), [mrf.index("ann")])["evidence"]
    told = [(row["name"], row["hops"], row["given"], row["choice"]) for row in rows]
    assert told == [
        ("cy", 0, "", "given"),
        ("ann", None, "honest", "given"),
        ("dan", 1, "fraud", "given"),
        ("eve", 1, "fraud with 0.6", "none"),
    ]


def test_a_search_finds_parts_of_names_and_says_when_there_are_more():
    session = Session(kp.MarkovRandomField.from_edges([("Hub", f"leaf{i}") for i in range(60)], homophily=0.6))
    assert session.search("hUB") == {"found": [{"id": 0, "name": "Hub"}], "more": False}
    assert session.search("leaf")["more"]
    assert session.search("nobody") == {"found": [], "more": False}


def test_factors_are_not_for_looking_at():
    mrf = kp.MarkovRandomField.from_factors([(("a", "b", "c"), np.ones((2, 2, 2)))])
    session, factor = Session(mrf), mrf.index(mrf.factors[0])
    assert len(session.search("")["found"]) == 3
    with pytest.raises(UnknownNameError, match="no variable number"):
        session.account(factor)


def test_what_is_impossible_changes_nothing():
    table = np.array([[1.0, 0.0], [0.0, 1.0]])
    mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "c")], potential=table).observe({"a": 0})
    session = Session(mrf)
    with pytest.raises(ContradictionError):
        session.choose(mrf.index("b"), 1)
    assert session.account(mrf.index("b"))["changes"] == 0
    with pytest.raises(UnknownNameError, match="state number 2"):
        session.choose(mrf.index("b"), 2)


@pytest.mark.filterwarnings("ignore::keyplayers.errors.PrecisionWarning")
def test_explanations_are_pages_of_the_evidence_as_it_is_now(mrf):
    session, cy = Session(mrf), mrf.index("cy")
    assert "believed to be <bdi>fraud</bdi>" in session.page(cy, "players")
    assert "dan" in session.page(cy, "flip")
    session.choose(mrf.index("dan"), 0)
    assert "believed to be <bdi>honest</bdi>" in session.page(cy, "players")
    with pytest.raises(InputError, match="is observed"):
        session.page(mrf.index("dan"), "players")


def test_without_evidence_nothing_flips():
    mrf = kp.MarkovRandomField.from_edges([("a", "b")], homophily=0.8)
    with pytest.raises(InputError, match="no evidence around a"):
        Session(mrf).page(0, "flip")
