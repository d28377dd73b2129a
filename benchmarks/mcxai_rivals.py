"""What a user would do without McXai: greedy masking and its relatives, and rankings by LIME and SHAP.

Every set search takes a `Game` and returns the best flip set it found (None where nothing flips). Rows given to
the model are counted by the game; a state asked for twice costs once.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import combinations

import numpy as np
from mcxai_problems import Case

State = tuple[int, ...]  # sorted players that are masked


class Game:
    """Masking of one instance: margins of states, counted and remembered.

    A state's margin is the target's probability minus that of the best other class: below 0 the class has
    changed. On a misclassified instance the sign turns, and the game ends where the true class is predicted.
    """

    def __init__(self, case: Case, tau: np.ndarray) -> None:
        self.case, self.tau = case, tau
        self.players = [i for i in range(len(tau)) if case.row[i] != tau[i]]
        self.rows = 0
        self.sign = 1
        self._known: dict[State, tuple[float, bool]] = {}
        if self._flips(case.predict(case.row[None]))[0]:
            self.sign = -1

    def look(self, states: Iterable[State]) -> tuple[np.ndarray, np.ndarray]:
        """Signed margins [B] and whether the game has ended [B]."""
        states = list(states)
        new = [s for s in dict.fromkeys(states) if s not in self._known]
        for start in range(0, len(new), 4096):
            part = new[start : start + 4096]
            rows = np.repeat(self.case.row[None], len(part), axis=0)
            for row, state in zip(rows, part, strict=True):
                row[list(state)] = self.tau[list(state)]
            p = self.case.predict(rows)
            self.rows += len(part)
            for state, margin, flip in zip(part, self._margin(p), self._flips(p), strict=True):
                self._known[state] = (float(margin), bool(flip))
        return (
            np.array([self._known[s][0] for s in states]),
            np.array([self._known[s][1] for s in states], dtype=bool),
        )

    def _margin(self, p: np.ndarray) -> np.ndarray:
        other = np.delete(p, self.case.label, axis=1).max(1)
        return self.sign * (p[:, self.case.label] - other)

    def _flips(self, p: np.ndarray) -> np.ndarray:
        changed = p.argmax(1) != self.case.label
        return changed if self.sign == 1 else ~changed


def _with(state: State, player: int) -> State:
    return tuple(sorted((*state, player)))


def greedy(game: Game, max_size: int = 64) -> State | None:
    """Mask the player whose masking lowers the margin most, again and again."""
    state: State = ()
    while len(state) < min(max_size, len(game.players)):
        children = [_with(state, a) for a in game.players if a not in state]
        margins, ends = game.look(children)
        state = children[int(np.argmin(margins))]
        if ends.any():
            return children[int(np.argmax(ends))]
    return None


def shrink(game: Game, state: State | None) -> State | None:
    """Take players out as long as the state still ends the game."""
    while state:
        smaller = [tuple(p for p in state if p != q) for q in state]
        margins, ends = game.look(smaller)
        if not ends.any():
            break
        state = smaller[int(np.argmin(np.where(ends, margins, np.inf)))]
    return state


def greedy_shrink(game: Game) -> State | None:
    return shrink(game, greedy(game))


def beam(game: Game, width: int, max_size: int = 20) -> State | None:
    """Keep the `width` states of lowest margin at every size, then shrink."""
    level: list[State] = [()]
    while level and len(level[0]) < min(max_size, len(game.players)):
        children = list(dict.fromkeys(_with(s, a) for s in level for a in game.players if a not in s))
        margins, ends = game.look(children)
        if ends.any():
            return shrink(game, children[int(np.argmax(ends))])
        level = [children[i] for i in np.argsort(margins)[:width]]
    return None


def best_first(game: Game, max_rows: int = 2000) -> State | None:
    """Expand the state of lowest margin, whatever its size; shrink what ends; the smallest counts."""
    frontier: list[tuple[float, int, State]] = [(1.0, 0, ())]
    entered: set[State] = {()}
    best: State | None = None
    while frontier and game.rows < max_rows:
        _, size, state = heappop(frontier)
        if best is not None and size + 1 >= len(best):
            continue
        children = [_with(state, a) for a in game.players if a not in state]
        children = [child for child in children if child not in entered]
        entered.update(children)
        margins, ends = game.look(children)
        for child, margin, end in zip(children, margins.tolist(), ends, strict=True):
            if end:
                found = shrink(game, child)
                if found is not None and (best is None or len(found) < len(best)):
                    best = found
            else:
                heappush(frontier, (margin, size + 1, child))
    return best


def exhaustive(game: Game, max_size: int = 4, max_states: int = 30_000) -> State | None:
    """The smallest set, sizes in turn; a size with more than `max_states` sets is not tried."""
    from math import comb

    for size in range(1, max_size + 1):
        if comb(len(game.players), size) > max_states:
            return None
        states = list(combinations(game.players, size))
        _, ends = game.look(states)
        if ends.any():
            return states[int(np.argmax(ends))]
    return None


def along(game: Game, ranking: Iterable[int]) -> State | None:
    """Mask in the order of a ranking until the game ends (number of steps, Section 2.6 of the method)."""
    playable = set(game.players)
    state: State = ()
    for player in ranking:
        if player in playable:
            state = _with(state, int(player))
            if game.look([state])[1][0]:
                return state
    return None


Search = Callable[[Game], State | None]
SEARCHES: dict[str, Search] = {
    "greedy": greedy,
    "greedy + shrink": greedy_shrink,
    "beam 5": lambda game: beam(game, 5),
    "beam 20": lambda game: beam(game, 20),
    "best-first": best_first,
    "exhaustive to 4": exhaustive,
}
