"""How propagation behaves: schedules, convergence, starts, threads; what it finds: test_propagation_random."""

import warnings

import joblib
import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf.inference import messages, propagation
from keyplayers.mrf.storage import load_state, same_field, save_state

S = [[0.9, 0.1], [0.1, 0.9]]


def random_field(n=60, e=120, k=2, seed=0, homophily=0.7):
    rng = np.random.default_rng(seed)
    pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(e)}
    return kp.MarkovRandomField.from_edges(
        np.array(sorted(pairs)), rng.dirichlet(np.ones(k), size=n), homophily=homophily
    )


def anti_ferromagnet(h=(0.1, 0.2, -0.1, 0.3)):
    edges = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    psi = np.exp([[-1, 1], [1, -1]])
    return kp.MarkovRandomField.from_edges(edges, [[np.exp(x), np.exp(-x)] for x in h], potential=psi)


class Recorder:
    def __init__(self):
        self.stages, self.done, self.ended = [], 0, 0

    def begin(self, label, total=None):
        self.stages.append((label, total))

    def advance(self, amount=1, note=""):
        self.done += amount

    def end(self):
        self.ended += 1


@pytest.mark.parametrize("schedule", ["auto", "flooding", "sequential", "residual"])
@pytest.mark.parametrize("damping", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("k", [2, 3])
def test_the_tolerance_means_what_it_says_whatever_the_damping(schedule, damping, k):
    mrf = random_field(k=k)
    tolerance = 1e-6
    state = kp.belief_propagation(mrf, schedule=schedule, damping=damping, tolerance=tolerance)
    assert state.converged
    assert state.log_residuals[-1] <= tolerance
    # one undamped sweep over everything, from the messages that were returned
    once = kp.belief_propagation(mrf, schedule="flooding", start=state, max_sweeps=1, tolerance=1.0)
    assert once.log_residuals[0] <= 2 * tolerance
    assert once.log_residuals[0] > 0


def test_what_oscillates_is_said_with_its_residual_and_advice():
    with pytest.warns(kp.ConvergenceWarning, match=r"probability by 0\.72 .*try damping=0\.5"):
        state = kp.belief_propagation(anti_ferromagnet(), schedule="flooding")
    assert not state.converged
    assert not state.exact
    assert np.isclose(state.residuals[-1], 0.7218, atol=1e-4)
    assert state.n_sweeps == propagation.MAX_SWEEPS


def test_auto_turns_to_damping_and_says_so():
    state = kp.belief_propagation(anti_ferromagnet())
    assert state.converged
    assert (state.schedule, state.damping) == ("flooding", 0.5)


def hopeless():
    """Couplings of either sign, so strong that no damping helps."""
    return kp.random_field(
        30, 200, n_states=3, coupling=0.0, coupling_spread=3.0, prior_strength=0.1, random_state=0
    )


def test_auto_makes_all_the_sweeps_that_it_is_given():
    with pytest.warns(kp.ConvergenceWarning):
        assert kp.belief_propagation(hopeless(), max_sweeps=700).n_sweeps == 700


def test_where_exact_inference_is_cheap_the_advice_and_the_caveat_say_so():
    grid = kp.grid_field(4, 4, coupling=0.0, coupling_spread=8.0, prior_strength=0.1, random_state=1)
    with pytest.warns(kp.ConvergenceWarning, match=r"exact_marginals answers exactly \(treewidth 4\)"):
        state = kp.belief_propagation(grid, schedule="flooding", max_sweeps=20)
    assert state.caveat.endswith("exact_marginals can check them (treewidth 4)")
    with pytest.warns(kp.ConvergenceWarning) as caught:
        kp.belief_propagation(kp.random_field(300, 3000, coupling=3, random_state=0), max_sweeps=1)
    assert "exact_marginals" not in str(caught[0].message)


def test_every_warning_is_given_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kp.belief_propagation(anti_ferromagnet(), schedule="sequential", max_sweeps=20)
    assert [w.category for w in caught] == [kp.ConvergenceWarning]
    assert caught[0].filename == __file__


def test_trees_that_hang_on_cycles_do_not_slow_the_cycles_down():
    triangle = [(0, 1), (1, 2), (2, 0)]
    tail = [(i, i + 1) for i in range(2, 400)]
    potential = [S] * len(triangle) + [[[1, 0.001], [0.001, 1]]] * len(tail)  # news travels far
    mrf = kp.MarkovRandomField.from_edges(triangle + tail, [[0.9, 0.1]] + [[1, 1]] * 400, potential=potential)
    auto = kp.belief_propagation(mrf)
    plain = kp.belief_propagation(mrf, schedule="flooding")
    assert np.allclose(auto.log_beliefs, plain.log_beliefs, atol=1e-7)
    assert auto.n_sweeps < 100 < 390 < plain.n_sweeps


@pytest.mark.parametrize("schedule", ["sequential", "residual"])
@pytest.mark.parametrize("potential", [S, [[0.9, 0.1], [0.0, 1.0]]])
def test_a_hub_costs_a_few_sweeps_and_not_one_per_neighbour(schedule, potential):
    n = 5000
    rng = np.random.default_rng(1)
    mrf = kp.MarkovRandomField.from_edges(
        np.column_stack([np.zeros(n, int), np.arange(1, n + 1)]), rng.dirichlet([1, 1], n + 1), potential=potential
    )
    state = kp.belief_propagation(mrf, schedule=schedule)
    assert state.converged
    assert state.n_sweeps <= 5
    assert np.allclose(state.log_beliefs, kp.belief_propagation(mrf).log_beliefs, atol=1e-8)


def test_sweeps_of_a_residual_run_count_messages(monkeypatch):
    mrf = random_field(n=40, e=90)
    sent = 0
    kernel = propagation.kernels.send_ratios

    def counting(slots, field, order, *rest):
        nonlocal sent
        sent += (slots.offsets[order + 1] - slots.offsets[order]).sum()
        return kernel(slots, field, order, *rest)

    monkeypatch.setattr(propagation.kernels, "send_ratios", counting)
    monkeypatch.setattr(propagation.kernels, "residual_sweep", propagation.kernels.residual_sweep.py_func)
    state = kp.belief_propagation(mrf, schedule="residual")
    most = np.diff(mrf.slots.offsets).max()
    assert state.converged
    assert (state.n_sweeps - 1) * 2 * mrf.n_edges <= sent <= state.n_sweeps * (2 * mrf.n_edges + most)


@pytest.mark.parametrize("k", [2, 4])
def test_threads_change_no_digit(monkeypatch, k):
    mrf = random_field(n=300, e=900, k=k)
    monkeypatch.setattr(propagation, "_SLOTS_PER_THREAD", 100)
    one = kp.belief_propagation(mrf, schedule="flooding", n_jobs=1)
    two = kp.belief_propagation(mrf, schedule="flooding", n_jobs=2)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        three = kp.belief_propagation(mrf, schedule="flooding")
    assert np.array_equal(one.log_beliefs, two.log_beliefs)
    assert np.array_equal(one.log_beliefs, three.log_beliefs)
    assert np.ptp(one.log_beliefs) > 1


def test_a_warm_start_comes_back_to_where_it_was():
    mrf = random_field()
    cold = kp.belief_propagation(mrf)
    warm = kp.belief_propagation(mrf, start=cold)
    assert (cold.start, warm.start) == ("cold", "warm")
    assert warm.n_sweeps <= 2 < cold.n_sweeps
    assert np.allclose(warm.log_beliefs, cold.log_beliefs, atol=1e-8)


@pytest.mark.parametrize("potential", [S, [[1.0, 0.0], [0.2, 0.8]]])
def test_a_warm_start_forgets_components_in_which_a_zero_was_lifted(potential):
    edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    mrf = kp.MarkovRandomField.from_edges(edges, [[0.3, 0.7]] * 6, potential=potential)
    before = kp.belief_propagation(mrf.observe({0: 0, 4: 0}))
    now = mrf.observe({4: 0})
    warm = kp.belief_propagation(now, start=before)
    assert np.allclose(warm.log_beliefs, kp.belief_propagation(now).log_beliefs, atol=1e-8)
    ratio = messages.fits_ratios(now)
    started = propagation._warm_messages(now, ratio, before)
    kept = np.flatnonzero(started != messages.uniform(now, ratio))
    receivers = now.slots.neighbours if ratio else np.repeat(now.slots.neighbours, 2)
    # nothing is left of the component of variable 0; in the other one every message said something
    assert set(receivers[kept]) == {3, 4, 5}


def test_messages_change_form_with_the_potentials():
    edges = [(0, 1), (1, 2), (0, 2)]
    soft = kp.MarkovRandomField.from_edges(edges, [[0.3, 0.7]] * 3, potential=S)
    hard = kp.MarkovRandomField.from_edges(edges, [[0.3, 0.7]] * 3, potential=[[0.9, 0.1], [0.0, 1.0]])
    state = kp.belief_propagation(hard, start=kp.belief_propagation(soft))
    back = kp.belief_propagation(soft, start=state)
    assert np.allclose(state.log_beliefs, kp.belief_propagation(hard).log_beliefs, atol=1e-8)
    assert np.allclose(back.log_beliefs, kp.belief_propagation(soft).log_beliefs, atol=1e-8)


def test_a_start_from_another_graph_is_refused():
    with pytest.raises(kp.InputError, match="another graph"):
        kp.belief_propagation(random_field(seed=1), start=kp.belief_propagation(random_field(seed=2)))


def test_a_state_is_saved_with_its_field(tmp_path):
    mrf = random_field(k=3).observe({0: 1})
    state = kp.belief_propagation(mrf, damping=0.2)
    save_state(state, tmp_path / "s.npz")
    back = load_state(tmp_path / "s.npz")
    assert same_field(back.mrf, mrf)
    assert np.array_equal(back.log_beliefs, state.log_beliefs)
    assert np.isclose(back.log_partition, state.log_partition)
    assert (back.schedule, back.damping, back.converged) == ("flooding", 0.2, True)
    assert kp.belief_propagation(mrf, start=back).n_sweeps <= 2
    kp.write_mrf(mrf, tmp_path / "f.npz")
    with pytest.raises(kp.FileFormatError, match="not a saved state"):
        load_state(tmp_path / "f.npz")


def test_progress_is_told_of_every_sweep():
    recorder = Recorder()
    state = kp.belief_propagation(random_field(), progress=recorder)
    assert recorder.stages == [("belief propagation", propagation.MAX_SWEEPS)]
    assert recorder.done == state.n_sweeps
    assert recorder.ended == 1


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"schedule": "random"}, "schedule must be one of auto, flooding, sequential, residual"),
        ({"max_sweeps": 0}, "max_sweeps must be at least 1"),
        ({"tolerance": -1}, "tolerance must be between 0 and 1 nats, got -1"),
        ({"tolerance": np.nan}, "tolerance must be between 0 and 1 nats"),
        ({"tolerance": 1e6}, "tolerance must be between 0 and 1 nats"),
        ({"damping": 1}, "below 1, got 1"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
)
def test_bad_arguments_are_named(kwargs, message):
    with pytest.raises(kp.InputError, match=message):
        kp.belief_propagation(random_field(), **kwargs)


def test_extreme_priors_and_hubs_stay_in_range():
    # the log odds of the hub's messages add up to +-30,000 and cancel to -0.3
    n = 100_000
    leaves = np.tile([[0.6, 0.4], [0.4, 0.6]], (n // 2, 1))
    edges = np.column_stack([np.zeros(n, int), np.arange(1, n + 1)])
    for shift in (0.0, 5000.0, -5000.0):
        hub = [[0.3, 0.0]]
        log_priors = np.concatenate([hub, np.log(leaves)])
        log_priors[0, 1] += shift
        mrf = kp.MarkovRandomField.from_edges(edges, log_priors=log_priors, potential=S)
        log_belief = kp.belief_propagation(mrf).log_belief(0)
        assert np.isclose(log_belief[1] - log_belief[0], shift - 0.3, atol=1e-8)


def test_a_caveat_offers_an_exact_check_where_it_is_cheap():
    ring = kp.MarkovRandomField.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], potential=S)
    assert kp.belief_propagation(ring).caveat.endswith("exact_marginals can check them (treewidth 2)")
    assert "exact_marginals" not in kp.belief_propagation(random_field(n=300, e=3000)).caveat
    assert kp.belief_propagation(kp.chain_field(5)).caveat == ""
    assert kp.exact_marginals(ring).caveat == ""
