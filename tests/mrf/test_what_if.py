"""What-ifs equal full runs on the changed field, and ask about one change at a time."""

import json

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf import what_if as module
from keyplayers.mrf.inference.response import LocalResponse

TIGHT = {"tolerance": 1e-12, "max_sweeps": 20_000}


def field(seed, n=40, n_edges=70, n_observed=10, homophily=0.7, k=2):
    rng = np.random.default_rng(seed)
    pairs = rng.permutation([(i, j) for i in range(n) for j in range(i + 1, n)])[:n_edges]
    mrf = kp.MarkovRandomField.from_edges(pairs, rng.uniform(0.2, 1, (n, k)), homophily=homophily, n_variables=n)
    observed = rng.choice(np.arange(1, n), n_observed, replace=False)
    return mrf.observe({int(v): int(rng.integers(k)) for v in observed})


def chain(n, homophily):
    return kp.MarkovRandomField.from_edges([(i, i + 1) for i in range(n - 1)], homophily=homophily)


def changed(mrf, change):
    """The changed field, built anew; whoever is removed has no edges."""
    priors = {name: np.exp(mrf.log_prior(name)) for name in mrf.names}
    gone = set()
    for name, given in change.items():
        k = len(mrf.states(name))
        if given is kp.REMOVED:
            gone.add(name)
        elif given is None:
            priors[name] = np.ones(k)
        elif isinstance(given, int):
            priors[name] = np.eye(k)[given]
        else:
            priors[name] = given
    edges, tables = [], []
    for a, b in mrf.edges.tolist():
        if a not in gone and b not in gone:
            edges.append((a, b))
            tables.append(mrf.log_potential(a, b))
    return kp.MarkovRandomField.from_edges(
        np.array(edges), [priors[v] for v in mrf.names], log_potential=tables, n_variables=mrf.n_variables
    )


def some_changes(mrf, rng, n_changes):
    """Changes of one or two variables of all kinds, the target 0 left in place."""
    for _ in range(n_changes):
        change = {}
        for v in rng.choice(np.arange(1, mrf.n_variables), rng.integers(1, 3), replace=False).tolist():
            k = len(mrf.states(v))
            kinds = [None, kp.REMOVED, int(rng.integers(k)), rng.uniform(0.1, 1, k).tolist()]
            change[v] = kinds[rng.integers(4)]
        yield change


def log_odds(belief, best):
    return np.log(belief[best]) - np.log1p(-belief[best])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("homophily", [0.38, 0.6, 0.64])  # beyond, a field of this size has several fixed points
def test_local_what_ifs_equal_full_runs(seed, homophily):
    mrf = field(seed, homophily=homophily)
    state = kp.belief_propagation(mrf, **TIGHT)
    changes = list(some_changes(mrf, np.random.default_rng(seed), 12))
    answers = kp.what_ifs(mrf, 0, changes, beliefs=state)
    assert sum(answer.how == "local propagation" for answer in answers) >= 10
    for change, answer in zip(changes, answers, strict=True):
        full = kp.belief_propagation(changed(mrf, change), **TIGHT)
        best = int(full.belief(0).argmax())
        # a dozen times the tolerance: it holds to first order
        assert log_odds(answer.after, best) == pytest.approx(log_odds(full.belief(0), best), abs=1.2e-3)


def test_a_smaller_tolerance_is_kept():
    mrf = field(3, homophily=0.6)
    state = kp.belief_propagation(mrf, **TIGHT)
    apart = {}
    for tolerance in (1e-2, 1e-8):
        answers = [kp.what_if(mrf, 0, {v: None}, beliefs=state, tolerance=tolerance) for v in range(1, 40)]
        full = [kp.belief_propagation(changed(mrf, {v: None}), **TIGHT).belief(0) for v in range(1, 40)]
        apart[tolerance] = max(np.abs(a.after - b).max() for a, b in zip(answers, full, strict=True))
    assert apart[1e-8] < 1e-8 < apart[1e-2]


def test_asking_leaves_no_trace():
    mrf = field(5)
    state = kp.belief_propagation(mrf)
    changes = list(some_changes(mrf, np.random.default_rng(0), 30))
    together = kp.what_ifs(mrf, 0, changes, beliefs=state)
    for change, answer in zip(changes, together, strict=True):
        np.testing.assert_array_equal(answer.after, kp.what_if(mrf, 0, change, beliefs=state).after)


@pytest.mark.parametrize("seed", range(6))
def test_more_states_and_zeros_run_on_the_whole_field(seed):
    mrf = field(seed, n=15, n_edges=22, n_observed=4, k=3)
    state = kp.belief_propagation(mrf, **TIGHT)
    for change in some_changes(mrf, np.random.default_rng(seed), 6):
        answer = kp.what_if(mrf, 0, change, beliefs=state)
        full = kp.belief_propagation(changed(mrf, change), **TIGHT)
        assert answer.how == "propagation"
        np.testing.assert_allclose(answer.after, full.belief(0), atol=1e-7)


def test_exact_beliefs_get_exact_answers():
    mrf = field(1, n=12, n_edges=20, n_observed=3)
    state = kp.exact_marginals(mrf)
    for change in some_changes(mrf, np.random.default_rng(1), 8):
        answer = kp.what_if(mrf, 0, change, beliefs=state)
        assert answer.how == "exact"
        np.testing.assert_allclose(answer.after, kp.exact_marginals(changed(mrf, change)).belief(0), atol=1e-12)


def test_the_cost_does_not_grow_with_the_graph():
    """Along a chain what changes far away fades, and nobody sends it on."""
    sent = []
    for n in (200, 20_000):
        mrf = chain(n, 0.7).observe({50: 1})
        local = LocalResponse(kp.belief_propagation(mrf), 40)
        sent.append(local.after({50: np.zeros(2)}, 1e-6).n_sent)
    assert sent[0] == sent[1] < 200


def test_evidence_that_opens_a_way_is_seen():
    """Taking the evidence of b away lets a reach the target through b, and around a cycle behind it."""
    mrf = kp.MarkovRandomField.from_edges(
        [("t", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("d", "a")], {"a": [0.1, 0.9]}, homophily=0.8
    ).observe({"b": 0})
    answer = kp.what_if(mrf, "t", {"b": None}, tolerance=1e-9)
    full = kp.belief_propagation(
        kp.MarkovRandomField.from_edges(
            [("t", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("d", "a")], {"a": [0.1, 0.9]}, homophily=0.8
        ),
        **TIGHT,
    )
    np.testing.assert_allclose(answer.after, full.belief("t"), atol=1e-8)
    assert answer.flips
    assert answer.shift < -1


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({}, kp.InputError, "say what is to change"),
        (["a"], kp.InputError, "say what is to change"),
        ({"nobody": None}, kp.UnknownNameError, "nobody"),
        ({"a": "green"}, kp.UnknownNameError, "green"),
        ({"a": [1.0, 2.0, 3.0]}, kp.InputError, "2 states"),
        ({"a": [-1.0, 2.0]}, kp.InputError, "evidence of variable 'a'"),
        ({"t": kp.REMOVED}, kp.InputError, "it is the target|is the target"),
    ],
)
def test_what_cannot_be_asked_is_refused(change, error, message):
    mrf = kp.MarkovRandomField.from_edges([("t", "a")], homophily=0.8)
    with pytest.raises(error, match=message):
        kp.what_if(mrf, "t", change)


def test_an_observed_target_believes_what_it_did():
    mrf = chain(3, 0.8).observe({0: 1, 1: 0})
    answer = kp.what_if(mrf, 1, {0: None})
    assert answer.after.tolist() == [1.0, 0.0]
    assert answer.shift == 0.0
    assert kp.what_if(mrf, 1, {1: None}).after.tolist() == pytest.approx([0.2, 0.8])


def test_beliefs_of_other_evidence_are_refused():
    mrf = chain(4, 0.8)
    with pytest.raises(kp.InputError, match="on this field with this evidence"):
        kp.what_if(mrf, 0, {1: 0}, beliefs=kp.belief_propagation(mrf.observe({3: 1})))


def test_the_sentence_says_what_would_be():
    mrf = kp.MarkovRandomField.from_edges(
        [("cy", "ann"), ("cy", "dan")], homophily=0.8, states=["honest", "fraud"]
    ).observe({"ann": "honest", "dan": "fraud"})
    answer = kp.what_if(mrf, "cy", {"ann": kp.REMOVED, "dan": "honest"})
    assert (
        answer.sentence
        == "If ann were not there and dan were honest, cy would be honest with 0.800 instead of 0.500."
    )
    assert json.loads(json.dumps(answer.to_dict()))["change"][0] == {"name": "ann", "to": {"removed": True}}


def test_the_table_asks_about_evidence_and_on_request_about_connectors():
    mrf = kp.MarkovRandomField.from_edges(
        [("t", "a"), ("t", "b"), ("b", "c"), ("c", "d")], {"d": [0.3, 0.7]}, homophily=0.8
    ).observe({"a": 1, "c": 0})
    table = module.evidence_table(mrf, "t")
    assert table["name"] == ["a", "c"]
    assert table["evidence"] == [1, 0]
    assert table["otherwise_state"] == [0, 1]
    best = int(kp.belief_propagation(mrf).belief("t").argmax())
    assert table["without"][0] == pytest.approx(kp.what_if(mrf, "t", {"a": kp.REMOVED}).after[best])
    everybody = module.evidence_table(mrf, "t", radius=None, connectors=True)
    assert set(everybody["name"]) == {"a", "b", "c", "d"}
    assert everybody["without_evidence"][everybody["name"].index("b")] is None
