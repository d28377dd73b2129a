# mypy: ignore-errors
"""Kernels that draw subtrees and evaluate them. Arrays only; see sampling.py for the callers.

A drawn coalition is a list of rows, parents first: row 0 is the target, every other row hangs on an earlier
one. Directed tables: rows = states of the sender; `table ^ 1` is the same potential read the other way.
"""

import math

import numpy as np

from ..._base.compiled import kernel

# numba compiles a callee anew for every literal in a call (0, True), but not for np.int64(0).

SYMMETRIC_KL, NEG_CROSS_ENTROPY, LOG_ODDS, PROBABILITY, CONTRAST = range(5)
LOG_ZERO = -700.0


@kernel
def hang(offsets, neighbours):
    """Take leaves off again and again, but never variable 0.

    Returns the variables in the order in which they fall [F], the slot by which each hung on another [N]
    (-1 where it stays), and whether it stays [N].
    """
    n = offsets.shape[0] - 1
    degrees = np.empty(n, np.int64)
    stays = np.ones(n, np.bool_)
    order = np.empty(n, np.int64)
    up_slots = np.full(n, -1, np.int64)
    n_fallen = 0
    for v in range(n):
        degrees[v] = offsets[v + 1] - offsets[v]
        if degrees[v] == 1 and v:
            order[n_fallen] = v
            n_fallen += 1
    i = 0
    while i < n_fallen:
        v = order[i]
        i += 1
        stays[v] = False
        for slot in range(offsets[v], offsets[v + 1]):
            u = neighbours[slot]
            if stays[u]:
                up_slots[v] = slot
                degrees[u] -= 1
                if degrees[u] == 1 and u:
                    order[n_fallen] = u
                    n_fallen += 1
    return order[:n_fallen], up_slots, stays


@kernel
def edge_steps(n_steps, rng, core, chain):
    """Steps of the chain over subtrees T of the core; T has probability ∝ Π_{v in T} weight(v) in the long run.

    An edge of the core is drawn uniformly, then: grow, prune or swap. A draw that allows none of them is a
    step too: without the held steps, or drawing among possible moves only, the law would be another.

    core: ends [m, 2], their slots [m, 2], log weights [n] >= 0, neighbours [2E], reverse [2E], (adjacency).
    Writes chain: way up [n], inside [n], number of children [n], marks [n].
    """
    ends, end_slots, log_weights, neighbours, reverse = core[0], core[1], core[2], core[3], core[4]
    up_slots, inside, n_children, marks = chain
    n_edges = ends.shape[0]
    marks[:] = -1
    for step in range(n_steps):
        e = int(rng.random() * n_edges)
        a, b = ends[e, 0], ends[e, 1]
        if inside[a] != inside[b]:
            # grow: the weight of what joins is at least 1, so there is nothing to refuse
            side = 1 if inside[a] else 0
            joins = ends[e, side]
            inside[joins] = True
            up_slots[joins] = end_slots[e, side]
            n_children[ends[e, 1 - side]] += 1
        elif inside[a]:
            side = 0 if up_slots[a] == end_slots[e, 0] else 1
            lower = ends[e, side]
            if up_slots[lower] == end_slots[e, side]:
                # an edge of the tree; prune if a leaf hangs on it
                if n_children[lower] == 0 and (
                    log_weights[lower] == 0.0 or rng.random() < math.exp(-log_weights[lower])
                ):
                    inside[lower] = False
                    up_slots[lower] = -1
                    n_children[ends[e, 1 - side]] -= 1
            else:
                swap(step, rng, e, ends, end_slots, neighbours, reverse, up_slots, n_children, marks)


@kernel
def swap(stamp, rng, e, ends, end_slots, neighbours, reverse, up_slots, n_children, marks):
    """Close a cycle with edge e and take away a uniform one of its other edges. Writes up_slots, n_children."""
    a, b = ends[e, 0], ends[e, 1]
    # walk up from both ends in turn until one walk meets the trail of the other
    marks[a] = stamp
    marks[b] = stamp
    x, y, meeting = a, b, -1
    while meeting < 0:
        if up_slots[x] >= 0:
            x = neighbours[up_slots[x]]
            if marks[x] == stamp:
                meeting = x
            marks[x] = stamp
        if meeting < 0 and up_slots[y] >= 0:
            y = neighbours[up_slots[y]]
            if marks[y] == stamp:
                meeting = y
            marks[y] = stamp
    length_a = 0
    x = a
    while x != meeting:
        x = neighbours[up_slots[x]]
        length_a += 1
    length = length_a
    y = b
    while y != meeting:
        y = neighbours[up_slots[y]]
        length += 1
    cut = int(rng.random() * length)
    side = 0
    if cut >= length_a:
        cut -= length_a
        side = 1
    # re-root the part that the missing edge cuts off: turn the pointers from the new edge up to it
    x, slot = ends[e, side], end_slots[e, side]
    n_children[ends[e, 1 - side]] += 1
    for turned in range(cut + 1):
        above = up_slots[x]
        up_slots[x] = slot
        parent = neighbours[above]
        n_children[parent] -= 1
        if turned < cut:
            n_children[x] += 1
        slot = reverse[above]
        x = parent


@kernel
def refresh(rng, core, chain):
    """A uniform spanning tree of the variables that are inside (Wilson's algorithm). Returns the steps walked.

    All trees over the same variables weigh the same, so this leaves the chain's law as it is.
    """
    neighbours, members, core_offsets, core_slots = core[3], core[5], core[6], core[7]
    up_slots, inside, n_children, marks = chain
    for v in members:
        marks[v] = 0
        n_children[v] = 0
    marks[0] = 1
    walked = 0
    for v in members:
        if not inside[v]:
            continue
        x = v
        while marks[x] == 0:
            begin = core_offsets[x]
            slot = core_slots[begin + int(rng.random() * (core_offsets[x + 1] - begin))]
            walked += 1
            if inside[neighbours[slot]]:
                up_slots[x] = slot
                x = neighbours[slot]
        x = v
        while marks[x] == 0:
            marks[x] = 1
            x = neighbours[up_slots[x]]
            n_children[x] += 1
    return walked


@kernel
def settle(n_rounds, n_steps, spanning, rng, core, chain):
    """Start the chain, from all variables of the core or the target alone, and run it in.

    Returns the mean number of steps that `refresh` walked.
    """
    up_slots, inside, n_children, _ = chain
    members = core[5]
    for v in members:
        inside[v] = spanning or v == 0
        up_slots[v] = -1
        n_children[v] = 0
    if members.shape[0] < 2:
        return 0.0
    walked = 0
    for _ in range(n_rounds):
        walked += refresh(rng, core, chain)
        edge_steps(n_steps, rng, core, chain)
    return walked / max(n_rounds, 1)


@kernel
def grow_rows(rng, core, chain, pendant, tables, rows):
    """Write the chain's tree as rows, with trees that dangle from it drawn anew. Returns the number of rows."""
    neighbours, members = core[3], core[5]
    up_slots, inside = chain[0], chain[1]
    kid_offsets, kids, kid_slots, kid_chances = pendant
    variables, parents, row_tables, first, following = rows
    for v in members:
        first[v] = -1
    for v in members:
        if inside[v] and v:
            parent = neighbours[up_slots[v]]
            following[v] = first[parent]
            first[parent] = v
    variables[0] = 0
    parents[0] = -1
    n_rows = 1
    row = 0
    while row < n_rows:
        v = variables[row]
        child = first[v]
        while child >= 0:
            variables[n_rows] = child
            parents[n_rows] = row
            row_tables[n_rows] = tables[up_slots[child]]
            n_rows += 1
            child = following[child]
        for i in range(kid_offsets[v], kid_offsets[v + 1]):
            if rng.random() < kid_chances[i]:
                child = kids[i]
                first[child] = -1
                variables[n_rows] = child
                parents[n_rows] = row
                row_tables[n_rows] = tables[kid_slots[i]]
                n_rows += 1
        row += 1
    return n_rows


@kernel
def log_sum(values, n):
    """log Σ exp of the first n values; -inf where all are."""
    top = -np.inf
    for i in range(n):
        top = max(top, values[i])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(n):
        total += math.exp(values[i] - top)
    return top + math.log(total)


@kernel
def worth_of(code, state, rival, log_belief, logits, row, shares, total, top, n_states):
    """One worth of a belief: its logarithms are logits[row] - top - log total, its entries `shares` / total.

    The twin of worth.worth_of.
    """
    if code == PROBABILITY:
        return shares[state] / total
    log_total = top + math.log(total)
    if code == SYMMETRIC_KL:
        worth = 0.0
        for x in range(n_states):
            if logits[row, x] > -np.inf:
                log_b = log_belief[x] if log_belief[x] > -np.inf else LOG_ZERO
                worth -= (math.exp(log_belief[x]) - shares[x] / total) * (log_b - (logits[row, x] - log_total))
            elif log_belief[x] > -np.inf:
                worth -= math.exp(log_belief[x]) * abs(log_belief[x] - LOG_ZERO)
        return worth
    if code == NEG_CROSS_ENTROPY:
        worth = 0.0
        for x in range(n_states):
            if log_belief[x] > -np.inf:
                log_q = logits[row, x] - log_total if logits[row, x] > -np.inf else LOG_ZERO
                worth += math.exp(log_belief[x]) * log_q
        return worth
    log_q = logits[row, state] - log_total if logits[row, state] > -np.inf else LOG_ZERO
    if code == CONTRAST:
        return log_q - (logits[row, rival] - log_total if logits[row, rival] > -np.inf else LOG_ZERO)
    others_top = -np.inf
    for x in range(n_states):
        if x != state:
            others_top = max(others_top, logits[row, x])
    if others_top == -np.inf:
        return log_q - LOG_ZERO
    others = 0.0
    for x in range(n_states):
        if x != state:
            others += math.exp(logits[row, x] - others_top)
    return log_q - (others_top + math.log(others) - log_total)


@kernel
def log_ratio(code, state, rival, logits, row, n_states):
    """A worth that is a difference of two logarithms; not finite where it is none, or a logarithm is -inf."""
    if code == LOG_ODDS and n_states == 2:
        return logits[row, state] - logits[row, 1 - state]
    return logits[row, state] - logits[row, rival] if code == CONTRAST else np.nan


@kernel
def worths_of(logits, row, n_states, game, shares):
    """Worth and direction of the belief with unnormalised logarithms logits[row]; NaN where it is impossible."""
    code, log_belief, state, rival, way_code, way_belief, way_state, way_rival = game
    worth = log_ratio(code, state, rival, logits, row, n_states)
    way = log_ratio(way_code, way_state, way_rival, logits, row, n_states)
    if math.isfinite(worth) and math.isfinite(way):
        return worth, way
    top = -np.inf
    for x in range(n_states):
        top = max(top, logits[row, x])
    if top == -np.inf:
        return np.nan, np.nan
    total = 0.0
    for x in range(n_states):
        shares[x] = math.exp(logits[row, x] - top)
        total += shares[x]
    if not math.isfinite(worth):
        worth = worth_of(code, state, rival, log_belief, logits, row, shares, total, top, n_states)
    if not math.isfinite(way):
        way = worth_of(way_code, way_state, way_rival, way_belief, logits, row, shares, total, top, n_states)
    return worth, way


@kernel
def times_table(weights, n_rows, psi, table, n_columns, off_diagonal, product):
    """weights [R] times a table [R, C]; where all entries off the diagonal are equal, at the cost of one row."""
    if off_diagonal >= 0.0:
        total = 0.0
        for x in range(n_rows):
            total += weights[x]
        total *= off_diagonal
        for x in range(n_rows):
            product[x] = total + weights[x] * (psi[table, x, x] - off_diagonal)
        return
    for y in range(n_columns):
        product[y] = 0.0
    for x in range(n_rows):
        for y in range(n_columns):
            product[y] += weights[x] * psi[table, x, y]


@kernel
def up_pass(n_rows, rows, field, linear, work):
    """Messages from the rows to the target. Returns False where a message vanishes: a contradiction.

    Writes work: sums of messages [n, K] (finite parts), how many were -inf [n, K], messages [n, K], and
    whether a row has something to say [n].
    """
    n_states, log_priors, uniform, psi, log_psi, even, off_diagonal = field
    variables, parents, row_tables = rows[0], rows[1], rows[2]
    sums, zeros, messages, telling, terms, product = work[0], work[1], work[2], work[3], work[7], work[8]
    for row in range(n_rows):
        telling[row] = False
        for x in range(n_states[variables[row]]):
            sums[row, x] = 0.0
            zeros[row, x] = 0
    for row in range(n_rows - 1, 0, -1):
        v, parent, table = variables[row], parents[row], row_tables[row]
        if not telling[row] and uniform[v] and even[table]:
            continue  # its message is constant
        telling[row] = True
        telling[parent] = True
        k, k_up = n_states[v], n_states[variables[parent]]
        top = -np.inf
        for x in range(k):
            terms[x] = log_priors[v, x] + sums[row, x] if zeros[row, x] == 0 else -np.inf
            top = max(top, terms[x])
        if top == -np.inf:
            return False
        if linear:
            for x in range(k):
                terms[x] = math.exp(terms[x] - top)
            times_table(terms, k, psi, table, k_up, off_diagonal[table], product)
            for y in range(k_up):
                messages[row, y] = math.log(product[y])
        else:
            for y in range(k_up):
                for x in range(k):
                    product[x] = terms[x] - top + log_psi[table, x, y]
                messages[row, y] = log_sum(product, k)
        for y in range(k_up):
            if messages[row, y] > -np.inf:
                sums[parent, y] += messages[row, y]
            else:
                zeros[parent, y] += 1
    return True


@kernel
def down_pass(n_rows, rows, field, linear, work):
    """How the target's belief depends on what each row's variable receives and is; beliefs without the row.

    With R(x, z) the weight of all outside the row's branch, summed over everything but the target's state x
    and the row's state z, the belief is Σ_z R(x, z) p(z), p being the row's prior times its messages.
    Writes work: R with its rows divided by the belief's weight without the row [n, K, K], that weight [n, K] in
    logarithms. Rows that have nothing to say are left out.
    """
    n_states, log_priors, _, psi, log_psi, _, off_diagonal = field
    variables, parents, row_tables = rows[0], rows[1], rows[2]
    sums, zeros, messages, telling, rests, without, _, terms, product, weights = work[:10]
    k_target = n_states[0]
    for row in range(1, n_rows):
        if not telling[row]:
            continue
        parent, table = parents[row], row_tables[row] ^ 1
        u = variables[parent]
        k, k_up = n_states[variables[row]], n_states[u]
        top = -np.inf
        for y in range(k_up):
            n_zeros = zeros[parent, y]
            others = sums[parent, y]
            if messages[row, y] > -np.inf:
                others -= messages[row, y]
            else:
                n_zeros -= 1
            terms[y] = log_priors[u, y] + others if n_zeros == 0 else -np.inf
            top = max(top, terms[y])
        if parent == 0:
            for x in range(k_target):
                without[row, x] = terms[x]
                for z in range(k):
                    rests[row, x, z] = psi[table, x, z] if linear else log_psi[table, x, z]
        elif linear:
            for y in range(k_up):
                terms[y] = math.exp(terms[y] - top)
            for x in range(k_target):
                total = 0.0
                for y in range(k_up):
                    weights[y] = rests[parent, x, y] * terms[y]
                    total += weights[y]
                for y in range(k_up):
                    weights[y] /= total
                times_table(weights, k_up, psi, table, k, off_diagonal[table], product)
                for z in range(k):
                    rests[row, x, z] = product[z]
                without[row, x] = without[parent, x] + top + math.log(total)
        else:
            for x in range(k_target):
                for y in range(k_up):
                    weights[y] = rests[parent, x, y] + terms[y]
                total = log_sum(weights, k_up)
                without[row, x] = without[parent, x] + total
                for z in range(k):
                    for y in range(k_up):
                        product[y] = weights[y] - total + log_psi[table, y, z]
                    rests[row, x, z] = log_sum(product, k_up) if total > -np.inf else -np.inf


@kernel
def flatten_pass(n_rows, rows, field, linear, work):
    """Logarithms of the target's belief were a row's prior uniform [n, K], unnormalised. Writes them into work."""
    n_states, uniform = field[0], field[2]
    sums, zeros, telling, rests, without, flattened, terms = (
        work[0], work[1], work[3], work[4], work[5], work[6], work[7],
    )  # fmt: skip
    variables = rows[0]
    k_target = n_states[0]
    for row in range(1, n_rows):
        if not telling[row] or uniform[variables[row]]:
            continue
        k = n_states[variables[row]]
        top = -np.inf
        for z in range(k):
            terms[z] = sums[row, z] if zeros[row, z] == 0 else -np.inf
            top = max(top, terms[z])
        if linear:
            for z in range(k):
                terms[z] = math.exp(terms[z] - top)
        for x in range(k_target):
            if linear:
                total = 0.0
                for z in range(k):
                    total += rests[row, x, z] * terms[z]
                flattened[row, x] = without[row, x] + math.log(total)
            else:
                flattened[row, x] = without[row, x] + log_dot(rests, row, x, terms, k)


@kernel
def log_dot(rests, row, x, terms, k):
    """log Σ_z exp(rests[row, x, z] + terms[z])."""
    top = -np.inf
    for z in range(k):
        top = max(top, rests[row, x, z] + terms[z])
    if top == -np.inf:
        return top
    total = 0.0
    for z in range(k):
        total += math.exp(rests[row, x, z] + terms[z] - top)
    return top + math.log(total)


@kernel
def evaluate(n_rows, rows, field, linear, game, work, gains):
    """Marginal contributions of all rows of one coalition in time linear in its size.

    game: code, log belief [K], state, rival of the worth; the same of the direction.
    Writes gains [n, 3]: contribution, its part due to the prior, contribution under the direction.
    Returns worth, whether a zero was met; NaN where the coalition contradicts itself.
    """
    n_states, log_priors, uniform = field[0], field[1], field[2]
    sums, zeros, telling, without, flattened = work[0], work[1], work[3], work[5], work[6]
    k_target = n_states[0]
    shares = np.empty(k_target)
    if not up_pass(n_rows, rows, field, linear, work):
        return np.nan, False
    meets_zero = False
    for x in range(k_target):  # the target's own row is free: no rest depends on it
        without[0, x] = log_priors[0, x] + sums[0, x] if zeros[0, x] == 0 else -np.inf
        meets_zero |= without[0, x] == -np.inf
    worth, way = worths_of(without, np.int64(0), k_target, game, shares)
    down_pass(n_rows, rows, field, linear, work)
    flatten_pass(n_rows, rows, field, linear, work)
    for row in range(1, n_rows):
        gains[row, 0] = 0.0
        gains[row, 1] = 0.0
        gains[row, 2] = 0.0
        if telling[row]:
            other_worth, other_way = worths_of(without, row, k_target, game, shares)
            gains[row, 0] = worth - other_worth
            gains[row, 2] = way - other_way
            if not uniform[rows[0][row]]:
                gains[row, 1] = worth - worths_of(flattened, row, k_target, game, shares)[0]
    return worth, meets_zero


@kernel
def average_ways_in(n_rows, rows, core, inside, ways_in, field, game, work, gains):
    """Average the gains of the target's neighbours over the edges by which their branches may hang on the target.

    A neighbour v matters most where its own edge joins its branch to the target, which is rare. Two redraws that
    leave the law of the coalitions alone are averaged over, as far as they hang v on the target by its own edge;
    where they do not, the gain as drawn stands for the others.

    - Take the target out, and each piece of what remains hangs on it by any of its d edges to it alike.
    - Take v's branch off, and it hangs by any of v's n edges to what is left alike.

    Only for potentials that are multiplied as they are. ways_in: directed table [n] of the edge to the target, -1
    where it has none in the core; empty where `sample` is not to average. Rewrites gains.
    """
    n_states, log_priors, psi, off_diagonal = field[0], field[1], field[3], field[6]
    variables, parents, row_tables = rows[0], rows[1], rows[2]
    sums, messages, telling, terms, product = work[0], work[2], work[3], work[7], work[8]
    down, leads, tops, n_ways, begins, ends, row_of = work[10:]
    lay_out(n_rows, rows, begins, ends, row_of)
    for row in range(n_rows):
        leads[row] = ways_in[variables[row]] >= 0
        n_ways[row] = 0
    for row in range(n_rows - 1, 0, -1):
        leads[parents[row]] |= leads[row]
    for row in range(1, n_rows):
        if leads[row]:
            tops[row] = tops[parents[row]] if parents[row] else row
            if ways_in[variables[row]] >= 0:
                n_ways[tops[row]] += 1
    for row in range(1, n_rows):
        if not leads[row]:
            continue
        v, parent, top = variables[row], parents[row], tops[row]
        k = n_states[v]
        if parent == 0:
            for z in range(k):
                down[row, z] = 0.0
        else:
            u, table = variables[parent], row_tables[row] ^ 1
            k_up = n_states[u]
            for y in range(k_up):
                terms[y] = log_priors[u, y] + sums[parent, y] + down[parent, y]
                if telling[row]:
                    terms[y] -= messages[row, y]
            shift_exp(terms, k_up)
            times_table(terms, k_up, psi, table, k, off_diagonal[table], product)
            for z in range(k):
                down[row, z] = math.log(product[z])
        if ways_in[v] < 0:
            continue
        n_out, n_apart = 0, 0
        for i in range(core[6][v], core[6][v + 1]):
            y = core[3][core[7][i]]
            if inside[y]:
                at = begins[row_of[y]]
                n_out += at < begins[row] or at >= ends[row]
                n_apart += at < begins[top] or at >= ends[top]
        if row == top:
            if n_apart * n_ways[top] == 1:
                continue  # there is no other way
            gains[row, 0] = 0.0
            gains[row, 1] = 0.0
            gains[row, 2] = 0.0
        else:
            add_gain(row, v, row, 1.0 / n_out, np.bool_(False), ways_in[v], field, game, work, gains)
        share = 1.0 / (n_apart * n_ways[top])
        add_gain(row, v, top, share, np.bool_(True), ways_in[v], field, game, work, gains)


@kernel
def lay_out(n_rows, rows, begins, ends, row_of):
    """Number the rows so that a branch is an interval, begins[row] .. ends[row]; the row of each variable."""
    variables, parents = rows[0], rows[1]
    for row in range(n_rows):
        ends[row] = 1
        row_of[variables[row]] = row
    for row in range(n_rows - 1, 0, -1):
        ends[parents[row]] += ends[row]
    begins[0] = 0
    free = rows[3]  # the next number within each branch
    free[0] = 1
    for row in range(1, n_rows):
        begins[row] = free[parents[row]]
        free[parents[row]] += ends[row]
        free[row] = begins[row] + 1
        ends[row] += begins[row]


@kernel
def add_gain(row, v, branch, share, whole, table, field, game, work, gains):
    """Add a share of the gain that v has where it hangs on the target, with its branch or the `whole` piece."""
    n_states, uniform = field[0], field[2]
    without, logits = work[5], work[6]
    shares = np.empty(n_states[0])
    branch = branch if work[3][branch] else 0  # what says nothing by the edge drawn may do so by another
    base, base_way = worths_of(without, branch, n_states[0], game, shares)
    hang_on_target(row, v, branch, whole, np.bool_(True), table, field, work)
    worth, way = worths_of(logits, row, n_states[0], game, shares)
    gains[row, 0] += share * (worth - base)
    gains[row, 2] += share * (way - base_way)
    if not uniform[v]:
        hang_on_target(row, v, branch, whole, np.bool_(False), table, field, work)
        gains[row, 1] += share * (worth - worths_of(logits, row, n_states[0], game, shares)[0])


@kernel
def shift_exp(values, n):
    """exp of the first n values, the largest of which becomes 1, in place."""
    top = -np.inf
    for i in range(n):
        top = max(top, values[i])
    for i in range(n):
        values[i] = math.exp(values[i] - top)


@kernel
def hang_on_target(row, v, branch, whole, with_prior, table, field, work):
    """Write into work the logarithms of the target's belief did what begins at `branch` hang on it by v."""
    n_states, log_priors, psi, off_diagonal = field[0], field[1], field[3], field[6]
    sums, without, logits, terms, product, down = work[0], work[5], work[6], work[7], work[8], work[10]
    k, k_target = n_states[v], n_states[0]
    for z in range(k):
        terms[z] = sums[row, z]
        if whole:
            terms[z] += down[row, z]
        if with_prior:
            terms[z] += log_priors[v, z]
    shift_exp(terms, k)
    times_table(terms, k, psi, table, k_target, off_diagonal[table], product)
    for x in range(k_target):
        logits[row, x] = without[branch, x] + math.log(product[x])


@kernel
def sample(
    n_draws,
    n_steps,
    refresh_every,
    rng,
    core,
    chain,
    pendant,
    ways_in,
    tables,
    rows,
    field,
    linear,
    game,
    work,
    tally,
):
    """Draw coalitions, `n_steps` steps of the chain apart, and add up the contributions of their members.

    tally: counter [3] (draws so far, draws per batch, draws until the next refresh), sums [B, n] of the
    contributions and visits [B, n] per batch, sums over all [n, 4] of the part due to the prior, the direction,
    the squared and the absolute contribution; smallest and largest worth and whether a zero was met [3].
    When all B batches are full they are joined in pairs. Returns False where a coalition contradicts itself.
    """
    counter, batch_sums, batch_visits, totals, extremes = tally
    n_batches = batch_sums.shape[0]
    gains = np.zeros((rows[0].shape[0], 3))
    has_chain = core[5].shape[0] > 1
    for _ in range(n_draws):
        if has_chain:
            edge_steps(n_steps, rng, core, chain)
            counter[2] -= 1
            if counter[2] <= 0:
                refresh(rng, core, chain)
                counter[2] = refresh_every
        n_rows = grow_rows(rng, core, chain, pendant, tables, rows)
        worth, meets_zero = evaluate(n_rows, rows, field, linear, game, work, gains)
        if math.isnan(worth):
            return False
        if ways_in.shape[0]:
            average_ways_in(n_rows, rows, core, chain[1], ways_in, field, game, work, gains)
        if counter[0] == n_batches * counter[1]:
            for sums in (batch_sums, batch_visits):
                for v in range(sums.shape[1]):
                    for b in range(n_batches // 2):
                        sums[b, v] = sums[2 * b, v] + sums[2 * b + 1, v]
                    for b in range(n_batches // 2, n_batches):
                        sums[b, v] = 0.0
            counter[1] *= 2
        b = counter[0] // counter[1]
        counter[0] += 1
        if n_rows > 1:  # the target alone is no coalition
            extremes[0] = min(extremes[0], worth)
            extremes[1] = max(extremes[1], worth)
            extremes[2] = max(extremes[2], 1.0 if meets_zero else 0.0)
        for row in range(1, n_rows):
            v = rows[0][row]
            batch_sums[b, v] += gains[row, 0]
            batch_visits[b, v] += 1.0
            totals[v, 0] += gains[row, 1]
            totals[v, 1] += gains[row, 2]
            totals[v, 2] += gains[row, 0] * gains[row, 0]
            totals[v, 3] += abs(gains[row, 0])
    return True
