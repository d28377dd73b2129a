import itertools
import threading
import warnings
from math import log

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.game.paths import best_paths
from keyplayers.graphshapley.game.worth import make_worth
from keyplayers.mrf.balls import ball
from tests.oracles import subtrees
from tests.random_fields import random_plain_field

from .balls import on_subtrees

S = [[0.9, 0.1], [0.1, 0.9]]
U = [0.5, 0.5]
from_edges = kp.MarkovRandomField.from_edges


@pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3])))
@pytest.mark.parametrize("text", [False, True])
def test_a_star_of_three_leaves(order, text):
    """Log-odds are additive on a star: each leaf's value is what it sends (cases.md E3)."""
    leaves = {1: [0.1, 0.9], 2: [0.3, 0.7], 3: [0.8, 0.2]}
    names = {v: f"leaf {v}" if text else v for v in leaves}
    priors = {0: U} | {names[v]: leaves[v] for v in order}
    mrf = from_edges([(0, names[v]) for v in order], priors, potential=S)
    found = on_subtrees(mrf, worth="log_odds", state=1).explain(0)
    expected = {1: 1.516347489, 2: 0.663294217, 3: -1.045968555}
    assert {v: round(found.value(names[v]), 9) for v in order} == expected
    assert found.players == (names[1], names[3], names[2])  # by absolute value
    assert found.unit == "log-odds"


def test_a_lonely_target_has_an_empty_explanation():
    """cases.md E2."""
    mrf = from_edges([("b", "c")], {"a": [0.25, 0.75]}, potential=S)
    found = on_subtrees(mrf, worth="symmetric_kl").explain("a")
    assert (len(found), found.n_evaluations, found.top()) == (0, 0, [])
    assert found.value("b") == found.value("c") == 0
    assert found.belief.tolist() == [0.25, 0.75]
    assert found.worth_alone == 0
    assert not found.saturated
    assert "no other variable is within 2 hops" in found.sentence
    assert len(found.to_frame()) == 0
    assert on_subtrees(from_edges(np.zeros((0, 2), int), [[3, 1]])).explain(0).belief == pytest.approx(
        [0.75, 0.25]
    )


def test_variables_cut_off_are_worth_exactly_nothing():
    """cases.md E2."""
    mrf = from_edges([(0, 1), (2, 3)], [U, [0.2, 0.8], [0.1, 0.9], [0.7, 0.3]], potential=S)
    found = on_subtrees(mrf, worth="log_odds").explain(0)
    assert found.value(2) == found.value(3) == 0
    assert found.value(1) == pytest.approx(log(0.74 / 0.26))
    for name in (0, 9):
        with pytest.raises(kp.UnknownNameError, match="no player"):
            found.value(name)


def test_the_inference_that_is_explained_is_named():
    """cases.md E8: propagation and exact inference differ on a loop."""
    mrf = from_edges([(0, 1), (1, 2), (0, 2)], [U, [0.2, 0.8], [0.6, 0.4]], potential=S)
    with pytest.warns(kp.PrecisionWarning, match=r"believes 0 to be 1 with 0.8937; exact inference says 0.7151"):
        found = on_subtrees(mrf).explain(0)
    assert found.belief[1] == pytest.approx(0.893684628, abs=1e-8)
    assert found.inference.exact_belief[1] == pytest.approx(0.715053763, abs=1e-9)
    assert (found.inference.schedule, found.inference.exact, found.inference.converged) == (
        "flooding",
        False,
        True,
    )
    assert "by propagation on a graph with cycles; exactly it is 0.72" in found.sentence
    assert found.to_dict()["inference"]["exact_belief"][1] == pytest.approx(0.715053763, abs=1e-9)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = on_subtrees(mrf, worth="symmetric_kl", beliefs=kp.exact_marginals(mrf)).explain(0)
    assert exact.belief[1] == pytest.approx(0.715053763, abs=1e-9)
    assert exact.inference.exact
    assert "propagation" not in exact.sentence
    assert exact.worth_ball == pytest.approx(0, abs=1e-12)


def test_no_exact_check_where_it_is_not_cheap():
    mrf = kp.random_field(300, 1500, coupling=0.2, random_state=0)
    found = on_subtrees(mrf, radius=0).explain(0)
    assert found.inference.exact_belief is None
    assert "by propagation on a graph with cycles" in found.sentence


def test_a_target_on_a_tree_of_a_field_with_cycles_is_exact():
    """Only its own connected part counts, for exactness and for what an exact check costs."""
    big = kp.random_field(300, 3000, coupling=0.1, random_state=0)
    edges = [*map(tuple, big.edges.tolist()), (300, 301), (302, 303), (303, 304), (302, 304)]
    priors = [*np.exp(big.log_priors).reshape(-1, 2).tolist(), U, [0.2, 0.8], U, [0.2, 0.8], [0.6, 0.4]]
    mrf = from_edges(np.array(edges), priors, homophily=0.55)
    explainer = on_subtrees(mrf, radius=1)
    on_tree = explainer.explain(300)
    assert on_tree.inference.exact
    assert "propagation" not in on_tree.sentence
    on_triangle = explainer.explain(302)
    assert not on_triangle.inference.exact
    assert on_triangle.inference.exact_belief is not None
    assert on_subtrees(mrf, radius=0).explain(0).inference.exact_belief is None


def test_propagation_that_did_not_converge_is_said():
    """K4 with strong repulsion (cases.md B1): undamped flooding oscillates for ever."""
    h = [0.1, 0.2, -0.1, 0.3]
    mrf = from_edges(
        list(itertools.combinations(range(4), 2)),
        [[np.exp(x), np.exp(-x)] for x in h],
        log_potential=[[-1, 1], [1, -1]],
    )
    with pytest.warns(kp.ConvergenceWarning):
        state = kp.belief_propagation(mrf, schedule="flooding", max_sweeps=50)
    with pytest.warns(kp.PrecisionWarning, match="exact inference"):
        found = on_subtrees(mrf, beliefs=state).explain(0)
    assert not found.inference.converged
    assert "though propagation did not converge" in found.sentence
    assert found.worth_ball is not None  # the ball is small: exact


def test_an_observed_target_has_no_key_players():
    mrf = from_edges([(0, 1), (1, 2)], potential=S).observe({0: 1, 2: 0})
    with pytest.warns(kp.KeyPlayersWarning, match="0 is observed, so nothing else can change"):
        found = on_subtrees(mrf, worth="log_odds").explain(0)
    assert found.values.tolist() == found.direction.tolist() == [0, 0]
    assert found.target_observed
    assert (found.n_evaluations, found.engine) == (0, "none")
    assert not found.saturated
    assert "because that was observed" in found.sentence


def test_strong_evidence_is_saturated_rather_than_equal_zeros():
    """Forty friends who all agree: probabilities of every coalition are 1 to rounding, log-odds are not."""
    strong = [[1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]]
    mrf = from_edges(
        [(0, v) for v in range(1, 9)], {0: [1e-9, 1]} | {v: [1e-6 * v, 1] for v in range(1, 9)}, potential=strong
    )
    with pytest.warns(
        kp.PrecisionWarning, match="'symmetric_kl' is saturated.*worth='log_odds' does not saturate"
    ):
        found = on_subtrees(mrf, worth="symmetric_kl").explain(0)
    assert found.saturated
    assert "ask for log_odds" in found.sentence
    assert np.abs(found.values).max() < 1e-3
    told = on_subtrees(mrf, worth="log_odds").explain(0)
    assert not told.saturated
    assert told.values.min() > 10
    assert told.players == tuple(range(1, 9))  # the surest friend weighs most


def test_coalitions_that_agree_are_not_saturated_while_the_belief_is_open():
    """Behind 1 nothing is known, so both coalitions say the same; who speaks is 1."""
    mrf = from_edges([(0, 1), (1, 2)], [U, [0.2, 0.8], U], potential=S)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = on_subtrees(mrf).explain(0)
    assert not found.saturated
    assert found.value(1) > 0.2
    assert found.value(2) == pytest.approx(0, abs=1e-15)


def test_no_influence_is_not_called_saturated():
    mrf = from_edges([(0, 1), (0, 2)], [[0.3, 0.7], [0.1, 0.9], U], potential=np.ones((2, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = on_subtrees(mrf).explain(0)
    assert not found.saturated
    assert found.values == pytest.approx([0, 0], abs=1e-15)
    assert "No other variable within 2 hops makes a difference" in found.sentence
    assert "within 1 hop makes" in on_subtrees(mrf, radius=1).explain(0).sentence


def test_worths_alone_and_of_the_ball():
    mrf = from_edges([(0, 1), (1, 2), (2, 3)], [[0.4, 0.6], U, U, [0.1, 0.9]], homophily=0.9)
    found = on_subtrees(mrf, radius=2, worth="log_odds", state=1).explain(0)
    assert found.worth_alone == pytest.approx(log(0.6 / 0.4))
    assert found.worth_ball == pytest.approx(log(0.6 / 0.4))  # the one with evidence is three hops away
    whole = on_subtrees(mrf, radius=3, worth="log_odds", state=1).explain(0)
    assert whole.worth_ball == pytest.approx(log(whole.belief[1] / whole.belief[0]))


def test_a_contrast_of_two_states():
    mrf = from_edges(
        [("x", "y"), ("x", "z")], {"y": [1, 2, 3], "z": [3, 2, 5]}, homophily=0.7, states=["a", "b", "c"]
    )
    found = on_subtrees(mrf, contrast=("c", "a")).explain("x")
    sent = {name: [0.7 * p + 0.15 * (1 - p) for p in np.array(prior) / sum(prior)] for name, prior in
            {"y": [1, 2, 3], "z": [3, 2, 5]}.items()}  # fmt: skip
    for name, message in sent.items():
        assert found.value(name) == pytest.approx(log(message[2] / message[0]))
    assert found.quantity == "mean contribution to the log ratio of 'c' to 'a'"
    assert found.worth_states == ("c", "a")
    assert found.direction_unit == "probability"
    with pytest.raises(kp.InputError, match="two different states"):
        on_subtrees(mrf, contrast=("a", "a"))
    with pytest.raises(kp.InputError, match="no variable has a state 'd'; states are 'a', 'b', 'c'"):
        on_subtrees(mrf, contrast=("a", "d"))


def test_settings_are_frozen_and_shown():
    mrf = from_edges([(0, 1)], potential=S)
    explainer = kp.GraphShapley(mrf, radius=3)
    with pytest.raises(AttributeError):
        explainer.mrf = mrf
    assert repr(explainer).endswith("radius=3)")
    assert "order='value'" in repr(kp.GraphShapley.as_published(mrf))


def test_players_are_ranked_by_value_or_by_size():
    mrf = from_edges([(0, 1), (0, 2), (0, 3)], [U, [0.4, 0.6], [0.95, 0.05], [0.1, 0.9]], potential=S)
    agreement = kp.GraphShapley.as_published(mrf).explain(0)
    assert (np.diff(agreement.values) <= 0).all()
    signed = on_subtrees(mrf, worth="log_odds").explain(0)
    assert (np.diff(np.abs(signed.values)) <= 0).all()
    assert signed.values.min() < 0 < signed.values.max()
    assert signed.players == (2, 3, 1)
    assert signed.top(1) == [(2, signed.values[0])]


def test_players_speak_for_against_or_connect():
    """The state in question is the one that the worth speaks of; the strongest opposition is always named."""
    edges = [("x", "a"), ("x", "b"), ("x", "c"), ("b", "d")]
    mrf = from_edges(edges, {"a": [0.9, 0.1], "c": [0.2, 0.8], "d": [0.05, 0.95]}, potential=S)
    found = on_subtrees(mrf, worth="log_odds").explain("x")
    assert found.order == {"for": ["d", "c"], "against": ["a"], "connects": ["b"]}
    turned = on_subtrees(mrf, worth="log_odds", state=0).explain("x")
    assert turned.order == {"for": ["a"], "against": ["d", "c"], "connects": ["b"]}
    assert turned.sentence.startswith(
        "The field believes that x is in state 0 with 0.30 only, and in state 1 (0.70)."
    )
    published = kp.GraphShapley.as_published(mrf).explain("x")
    assert published.order["against"] == ["a"]
    for ex in (found, turned, published):
        assert "a" in ex.sentence.split("tate ")[-1]


def test_shown_uncertainty_covers_what_engines_leave_open():
    leaves = {v: [0.5 - 1e-3 * v, 0.5 + 1e-3 * v] for v in range(1, 20)}
    mrf = from_edges([(0, v) for v in leaves], leaves, homophily=0.9)
    exact = on_subtrees(mrf, worth="log_odds", method="enumeration", max_evals=10**6).explain(0)
    for method in ("convolution", "sampling"):
        found = on_subtrees(mrf, worth="log_odds", method=method, max_evals=400).explain(0, random_state=0)
        gaps = [abs(found.value(v) - exact.value(v)) for v in found.players]
        assert (np.array(gaps) <= 2 * found.uncertainties).all()
    assert exact.uncertainties.max() < 1e-12


def test_a_ball_of_one_variable_is_played_by_any_engine():
    mrf = from_edges([(0, 1), (1, 2)], potential=S)
    for method in ("enumeration", "convolution", "sampling"):
        assert len(on_subtrees(mrf, radius=0, method=method).explain(0)) == 0


@pytest.mark.filterwarnings("ignore::keyplayers.PrecisionWarning")
@pytest.mark.parametrize("seed", range(12))
def test_the_best_of_the_shortest_paths(seed):
    field = random_plain_field(seed, cyclic=True, max_edges=12, evidence=0.0)
    log_beliefs = kp.exact_marginals(field.mrf)
    belief = log_beliefs.belief(0).tolist()
    around = ball(field.mrf, 0, None)
    worth = make_worth("symmetric_kl", log_beliefs.log_belief(0), range(len(belief)))
    names = list(around.field.names)
    for path in best_paths(around, worth):
        player = names[path[0]]
        options = []
        todo = [[player]]
        distance = dict(zip(names, around.distances.tolist(), strict=True))
        while todo:  # all shortest paths, by hand
            way = todo.pop()
            if way[-1] == 0:
                edges = [e for e, pair in enumerate(field.edges)
                         if any(set(pair) == set(step) for step in itertools.pairwise(way))]  # fmt: skip
                q = subtrees.tree_belief(
                    field.priors, [field.edges[e] for e in edges], [field.potentials[e] for e in edges], 0
                )
                options.append((subtrees.worth_of("symmetric_kl", belief, q), way))
                continue
            for pair in field.edges:
                if way[-1] in pair:
                    other = pair[0] if pair[1] == way[-1] else pair[1]
                    if distance[other] == distance[way[-1]] - 1:
                        todo.append([*way, other])
        best = max(value for value, _ in options)
        chosen = [value for value, way in options if way == [names[v] for v in path]]
        assert chosen == [pytest.approx(best, abs=1e-12)]


def test_beliefs_are_computed_once_and_checked():
    mrf = from_edges([(0, 1), (1, 2)], [U, [0.2, 0.8], U], potential=S)
    explainer = on_subtrees(mrf)
    assert explainer.inferred.beliefs is explainer.inferred.beliefs
    with pytest.raises(kp.InputError, match="belong to another field"):
        on_subtrees(mrf, beliefs=kp.belief_propagation(mrf.observe({0: 1})))
    twin = from_edges([(0, 1), (1, 2)], [U, [0.2, 0.8], U], potential=S)
    assert on_subtrees(mrf, beliefs=kp.belief_propagation(twin)).explain(0).players == (1, 2)
    with pytest.raises(kp.InputError, match="must come from sum-product"):
        on_subtrees(mrf, beliefs=kp.belief_propagation(mrf, max_product=True))
    with pytest.raises(kp.InputError, match="beliefs must be None or a state of belief_propagation"):
        on_subtrees(mrf, beliefs=[0.5, 0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"worth": "kl"}, "worth must be one of log_odds, neg_cross_entropy, probability, symmetric_kl, got 'kl'"),
        ({"method": "guess"}, "method must be one of auto, enumeration.*got 'guess'"),
        ({"radius": -1}, "radius must be None or a whole number of at least 0, got -1"),
        ({"max_evals": 0}, "max_evals must be None or a whole number of at least 1, got 0"),
        ({"std_error_goal": 0}, "std_error_goal must be None or a number above 0, got 0"),
        ({"radius": "two"}, "radius must be None or a whole number"),
        ({"state": 7}, "no variable has a state 7; states are 0 .. 1"),
        ({"order": "best"}, "order must be one of size, value"),
        ({"contrast": "ab"}, "contrast must be None or two different states"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(kp.InputError, match=message):
        on_subtrees(from_edges([(0, 1)], potential=S), **options)
    with pytest.raises(kp.InputError, match="mrf must be a MarkovRandomField"):
        on_subtrees([(0, 1)])


def test_a_single_state_has_no_odds():
    mrf = from_edges([(0, 1)], [[1.0], [0.3, 0.7]], potential=[[1, 2]])
    assert on_subtrees(mrf, worth="symmetric_kl").explain(0).values.tolist() == [0]
    assert on_subtrees(mrf).explain(0).values.tolist() == [0]


def test_coalitions_are_kept_only_on_request():
    mrf = from_edges([(0, 1), (0, 2)], potential=S)
    with pytest.raises(kp.InputError, match="keep_coalitions=True"):
        on_subtrees(mrf).explain(0).coalitions()
    kept = on_subtrees(mrf, keep_coalitions=True).explain(0).coalitions()
    assert {frozenset(edges) for edges, _ in kept} == {
        frozenset({(0, 1)}), frozenset({(0, 2)}), frozenset({(0, 1), (0, 2)})
    }  # fmt: skip


def test_frames_hold_what_the_method_adds():
    mrf = from_edges([("x", "y"), ("y", "z")], {"z": [0.2, 0.8]}, potential=S)
    frame = on_subtrees(mrf).explain("x").to_frame()
    assert frame.columns.tolist() == [
        *("name", "value", "std_error", "probabilistic", "topological", "direction"),
        *("error_bound", "uncertainty", "role", "distance", "log10_coalitions", "path", "group"),
    ]
    assert frame.set_index("name").loc["z", "path"] == "z - y - x"


def test_threads_explain_with_one_explainer():
    mrf = kp.tree_field(60, random_state=3)
    explainer = on_subtrees(mrf, radius=1, max_evals=10**6)
    targets = [v for v in range(60) if ball(mrf, v, 1).n_variables < 15]
    expected = [explainer.explain(v).values for v in targets]
    found = {}
    threads = [
        threading.Thread(
            target=lambda mine: found.update({v: explainer.explain(v).values for v in mine}), args=(part,)
        )
        for part in (targets[::2], targets[1::2])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for v, values in zip(targets, expected, strict=True):
        np.testing.assert_array_equal(found[v], values)
