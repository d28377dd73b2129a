# mypy: ignore-errors
"""Beliefs if a branch hung on the target by another edge. Arrays only; see rehanging.py for the caller."""

import math

import numpy as np

from ..._base.compiled import inlined, kernel
from ._forest_kernels import times_table


@inlined
def shift_exp(values, n):
    """exp of the first n values, the largest of which becomes 1, in place."""
    top = -np.inf
    for i in range(n):
        top = max(top, values[i])
    for i in range(n):
        values[i] = math.exp(values[i] - top)


@kernel
def lay_out(start, end, forest, layout):
    """Number the rows of a coalition so that a branch is an interval, begins[row] .. ends[row]."""
    parents, begins, ends, free = forest.parents, layout.begins, layout.ends, layout.free
    for row in range(start, end):
        ends[row] = 1
        layout.row_of[forest.variables[row]] = row
    for row in range(end - 1, start, -1):
        ends[parents[row]] += ends[row]
    begins[start] = start
    ends[start] += start
    free[start] = start + 1  # the next number within each branch
    for row in range(start + 1, end):
        begins[row] = free[parents[row]]
        free[parents[row]] += ends[row]
        free[row] = begins[row] + 1
        ends[row] += begins[row]


@kernel
def count_ways(start, end, forest, ways, layout):
    """Which rows lie on a way to a neighbour of the target; for each, its piece and the piece's ways in."""
    variables, parents = forest.variables, forest.parents
    leads, tops, n_ways = layout.leads, layout.tops, layout.n_ways
    for row in range(start, end):
        leads[row] = ways.tables[variables[row]] >= 0
        n_ways[row] = 0
    for row in range(end - 1, start, -1):
        leads[parents[row]] |= leads[row]
    for row in range(start + 1, end):
        if leads[row]:
            tops[row] = tops[parents[row]] if parents[row] > start else row
            if ways.tables[variables[row]] >= 0:
                n_ways[tops[row]] += 1


@kernel
def ask_hung(row, v, branch, share, field, work, ways, asked):
    """Ask for the belief if what begins at `branch` hung on the target by `row`, whose variable is v."""
    hung, layout, terms, product = ways.hung, ways.layout, work.terms, work.product
    h, at = hung.n_found[0], hung.n_found[1]
    base = asked.without[branch]  # the coalition itself where the branch says nothing: by another edge it may
    whole, table = branch == layout.tops[row], ways.tables[v]
    k, k_target = field.n_states[v], field.n_states[0]
    hung.rows[h], hung.shares[h], hung.branches[h] = row, share, base
    hung.replaces[h] = row == layout.tops[row]
    hung.with_prior[h] = at
    for flattened in range(1 if field.uniform[v] else 2):
        for z in range(k):
            terms[z] = work.sums[row, z]
            if whole:
                terms[z] += layout.down[row, z]
            if not flattened:
                terms[z] += field.log_priors[v, z]
        shift_exp(terms, k)
        times_table(terms, k, field.psi, table, k_target, field.off_diagonal[table], product)
        for x in range(k_target):
            asked.beliefs[x, at] = asked.beliefs[x, base] + math.log(product[x])
        hung.flattened[h] = at
        at += 1
    hung.n_found[0], hung.n_found[1] = h + 1, at


@kernel
def rehang(n_draws, n_asked, forest, field, work, ways, asked):
    """Line up the beliefs by which gains of the target's neighbours are averaged over ways to hang on the target.

    Only for potentials that are multiplied as they are. Writes ways.hung, and beliefs into asked. Returns the
    number of beliefs asked for.
    """
    n_states, log_priors, psi, off_diagonal = field.n_states, field.log_priors, field.psi, field.off_diagonal
    variables, parents = forest.variables, forest.parents
    layout, terms, product = ways.layout, work.terms, work.product
    ways.hung.n_found[0], ways.hung.n_found[1] = 0, n_asked
    for draw in range(n_draws):
        start, end = forest.starts[draw], forest.starts[draw + 1]
        lay_out(start, end, forest, layout)
        count_ways(start, end, forest, ways, layout)
        for row in range(start + 1, end):
            if not layout.leads[row]:
                continue
            v, parent, top = variables[row], parents[row], layout.tops[row]
            k = n_states[v]
            if parent == start:
                for z in range(k):
                    layout.down[row, z] = 0.0
            else:
                u, table = variables[parent], forest.tables[row] ^ 1
                k_up = n_states[u]
                for y in range(k_up):
                    terms[y] = log_priors[u, y] + work.sums[parent, y] + layout.down[parent, y]
                    if work.informative[row]:
                        terms[y] -= work.messages[row, y]
                shift_exp(terms, k_up)
                times_table(terms, k_up, psi, table, k, off_diagonal[table], product)
                for z in range(k):
                    layout.down[row, z] = math.log(product[z])
            if ways.tables[v] < 0:
                continue
            n_out, n_apart = 0, 0
            for i in range(ways.offsets[v], ways.offsets[v + 1]):
                y = ways.neighbours[ways.slots[i]]
                at = layout.row_of[y]
                if start <= at < end and variables[at] == y:
                    at = layout.begins[at]
                    n_out += at < layout.begins[row] or at >= layout.ends[row]
                    n_apart += at < layout.begins[top] or at >= layout.ends[top]
            if row == top and n_apart * layout.n_ways[top] == 1:
                continue  # there is no other way
            if row != top:
                ask_hung(row, v, row, 1.0 / n_out, field, work, ways, asked)
            share = 1.0 / (n_apart * layout.n_ways[top])
            ask_hung(row, v, top, share, field, work, ways, asked)
    return ways.hung.n_found[1]
