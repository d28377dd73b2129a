"""The walk game as users ask for it: against the oracle, the paper's game on trees, and the laws of a value."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.engines import walk_sampling
from tests.oracles import walks

from .balls import WORTHS, on_subtrees, random_field
from .walk_games import random_plain_field

pytestmark = pytest.mark.filterwarnings("ignore::keyplayers.KeyPlayersWarning")


def explained(mrf, target=0, *, seed=0, **options):
    """{player: (value, probabilistic, topological, direction)} and the explanation; beliefs to all digits."""
    state = kp.belief_propagation(mrf, tolerance=1e-14, max_sweeps=3000)
    found = kp.GraphShapley(mrf, beliefs=state, **options).explain(target, random_state=seed)
    parts = zip(found.values, found.probabilistic, found.topological, found.direction, strict=True)
    return dict(zip(found.players, parts, strict=True)), found


def fields_with_answers(seed, n_fields, **kinds):
    """Yields (field, options, oracle's answer): all worths, both laws and boundaries, r = 1 to 3."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < n_fields:
        plain = random_plain_field(rng, **kinds)
        messages = walks.fixed_point(*plain, n_sweeps=600)
        radius, cut = int(rng.integers(1, 4)), made % 2 == 0
        if messages is None:
            continue
        tree = walks.walk_tree(*plain, 0, radius, None if cut else messages)
        if walks.n_subtrees(tree) > 200 or not tree.children:
            continue
        belief = walks.bethe_belief(plain[0], messages, 0)
        worth, law = WORTHS[made % 5], ("uniform", "shapley")[made // 5 % 2]
        state = int(np.argmax(belief))
        rival = (state + 1) % len(belief)
        asked = {"contrast": (state, rival)} if worth == "contrast" else {"worth": worth}
        kind = ("log_odds", None, (state, rival)) if worth == "contrast" else (worth, None, None)
        priors, edges, potentials = plain
        mrf = kp.MarkovRandomField.from_edges(np.array(edges), priors, potential=potentials)
        options = {"radius": radius, "boundary": "cut" if cut else "messages", "law": law, **asked}
        yield mrf, options, walks.explain(tree, belief, kind, law=law)[0]
        made += 1


@pytest.mark.parametrize("seed", range(5))
def test_two_states_agree_with_the_oracle_within_the_bound(seed):
    for mrf, options, (expected, alone, whole) in fields_with_answers(100 + seed, 30):
        found, explanation = explained(mrf, **options)
        assert found.keys() == expected.keys()
        assert explanation.engine == "convolution"
        bounds = dict(zip(explanation.players, explanation.error_bounds, strict=True))
        for v, exact in expected.items():
            assert found[v] == pytest.approx(exact, abs=max(1e-5, bounds[v] + 1e-9))
            assert abs(found[v][0] - exact[0]) <= bounds[v] + 1e-8
        size = 1e-8 * (1 + abs(whole))
        assert explanation.worth_alone == pytest.approx(alone, abs=size)
        assert explanation.worth_ball == pytest.approx(whole, abs=size)
        if explanation.coverage is not None and options["law"] == "shapley":
            assert explanation.coverage * (whole - alone) == pytest.approx(whole - alone, abs=1e-4)


@pytest.mark.parametrize(("seed", "kinds"), [(1, {"max_states": 4}), (2, {"max_states": 4, "zeros": True})])
def test_more_states_and_zeros_agree_with_the_oracle_within_their_standard_errors(seed, kinds, monkeypatch):
    # by how draws scatter, not because errors are raised for what was not seen
    monkeypatch.setattr(walk_sampling, "RULE_OF_THREE", 0.0)
    scores = []
    for i, (mrf, options, (expected, alone, whole)) in enumerate(fields_with_answers(seed, 75, **kinds)):
        found, explanation = explained(mrf, seed=i, method="sampling", max_evals=600, **options)
        assert found.keys() == expected.keys()
        errors = dict(zip(explanation.players, explanation.std_errors, strict=True))
        size = 1e-8 * (1 + abs(whole) + abs(alone))
        for v, exact in expected.items():
            if errors[v] < size:
                assert found[v][0] == pytest.approx(exact[0], abs=30 * size)
            else:
                scores.append((found[v][0] - exact[0]) / errors[v])
        assert explanation.worth_ball == pytest.approx(whole, abs=size)
    assert len(scores) > 60
    assert 0.8 < np.std(scores) < 1.25
    assert abs(np.mean(scores)) < 4 / np.sqrt(len(scores))
    assert np.abs(scores).max() < 5.5


@pytest.mark.parametrize("worth", ["symmetric_kl", "log_odds", "probability"])
def test_on_trees_that_are_cut_it_is_the_game_of_subtrees(worth):
    rng = np.random.default_rng(3)
    for _ in range(8):
        mrf = random_field(rng, 8)
        state = kp.belief_propagation(mrf)
        theirs = on_subtrees(mrf, worth=worth, radius=2, beliefs=state, method="enumeration").explain(0)
        ours = kp.GraphShapley(mrf, worth=worth, radius=2, beliefs=state, boundary="cut").explain(0)
        for name in theirs.players:
            assert ours.value(name) == pytest.approx(theirs.value(name), abs=2e-6)
        assert ours.worth_ball == pytest.approx(theirs.worth_ball, abs=1e-9)
        assert ours.worth_alone == pytest.approx(theirs.worth_alone, abs=1e-9)
        assert ours.log10_coalitions == pytest.approx(theirs.log10_coalitions)
        assert ours.paths == tuple(theirs.paths[theirs.players.index(name)] for name in ours.players)


@pytest.mark.parametrize("radius", [1, 2, 3, 4])
def test_all_walks_believe_what_propagation_believes(radius):
    for seed in range(6):
        mrf = random_field(np.random.default_rng(seed), 7, 3, max_states=3, strength=0.5)
        state = kp.belief_propagation(mrf, tolerance=1e-13, max_sweeps=3000)
        if not state.converged or mrf.observed[0]:
            continue
        found = kp.GraphShapley(mrf, radius=radius, beliefs=state, worth="probability", max_evals=2).explain(0)
        assert found.worth_ball == pytest.approx(state.belief(0).max(), abs=1e-9)


def test_the_triangle_of_the_documentation():
    mrf = kp.MarkovRandomField.from_edges(
        [("X", "A"), ("X", "B"), ("A", "B")], {"A": [0.2, 0.8], "B": [0.6, 0.4]}, homophily=0.9
    )
    for radius, boundary, a, b, belief in (
        (2, "messages", 2.302393, 0.529424, 2.128943),
        (3, "messages", 2.302393, 0.529424, 2.128943),
        (2, "cut", 1.762936, -0.132162, 1.328248),
        (1, "messages", 1.344615, 0.784328, 2.128943),
        (1, "cut", 1.045969, -0.322773, 0.723195),
    ):
        found, explanation = explained(mrf, "X", radius=radius, boundary=boundary, state=1)
        assert found["A"][0] == pytest.approx(a, abs=2e-6)
        assert found["B"][0] == pytest.approx(b, abs=2e-6)
        assert explanation.worth_ball == pytest.approx(belief, abs=1e-6)


def test_on_a_star_log_odds_cover_the_whole():
    mrf = random_star(np.random.default_rng(1), 8)
    for law in ("uniform", "shapley"):
        for boundary in ("messages", "cut"):
            _, found = explained(mrf, law=law, boundary=boundary)
            assert found.coverage == pytest.approx(1.0, abs=1e-6)


def random_star(rng, n):
    """Variable 0 with n leaves."""
    priors = rng.dirichlet([1, 1], n + 1)
    return kp.MarkovRandomField.from_edges([(0, i) for i in range(1, n + 1)], priors, homophily=0.7)


def test_what_evidence_or_distance_cuts_off_is_worth_nothing():
    edges = [("X", "a"), ("X", "b"), ("a", "c"), ("b", "c"), ("c", "d")]
    priors = {"c": [0.1, 0.9], "d": [0.2, 0.8]}
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.8).observe({"a": 1, "b": 0})
    found, _ = explained(mrf, "X", radius=3)
    assert found["c"][0] == pytest.approx(0, abs=1e-9)
    assert found["d"][0] == pytest.approx(0, abs=1e-9)
    assert abs(found["a"][0]) > 0.1
    assert kp.GraphShapley(mrf, radius=1).explain("X").value("c") == 0


def test_equal_players_have_equal_values_and_one_group():
    edges = [("X", "a"), ("X", "b"), ("a", "z"), ("b", "z"), ("X", "z")]
    mrf = kp.MarkovRandomField.from_edges(
        edges, {"a": [0.3, 0.7], "b": [0.3, 0.7], "z": [0.1, 0.9]}, homophily=0.8
    )
    for law in ("uniform", "shapley"):
        found, explanation = explained(mrf, "X", radius=3, law=law)
        assert found["a"] == pytest.approx(found["b"], abs=1e-9)
        groups = dict(zip(explanation.players, explanation.groups.tolist(), strict=True))
        assert groups["a"] == groups["b"] != groups["z"]


@pytest.mark.parametrize("seed", range(6))
def test_names_states_and_scales_change_nothing(seed):
    rng = np.random.default_rng(seed)
    priors, edges, potentials = random_plain_field(rng, max_states=2)
    mrf = kp.MarkovRandomField.from_edges(np.array(edges), priors, potential=potentials)
    found, _ = explained(mrf, state=1)
    n = len(priors)
    order = rng.permutation(n)
    renamed = kp.MarkovRandomField.from_edges(
        [(f"v{a}", f"v{b}") for a, b in edges],
        {f"v{i}": [5.0 * p for p in priors[i]][::-1] for i in order.tolist()},
        potential=[[[3.0 * cell for cell in row[::-1]] for row in matrix[::-1]] for matrix in potentials],
    )
    again, _ = explained(renamed, "v0", state=0)
    for v, parts in found.items():
        assert again[f"v{v}"] == pytest.approx(parts, abs=5e-6)


def test_exact_beliefs_are_explained_with_messages_of_propagation():
    mrf = kp.MarkovRandomField.from_edges(
        [("X", "A"), ("X", "B"), ("A", "B")], {"A": [0.2, 0.8], "B": [0.6, 0.4]}, homophily=0.9
    )
    exact = kp.exact_marginals(mrf)
    with pytest.warns(kp.PrecisionWarning, match="walks around 'X' are told what propagation says"):
        found = kp.GraphShapley(mrf, beliefs=exact).explain("X")
    assert found.belief == pytest.approx(exact.belief("X"))
    assert found.inference.messages_belief == pytest.approx(kp.belief_propagation(mrf).belief("X"))
    assert found.value("A") == pytest.approx(2.302393, abs=2e-6)


def test_coalitions_are_kept_on_request():
    mrf = kp.MarkovRandomField.from_edges([("X", "A"), ("X", "B"), ("A", "B")], {"A": [0.2, 0.8]}, homophily=0.9)
    found = kp.GraphShapley(mrf, keep_coalitions=True).explain("X")
    listed = found.coalitions()
    assert len(listed) == 8 == round(10**found.log10_coalitions)
    assert max(worth for _, worth in listed) == listed[0][1]
    everything = {("X", "A"), ("X", "B"), ("X", "A", "B"), ("X", "B", "A")}
    assert {frozenset(held): worth for held, worth in listed}[frozenset(everything)] == pytest.approx(
        found.worth_ball
    )
    with pytest.raises(kp.TooLargeError, match="coalitions of walks"):
        kp.GraphShapley(mrf, keep_coalitions=True, max_evals=7).explain("X")


def test_what_max_ball_drops_still_says_what_its_messages_say():
    rng = np.random.default_rng(0)
    mrf = random_field(rng, 14, 4, strength=0.5)
    state = kp.belief_propagation(mrf, tolerance=1e-13)
    with pytest.warns(kp.PrecisionWarning, match="dropped"):
        found = kp.GraphShapley(mrf, beliefs=state, worth="probability", max_ball=5).explain(0)
    assert len(found) == 4
    assert found.worth_ball == pytest.approx(state.belief(0).max(), abs=1e-8)


def test_as_published_is_the_paper_s_game():
    mrf = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (0, 2)], {1: [0.2, 0.8]}, homophily=0.8)
    found = kp.GraphShapley.as_published(mrf).explain(0)
    assert (found.coalitions_of, found.boundary, found.worth) == ("subtrees", "cut", "symmetric_kl")
    assert found.values.tolist() == sorted(found.values, reverse=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coalitions": "paths"}, "coalitions must be one of"),
        ({"boundary": "open"}, "boundary must be one of"),
        ({"law": "efficient"}, "law must be one of"),
        ({"coalitions": "subtrees", "law": "shapley"}, "subtrees"),
        ({"method": "enumeration"}, "coalitions='subtrees'"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options, message):
    mrf = kp.MarkovRandomField.from_edges([(0, 1)], homophily=0.8)
    with pytest.raises(kp.InputError, match=message):
        kp.GraphShapley(mrf, **options).explain(0)
