"""What propagation finds on random fields, against brute force and a plain textbook twin."""

import functools
import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyplayers as kp
from keyplayers.mrf.inference import propagation
from tests.oracles.fields import enumerate_assignments, flood
from tests.random_fields import PlainField, random_plain_field

SCHEDULES = ["auto", "flooding", "sequential", "residual"]
# log ratios are exact to about 1e-15 times the number of messages behind them; this stops when they are
TIGHT = 1e-12


def quietly_on(mrf: kp.MarkovRandomField, **kwargs) -> kp.BeliefState:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kp.ConvergenceWarning)
        return kp.belief_propagation(mrf, **kwargs)


def quietly(field: PlainField, **kwargs) -> kp.BeliefState:
    return quietly_on(field.mrf, **kwargs)


def beliefs(state: kp.BeliefState) -> list[float]:
    return np.exp(state.log_beliefs).tolist()


def flat(rows: list[list[float]]) -> list[float]:
    return list(itertools.chain.from_iterable(rows))


@pytest.mark.parametrize("seed", range(300))
def test_on_trees_everything_equals_a_listing_of_all_assignments(seed):
    field = random_plain_field(seed, cyclic=False)
    truth = field.truth
    for schedule in SCHEDULES:
        state = kp.belief_propagation(field.mrf, schedule=schedule, tolerance=TIGHT)
        assert state.exact
        assert beliefs(state) == pytest.approx(flat(truth.marginals), abs=1e-10)
        assert [b == 0 for b in beliefs(state)] == [b == 0 for b in flat(truth.marginals)]
        assert state.log_partition == pytest.approx(truth.log_partition, abs=1e-10)
        for (a, b), pair in zip(field.edges, truth.pairs, strict=True):
            assert state.edge_belief(a, b) == pytest.approx(np.array(pair), abs=1e-10)
            assert pytest.approx(state.edge_belief(a, b), abs=1e-15) == state.edge_belief(b, a).T


@pytest.mark.parametrize("seed", range(300))
def test_on_trees_max_product_finds_a_mode(seed):
    field = random_plain_field(seed, cyclic=False)
    truth = field.truth
    for schedule in SCHEDULES:
        state = kp.belief_propagation(field.mrf, schedule=schedule, tolerance=TIGHT, max_product=True)
        assert beliefs(state) == pytest.approx(flat(truth.max_marginals), abs=1e-10)
        assert list(state.map().values()) in truth.modes
        assert state.log_partition == pytest.approx(truth.best_log_weight, abs=1e-10)
    assert list(kp.belief_propagation(field.mrf).map().values()) in truth.modes


def tied_field(seed: int) -> PlainField:
    """A tree with weights 0, 1 and 2 only, so that many assignments are equally good."""
    field = random_plain_field(seed, cyclic=False, coupling=0.4, evidence=0.05)
    priors = [[float(np.ceil(weight * 0.8).clip(0, 1)) for weight in row] for row in field.priors]
    potentials = [np.ceil(np.array(potential) * 0.9).clip(0, 2).tolist() for potential in field.potentials]
    return PlainField(priors, field.edges, potentials)


def test_on_trees_ties_are_broken_to_one_mode():
    n_tied = 0
    for seed in range(150):
        field = tied_field(seed)
        modes = enumerate_assignments(field.priors, field.edges, field.potentials).modes
        n_tied += len(modes) > 1
        for schedule in SCHEDULES:
            state = kp.belief_propagation(field.mrf, schedule=schedule, max_product=True)
            assert list(state.map().values()) in modes
        assert list(kp.exact_marginals(field.mrf).map().values()) in modes
    assert n_tied > 75


@pytest.mark.parametrize("max_product", [False, True])
@pytest.mark.parametrize("seed", range(100))
def test_flooding_equals_its_plain_twin_sweep_by_sweep(seed, max_product):
    field = random_plain_field(seed, cyclic=True)
    if not field.edges:
        return
    twin = flood(field.priors, field.edges, field.potentials, 12, max_product=max_product)
    for n_sweeps in (1, 2, 3, 12):
        state = quietly(field, schedule="flooding", max_sweeps=n_sweeps, tolerance=0, max_product=max_product)
        assert beliefs(state) == pytest.approx(flat(twin[n_sweeps].beliefs), abs=1e-10)
    residuals = [
        max(
            abs(new - old)
            for sent in before.messages
            for new, old in zip(after.messages[sent], before.messages[sent], strict=True)
        )
        for before, after in itertools.pairwise(twin)
    ]
    assert state.residuals == pytest.approx(residuals[: state.n_sweeps], abs=1e-10)


@pytest.mark.parametrize("seed", range(300))
def test_on_cycles_all_schedules_and_dampings_meet_at_the_fixed_point(seed):
    # weak enough that there is one fixed point
    field = random_plain_field(seed, cyclic=True, coupling=0.4, zeros=0.03)
    states = [quietly(field, schedule=schedule, tolerance=TIGHT) for schedule in SCHEDULES]
    states += [quietly(field, schedule=s, damping=0.5, tolerance=TIGHT) for s in ("flooding", "sequential")]
    assert all(state.converged for state in states)
    for state in states[1:]:
        assert beliefs(state) == pytest.approx(beliefs(states[0]), abs=1e-9)
        assert state.log_partition == pytest.approx(states[0].log_partition, abs=1e-9)
    for a, b in field.edges:
        pair = states[0].edge_belief(a, b)
        assert pair.sum(axis=1) == pytest.approx(states[0].belief(a), abs=1e-9)
        assert pair.sum(axis=0) == pytest.approx(states[0].belief(b), abs=1e-9)
        assert states[-1].edge_belief(a, b) == pytest.approx(pair, abs=1e-9)


def test_bethe_is_the_textbook_sum_of_energies_and_entropies():
    # Yedidia, Freeman and Weiss 2005, eq. 37, written out from beliefs and edge beliefs
    for seed in range(40):
        field = random_plain_field(seed, cyclic=True, coupling=0.4, zeros=0.0)
        state = kp.belief_propagation(field.mrf, tolerance=TIGHT)
        total = 0.0
        for (a, b), potential in zip(field.edges, field.potentials, strict=True):
            for i, j in np.ndindex(np.shape(potential)):
                p = state.edge_belief(a, b)[i, j]
                if p > 0:
                    total += p * (
                        math.log(potential[i][j] * field.priors[a][i] * field.priors[b][j]) - math.log(p)
                    )
        for v, row in enumerate(field.priors):
            degree = sum(v in edge for edge in field.edges)
            for p, prior in zip(state.belief(v).tolist(), row, strict=True):
                if p > 0:
                    total -= (degree - 1) * p * (math.log(prior) - math.log(p))
        assert state.log_partition == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("max_product", [False, True])
def test_binary_and_general_kernels_agree(monkeypatch, max_product):
    fields = [
        random_plain_field(seed, cyclic=seed % 3 > 0, max_states=2, zeros=0.0, evidence=0.3, coupling=2.0)
        for seed in range(150)
    ]
    # a few sweeps, so that most of them are compared on the way
    runs = [dict(schedule=schedule, max_sweeps=9, max_product=max_product) for schedule in SCHEDULES]
    runs.append(dict(schedule="flooding", max_sweeps=9, max_product=max_product, damping=0.4))
    binary = [quietly(field, **kwargs) for field in fields for kwargs in runs]
    assert all(state.origin.messages.ratio for state in binary)
    monkeypatch.setattr(propagation, "fits_ratios", lambda mrf: False)
    general = [quietly(field, **kwargs) for field in fields for kwargs in runs]
    assert not any(state.origin.messages.ratio for state in general)
    for one, other in zip(binary, general, strict=True):
        assert beliefs(one) == pytest.approx(beliefs(other), abs=1e-12)
        assert one.log_partition == pytest.approx(other.log_partition, abs=1e-12, rel=1e-12)
        assert one.residuals == pytest.approx(other.residuals, abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    # max-product has several fixed points on cycles; flooding goes to the same whatever the order of variables
    how=st.sampled_from([*((schedule, False) for schedule in SCHEDULES), ("flooding", True)]),
)
def test_renaming_permuting_states_and_scaling_change_nothing(seed, how):
    rng = np.random.default_rng(seed)
    field = random_plain_field(seed, cyclic=True, coupling=0.4, zeros=0.03)
    n = len(field.priors)
    place = rng.permutation(n).tolist()
    names = [f"variable {i}" for i in place]
    flips = [rng.permutation(len(row)) for row in field.priors]
    scales = np.exp(rng.normal(0, 30, n + len(field.edges)))
    priors = {names[v]: scales[v] * np.array(field.priors[v])[flips[v]] for v in np.argsort(place)}
    edges, potentials = [], []
    for e in rng.permutation(len(field.edges)).tolist():
        a, b = field.edges[e]
        potential = scales[n + e] * np.array(field.potentials[e])[np.ix_(flips[a], flips[b])]
        turned = bool(rng.integers(2))
        edges.append((names[b], names[a]) if turned else (names[a], names[b]))
        potentials.append(potential.T if turned else potential)
    moved = kp.MarkovRandomField.from_edges(edges, priors, potential=potentials)

    kwargs = dict(schedule=how[0], max_product=how[1], tolerance=TIGHT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kp.ConvergenceWarning)
        here = kp.belief_propagation(field.mrf, **kwargs)
        there = kp.belief_propagation(moved, **kwargs)
    assert here.converged == there.converged
    if here.converged:
        for v in range(n):
            assert there.belief(names[v]) == pytest.approx(here.belief(v)[flips[v]], abs=1e-9)
        shift = np.log(scales).sum()
        assert there.log_partition == pytest.approx(here.log_partition + shift, abs=1e-8)


def test_contradictions_are_found_on_trees_and_never_made_up():
    n_found = 0
    infers = [kp.exact_marginals, *(functools.partial(quietly_on, schedule=schedule) for schedule in SCHEDULES)]
    for seed in range(400):
        field = random_plain_field(
            seed, cyclic=seed % 2 == 1, max_states=3, zeros=0.35, evidence=0.3, possible=False
        )
        impossible = not field.truth.modes
        for infer in infers:
            try:
                state = infer(field.mrf)
            except kp.ContradictionError:
                assert impossible
                n_found += 1
            else:
                assert not np.isnan(state.log_beliefs).any()
                # on cycles propagation may miss one
                assert not impossible or not (field.mrf.is_forest or infer is kp.exact_marginals)
    assert n_found > 400


@pytest.mark.parametrize("scale", [10.0, 30.0, 400.0])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_log_beliefs_are_right_however_extreme(k, scale):
    # nothing here survives an exponential, so the listing of all assignments stays in logarithms
    n = 5
    rng = np.random.default_rng(k)
    assignments = np.array(list(itertools.product(range(k), repeat=n)))
    for _ in range(20):
        edges = [(int(rng.integers(v)), v) for v in range(1, n)]
        log_priors, log_potentials = rng.normal(0, scale, (n, k)), rng.normal(0, scale, (n - 1, k, k))
        weights = log_priors[np.arange(n), assignments].sum(axis=1)
        for (a, b), potential in zip(edges, log_potentials, strict=True):
            weights += potential[assignments[:, a], assignments[:, b]]
        expected = [
            [np.logaddexp.reduce(weights[assignments[:, v] == x]) for x in range(k)] for v in range(n)
        ] - np.logaddexp.reduce(weights)
        mrf = kp.MarkovRandomField.from_edges(edges, log_priors=log_priors, log_potential=log_potentials)
        states = [kp.belief_propagation(mrf, schedule=schedule) for schedule in SCHEDULES]
        for state in [*states, kp.exact_marginals(mrf)]:
            assert state.log_beliefs == pytest.approx(expected.ravel(), abs=1e-9)
            assert state.log_partition == pytest.approx(np.logaddexp.reduce(weights), abs=1e-9)


def test_evidence_is_an_observed_prior():
    for seed in range(40):
        field = random_plain_field(seed, cyclic=False, evidence=0.0, zeros=0.0)
        truth = field.truth
        seen = field.mrf.observe({0: 1})
        one_hot = [[0.0] * len(field.priors[0]), *field.priors[1:]]
        one_hot[0][1] = field.priors[0][1]
        given_it = enumerate_assignments(one_hot, field.edges, field.potentials)
        state = kp.belief_propagation(seen)
        assert beliefs(state) == pytest.approx(flat(given_it.marginals), abs=1e-10)
        # Bayes: P(x0 = 1) is what log Z loses
        assert math.exp(state.log_partition - truth.log_partition) == pytest.approx(truth.marginals[0][1])
