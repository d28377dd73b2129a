"""Plain-Python twin of the textbook search: UCT, one expansion, one random roll-out, backup."""

import math


def textbook_search(look, n, start_p, sign, depth, eta, exploration, max_rows, rng):
    """Play until the rows are used up or 256 playouts in a row need none.

    Parameters
    ----------
    look
        frozenset of masked players -> (P(y), whether the game is over).
    rng
        Numpy generator; every playout draws ``rng.random((1, 2, n))``.

    Returns
    -------
    dict from path (tuple of players) to [visits, sum of rewards].
    """
    seen = {frozenset(): look(frozenset())}
    rows = 0
    visits, rewards, children = {(): 0}, {(): 0.0}, {(): []}
    over = {(): False}
    stale = 0
    while rows < max_rows and stale < 256:
        before = rows
        ((ties, keys),) = rng.random((1, 2, n))
        # selection and expansion
        path = ()
        while not over[path] and len(path) < min(depth, n):
            left = [a for a in range(n) if a not in path]
            untried = [a for a in left if (*path, a) not in children]
            if untried:
                best = max(untried, key=lambda a: ties[a])
                children[path].append(best)
                path = (*path, best)
                visits[path], rewards[path], children[path], over[path] = 0, 0.0, [], False
                break
            total = sum(visits[(*path, a)] for a in children[path])

            def score(a, path=path, total=total):
                k = (*path, a)
                return rewards[k] / visits[k] + exploration * math.sqrt(math.log(total) / visits[k])

            path = (*path, max(children[path], key=lambda a: (score(a), -a)))
        # roll-out: all prefixes of the order are looked at, new ones cost a row each
        order = sorted((a for a in range(n) if a not in path), key=lambda a: -keys[a])
        results = []
        for k in range(min(depth, n) - len(path) + 1):
            state = frozenset(path) | frozenset(order[:k])
            if state not in seen and rows < max_rows:
                seen[state] = look(state)
                rows += 1
            results.append(seen.get(state))
        end = next((k for k, r in enumerate(results) if r is not None and r[1]), None)
        missing = next((k for k, r in enumerate(results) if r is None), None)
        if missing is not None and (end is None or missing < end):
            break
        gained = 0.0
        if end is not None:
            over[path] = over[path] or end == 0
            change = min(max(sign * (start_p - results[end][0]), 0.0), 1.0)
            gained = eta * (1 - (len(path) + end) / depth) + (1 - eta) * change
        for k in range(len(path) + 1):
            visits[path[:k]] += 1
            rewards[path[:k]] += gained
        stale = stale + 1 if rows == before else 0
    return {path: [visits[path], rewards[path]] for path in visits if visits[path]}
