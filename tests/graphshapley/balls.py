"""Games for the tests of engines: random balls, the karate club, traps for chains."""

from itertools import pairwise

import numpy as np

import keyplayers as kp
from keyplayers.graphshapley.game.game import Game
from keyplayers.graphshapley.game.worth import direction_worth, make_worth
from keyplayers.mrf.balls import ball

WORTHS = ("symmetric_kl", "neg_cross_entropy", "log_odds", "probability", "contrast")


def make_game(mrf, target, log_belief, worth="symmetric_kl", radius=None):
    """The game about `target` and a given belief."""
    states = mrf.states(target)
    if worth == "contrast":
        chosen = make_worth("log_odds", log_belief, states, contrast=(1, 0))
    else:
        chosen = make_worth(worth, log_belief, states)
    return Game(ball(mrf, target, radius), chosen, direction_worth(log_belief, states))


def random_edges(rng, n, n_cycles):
    """A random tree and some more edges."""
    edges = {(int(rng.integers(0, i)), i) for i in range(1, n)}
    for _ in range(20 * n_cycles):
        if len(edges) == n - 1 + n_cycles or n < 3:
            break
        a, b = sorted(rng.choice(n, 2, replace=False).tolist())
        edges.add((a, b))
    return np.array(sorted(edges))


def random_field(rng, n, n_cycles=0, *, max_states=2, zeros=False, strength=1.0):
    """Random priors (some uniform, some observed) and potentials; variable 0 is never observed."""
    edges = random_edges(rng, n, n_cycles)
    n_states = rng.integers(2, max_states + 1, n)
    priors = {}
    for v in range(n):
        prior = np.exp(strength * rng.normal(size=n_states[v]))
        if rng.random() < 0.2:
            prior[:] = 1.0
        elif v and rng.random() < 0.15:
            prior = np.eye(n_states[v])[rng.integers(n_states[v])]
        priors[v] = prior.tolist()
    potentials = [np.exp(strength * rng.normal(size=(n_states[a], n_states[b]))) for a, b in edges]
    if zeros:
        for potential in potentials:
            if rng.random() < 0.3:
                potential[0, 0] = 0.0
    return kp.MarkovRandomField.from_edges(edges, priors, potential=potentials)


def random_game(rng, n, n_cycles=0, *, worth="symmetric_kl", max_states=2, zeros=False, strength=1.0):
    """A game on a random field about a random belief."""
    mrf = random_field(rng, n, n_cycles, max_states=max_states, zeros=zeros, strength=strength)
    belief = rng.dirichlet(np.ones(mrf.n_states[0]))
    return make_game(mrf, 0, np.log(belief), worth)


def odds(log_odds):
    """A prior of two states with these log-odds of the second."""
    return [1.0, float(np.exp(log_odds))]


def karate_game(target, *, radius=2, worth="symmetric_kl"):
    """Karate club: half the members' sides are known."""
    import networkx as nx

    graph = nx.karate_club_graph()
    rng = np.random.default_rng(0)
    priors = {
        v: ([0.8, 0.2] if graph.nodes[v]["club"] == "Officer" else [0.2, 0.8])
        if rng.random() < 0.5
        else [0.5, 0.5]
        for v in graph
    }
    mrf = kp.MarkovRandomField.from_edges(list(graph.edges()), priors, homophily=0.65)
    log_belief = np.log(kp.belief_propagation(mrf).belief(target))
    return make_game(mrf, target, log_belief, worth, radius)


def clustered_game(seed, *, n=80, n_states=3):
    """A clustered graph with well over 50 cycles, some labels known, several states."""
    import networkx as nx

    graph = nx.powerlaw_cluster_graph(n, 3, 0.4, seed=seed)
    rng = np.random.default_rng(seed)
    priors = {
        v: rng.dirichlet(0.4 * np.ones(n_states)).tolist() if rng.random() < 0.4 else [1.0] * n_states
        for v in graph
    }
    mrf = kp.MarkovRandomField.from_edges(list(graph.edges()), priors, homophily=0.6)
    target = int(rng.integers(n))
    return make_game(mrf, target, np.log(kp.belief_propagation(mrf).belief(target)), radius=2)


def trap_game(n_light=1, n_leaves=16, worth="symmetric_kl"):
    """A cycle of two ways from X to h, `n_light` variables each, that pull in opposite directions; leaves on h.

    With leaf moves alone, a chain hardly ever changes the way by which h hangs on X.
    """
    edges, priors = [], {"X": odds(0.0), "h": odds(0.8)}
    for side, pull in (("a", 3.0), ("b", -3.0)):
        way = ["X", *(f"{side}{i}" for i in range(n_light)), "h"]
        edges += pairwise(way)
        priors |= {name: odds(pull) for name in way[1:-1]}
    edges += [("h", f"leaf{i}") for i in range(n_leaves)]
    priors |= {f"leaf{i}": odds(0.8) for i in range(n_leaves)}
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.8)
    return make_game(mrf, "X", np.log(kp.exact_marginals(mrf).belief("X")), worth)


def on_subtrees(mrf, *, worth="symmetric_kl", **options):
    """An explainer that plays the game of subtrees, the paper's."""
    return kp.GraphShapley(mrf, coalitions="subtrees", worth=worth, **options)
