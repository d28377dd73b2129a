"""Walk games for tests: the package's tree and worths beside the oracle's answer."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.game.walk_tree import BoundaryMessages, walk_tree
from keyplayers.graphshapley.game.worth import direction_worth, make_worth
from tests.oracles import walks

from .balls import WORTHS, random_edges


def random_plain_field(rng, *, max_states=2, zeros=False):
    """Priors, edges, potentials as lists; variable 0 is never observed, some assignment is possible."""
    n = int(rng.integers(2, 6))
    edges = [(int(a), int(b)) for a, b in random_edges(rng, n, int(rng.integers(0, 3)))]
    k = rng.integers(2, max_states + 1, n)
    hidden = [int(rng.integers(s)) for s in k]
    priors = []
    for v in range(n):
        prior = np.exp(rng.normal(size=k[v]))
        if rng.random() < 0.2:
            prior[:] = 1.0
        elif v and rng.random() < 0.2:
            prior = np.eye(k[v])[hidden[v]]
        elif zeros and rng.random() < 0.3:
            prior[(hidden[v] + 1) % k[v]] = 0.0
        priors.append(prior.tolist())
    potentials = []
    for a, b in edges:
        potential = np.exp(0.7 * rng.normal(size=(k[a], k[b])))
        if zeros and rng.random() < 0.4:
            potential[(hidden[a] + 1) % k[a], hidden[b]] = 0.0
        potentials.append(potential.tolist())
    return priors, edges, potentials


def random_walk_games(seed, n_games, max_subtrees=400, **kinds):
    """Yields (tree, worth, direction, law, oracle's answer), every worth and law in turn.

    `max_subtrees` is how many the oracle lists at most.
    """
    rng = np.random.default_rng(seed)
    made = 0
    while made < n_games:
        plain = random_plain_field(rng, **kinds)
        messages = walks.fixed_point(*plain, n_sweeps=600)
        if messages is None:
            continue
        radius, cut = int(rng.integers(1, 4)), made % 3 == 0
        theirs = walks.walk_tree(*plain, 0, radius, None if cut else messages)
        if walks.n_subtrees(theirs) > max_subtrees or not theirs.children:
            continue
        priors, edges, potentials = plain
        mrf = kp.MarkovRandomField.from_edges(np.array(edges), priors, potential=potentials)
        state = kp.belief_propagation(mrf, tolerance=1e-14, max_sweeps=3000)
        belief = walks.bethe_belief(priors, messages, 0)
        assert state.belief(0) == pytest.approx(belief, abs=1e-9)
        ours = walk_tree(mrf, 0, radius, None if cut else BoundaryMessages.of(state))
        worth, direction = _worths(WORTHS[made % 5], np.log(np.maximum(belief, 1e-300)), mrf)
        named = (
            worth.name if worth.name != "contrast" else "log_odds",
            None,
            (1, 0) if worth.question.rival >= 0 else None,
        )
        law = ("uniform", "shapley")[made // 5 % 2]
        yield ours, worth, direction, law, walks.explain(theirs, belief, named, law=law)[0]
        made += 1


def _worths(name, log_belief, mrf):
    log_belief = np.where(log_belief < -600, -np.inf, log_belief)
    states = mrf.states(0)
    contrast = (1, 0) if name == "contrast" else None
    asked = "log_odds" if name == "contrast" else name
    return make_worth(asked, log_belief, states, contrast=contrast), direction_worth(log_belief, states)


def per_variable(tree, per_copy):
    """{variable: sum over its copies}."""
    sums = np.bincount(tree.variables[1:], per_copy[1:], tree.mrf.n_variables)
    return {int(v): float(sums[v]) for v in np.unique(tree.variables[1:])}
