import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyplayers as kp
from tests.oracles import factor_graphs as oracle

from_factors = kp.MarkovRandomField.from_factors
XOR = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]


def random_factors(rng, n=5, n_factors=4, zeros=0.0):
    """Factors of distinct variables, of one to four of them; each variable has one of its own."""
    counts = rng.integers(2, 4, n).tolist()
    scopes = {(v,) for v in range(n)}
    while len(scopes) < n + n_factors:
        scopes.add(tuple(sorted(rng.choice(n, rng.integers(2, 5), replace=False).tolist())))
    factors = []
    for scope in sorted(scopes):
        scope = tuple(rng.permutation(scope).tolist())
        table = rng.uniform(0.2, 2.0, [counts[v] for v in scope])
        if len(scope) > 2:
            table[rng.random(table.shape) < zeros] = 0.0
        factors.append((scope, table))
    return counts, factors


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_exact_marginals_are_those_of_the_product_of_all_factors(seed):
    counts, factors = random_factors(np.random.default_rng(seed), zeros=0.2)
    expected, log_z = oracle.marginals(counts, factors)
    found = kp.exact_marginals(from_factors(factors, variables=range(5)))
    assert found.log_partition == pytest.approx(log_z, abs=1e-9)
    for v in range(5):
        np.testing.assert_allclose(found.belief(v), expected[v], atol=1e-12)


@pytest.mark.filterwarnings("ignore::keyplayers.errors.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(6))
def test_propagation_is_that_of_the_factor_graph(seed):
    counts, factors = random_factors(np.random.default_rng(seed), n=6, n_factors=5, zeros=0.1)
    mrf = from_factors(factors, variables=range(6))
    expected = oracle.propagate(counts, factors, 400)
    found = kp.belief_propagation(mrf, schedule="flooding", max_sweeps=2000, tolerance=1e-13)
    for v in range(6):
        np.testing.assert_allclose(found.belief(v), expected[v], atol=1e-9)


def test_factors_are_left_out_of_what_is_told_of_variables():
    mrf = from_factors([(["A", "B", "C"], XOR, "parity"), (["A"], [1, 3]), (["B"], [1, 4])], states=["no", "yes"])
    state = kp.exact_marginals(mrf)
    assert (mrf.variables, mrf.factors) == (("A", "B", "C"), ("parity",))
    assert mrf.states("C") == ("no", "yes")
    assert state.beliefs.shape == (3, 2)
    assert state.to_frame()["name"].tolist() == ["A", "B", "C"]
    assert state.map() == {"A": "yes", "B": "yes", "C": "no"}
    assert state.most_likely_states() == state.map()
    assert mrf.log_weight(state.map()) == pytest.approx(np.log(12))
    assert mrf.log_weight({"A": "yes", "B": "yes", "C": "yes"}) == -np.inf
    assert "3 variables, 1 factor of more than two" in repr(mrf)


def test_factors_come_back_as_they_were_given():
    rng = np.random.default_rng(4)
    _, factors = random_factors(rng, zeros=0.3)
    mrf = from_factors(factors, variables=range(5))
    found = {frozenset(f.variables): f for f in kp.factors_of(mrf)}
    assert len(found) == len(factors)
    for scope, table in factors:
        own = found[frozenset(scope)]
        np.testing.assert_allclose(own.table.transpose([own.variables.index(v) for v in scope]), table)


def test_factors_of_the_same_variables_are_multiplied():
    a, b = np.arange(1, 9).reshape(2, 2, 2), np.arange(2, 10).reshape(2, 2, 2)
    mrf = from_factors([(["x", "y", "z"], a), (["z", "x", "y"], b.transpose(2, 0, 1))])
    (factor,) = kp.factors_of(mrf)
    np.testing.assert_allclose(factor.table, a * b)
    assert factor.name == "f(x, y, z)"


def test_a_factor_never_takes_a_variables_name():
    mrf = from_factors([(["a", "b", "c"], np.ones((2, 2, 2)), "a"), (["a", "b", "d"], np.ones((2, 2, 2)), "a")])
    assert len(set(mrf.names)) == 6
    assert mrf.factors == ("a'", "a''")


def test_a_constant_counts_in_the_partition_function():
    mrf = from_factors([([], 3.0), (["a", "b"], [[1, 2], [3, 4]])])
    assert kp.exact_marginals(mrf).log_partition == pytest.approx(np.log(30))


def test_a_factor_of_two_is_an_edge():
    psi = [[0.9, 0.1, 0.3], [0.2, 0.8, 0.4]]
    mine = from_factors([(["a", "b"], psi), (["a"], [1, 2])])
    theirs = kp.MarkovRandomField.from_edges([("a", "b")], {"a": [1, 2]}, potential=psi)
    assert mine.factors == ()
    np.testing.assert_allclose(kp.exact_marginals(mine).belief("b"), kp.exact_marginals(theirs).belief("b"))


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([(["a", "a"], np.ones((2, 2)))], "stands once"),
        ([(["a", "b"], np.ones((2, 2, 2)))], "one axis per variable"),
        ([(["a"], [1, 2]), (["a", "b"], np.ones((3, 2)))], "axis 0 of its table has length 3"),
        ([(["a"], [1, -2])], "finite numbers >= 0, got -2"),
        ([(["a"], [1, np.nan])], "finite numbers"),
        ([(["a"], ["x", "y"])], "no array of numbers"),
        ([(["a"], [0, 0])], "0 everywhere"),
        ([(["a"], [0, 1]), (["a"], [1, 0])], "exclude all of its states"),
        ([("ab", [0, 1])], "list of names"),
        ([["a"]], "must be"),
    ],
)
def test_what_is_no_factor_is_refused(factors, message):
    with pytest.raises(kp.InputError, match=message):
        from_factors(factors)


def test_a_table_that_would_not_fit_is_refused_with_its_size():
    table = np.broadcast_to(1.0, (2,) * 22)
    with pytest.raises(kp.TooLargeError, match=r"2×2.* = 4,194,304 entries .* would take 184,549,376 numbers"):
        from_factors([(list(range(22)), table)])


def test_a_field_with_factors_is_written_and_read(tmp_path):
    mrf = from_factors([(["A", "B", "C"], XOR, "parity"), (["A"], [1, 3])])
    kp.write_mrf(mrf, tmp_path / "field.npz")
    found = kp.read_mrf(tmp_path / "field.npz")
    assert found.factors == ("parity",)
    np.testing.assert_array_equal(found.auxiliary, mrf.auxiliary)


# --- who are the key players


@pytest.fixture
def alarm():
    """An alarm that burglars and earthquakes set off, two neighbours who call, and a radio."""
    states = ["no", "yes"]
    alarm = np.zeros((2, 2, 2))
    alarm[..., 1] = [[0.01, 0.3], [0.9, 0.95]]
    alarm[..., 0] = 1 - alarm[..., 1]
    return from_factors(
        [
            (["burglar"], [0.9, 0.1]),
            (["quake"], [0.95, 0.05]),
            (["burglar", "quake", "alarm"], alarm, "P(alarm | burglar, quake)"),
            (["alarm", "call"], [[0.95, 0.05], [0.2, 0.8]]),
            (["quake", "radio"], [[0.99, 0.01], [0.3, 0.7]]),
        ],
        states=states,
    ).observe({"call": "yes", "radio": "yes"})


@pytest.mark.parametrize("coalitions", ["walks", "subtrees"])
def test_factors_are_no_players_and_count_no_hop(alarm, coalitions):
    ex = kp.GraphShapley(alarm, radius=2, coalitions=coalitions).explain("burglar", random_state=1)
    assert set(ex.players) == {"alarm", "call", "quake", "radio"}
    assert dict(zip(ex.players, ex.distances.tolist(), strict=True)) == {
        "alarm": 1, "quake": 1, "call": 2, "radio": 2,
    }  # fmt: skip
    assert ex.structure.factors == ("P(alarm | burglar, quake)",)
    assert ex.paths[list(ex.players).index("call")] == ("call", "alarm", "P(alarm | burglar, quake)", "burglar")
    assert set(ex.ball.players) == set(ex.players)
    written = ex.to_dict()
    assert [row["name"] for row in written["factors"]] == ["P(alarm | burglar, quake)"]
    assert (written["ball"]["n_variables"], written["ball"]["n_factors"]) == (5, 1)
    assert "factor P(alarm | burglar, quake)" in ex.sentence or "reached" not in ex.sentence


@pytest.mark.parametrize("radius", [1, 2, 3])
def test_with_messages_all_walks_together_believe_what_the_field_believes(alarm, radius):
    ex = kp.GraphShapley(alarm, radius=radius).explain("burglar", random_state=1)
    p = kp.belief_propagation(alarm).belief("burglar")
    state = ex.worth_states[0]
    own = p[["no", "yes"].index(state)]
    assert ex.worth_ball == pytest.approx(np.log(own / (1 - own)), abs=1e-8)


@pytest.mark.filterwarnings("ignore::keyplayers.errors.PrecisionWarning")
def test_walks_on_loopy_factor_graphs_believe_what_propagation_believes():
    rng = np.random.default_rng(7)
    _, factors = random_factors(rng, n=6, n_factors=5)
    mrf = from_factors(factors, variables=range(6))
    state = kp.belief_propagation(mrf, tolerance=1e-12)
    for radius in (1, 2):
        ex = kp.GraphShapley(
            mrf, radius=radius, worth="probability", state=0, beliefs=state, max_evals=64
        ).explain(0)
        assert ex.worth_ball == pytest.approx(state.belief(0)[0], abs=1e-8)


def test_shapley_values_of_players_and_factors_sum_to_what_all_add(alarm):
    ex = kp.GraphShapley(alarm, radius=2, law="shapley", max_evals=20_000).explain("burglar", random_state=3)
    total = ex.values.sum() + ex.structure.factor_values.sum()
    assert total == pytest.approx(ex.worth_ball - ex.worth_alone, abs=0.05)


def test_beliefs_of_factors_are_not_explained(alarm):
    with pytest.raises(kp.InputError, match="is a factor"):
        kp.GraphShapley(alarm).explain("P(alarm | burglar, quake)")
    with pytest.raises(kp.InputError, match="is a factor"):
        kp.what_if(alarm, "P(alarm | burglar, quake)", {"call": None})


def test_what_ifs_are_asked_of_variables_only(alarm):
    from keyplayers.mrf.what_if import evidence_table

    table = evidence_table(alarm, "burglar", connectors=True)
    assert set(table["name"]) == {"alarm", "call", "quake", "radio"}
    without = kp.what_if(alarm, "burglar", {"radio": kp.REMOVED}, beliefs=kp.exact_marginals(alarm))
    rest = [f for f in kp.factors_of(alarm) if "radio" not in f.variables]
    expected = kp.exact_marginals(from_factors(rest)).belief("burglar")
    np.testing.assert_allclose(without.after, expected, atol=1e-12)


def test_many_targets_leave_factors_out(alarm):
    found = list(kp.explain_many(kp.GraphShapley(alarm), ["burglar", "quake", "alarm"], random_state=0))
    assert all(set(ex.players) <= set(alarm.variables) for ex in found)


def test_entries_that_a_table_excludes_take_no_memory():
    table = np.zeros((4, 4, 4))
    for x, y in itertools.product(range(4), repeat=2):
        table[x, y, (x + y) % 4] = 1.0
    mrf = from_factors([(["x", "y", "sum"], table)])
    assert mrf.n_states.tolist() == [4, 4, 4, 16]
