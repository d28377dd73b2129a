"""Labelled pairs counted edge by edge, and tables scaled to given margins. Plain Python."""


def count_pairs(edges, kinds, labels, n_kinds, n_states, *, directed):
    """Per kind a matrix of counts: edges by the labels of source and target; both ways round where undirected."""
    pairs = [[[0] * n_states for _ in range(n_states)] for _ in range(n_kinds)]
    seen = set()
    for (a, b), kind in zip(edges, kinds, strict=True):
        if a == b or labels[a] < 0 or labels[b] < 0:
            continue
        if n_kinds == 1 and not directed:
            if frozenset((a, b)) in seen:
                continue
            seen.add(frozenset((a, b)))
        pairs[kind][labels[a]][labels[b]] += 1
        if not directed:
            pairs[kind][labels[b]][labels[a]] += 1
    return pairs


def scale(table, rows, columns, n_rounds=2000):
    """The table with these row and column sums and the same odds ratios."""
    table = [list(row) for row in table]
    for _ in range(n_rounds):
        for i, row in enumerate(table):
            total = sum(row)
            table[i] = [x * rows[i] / total for x in row]
        for j, wanted in enumerate(columns):
            total = sum(row[j] for row in table)
            for row in table:
                row[j] *= wanted / total
    return table
