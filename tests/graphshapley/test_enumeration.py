from math import log

import numpy as np
import pytest

import keyplayers as kp
from keyplayers._base.progress import Deadline, TimeIsUp
from keyplayers.graphshapley.engines import enumeration, search, sweeps
from keyplayers.graphshapley.engines.search import count_coalitions
from keyplayers.graphshapley.game.slots import silent_slots
from keyplayers.mrf.balls import ball
from tests.oracles import subtrees
from tests.random_fields import PlainField, random_plain_field

from .balls import on_subtrees

# GraphShapley warns where a target is observed, a worth saturates, or propagation differs from exact inference
pytestmark = pytest.mark.filterwarnings("ignore::keyplayers.KeyPlayersWarning")


def pick_target(field, seed):
    """A variable that is not observed, if there is one."""
    free = np.flatnonzero(~field.mrf.observed)
    return int(free[seed % len(free)]) if len(free) else None


def assert_matches(explanation, means, case):
    game = explanation.structure
    assert set(explanation.players) == set(means)
    for i, player in enumerate(explanation.players):
        counts = 10 ** game.log10_player_coalitions[i]
        found = (explanation.values[i], game.probabilistic[i], game.topological[i], game.direction[i], counts)
        np.testing.assert_allclose(found, means[player], rtol=1e-9, atol=1e-9, err_msg=f"{case}, player {player}")


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("seed", range(150))
def test_values_equal_a_listing_of_all_edge_subsets(seed, cyclic):
    field = random_plain_field(seed, cyclic=cyclic, max_edges=14 if seed % 15 == 0 else 5 + seed % 6)
    target = pick_target(field, seed)
    if target is None:
        return  # all observed: test_an_observed_target_has_no_key_players
    beliefs = kp.exact_marginals(field.mrf)
    belief = beliefs.belief(target).tolist()
    last = len(belief) - 1
    worths = [
        ("symmetric_kl", None, None),
        ("neg_cross_entropy", None, None),
        ("log_odds", None, None),
        ("log_odds", last, None),
        ("probability", 0, None),
        (None, None, (last, 0)),
    ]
    answers = subtrees.explain(field.priors, field.edges, field.potentials, target, belief, *worths)
    for (kind, state, contrast), (means, listed) in zip(worths, answers, strict=True):
        explainer = on_subtrees(
            field.mrf,
            radius=None,
            worth=kind or "symmetric_kl",
            state=state,
            contrast=contrast,
            beliefs=beliefs,
            keep_coalitions=True,
        )
        found = explainer.explain(target)
        case = f"seed {seed}, {'cyclic' if cyclic else 'tree'}, {kind} {state} {contrast}, target {target}"
        assert found.n_evaluations == len(listed), case
        assert_matches(found, means, case)
        expected = {frozenset(frozenset(field.edges[e]) for e in chosen): worth for chosen, worth in listed}
        coalitions = (
            {frozenset(map(frozenset, edges)): worth for edges, worth in found.coalitions()} if listed else {}
        )
        assert coalitions.keys() == expected.keys(), case
        for coalition, worth in coalitions.items():
            assert worth == pytest.approx(expected[coalition], rel=1e-9, abs=1e-9), case


def test_the_triangle_by_hand():
    """methods.md, figure 2: X, X1, X2; every message is worked out below, nothing comes from the package."""
    priors = {"X": [0.5, 0.5], "X1": [0.2, 0.8], "X2": [0.6, 0.4]}
    mrf = kp.MarkovRandomField.from_edges([("X", "X1"), ("X1", "X2"), ("X", "X2")], priors, homophily=0.9)
    found = on_subtrees(mrf, worth="log_odds", state=1, keep_coalitions=True).explain("X")

    def send(p):  # probability of state 1 after one edge
        return 0.9 * p + 0.1 * (1 - p)

    def odds(p):
        return log(p / (1 - p))

    one, two = odds(send(0.8)), odds(send(0.4))  # {X-X1}, {X-X2}: 0.74 and 0.42
    behind_one = 0.8 * 0.42 / (0.8 * 0.42 + 0.2 * 0.58)  # X1 hears X2
    behind_two = 0.4 * 0.74 / (0.4 * 0.74 + 0.6 * 0.26)  # X2 hears X1
    chain_one, chain_two = odds(send(behind_one)), odds(send(behind_two))
    worths = {
        frozenset({("X", "X1")}): one,
        frozenset({("X", "X2")}): two,
        frozenset({("X", "X1"), ("X", "X2")}): one + two,
        frozenset({("X", "X1"), ("X1", "X2")}): chain_one,
        frozenset({("X", "X2"), ("X1", "X2")}): chain_two,
    }
    assert {frozenset(edges) for edges, _ in found.coalitions()} == set(worths)
    for edges, worth in found.coalitions():
        assert worth == pytest.approx(worths[frozenset(edges)], abs=1e-12)
    # X1 stands in four coalitions: alone, beside X2, before X2, behind X2
    value = ((one - 0) + (one + two - two) + (chain_one - 0) + (chain_two - two)) / 4
    assert found.value("X1") == pytest.approx(value, abs=1e-12)
    assert found.value("X2") == pytest.approx(
        (two + (one + two - one) + (chain_one - one) + chain_two) / 4, abs=1e-12
    )
    assert found.n_evaluations == 5
    assert found.log10_coalitions == pytest.approx(0.699, abs=1e-3)
    assert found.structure.log10_player_coalitions == pytest.approx(log(4) / log(10))


@pytest.mark.parametrize("seed", range(12))
def test_binary_general_and_logarithmic_kernels_agree(seed, monkeypatch):
    field = random_plain_field(seed, cyclic=seed % 2 == 0, max_states=2, max_edges=10)
    target = pick_target(field, seed)
    if target is None:
        pytest.fail("choose another seed: all variables are observed")
    for worth in ("symmetric_kl", "neg_cross_entropy", "log_odds", "probability"):
        explainer = on_subtrees(field.mrf, radius=None, worth=worth, beliefs=kp.exact_marginals(field.mrf))
        fast = explainer.explain(target)
        with monkeypatch.context() as patch:
            patch.setattr(sweeps, "MAX_LINEAR_RANGE", -1.0)
            patch.setattr(sweeps, "local_log_range", lambda field: np.inf)
            slow = explainer.explain(target)
            patch.setattr(sweeps, "log_range", lambda field: -2.0)
            patch.setattr(kp.MarkovRandomField, "uniform_n_states", None)
            general = explainer.explain(target)
        for other in (slow, general):
            for part in ("values", "probabilistic", "topological", "direction"):
                expected = dict(zip(fast.players, getattr(fast, part), strict=True))
                found = dict(zip(other.players, getattr(other, part), strict=True))
                assert found == pytest.approx(expected, rel=1e-9, abs=1e-10)
            assert other.meets_zero == fast.meets_zero


@pytest.mark.parametrize("n_states", [2, 3])
def test_potentials_beyond_the_range_of_doubles(n_states):
    """A chain that agrees with e^800 to 1: what the middle passes on is the whole of the end's log-odds."""
    strength = np.where(np.eye(n_states) == 1, 800.0, -800.0)
    prior = np.arange(1.0, n_states + 1)
    mrf = kp.MarkovRandomField.from_edges(
        [(0, 1), (1, 2)], [[1.0] * n_states, [1.0] * n_states, prior], log_potential=strength
    )
    found = on_subtrees(mrf, worth="log_odds", state=n_states - 1).explain(0)
    expected = log(prior[-1] / prior[:-1].sum()) - log(1 / (n_states - 1))
    # with 2: {0-1} gives nothing, {0-1, 1-2} gives all; 1 carries it in one of its two coalitions
    assert found.value(2) == pytest.approx(expected, abs=1e-12)
    assert found.value(1) == pytest.approx(expected / 2, abs=1e-12)


def test_one_long_chain_of_hard_couplings_keeps_its_logarithms():
    n = 60
    coupling = np.array([[0.0, -30.0], [-30.0, -60.0]])
    mrf = kp.MarkovRandomField.from_edges([(i, i + 1) for i in range(n)], log_potential=coupling)
    assert sweeps.log_range(ball(mrf, 0, None).field) > sweeps.MAX_LINEAR_RANGE
    found = on_subtrees(mrf, radius=None, worth="log_odds", state=1, keep_coalitions=True).explain(0)
    # every message is (1 + e^-30 r, e^-30 + e^-60 r): log-odds -30 exactly, whatever stands behind
    for _, worth in found.coalitions():
        assert worth == pytest.approx(-30, abs=1e-12)


def test_deep_coalitions_are_rescaled_and_agree_with_logarithms(monkeypatch):
    n = 260
    rng = np.random.default_rng(0)
    edges = [(i, i + 1) for i in range(n)] + [(0, n + 1), (n + 1, n + 2), (n + 2, n + 3)]
    couplings = [rng.normal(0, 3, (2, 2)) for _ in edges]
    mrf = kp.MarkovRandomField.from_edges(edges, rng.random((n + 4, 2)) + 0.01, log_potential=couplings)
    field = ball(mrf, 0, None).field
    assert sweeps.log_range(field) > sweeps.MAX_LINEAR_RANGE > sweeps.local_log_range(field)
    explainer = on_subtrees(mrf, radius=None)
    fast = explainer.explain(0)
    assert fast.n_evaluations == (n + 1) * 4 - 1
    monkeypatch.setattr(sweeps, "local_log_range", lambda field: np.inf)
    slow = explainer.explain(0)
    for part in ("values", "probabilistic", "direction"):
        np.testing.assert_allclose(getattr(fast, part), getattr(slow, part), rtol=1e-9, atol=1e-12)


def test_zeros_are_exact_and_said():
    # X cannot be in state 1 unless its neighbour is in state 1, which is impossible
    mrf = kp.MarkovRandomField.from_edges(
        [("X", "A"), ("X", "B")],
        {"A": [1, 0], "B": [0.3, 0.7]},
        potential=[[[1, 1], [0, 1]], [[0.8, 0.2], [0.2, 0.8]]],
    )
    found = on_subtrees(mrf, worth="log_odds", state=1).explain("X")
    assert found.meets_zero
    message = log(0.62 / 0.38)
    # {A}: -700 - 0; {B}: message; {A, B}: -700
    assert found.value("A") == pytest.approx((-700 - 0 + -700 - message) / 2, abs=1e-9)
    assert found.value("B") == pytest.approx((message - 0 + -700 - -700) / 2, abs=1e-9)
    assert not on_subtrees(mrf, worth="probability", state=1).explain("X").meets_zero


def test_a_zero_of_the_target_alone_is_said():
    mrf = kp.MarkovRandomField.from_edges([("X", "A")], {"A": [1, 0]}, potential=np.eye(2))
    found = on_subtrees(mrf).explain("X")
    # the only coalition is as sure as the field; what is replaced is log b(1) against the target alone
    assert found.meets_zero
    assert found.value("A") == pytest.approx(0.5 * 700, abs=1e-9)


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_leaves_whose_split_is_their_omission(seed, n_states, cyclic):
    """Under homophily a uniform leaf says nothing, and is not priced twice; elsewhere it says something."""
    rng = np.random.default_rng([seed, n_states, cyclic])
    edges = [(0, 1), (0, 2), (1, 3), (1, 4), (4, 5)] + ([(2, 3), (4, 0)] if cyclic else [])
    priors = (rng.random((6, n_states)) + 0.1).tolist()
    priors[3] = [1.0] * n_states  # needs no split at all
    agree = (np.full((n_states, n_states), 0.1) + 0.7 * np.eye(n_states)).tolist()
    # rows are states of the first end: as a leaf the second end is silent, the first is not
    lopsided = rng.random((n_states, n_states)) + 0.1
    lopsided = (lopsided / lopsided.sum(axis=1, keepdims=True)).tolist()
    potentials = [lopsided if e in (1, 3) else agree for e in range(len(edges))]
    flipped = [pair[::-1] if e == 3 else pair for e, pair in enumerate(edges)]
    field = PlainField(priors, flipped, potentials)
    silent = silent_slots(field.mrf)
    assert silent.any()
    assert not silent.all()
    beliefs = kp.exact_marginals(field.mrf)
    belief = beliefs.belief(0).tolist()
    for kind in ("symmetric_kl", "probability"):
        found = on_subtrees(field.mrf, radius=None, worth=kind, beliefs=beliefs).explain(0)
        ((means, _),) = subtrees.explain(priors, flipped, potentials, 0, belief, (kind, None, None))
        assert_matches(found, means, f"seed {seed}, {kind}")


def test_counting_walks_no_further_than_asked():
    star = ball(kp.star_field(12), 0)
    assert count_coalitions(star, 10**6) == 2**12 - 1
    assert count_coalitions(star, 2**12 - 1) == 2**12 - 1
    assert count_coalitions(star, 2**12 - 2) == 2**12 - 1  # one more than the limit
    assert count_coalitions(ball(kp.star_field(5000), 0), 1000) == 1001
    ring = [(i, (i + 1) % 6) for i in range(6)]
    assert count_coalitions(ball(kp.MarkovRandomField.from_edges(ring, homophily=0.8), 0, None), 100) == len(
        subtrees.coalitions(ring, 0)
    )


def test_blocks_do_not_change_the_result(monkeypatch):
    field = random_plain_field(120, cyclic=True, max_edges=14)
    target = pick_target(field, 120)
    explainer = on_subtrees(field.mrf, radius=None, beliefs=kp.exact_marginals(field.mrf))
    whole = explainer.explain(target)
    assert whole.n_evaluations > 200
    assert np.abs(whole.values).max() > 1e-3
    monkeypatch.setattr(enumeration, "BLOCK_MOVES", 7)
    assert explainer.explain(target).to_dict() == whole.to_dict()


class StopAfter:
    """Progress whose owner presses Ctrl-C."""

    def __init__(self, n):
        self.left = n
        self.told = 0

    def begin(self, label, total=None):
        self.total = total

    def advance(self, amount=1, note=""):
        self.told += amount
        self.left -= 1
        if self.left <= 0:
            raise KeyboardInterrupt

    def end(self):
        pass


def test_progress_adds_up(monkeypatch):
    monkeypatch.setattr(enumeration, "BLOCK_MOVES", 100)
    progress = StopAfter(10**9)
    on_subtrees(kp.star_field(10)).explain(0, progress=progress)
    assert progress.total == progress.told == 2**10 - 1


@pytest.mark.parametrize("cyclic", [False, True])
def test_an_interrupt_gives_the_coalitions_seen_so_far(monkeypatch, cyclic):
    monkeypatch.setattr(enumeration, "BLOCK_MOVES", 50)
    edges = [(0, v) for v in range(1, 9)] + ([(1, 2), (3, 4)] if cyclic else [])
    rng = np.random.default_rng(0)
    priors = (rng.random((9, 2)) + 0.1).tolist()
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.8)
    explainer = on_subtrees(mrf, keep_coalitions=True)
    with pytest.warns(kp.PrecisionWarning, match="stopped early"):
        found = explainer.explain(0, progress=StopAfter(4))
    assert found.partial
    assert 0 < found.n_evaluations < explainer.explain(0).n_evaluations
    assert len(found.coalitions()) == found.n_evaluations
    assert np.isnan(found.std_errors).all()
    assert "stopped early" in found.sentence
    if cyclic:  # contributions of those coalitions, one by one
        belief = explainer.inferred.beliefs.belief(0).tolist()
        potentials = [[[0.8, 0.2], [0.2, 0.8]]] * len(edges)
        seen = {frozenset(map(frozenset, chosen)) for chosen, _ in found.coalitions()}
        for player in found.players:
            total, count = 0.0, 0
            for chosen in subtrees.coalitions(edges, 0):
                if frozenset(frozenset(edges[e]) for e in chosen) not in seen:
                    continue
                if player not in {v for e in chosen for v in edges[e]}:
                    continue
                beliefs = []
                for kept in (chosen, [e for e in chosen if player not in edges[e]]):
                    inside = [e for e in kept if edges[e][0] in subtrees.reached(edges, kept, 0)]
                    beliefs.append(
                        subtrees.tree_belief(
                            priors, [edges[e] for e in inside], [potentials[e] for e in inside], 0
                        )
                    )
                total += subtrees.worth_of("symmetric_kl", belief, beliefs[0])
                total -= subtrees.worth_of("symmetric_kl", belief, beliefs[1])
                count += 1
            if count:
                assert found.value(player) == pytest.approx(total / count, abs=1e-9)
            else:
                assert np.isnan(found.value(player))


def test_too_many_coalitions_are_refused_with_their_number():
    explainer = on_subtrees(kp.star_field(60), method="enumeration")
    with pytest.raises(
        kp.TooLargeError, match=r"61 variables, 60 edges\) has about 10\^18\.1 coalitions, more than max_ev"
    ):
        explainer.explain(0)
    with pytest.raises(
        kp.TooLargeError, match=r"has 1,023 coalitions, more than max_evals=1,000; a smaller radius"
    ):
        on_subtrees(kp.star_field(10), method="enumeration", max_evals=1000).explain(0)
    wheel = [(0, v) for v in range(1, 40)] + [(v, v % 39 + 1) for v in range(1, 40)]
    field = kp.MarkovRandomField.from_edges(wheel, homophily=0.8)
    with pytest.raises(kp.TooLargeError, match=r"between 10\^\d+\.\d and 10\^\d+\.\d coalitions"):
        on_subtrees(field, method="enumeration").explain(0)


def test_beliefs_that_contradict_the_coalitions_are_refused():
    # three variables that must pairwise differ, with two states: impossible, and each is observed to be the same
    mrf = PlainField([[1, 1], [1, 0], [1, 0]], [(0, 1), (1, 2)], [[[1, 1], [1, 1]], [[0, 1], [1, 0]]]).mrf
    with pytest.raises(kp.ContradictionError):
        on_subtrees(mrf).explain(0)


def test_counting_hears_a_deadline(monkeypatch):
    complete = kp.MarkovRandomField.from_edges([(a, b) for b in range(12) for a in range(b)], homophily=0.7)
    around = ball(complete, 0, 1)
    monkeypatch.setattr(search, "_COUNTED_AT_ONCE", 1000)
    rounds = 0

    def stopped():
        nonlocal rounds
        rounds += 1
        return rounds == 4

    with pytest.raises(TimeIsUp):
        count_coalitions(around, 10**8, Deadline(stopped=stopped))
    assert rounds == 4
    assert count_coalitions(around, 900, Deadline(0.0)) == 901  # done before anybody could stop it
    explainer = on_subtrees(complete, radius=1, method="enumeration", max_evals=10**8)
    with pytest.raises(TimeIsUp):  # 12^10 coalitions: counting them takes minutes
        explainer.explain(0, progress=Deadline(0.0))


def test_a_budget_beyond_counting_starts_at_once_and_ends_partial(monkeypatch):
    complete = kp.MarkovRandomField.from_edges(
        [(a, b) for b in range(9) for a in range(b)], np.random.default_rng(0).random((9, 2)), homophily=0.7
    )
    around = ball(complete, 0, 1)
    monkeypatch.setattr(search, "MAX_COUNTED", 1000)
    monkeypatch.setattr(enumeration, "MAX_COUNTED", 1000)
    assert count_coalitions(around, 10**15) == 1001
    explainer = on_subtrees(complete, radius=1, method="enumeration", max_evals=200_000)
    with pytest.warns(kp.PrecisionWarning, match="stopped early"):
        ex = explainer.explain(0)
    assert ex.partial
    assert 200_000 <= ex.n_evaluations < 300_000
    whole = on_subtrees(complete, radius=1, method="enumeration", max_evals=10**9).explain(0)
    assert not whole.partial
    assert whole.n_evaluations > 10**6
