# mypy: ignore-errors
"""Kernels of the game tree. Arrays only; see search.py."""

import math

import numpy as np

from ..._base.compiled import kernel


@kernel
def quality(action, parent, parents, players, bias, prior, pairs):
    """Q(x, a): what the surrogate expects an edge to win, from the action and the players masked before it.

    prior [n]; pairs [n, n], or [0, 0] where there are none.
    """
    value = bias + prior[action]
    if len(pairs):
        node = parent
        while node > 0:
            value += pairs[players[node], action]
            node = parents[node]
    return value


@kernel
def add(child, parent, player, parents, players, first, following, n_children, depths, pending):
    """A new node, whose state is unknown so far."""
    parents[child] = parent
    players[child] = player
    depths[child] = depths[parent] + 1
    following[child] = first[parent]
    first[parent] = child
    n_children[parent] += 1
    pending[child] = True


@kernel
def select(
    parents, players, n_visits, rewards, first, following, n_children, depths, stopped, pending, groups,
    group_visits, group_rewards, n_nodes, max_depth, exploration, widening, exponent, bias, prior, pairs,
    tie_break, masked,
):  # fmt: skip
    """Walk down from the root by UCT; expand the first node that may have one child more.

    widening 0: every action gets a child before any is visited again. groups [T], or [0]: the first node of
    the same state, whose statistics over all orders are then used. tie_break [n] decides between equal Q.
    Writes: masked [n], the node arrays when a child is made. Returns: leaf, number of nodes.
    """
    n = len(prior)
    masked[:] = False
    node = 0
    while True:
        if stopped[node] or pending[node] or depths[node] >= max_depth or depths[node] >= n:
            return node, n_nodes
        total = 0
        child = first[node]
        while child >= 0:
            total += n_visits[child]
            child = following[child]
        allowed = n - depths[node]
        if widening > 0:
            width = widening * total**exponent
            if width < allowed:  # before it becomes an integer, which may not hold it
                allowed = max(1, math.ceil(width))
        if n_children[node] < allowed:
            tried = masked.copy()
            child = first[node]
            while child >= 0:
                tried[players[child]] = True
                child = following[child]
            best = -1
            best_q = -np.inf
            for a in range(n):
                if not tried[a]:
                    q = quality(a, node, parents, players, bias, prior, pairs)
                    if best < 0 or q > best_q or (q == best_q and tie_break[a] > tie_break[best]):
                        best = a
                        best_q = q
            add(n_nodes, node, best, parents, players, first, following, n_children, depths, pending)
            masked[best] = True
            return n_nodes, n_nodes + 1
        best = -1
        best_score = -np.inf
        child = first[node]
        while child >= 0:
            if n_visits[child] == 0:  # rows ran out before its first playout did
                best = child
                break
            if len(groups) and not pending[child]:
                mean = group_rewards[groups[child]] / group_visits[groups[child]]
            else:
                mean = rewards[child] / n_visits[child]
            score = mean + exploration * math.sqrt(math.log(total) / n_visits[child])
            if score > best_score or (score == best_score and players[child] < players[best]):
                best = child
                best_score = score
            child = following[child]
        masked[players[best]] = True
        node = best


@kernel
def back_up(leaf, visits, reward, parents, n_visits, rewards, groups, group_visits, group_rewards):
    """Add visits and reward to every edge from the leaf up to the root, and to their states' groups."""
    node = leaf
    while node > 0:
        n_visits[node] += visits
        rewards[node] += reward
        if len(groups):
            group_visits[groups[node]] += visits
            group_rewards[groups[node]] += reward
        node = parents[node]
    n_visits[0] += visits
    rewards[0] += reward


@kernel
def reward(n_actions, depth, change, ended, eta):
    """Reward of a playout: ``eta * (1 - l / L) + (1 - eta) * q``, 0 where the game did not end.

    l actions of at most L, q the change of P(y) in the direction of the game, clipped to [0, 1].
    """
    if not ended:
        return 0.0
    return eta * (1 - n_actions / depth) + (1 - eta) * min(max(change, 0.0), 1.0)


@kernel
def enter(node, index, pending, groups, first_of, n_visits, rewards, group_visits, group_rewards):
    """A new node's state is known: the node joins the group of its state, whose board index is given (-1: none).

    first_of [M], where orders share statistics: first node of a state, -1: none.
    """
    pending[node] = False
    if len(groups):
        group = node
        if index >= 0:
            if first_of[index] < 0:
                first_of[index] = node
            group = first_of[index]
        groups[node] = group
        group_visits[group] += n_visits[node]
        group_rewards[group] += rewards[node]


@kernel
def finish(
    leaves, begun, indices, lengths, changes, ended, depth, eta, parents, n_visits, rewards, n_starts, depths,
    stopped, pending, groups, first_of, group_visits, group_rewards,
):  # fmt: skip
    """Back up the rewards of a block of playouts, whose leaves were visited with reward 0 when they were chosen.

    Per playout [P]: its leaf, board index of the leaf's state (-1: the budget ended first, the visit is taken
    back) and of the last state, actions after the leaf, change of P(y), whether the game ended. Writes: the node
    arrays. Returns: rewards [P].
    """
    gained = np.zeros(len(leaves))
    for p in range(len(leaves)):
        leaf = leaves[p]
        if begun[p] < 0:
            back_up(leaf, -1, 0.0, parents, n_visits, rewards, groups, group_visits, group_rewards)
            continue
        if pending[leaf]:
            enter(leaf, begun[p], pending, groups, first_of, n_visits, rewards, group_visits, group_rewards)
            stopped[leaf] = ended[p] and lengths[p] == 0
        gained[p] = reward(depths[leaf] + lengths[p], depth, changes[p], ended[p], eta)
        back_up(leaf, 0, gained[p], parents, n_visits, rewards, groups, group_visits, group_rewards)
        n_starts[leaf] += 1
    return gained


@kernel
def graft(
    order, indices, gained, n_nodes, parents, players, n_visits, rewards, n_starts, first, following, n_children,
    depths, stopped, pending, groups, first_of, group_visits, group_rewards,
):  # fmt: skip
    """Enter a playout: all its states become nodes, its reward is backed up.

    order: players, after the last of which the game is over. indices: board index of the state after each,
    where orders share statistics. Writes: the node arrays. Returns: number of nodes.
    """
    node = 0
    for step in range(len(order)):
        child = first[node]
        while child >= 0 and players[child] != order[step]:
            child = following[child]
        if child < 0:
            child = n_nodes
            n_nodes += 1
            add(child, node, order[step], parents, players, first, following, n_children, depths, pending)
        if pending[child]:
            enter(child, indices[step], pending, groups, first_of, n_visits, rewards, group_visits, group_rewards)
        node = child
    stopped[node] = True
    back_up(node, 1, gained, parents, n_visits, rewards, groups, group_visits, group_rewards)
    n_starts[node] += 1
    return n_nodes


@kernel
def select_block(
    parents, players, n_visits, rewards, first, following, n_children, depths, stopped, pending, groups,
    group_visits, group_rewards, n_nodes, max_depth, exploration, widening, exponent, bias, prior, pairs,
    temperature, draws,
):  # fmt: skip
    """Choose a leaf for every playout of a block and draw the order of its roll-out.

    Each leaf's path is visited at once with reward 0 (virtual loss), so that the next playout goes elsewhere.
    draws [P, 2, n] uniform: ties of the expansion, Gumbel noise of the order; temperature infinite: the order
    is uniform. Returns: leaves [P], masked [P, n], orders [P, n], number of nodes; an order's first
    ``n - depth`` entries count.
    """
    n_playouts, _, n = draws.shape
    leaves = np.empty(n_playouts, dtype=np.int64)
    masked = np.zeros((n_playouts, n), dtype=np.bool_)
    orders = np.empty((n_playouts, n), dtype=np.int64)
    keys = np.empty(n)
    for p in range(n_playouts):
        leaf, n_nodes = select(
            parents, players, n_visits, rewards, first, following, n_children, depths, stopped, pending, groups,
            group_visits, group_rewards, n_nodes, max_depth, exploration, widening, exponent, bias, prior,
            pairs, draws[p, 0], masked[p],
        )  # fmt: skip
        leaves[p] = leaf
        # a new node has no group yet: its own visits are added when it gets one
        node = leaf
        while node > 0:
            n_visits[node] += 1
            if len(groups) and not pending[node]:
                group_visits[groups[node]] += 1
            node = parents[node]
        n_visits[0] += 1
        for a in range(n):
            if masked[p, a]:
                keys[a] = np.inf
            else:
                q = quality(a, leaf, parents, players, bias, prior, pairs)
                keys[a] = math.log(-math.log(max(draws[p, 1, a], 1e-300))) - q / temperature
        orders[p] = np.argsort(keys, kind="mergesort")
    return leaves, masked, orders, n_nodes


@kernel
def prefixes(masked, orders, room, running, position, step):
    """The states that roll-outs come to next: up to `step` each, from `position` players of their order on.

    masked [P, n] at the leaves, orders [P, n], room [P] most players of an order. Returns: states [R, n].
    """
    n_rows = 0
    for p in running:
        n_rows += min(step, room[p] + 1 - position)
    states = np.empty((n_rows, masked.shape[1]), dtype=np.bool_)
    row = 0
    for p in running:
        for k in range(position, min(position + step, room[p] + 1)):
            states[row] = masked[p]
            for i in range(k):
                states[row, orders[p, i]] = True
            row += 1
    return states


@kernel
def settle(found, ended, room, running, position, step, lengths, begun, indices):
    """What became of roll-outs in the states of `prefixes`, which stand on the board at `found`, -1: not seen.

    Writes: lengths and indices [P] of the roll-outs that are done, begun [P] index of their first states, -1
    where the budget ended first. Returns: those that go on.
    """
    still = np.empty_like(running)
    n_still = 0
    row = 0
    for p in running:
        count = min(step, room[p] + 1 - position)
        if position == 0:
            begun[p] = found[row]
        k = 0
        while k < count and found[row + k] >= 0 and not ended[row + k]:
            k += 1
        if k < count and found[row + k] < 0:
            begun[p] = -1
        elif k < count or position + count > room[p]:
            k = min(k, count - 1)
            lengths[p] = position + k
            indices[p] = found[row + k]
        else:
            still[n_still] = p
            n_still += 1
        row += count
    return still[:n_still]


@kernel
def learn_edges(parents, players, n_visits, rewards, n_nodes, prior, pairs, bias, n_sweeps):
    """Fit Q to the win rates in the tree by Kaczmarz steps, weighted by visits: n / (n + 2).

    Writes: prior [n], pairs [n, n] (masked before, action). Returns: bias.
    """
    for _sweep in range(n_sweeps):
        for t in range(1, n_nodes):
            if n_visits[t] == 0:
                continue
            action = players[t]
            error = rewards[t] / n_visits[t] - quality(action, parents[t], parents, players, bias, prior, pairs)
            n_terms = 2
            node = parents[t]
            while node > 0:
                n_terms += 1
                node = parents[node]
            step = 0.5 * error / n_terms * n_visits[t] / (n_visits[t] + 2)
            bias += step
            prior[action] += step
            if len(pairs):
                node = parents[t]
                while node > 0:
                    pairs[players[node], action] += step
                    node = parents[node]
    return bias


@kernel
def replay(
    codes, known, order, p_target, ended, start, sign, firsts, begin, draws, pool, places, changes, counts
):  # fmt: skip
    """Play out along remembered states: the players of `firsts` in turn first, then others at random, while known.

    codes [n] the players' codes, known [M] sorted codes of states, order [M] their index on the board, draws
    [R, L] uniform, a row per playout, the first of which is number `begin`. Writes: pool [n] an order of the
    players and places [n] of each in it, where the next block goes on; changes [n] sums of the changes of P, in
    the direction of the game, as each player was masked, counts [n] how many these are.
    """
    n = len(codes)
    n_playouts, depth = draws.shape
    for r in range(n_playouts):
        code = np.int64(0)
        at = start
        for step in range(depth):
            # the next player of a random order: swapped in from those that are left
            swap = (
                places[firsts[(begin + r) % len(firsts)]] if step == 0 else step + int(draws[r, step] * (n - step))
            )
            player = pool[swap]
            pool[swap] = pool[step]
            pool[step] = player
            places[pool[swap]] = swap
            places[player] = step
            code += codes[player]
            place = np.searchsorted(known, code)
            if place >= len(known) or known[place] != code:
                break
            changes[player] += sign * (p_target[at] - p_target[order[place]])
            counts[player] += 1
            at = order[place]
            if ended[at]:
                break
