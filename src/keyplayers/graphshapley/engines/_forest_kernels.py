# mypy: ignore-errors
"""Beliefs of the target on drawn coalitions. Arrays only; see forests.py for the caller and the records.

All coalitions of a block stand in one run of rows, parents before children, each beginning with the target's row,
which has no parent. So a pass over the block is a loop over rows. Directed tables: rows = states of the sender;
`table ^ 1` is the same potential read the other way.
"""

import math

import numpy as np

from ..._base._log_kernels import log_sum_exp
from ..._base.compiled import inlined, kernel


@inlined
def times_table(weights, n_rows, psi, table, n_columns, off_diagonal, product):
    """weights [R] times a table [R, C]; where all entries off the diagonal are equal, at the cost of one row."""
    if off_diagonal >= 0.0:
        total = 0.0
        for x in range(n_rows):
            total += weights[x]
        total *= off_diagonal
        for x in range(n_rows):
            product[x] = total + weights[x] * (psi[table, x, x] - off_diagonal)
    else:
        for y in range(n_columns):
            product[y] = 0.0
        for x in range(n_rows):
            for y in range(n_columns):
                product[y] += weights[x] * psi[table, x, y]


@kernel
def up_pass(n_rows, forest, field, work):
    """Messages from the rows to the target. Returns False where a message vanishes: a contradiction.

    Writes work: sums (finite parts of messages), zeros (how many were -inf), messages, informative.
    """
    n_states, log_priors, psi, log_psi = field.n_states, field.log_priors, field.psi, field.log_psi
    variables, parents, tables = forest.variables, forest.parents, forest.tables
    sums, zeros, messages, informative = work.sums, work.zeros, work.messages, work.informative
    terms, product = work.terms, work.product
    for row in range(n_rows):
        informative[row] = False
        for x in range(n_states[variables[row]]):
            sums[row, x] = 0.0
            zeros[row, x] = 0
    for row in range(n_rows - 1, 0, -1):
        v, parent, table = variables[row], parents[row], tables[row]
        if parent < 0 or (not informative[row] and field.uniform[v] and field.even[table]):
            continue  # its message is constant
        informative[row] = True
        informative[parent] = True
        k, k_up = n_states[v], n_states[variables[parent]]
        top = -np.inf
        for x in range(k):
            terms[x] = log_priors[v, x] + sums[row, x] if zeros[row, x] == 0 else -np.inf
            top = max(top, terms[x])
        if top == -np.inf:
            return False
        if work.linear:
            for x in range(k):
                terms[x] = math.exp(terms[x] - top)
            times_table(terms, k, psi, table, k_up, field.off_diagonal[table], product)
            for y in range(k_up):
                messages[row, y] = math.log(product[y])
        else:
            for y in range(k_up):
                for x in range(k):
                    product[x] = terms[x] - top + log_psi[table, x, y]
                messages[row, y] = log_sum_exp(product, k)
        for y in range(k_up):
            if messages[row, y] > -np.inf:
                sums[parent, y] += messages[row, y]
            else:
                zeros[parent, y] += 1
    return True


@kernel
def down_pass(n_rows, forest, field, work):
    """How the target's belief depends on what each row's variable receives and is; beliefs without the row.

    With R(x, z) the weight of all outside the row's branch, summed over everything but the target's state x
    and the row's state z, the belief is Σ_z R(x, z) p(z), p being the row's prior times its messages.
    Writes work: rests (R with its rows divided by the belief's weight without the row), without (that weight, in
    logarithms; in the target's own row the belief itself). Rows that are not informative are left out.
    """
    n_states, log_priors, psi, log_psi = field.n_states, field.log_priors, field.psi, field.log_psi
    variables, parents = forest.variables, forest.parents
    sums, zeros, messages, informative = work.sums, work.zeros, work.messages, work.informative
    rests, without = work.rests, work.without
    terms, product, weights = work.terms, work.product, work.weights
    k_target = n_states[0]
    for row in range(n_rows):
        parent = parents[row]
        if parent < 0:
            for x in range(k_target):
                without[row, x] = log_priors[0, x] + sums[row, x] if zeros[row, x] == 0 else -np.inf
            continue
        if not informative[row]:
            continue
        table = forest.tables[row] ^ 1
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
        if parents[parent] < 0:
            for x in range(k_target):
                without[row, x] = terms[x]
                for z in range(k):
                    rests[row, x, z] = psi[table, x, z] if work.linear else log_psi[table, x, z]
        elif work.linear:
            for y in range(k_up):
                terms[y] = math.exp(terms[y] - top)
            for x in range(k_target):
                total = 0.0
                for y in range(k_up):
                    weights[y] = rests[parent, x, y] * terms[y]
                    total += weights[y]
                for y in range(k_up):
                    weights[y] /= total
                times_table(weights, k_up, psi, table, k, field.off_diagonal[table], product)
                for z in range(k):
                    rests[row, x, z] = product[z]
                without[row, x] = without[parent, x] + top + math.log(total)
        else:
            for x in range(k_target):
                for y in range(k_up):
                    weights[y] = rests[parent, x, y] + terms[y]
                total = log_sum_exp(weights, k_up)
                without[row, x] = without[parent, x] + total
                for z in range(k):
                    for y in range(k_up):
                        product[y] = weights[y] - total + log_psi[table, y, z]
                    rests[row, x, z] = log_sum_exp(product, k_up) if total > -np.inf else -np.inf


@kernel
def ask(n_rows, forest, field, work, asked):
    """Line up the beliefs to be priced: of each coalition, without each row, with each row's prior uniform.

    Writes asked: beliefs (logarithms, unnormalised), and for each row where the belief without it and the one with
    a uniform prior stand, the coalition's own where nothing changes it. Returns their number.
    """
    n_states, uniform, variables, parents = field.n_states, field.uniform, forest.variables, forest.parents
    sums, zeros, rests, without = work.sums, work.zeros, work.rests, work.without
    terms, product, beliefs = work.terms, work.product, asked.beliefs
    k_target = n_states[0]
    n_asked, whole = 0, 0
    for row in range(n_rows):
        if parents[row] < 0:
            whole = n_asked
        asked.without[row] = whole
        asked.flattened[row] = whole
        if parents[row] >= 0 and not work.informative[row]:
            continue
        for x in range(k_target):
            beliefs[x, n_asked] = without[row, x]
        asked.without[row] = n_asked
        n_asked += 1
        if parents[row] < 0 or uniform[variables[row]]:
            continue
        k = n_states[variables[row]]
        top = -np.inf
        for z in range(k):
            terms[z] = sums[row, z] if zeros[row, z] == 0 else -np.inf
            top = max(top, terms[z])
        if work.linear:
            for z in range(k):
                terms[z] = math.exp(terms[z] - top)
        for x in range(k_target):
            if work.linear:
                total = 0.0
                for z in range(k):
                    total += rests[row, x, z] * terms[z]
                beliefs[x, n_asked] = without[row, x] + math.log(total)
            else:
                for z in range(k):
                    product[z] = rests[row, x, z] + terms[z]
                beliefs[x, n_asked] = without[row, x] + log_sum_exp(product, k)
        asked.flattened[row] = n_asked
        n_asked += 1
    return n_asked


@kernel
def tally(n_draws, forest, asked, hung, tally):
    """Add up the contributions of the members of drawn coalitions, from the worths of the beliefs asked for.

    tally: see tallies.py. When all B batches are full they are joined in pairs.
    """
    variables, starts, gains = forest.variables, forest.starts, asked.gains
    worths, directions, at_without, at_flat = asked.worths, asked.directions, asked.without, asked.flattened
    counter, batch_sums, batch_visits, totals = tally.counter, tally.sums, tally.visits, tally.totals
    n_batches = batch_sums.shape[0]
    n_hung = 0
    for draw in range(n_draws):
        start, end = starts[draw], starts[draw + 1]
        whole = at_without[start]
        for row in range(start + 1, end):
            gains[row, 0] = worths[whole] - worths[at_without[row]]
            gains[row, 1] = worths[whole] - worths[at_flat[row]]
            gains[row, 2] = directions[whole] - directions[at_without[row]]
        while n_hung < hung.n_found[0] and hung.rows[n_hung] < end:
            row, share = hung.rows[n_hung], hung.shares[n_hung]
            if hung.replaces[n_hung]:
                gains[row, 0] = 0.0
                gains[row, 1] = 0.0
                gains[row, 2] = 0.0
            with_it, flat, base = hung.with_prior[n_hung], hung.flattened[n_hung], hung.branches[n_hung]
            gains[row, 0] += share * (worths[with_it] - worths[base])
            gains[row, 1] += share * (worths[with_it] - worths[flat])
            gains[row, 2] += share * (directions[with_it] - directions[base])
            n_hung += 1
        if counter[0] == n_batches * counter[1]:
            for v in range(batch_sums.shape[1]):
                for b in range(n_batches // 2):
                    batch_sums[b, v] = batch_sums[2 * b, v] + batch_sums[2 * b + 1, v]
                    batch_visits[b, v] = batch_visits[2 * b, v] + batch_visits[2 * b + 1, v]
                for b in range(n_batches // 2, n_batches):
                    batch_sums[b, v] = 0.0
                    batch_visits[b, v] = 0.0
            counter[1] *= 2
        b = counter[0] // counter[1]
        counter[0] += 1
        for row in range(start + 1, end):
            v = variables[row]
            batch_sums[b, v] += gains[row, 0]
            batch_visits[b, v] += 1.0
            totals[v, 0] += gains[row, 1]
            totals[v, 1] += gains[row, 2]
            totals[v, 2] += gains[row, 0] * gains[row, 0]
            totals[v, 3] += abs(gains[row, 0])
