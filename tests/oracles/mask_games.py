"""Slow twins for games of masking: exact Shapley values and smallest sets by listing every state."""

from itertools import combinations
from math import factorial


def every_state(n):
    return [frozenset(s) for size in range(n + 1) for s in combinations(range(n), size)]


def shapley_values(worth, n):
    """Shapley values of masking: player i's share of worth(all) - worth(none), worth of a frozenset of masked."""
    table = {state: worth(state) for state in every_state(n)}
    values = []
    for i in range(n):
        total = 0.0
        for state, w in table.items():
            if i not in state:
                share = factorial(len(state)) * factorial(n - len(state) - 1) / factorial(n)
                total += share * (table[state | {i}] - w)
        values.append(total)
    return values


def smallest_sets(ends, n):
    """All smallest sets of masked players for which `ends` is true, [] where there are none."""
    for size in range(n + 1):
        found = [set(s) for s in combinations(range(n), size) if ends(frozenset(s))]
        if found:
            return found
    return []
