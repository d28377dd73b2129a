"""The graph of an explanation as GraphML, for Gephi, Cytoscape or networkx."""

from functools import singledispatch
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .._base.optional import require
from .._base.printable import printable
from ..errors import InputError
from ..explanation import Explanation
from ..graphshapley.result import SubtreeGame
from ..mcxai.result import GameTrees


@singledispatch
def to_graph(structure: Any, found: Explanation[Any]) -> Any:
    """The ``networkx`` graph of an explanation; register a function for a structure of your own."""
    raise InputError(f"an explanation of kind {found.kind!r} has no graph")


@to_graph.register
def _neighbourhood(game: SubtreeGame, found: Explanation[Any]) -> Any:
    """Node 0 is the target, i the i-th player; edges are those of the ball, or the steps of best paths."""
    graph = require("networkx").Graph()
    graph.add_node(0, name=printable(str(found.target)), role="target")
    columns = {
        "value": found.values,
        "uncertainty": game.uncertainties,
        "probabilistic": game.probabilistic,
        "topological": game.topological,
    }
    for i, player in enumerate(found.players):
        numbers = {key: float(column[i]) for key, column in columns.items() if np.isfinite(column[i])}
        known = {"name": printable(str(player)), "role": game.roles[i], "distance": int(game.distances[i])}
        graph.add_node(1 + i, **known, **numbers)
    place = {found.target: 0} | {player: 1 + i for i, player in enumerate(found.players)}
    for path in game.paths:
        steps = [place[name] for name in path if name in place]  # factors are left out
        graph.add_edges_from(pairwise(steps), best_path=True)
    if game.ball is not None:
        names = list(game.ball.field.names)
        for a, b in game.ball.field.edges.tolist():
            if names[a] in place and names[b] in place and not graph.has_edge(place[names[a]], place[names[b]]):
                graph.add_edge(place[names[a]], place[names[b]], best_path=False)
    return graph


@to_graph.register
def _tree(game: GameTrees, found: Explanation[Any]) -> Any:
    """The tree of the main game: an edge masks the player that its node is called after."""
    graph = game.main.to_networkx()
    for node, known in graph.nodes(data=True):
        known["player"] = "start" if node == 0 else printable(str(known["player"]))
        if not np.isfinite(known["win_rate"]):
            del known["win_rate"]
    return graph


def write_graphml(found: Explanation[Any], path: Path) -> None:
    """Write the graph of an explanation."""
    require("networkx").write_graphml(to_graph(found.structure, found), path)
