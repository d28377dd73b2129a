"""Tree-reweighted propagation and mean field: bounds from both sides of log Z."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.mrf.inference.mean_field import mean_field_bound
from tests.oracles.fields import enumerate_assignments
from tests.oracles.variational import expected_log_weight_and_entropy, tree_bound
from tests.random_fields import random_plain_field

# log Z of the bounds and that of the oracle are sums of a few dozen numbers
ROUNDING = 1e-8


@pytest.mark.filterwarnings("ignore::keyplayers.ConvergenceWarning")  # bounds hold all the same
@pytest.mark.parametrize("batch", range(10))
def test_log_z_lies_between_the_bounds(batch):
    gaps = []
    for seed in range(50 * batch, 50 * batch + 50):
        field = random_plain_field(seed, cyclic=True)
        lower, upper = kp.infer(field.mrf, "trw").log_partition_bounds
        log_z = field.truth.log_partition
        assert lower <= log_z + ROUNDING, seed
        assert upper >= log_z - ROUNDING, seed
        gaps.append(upper - lower)
    assert np.median(gaps) < 2.5  # of fields with potentials of 1.5 nats: no bound that says nothing


@pytest.mark.parametrize("seed", range(20))
def test_on_forests_tree_reweighting_is_exact(seed):
    field = random_plain_field(seed, cyclic=False)
    state = kp.infer(field.mrf, "trw", max_sweeps=5000, damping=0.0)
    assert state.exact
    assert state.log_partition == pytest.approx(field.truth.log_partition, abs=1e-6)
    for v, row in enumerate(field.truth.marginals):
        assert np.allclose(state.belief(v), row, atol=1e-6)
    for (a, b), pair in zip(field.edges, field.truth.pairs, strict=True):
        assert np.allclose(state.edge_belief(a, b), pair, atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_at_the_fixed_point_trees_agree(seed):
    field = random_plain_field(seed, cyclic=True, zeros=0.0, coupling=0.7)
    state = kp.infer(field.mrf, "trw")
    assert state.converged
    offsets = field.mrf.offsets
    for a, b in field.edges:
        pair = state.edge_belief(a, b)
        assert np.allclose(pair.sum(axis=1), np.exp(state.log_beliefs[offsets[a] : offsets[a + 1]]), atol=1e-7)
        assert np.allclose(pair.sum(axis=0), np.exp(state.log_beliefs[offsets[b] : offsets[b + 1]]), atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_an_early_stop_gives_the_bound_of_the_trees(seed):
    field = random_plain_field(seed, cyclic=True, zeros=0.0)
    with pytest.warns(kp.ConvergenceWarning, match="bound on log Z holds"):
        state = kp.infer(field.mrf, "trw", max_sweeps=1)
    origin = state.origin
    slow = tree_bound(
        field.priors,
        field.edges,
        field.potentials,
        origin.edge_probabilities.tolist(),
        [tree.tolist() for tree in origin.trees],
        lambda *given: enumerate_assignments(*given).log_partition,
    )
    assert state.log_partition == pytest.approx(slow, abs=1e-8)
    assert slow >= field.truth.log_partition
    assert kp.infer(field.mrf, "trw").log_partition <= slow + ROUNDING


def test_each_edge_is_in_some_tree_and_trees_span():
    mrf = kp.random_field(30, 200, random_state=0)
    origin = kp.infer(mrf, "trw").origin
    assert (origin.edge_probabilities > 0).all()
    assert {len(tree) for tree in origin.trees} == {30 - mrf.n_components}
    assert origin.edge_probabilities.sum() == pytest.approx(30 - mrf.n_components)


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_of_mean_field_is_that_of_its_product(seed):
    field = random_plain_field(seed, cyclic=True)
    state = kp.infer(field.mrf, "mean_field")
    rows = [state.belief(v).tolist() for v in range(field.mrf.n_variables)]
    slow = expected_log_weight_and_entropy(field.priors, field.edges, field.potentials, rows)
    assert state.log_partition == pytest.approx(slow, abs=1e-9)
    assert state.log_partition_bounds == (state.log_partition, state.log_partition if state.exact else np.inf)


def test_mean_field_is_a_local_optimum():
    field = random_plain_field(3, cyclic=True, zeros=0.0, evidence=0.0)
    state = kp.infer(field.mrf, "mean_field")
    best = np.exp(state.log_beliefs)
    rng = np.random.default_rng(0)
    for _ in range(50):
        noisy = best * np.exp(rng.normal(0, 0.05, size=len(best)))
        norms = np.add.reduceat(noisy, field.mrf.offsets[:-1])
        assert mean_field_bound(field.mrf, noisy / np.repeat(norms, field.mrf.n_states)) <= state.log_partition


def test_a_contradiction_is_refused():
    ring = [(0, 1), (1, 2), (2, 0)]
    mrf = kp.MarkovRandomField.from_edges(ring, potential=[[0, 1], [1, 0]])  # an odd ring has no two colours
    with pytest.raises(kp.ContradictionError, match="no assignment is possible"):
        kp.infer(mrf, "mean_field")


@pytest.mark.parametrize("algorithm", ["trw", "mean_field", "gibbs", "linbp", "exact"])
@pytest.mark.filterwarnings("ignore::keyplayers.PrecisionWarning")
def test_beliefs_of_each_are_explained(algorithm):
    mrf = kp.random_field(6, 8, coupling=0.3, random_state=1)
    options = {"random_state": 0} if algorithm == "gibbs" else {}
    state = kp.infer(mrf, algorithm, **options)
    assert np.allclose(state.beliefs, kp.infer(mrf, "exact").beliefs, atol=0.05)
    explained = kp.GraphShapley(mrf, beliefs=state).explain(0, random_state=0)
    assert np.allclose(explained.belief, state.belief(0))
    assert explained.sentence


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("trw", {"damping": 1.0}),
        ("trw", {"n_trees": 0}),
        ("mean_field", {"max_sweeps": 0}),
        ("gibbs", {"n_chains": 1}),
        ("gibbs", {"n_sweeps": 5}),
        ("linbp", {"scale": 2.0}),
    ],
)
def test_options_out_of_range_are_refused(algorithm, options):
    with pytest.raises(kp.InputError, match=next(iter(options))):
        kp.infer(kp.chain_field(3, random_state=0), algorithm, **options)
