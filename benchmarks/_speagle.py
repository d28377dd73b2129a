"""SpEagle of UGFraud: belief propagation on users, products and reviews, one Python object a variable.

A review is a variable of its own, joined to its user and to its product. SpEagle sweeps breadth-first, there and
back.
"""

import contextlib
import io

import networkx as nx
import numpy as np
from UGFraud.Detector.SpEagle import SpEagle

# Weak enough for one fixed point (a user has about three reviews, a product 25), so that answers can be compared.
USER_REVIEW = np.array([[0.8, 0.2], [0.2, 0.8]])
REVIEW_PRODUCT = np.array([[0.6, 0.4], [0.4, 0.6]])


def review_network(n_reviews, rng):
    """Who reviewed what, and priors of spam: (pairs [n, 2], users [U], products [P], reviews [n])."""
    n_users, n_products = n_reviews // 3, max(1, n_reviews // 25)
    codes = rng.permutation(n_users * n_products)[:n_reviews]
    pairs = np.stack([codes // n_products, codes % n_products], axis=1)
    return (
        pairs,
        rng.uniform(0.1, 0.9, n_users),
        rng.uniform(0.1, 0.9, n_products),
        rng.uniform(0.1, 0.9, n_reviews),
    )


def beliefs(pairs, users, products, reviews, *, max_sweeps=100, tolerance=1e-6):
    """P(spam) of the reviews [n], from arrays; stops when variables' messages change by `tolerance` on average."""
    graph = nx.Graph()
    used = np.unique(pairs[:, 0])
    graph.add_nodes_from((f"u{i}", {"types": "user", "prior": users[i]}) for i in used)
    graph.add_nodes_from((f"p{j}", {"types": "prod", "prior": products[j]}) for j in range(len(products)))
    graph.add_edges_from(
        (f"u{i}", f"p{j}", {"types": "review", "prior": prior})
        for (i, j), prior in zip(pairs.tolist(), reviews, strict=True)
    )
    with np.errstate(divide="ignore"):
        log_ur, log_rp = np.log(USER_REVIEW), np.log(REVIEW_PRODUCT)
    with contextlib.redirect_stdout(io.StringIO()):
        model = SpEagle(graph, {"u_r": log_ur, "r_u": log_ur, "r_p": log_rp, "p_r": log_rp}, max_iters=max_sweeps)
        model.schedule(schedule_type="bfs")
        model.run_bp(tol=tolerance)
        _, of_reviews, _ = model.classify()
    return np.array([of_reviews[f"u{i}", f"p{j}"] for i, j in pairs.tolist()])


def as_field(pairs, users, products, reviews):
    """The same field as arrays: edges [2n, 2], priors [N, 2], potentials {type: [2, 2]}, types [2n]."""
    n = len(pairs)
    review = len(users) + len(products) + np.arange(n)
    edges = np.concatenate(
        [np.stack([pairs[:, 0], review], axis=1), np.stack([review, len(users) + pairs[:, 1]], axis=1)]
    )
    spam = np.concatenate([users, products, reviews])
    types = np.repeat([0, 1], n)
    return edges, np.stack([1 - spam, spam], axis=1), {0: USER_REVIEW, 1: REVIEW_PRODUCT}, types
