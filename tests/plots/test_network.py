"""Which part of a neighbourhood is drawn, and where."""

import warnings

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.plots.network import network


def explain(mrf, target, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kp.GraphShapley(mrf, **settings).explain(target)


@pytest.fixture(scope="module")
def grown():
    return explain(kp.scale_free_field(400, random_state=2), 0)


@pytest.mark.parametrize("n", [1, 10, 100, 1000])
def test_nodes_are_the_most_important_players_and_those_on_their_paths(grown, n):
    drawn = network(grown, n)
    players = [grown.players[i] for i in drawn.players]
    firsts = list(dict.fromkeys(grown.groups.tolist()))[:n]
    assert {grown.players[grown.groups.tolist().index(group)] for group in firsts} <= set(players)
    for node in range(1, len(players) + 1):
        steps = drawn.path(node)
        assert steps[-1] == 0
        assert len(steps) == len(grown.paths[drawn.players[node - 1]])
    assert drawn.counts.sum() + drawn.n_others == len(grown)
    shown = float(np.dot(drawn.counts, grown.values[drawn.players]))
    assert shown + drawn.others_value == pytest.approx(grown.values.sum())


@pytest.mark.parametrize("n", [10, 60, 200])
def test_no_two_nodes_touch_and_rings_are_steps(grown, n):
    drawn = network(grown, n)
    apart = np.linalg.norm(drawn.positions[:, None] - drawn.positions[None], axis=2)
    touching = apart < drawn.radii[:, None] + drawn.radii[None]
    assert not touching[~np.eye(len(touching), dtype=bool)].any()
    depths = np.array([len(drawn.path(node)) - 1 for node in range(len(drawn.radii))])
    for depth in range(1, depths.max() + 1):
        rings = np.linalg.norm(drawn.positions[depths == depth], axis=1)
        assert np.ptp(rings) < 1e-9
        assert rings[0] > depth * 80


def test_equal_players_are_one_node_and_their_paths_lead_through_nodes():
    edges = [("hub", f"a{i}") for i in range(50)] + [(f"a{i}", f"b{i}") for i in range(50)]
    found = explain(
        kp.MarkovRandomField.from_edges(edges, {f"b{i}": [0.1, 0.9] for i in range(50)}, homophily=0.8), "hub"
    )
    drawn = network(found, 10)
    assert drawn.counts.tolist() == [50, 50]
    assert sorted(len(drawn.path(node)) for node in (1, 2)) == [2, 3]
    assert drawn.others_position is None
    assert drawn.n_others == 0


def test_further_edges_are_drawn_once_and_not_where_they_are_too_many():
    square = explain(
        kp.MarkovRandomField.from_edges([(0, 1), (0, 2), (1, 2), (2, 3)], {1: [0.2, 0.8]}, homophily=0.8), 0
    )
    drawn = network(square, 10)
    names = [0, *(square.players[i] for i in drawn.players)]
    assert [{names[a], names[b]} for a, b in drawn.links.tolist()] == [{1, 2}]
    rng = np.random.default_rng(0)
    priors = {i: [p, 1 - p] for i, p in enumerate(rng.uniform(0.2, 0.8, 25).tolist())}
    pairs = [(i, j) for i in range(25) for j in range(i)]
    full = explain(kp.MarkovRandomField.from_edges(pairs, priors, homophily=0.52), 0)
    assert len(network(full, 100).links) == 0
    assert len(network(full, 10).links) == 45


def test_nothing_is_drawn_around_a_target_by_itself():
    alone = explain(kp.MarkovRandomField.from_edges([("a", "b")], homophily=0.8), "a", radius=0)
    drawn = network(alone, 10)
    assert drawn.positions.tolist() == [[0.0, 0.0]]
