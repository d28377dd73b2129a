"""Standard errors of the game of subtrees where little was seen: rare contributions, long memories, equals."""

import numpy as np
import pytest
from scipy import stats

import keyplayers as kp
from keyplayers.graphshapley.engines.enumeration import enumerate_coalitions
from keyplayers.graphshapley.engines.estimates import Moments, Players, ratio_estimate
from keyplayers.graphshapley.engines.memory import inflations
from keyplayers.graphshapley.engines.sampling import sample_game
from keyplayers.graphshapley.game.ranges import largest_contributions
from keyplayers.graphshapley.game.worth import worth_of
from tests.oracles.rings import ring_values

from .balls import WORTHS, make_game, odds, random_game


def covers(found, exact):
    """Whether each exact value lies within the 95 % interval."""
    t = stats.t.ppf(0.975, found.diagnostics["degrees_of_freedom"])
    return np.abs(found.values - exact) <= t * found.std_errors + 1e-12


# --- what has not been seen


def rare_clique(e, n=9, d=1e-4):
    """Cliques in which c4 matters only through a chain of strong edges, which few coalitions hold whole."""
    strong = {(i - 1, i) for i in range(1, 5)}
    edges = [(i, j) for i in range(n) for j in range(i + 1, n)]
    potentials = [
        [[1.0, e], [e, 1.0]] if edge in strong else [[0.5001, 0.4999], [0.4999, 0.5001]] for edge in edges
    ]
    priors = {4: [e, 1.0]}
    for i in range(6):
        shift = d * (1 + 0.1 * i)
        edges.append((0, n + i))
        potentials.append([[0.9, 0.1], [0.1, 0.9]])
        priors[n + i] = [0.5 - shift, 0.5 + shift]
    return kp.MarkovRandomField.from_edges(edges, priors, potential=potentials)


@pytest.mark.parametrize("seed", range(4))
def test_what_was_not_seen_is_allowed_for(seed):
    mrf = rare_clique(1e-3)
    explainer = kp.GraphShapley(
        mrf, coalitions="subtrees", worth="log_odds", state=1, beliefs=kp.exact_marginals(mrf), method="sampling",
        max_evals=20_000,
    )  # fmt: skip
    ex = explainer.explain(0, random_state=seed)
    values = dict(zip(ex.players, ex.values, strict=True))
    errors = dict(zip(ex.players, ex.std_errors, strict=True))
    # by enumeration of 7,433,031 coalitions
    assert abs(values[4] - 0.00402) < 2.5 * errors[4]
    assert all(abs(values[c] - 0.0039) < 2.5 * errors[c] for c in (1, 2, 3))
    # leaves of the target always contribute the same
    assert values[9] == pytest.approx(np.log(0.50008 / 0.49992), rel=1e-4)
    assert errors[9] < 1e-9


def test_it_does_not_stop_before_the_rare_ones_had_a_chance():
    mrf = rare_clique(0.02, n=6)
    game = make_game(mrf, 0, kp.exact_marginals(mrf).log_belief(0), "log_odds")
    exact = enumerate_coalitions(game, max_evals=10**7).values
    misses = 0
    for seed in range(4):
        found = sample_game(game, random_state=seed, n_jobs=1)
        assert found.n_evaluations > 512
        misses += int((~covers(found, exact)).any())
    assert misses <= 1


@pytest.mark.parametrize("seed", range(40))
def test_no_contribution_exceeds_its_bound(seed):
    rng = np.random.default_rng(seed)
    game = random_game(rng, int(rng.integers(2, 8)), seed % 3, worth=WORTHS[seed % 5], max_states=2 + seed % 3)
    field = game.ball.field
    bounds = largest_contributions(field, game.worth)
    table = enumerate_coalitions(game, max_evals=10**6, keep_table=True).table
    alone = field.log_priors[: len(game.worth.log_belief)]
    worths = {frozenset(): worth_of(game.worth, (alone - np.logaddexp.reduce(alone))[None])[0]}
    for begin, end, worth in zip(table.offsets[:-1], table.offsets[1:], table.worths, strict=True):
        worths[frozenset(table.edges[begin:end].tolist())] = worth
    ends = field.edges.tolist()
    for coalition, worth in worths.items():
        for v in {v for e in coalition for v in ends[e]} - {0}:
            contribution = worth - worths[_component({e for e in coalition if v not in ends[e]}, ends)]
            assert abs(contribution) <= bounds[v] + 1e-9 or bounds[v] == 0.0


def _component(edges, ends):
    """The edges that hang together with variable 0."""
    reached, kept = {0}, set()
    while True:
        more = {e for e in edges - kept if reached & set(ends[e])}
        if not more:
            return frozenset(kept)
        kept |= more
        reached |= {v for e in more for v in ends[e]}


def test_zeros_leave_no_bound():
    mrf = kp.MarkovRandomField.from_edges([(0, 1), (1, 2)], {2: [0.3, 0.7]}, potential=[[1.0, 0.0], [0.5, 1.0]])
    game = make_game(mrf, 0, np.log([0.4, 0.6]), "log_odds")
    assert np.isinf(largest_contributions(mrf, game.worth)[1:]).all()


# --- long memories


def ring(n, seed, n_leaves=22):
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(size=n)
    log_odds[0] = 0.0
    edges = [(i, (i + 1) % n) for i in range(n)] + [(n // 2, n + i) for i in range(n_leaves)]
    mrf = kp.MarkovRandomField.from_edges(edges, {i: odds(log_odds[i]) for i in range(n)}, homophily=0.9)
    leaves = [0] * n
    leaves[n // 2] = n_leaves
    return mrf, np.array(ring_values(log_odds.tolist(), 0.9, leaves))


def necklace(n_beads, seed):
    """Triangles in a row, each hanging on the last."""
    rng = np.random.default_rng(seed)
    edges = []
    for i in range(n_beads):
        a = 2 * i
        edges += [(a, a + 1), (a + 1, a + 2), (a, a + 2)]
    priors = {i: odds(rng.normal()) for i in range(1, 2 * n_beads + 1)}
    return kp.MarkovRandomField.from_edges(edges, priors, homophily=0.85)


def clique_with_tails(n, n_tails, length, seed):
    rng = np.random.default_rng(seed)
    edges = [(i, j) for i in range(n) for j in range(i + 1, n)]
    for t in range(n_tails):
        last = t % n
        for k in range(length):
            edges.append((last, n + t * length + k))
            last = n + t * length + k
    priors = {i: odds(rng.normal()) for i in range(1, n + n_tails * length)}
    return kp.MarkovRandomField.from_edges(edges, priors, homophily=0.7)


def runs(mrf, n_seeds, **asked):
    """Samples of the game about the log-odds of state 1, over the whole graph."""
    game = make_game(mrf, 0, np.log([0.4, 0.6]), "log_odds")
    return game, [sample_game(game, random_state=seed, n_jobs=1, **asked) for seed in range(n_seeds)]


def share_covered(found, exact):
    """Share of intervals that cover, of the runs whose chains can tell and agree; how many such runs there are."""
    sure = [covers(one, exact) for one in found if one.diagnostics["chains_agree"]]
    return (float(np.mean(sure)) if sure else 1.0), len(sure)


def test_the_oracle_of_rings_agrees_with_enumeration():
    mrf, exact = ring(7, 3, n_leaves=2)
    game, _ = runs(mrf, 0)
    values = dict(zip(game.ball.players, enumerate_coalitions(game, max_evals=10**6).values, strict=True))
    np.testing.assert_allclose([values[v] for v in range(1, 7)], exact, rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "max_evals", "n_sure"),
    [(24, 2_000, 0), (24, 8_000, 15), (40, 2_000, 0), (40, 10_000, 5), (80, 4_000, 0)],
)
def test_intervals_on_rings_cover_whether_the_chains_can_tell_or_not(n, max_evals, n_sure):
    mrf, exact = ring(n, seed=n)
    game, found = runs(mrf, 40, max_evals=max_evals)
    place = {name: i for i, name in enumerate(game.ball.players)}
    values = np.zeros(len(place))  # leaves say nothing
    values[[place[v] for v in range(1, n)]] = exact
    known = np.zeros(len(place), dtype=bool)
    known[[place[v] for v in range(1, n)]] = True
    # those that cannot tell warn, and are wide
    assert np.mean([covers(one, values)[known] for one in found]) > 0.92
    sure = [covers(one, values)[known] for one in found if one.diagnostics["chains_agree"]]
    assert len(sure) >= n_sure
    assert len(sure) < 15 or np.mean(sure) > 0.92


@pytest.mark.parametrize(
    "mrf", [necklace(5, 0), clique_with_tails(5, 3, 4, 1)], ids=["necklace", "clique with tails"]
)
def test_intervals_on_necklaces_and_cliques_with_tails_cover(mrf):
    game, found = runs(mrf, 60, max_evals=2_000)
    share, n = share_covered(found, enumerate_coalitions(game, max_evals=10**7).values)
    assert share > 0.92
    assert n > 40  # these forget quickly enough to tell


def test_a_chain_that_does_not_forget_says_so():
    mrf, _ = ring(60, seed=1)
    explainer = kp.GraphShapley(mrf, radius=None, coalitions="subtrees", method="sampling", max_evals=400)
    with pytest.warns(kp.PrecisionWarning, match="too short for what they remember"):
        ex = explainer.explain(0, random_state=0)
    assert ex.diagnostics["chains_agree"] is None
    assert ex.diagnostics["degrees_of_freedom"] == 3


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_batches_count_as_many_as_they_are_worth(correlation):
    """An autoregression of known variance: the sum of B batches varies (1 + r)/(1 - r) times as much."""
    rng = np.random.default_rng(0)
    n_chains, length, n = 4, 400, 200
    noise = rng.normal(size=(n_chains, length, n))
    batches = np.zeros_like(noise)
    batches[:, 0] = noise[:, 0]
    for t in range(1, length):
        batches[:, t] = correlation * batches[:, t - 1] + np.sqrt(1 - correlation**2) * noise[:, t]
    residuals = batches.reshape(-1, n)
    residuals = residuals - residuals.mean(axis=0)
    found = inflations(residuals, np.repeat(np.arange(n_chains), length))
    assert np.median(found) == pytest.approx((1 + correlation) / (1 - correlation), rel=0.15)


# --- equal players


def test_equal_players_of_one_draw_count_once():
    """32 equal leaves: what one draw says of all of them is one observation."""
    leaf = [0.85, 0.1, 0.05]
    mrf = kp.MarkovRandomField.from_edges(
        [(0, i) for i in range(1, 33)], dict.fromkeys(range(1, 33), leaf), homophily=0.75, states=["a", "b", "c"]
    )
    state = kp.belief_propagation(mrf)
    game = make_game(mrf, 0, state.log_belief(0))
    reference = sample_game(game, max_evals=400_000, random_state=10**6).values[0]
    z = []
    for seed in range(60):
        found = sample_game(game, max_evals=2_000, random_state=seed, n_jobs=1)
        assert len(set(found.values)) == 1
        z.append((found.values[0] - reference) / found.std_errors[0])
    assert np.std(z) < 1.3
    assert np.abs(z).max() < 4.5


def test_a_few_weighty_draws_are_not_hidden_by_equal_players():
    """The guard against heavy tails looks at draws, however many players share each."""
    sums, visits = np.full((8, 1), 1e-3), np.full((8, 1), 64.0)
    moments = Moments(np.array([8e-6]), np.array([0.01]), spread=1.0)
    players = Players(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=bool), np.full(1, np.inf), np.full(1, 32.0))
    found = ratio_estimate(sums, visits, moments, players, np.repeat([0, 1], 4), dependent=False)
    # 512 visits of 32 players: 16 looks
    assert found.std_errors[0] == pytest.approx(3 / 1.96 / 16)
