"""What is believed of the target on the tree of walks: on all of it, on single walks, on every subtree."""

import numpy as np

from ..._base.arrays import Bools, Floats, Ints
from .walk_tree import WalkTree
from .worth import Worth, worth_of

# Numbers that a step of all copies, or of all subtrees, at once may take.
_BLOCK_ENTRIES = 2**21


def log_belief_on_tree(tree: WalkTree) -> Floats:
    """[K_0] the target's normalised log-belief on the whole tree in nats; with messages the field's."""
    logs = tree.log_own.copy()
    for begin, end in zip(tree.levels[-2:0:-1].tolist(), tree.levels[:1:-1].tolist(), strict=True):
        sent = _send(tree, logs[begin:end], np.arange(begin, end))
        np.add.at(logs, tree.parents[begin:end], tree.multiplicities[begin:end, None] * sent)
    whole: Floats = _normalised(logs[:1, : int(tree.n_states[0])])[0]
    return whole


def log_belief_alone(tree: WalkTree) -> Floats:
    """[K_0] the same where no other copy is there."""
    alone: Floats = _normalised(tree.log_own[:1, : int(tree.n_states[0])])[0]
    return alone


def best_walks(tree: WalkTree, worth: Worth) -> dict[int, tuple[int, ...]]:
    """For each variable a shortest walk from the target, among these the one that is worth most by itself.

    Variables by their positions in the field, the target first. Ties go to the walk that comes first in the tree.
    """
    copies = _shortest(tree)
    worths = np.empty(len(copies))
    n_target = int(tree.n_states[0])
    at_once = max(1, _BLOCK_ENTRIES // tree.boundary.shape[1] ** 2)
    for begin in range(0, len(copies), at_once):
        at = copies[begin : begin + at_once]
        worths[begin : begin + at_once] = worth_of(worth, _normalised(_along(tree, at)[:, :n_target]))
    order = np.lexsort((copies, -worths, tree.variables[copies]))
    _, firsts = np.unique(tree.variables[copies][order], return_index=True)
    return {int(tree.variables[copy]): tree.walk(int(copy)) for copy in copies[order[firsts]]}


def list_subtrees(tree: WalkTree, numbers: Ints) -> Bools:
    """[M, T] which copies the subtrees with these numbers hold; all have the target.

    Subtrees at a copy are numbered from 0 to N - 1, N = Π_children (1 + N(child)): a number's digits, one for
    each child, say whether the child is there (0: no) and which of its subtrees it has.
    """
    n_at = np.rint(np.exp(tree.log_subtrees)).astype(np.int64)
    present = np.zeros((len(numbers), tree.n_copies), dtype=bool)
    present[:, 0] = True
    left = np.zeros((len(numbers), tree.n_copies), dtype=np.int64)
    left[:, 0] = numbers
    for copy in range(1, tree.n_copies):
        parent = int(tree.parents[copy])
        left[:, parent], digit = np.divmod(left[:, parent], 1 + n_at[copy])
        present[:, copy] = digit > 0
        left[:, copy] = np.maximum(digit - 1, 0)
    return present


def log_beliefs_on(tree: WalkTree, present: Bools) -> Floats:
    """[M, K_0] the target's normalised log-beliefs on subtrees [M, T], in nats."""
    index, log_psi = tree.tables
    gathered = {0: np.repeat(tree.log_own[:1], len(present), axis=0)}
    for copy in range(tree.n_copies - 1, 0, -1):
        parent = int(tree.parents[copy])
        logs = gathered.pop(copy, tree.log_own[copy][None])
        sent = _log_sum(logs[:, :, None] + log_psi[index[copy]])
        if parent not in gathered:
            gathered[parent] = np.repeat(tree.log_own[parent][None], len(present), axis=0)
        gathered[parent][present[:, copy]] += sent[present[:, copy]] if len(sent) > 1 else sent
    return _normalised(gathered[0][:, : int(tree.n_states[0])])


def _shortest(tree: WalkTree) -> Ints:
    """Copies that stand at their variable's distance from the target, the target's own left out."""
    players, places = tree.players
    nearest = np.full(len(players), len(tree.levels))
    np.minimum.at(nearest, places[1:], tree.depths[1:])
    return 1 + np.flatnonzero(tree.depths[1:] == nearest[places[1:]])


def _along(tree: WalkTree, copies: Ints) -> Floats:
    """[n, K] log weights of the target where the walks to some copies are there and nothing else."""
    found = np.empty((len(copies), tree.boundary.shape[1]))
    logs, at, rows = tree.log_own[copies], copies, np.arange(len(copies))
    while len(rows):
        logs = tree.log_own[tree.parents[at]] + _send(tree, logs, at)
        at = tree.parents[at]
        arrived = at == 0
        found[rows[arrived]] = logs[arrived]
        logs, at, rows = logs[~arrived], at[~arrived], rows[~arrived]
    return found


def _send(tree: WalkTree, logs: Floats, copies: Ints) -> Floats:
    """[n, K] log messages of copies to their parents, from what they gathered."""
    index, log_psi = tree.tables
    sent = np.empty_like(logs)
    at_once = max(1, _BLOCK_ENTRIES // logs.shape[1] ** 2)
    for begin in range(0, len(copies), at_once):
        block = slice(begin, begin + at_once)
        sent[block] = _log_sum(logs[block, :, None] + log_psi[index[copies[block]]])
    return sent


def _log_sum(logs: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        summed: Floats = np.logaddexp.reduce(logs, axis=1)
    return summed


def _normalised(logs: Floats) -> Floats:
    normalised: Floats = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
    return normalised
