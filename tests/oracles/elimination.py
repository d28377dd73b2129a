"""What eliminating variables costs, by going through all orders."""

import math
from dataclasses import dataclass
from itertools import permutations


@dataclass
class Cheapest:
    """The best that any order can do, each by itself."""

    width: int  # variables in the largest table, less one: the treewidth
    largest_table: int  # numbers in it
    all_tables: int  # numbers in all tables together


def cheapest_elimination(n_states: list[int], edges: list[tuple[int, int]]) -> Cheapest:
    """Try every order of the variables."""
    widths, largest, totals = [], [], []
    for order in permutations(range(len(n_states))):
        joined = [{u for edge in edges if v in edge for u in edge if u != v} for v in range(len(n_states))]
        cliques = []
        for v in order:
            cliques.append([v, *joined[v]])
            for u in joined[v]:
                joined[u] = (joined[u] | joined[v]) - {u, v}
        sizes = [math.prod(n_states[u] for u in clique) for clique in cliques]
        widths.append(max(map(len, cliques)) - 1)
        largest.append(max(sizes))
        totals.append(sum(sizes))
    return Cheapest(min(widths), min(largest), min(totals))
