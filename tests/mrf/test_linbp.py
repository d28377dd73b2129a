"""Linearised propagation: its equation, its condition, and that it is the first order of propagation."""

import numpy as np
import pytest

import keyplayers as kp
from tests.oracles.variational import linearised


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_it_solves_its_equation(n_states, seed):
    rng = np.random.default_rng(seed)
    edges = sorted(
        {tuple(sorted(pair)) for pair in rng.integers(0, 9, size=(14, 2)).tolist() if len(set(pair)) == 2}
    )
    priors = rng.dirichlet(np.full(n_states, 20.0), size=9)
    homophily = 1 / n_states + 0.08
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=homophily)
    coupling = np.full((n_states, n_states), (1 - homophily) / (n_states - 1))
    np.fill_diagonal(coupling, homophily)
    slow = linearised((priors - 1 / n_states).tolist(), edges, (coupling - 1 / n_states).tolist())
    found = kp.infer(mrf, "linbp").beliefs
    assert np.allclose(found, np.array(slow) + 1 / n_states, atol=1e-10)


def test_it_is_propagation_to_first_order():
    mrf = kp.random_field(12, 20, n_states=3, random_state=0)
    far = []
    for size in (0.02, 0.01):
        weak = kp.MarkovRandomField(
            mrf.names, mrf.n_states, mrf.log_priors * size, mrf.edges, mrf.potential_index, mrf.potential_shapes,
            mrf.log_potentials * size, mrf.state_names,
        )  # fmt: skip
        exact = kp.belief_propagation(weak, tolerance=1e-13).beliefs
        far.append(np.abs(kp.infer(weak, "linbp").beliefs - exact).max())
    assert far[1] < 0.3 * far[0]  # the error falls with the square


def test_what_does_not_converge_is_refused_with_a_scale_that_does():
    mrf = kp.MarkovRandomField.from_edges(
        [(i, j) for i in range(20) for j in range(i)], {0: [3, 1]}, homophily=0.8
    )
    with pytest.raises(kp.InputError, match=r"spectral radius is .* scale=0.062 would do"):
        kp.infer(mrf, "linbp")
    assert kp.infer(mrf, "linbp", scale=0.062).belief(1)[0] > 0.5


def test_the_condition_is_the_spectral_radius():
    """On an even ring A has eigenvalues 2 and -2, so M has 2 h - 2 h² and -2 h - 2 h²."""
    ring = [(i, (i + 1) % 10) for i in range(10)]
    h = 2 * 0.65 - 1
    assert 2 * h + 2 * h * h < 1
    kp.infer(kp.MarkovRandomField.from_edges(ring, homophily=0.65), "linbp")
    h = 2 * 0.7 - 1
    assert 2 * h + 2 * h * h > 1
    with pytest.raises(kp.InputError, match=f"{2 * h + 2 * h * h:.3g}"):
        kp.infer(kp.MarkovRandomField.from_edges(ring, homophily=0.7), "linbp")


def test_observed_variables_stay_so():
    mrf = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "c")], homophily=0.6).observe({"a": 1})
    state = kp.infer(mrf, "linbp")
    assert state.belief("a").tolist() == [0.0, 1.0]
    assert state.belief("b")[1] > state.belief("c")[1] > 0.5


def test_zeros_and_different_state_counts_are_refused():
    hard = kp.MarkovRandomField.from_edges([("a", "b")], potential=[[1, 0], [0, 1]])
    with pytest.raises(kp.InputError, match="without zeros"):
        kp.infer(hard, "linbp")
