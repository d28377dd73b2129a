"""Fit the classifiers of the golden files once, and keep their weights: `python tests/golden/fit.py`.

Needs scikit-learn; the tests do not. Weights and features are rounded to binary fractions, so that the NumPy
functions of `classifiers.py` add up without rounding, in any order, on every processor. Run it only to add a
model: other weights are other problems, and all golden files of classifiers change with them.
"""

from pathlib import Path

import numpy as np

WEIGHTS = Path(__file__).with_name("classifiers.npz")


def main():
    arrays = digits() | cancer() | wine() | iris()
    np.savez_compressed(WEIGHTS, **arrays)
    print(f"{WEIGHTS.name}: {len(arrays)} arrays, {WEIGHTS.stat().st_size:,} bytes")


def digits():
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    x, y = load_digits(return_X_y=True)
    train, test = slice(0, 1200), slice(1200, None)
    linear = LogisticRegression(max_iter=300, C=0.01).fit(x[train], y[train])
    mlp = MLPClassifier((24,), max_iter=150, alpha=1e-2, random_state=0).fit(x[train] / 16, y[train])
    return {
        "digits_rows": x[test].astype(np.uint8)[:250],
        "digits_labels": y[test].astype(np.uint8)[:250],
        "digits_logistic_weights": whole(linear.coef_.T, 1024),
        "digits_logistic_bias": whole(linear.intercept_, 1024),
        "digits_mlp_weights1": whole(mlp.coefs_[0] / 16, 1024),
        "digits_mlp_bias1": whole(mlp.intercepts_[0], 1024),
        "digits_mlp_weights2": whole(mlp.coefs_[1], 256),
        "digits_mlp_bias2": whole(mlp.intercepts_[1], 256),
    }


def cancer():
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    x, y = load_breast_cancer(return_X_y=True)
    x = standardised(x)
    train, test = slice(0, 300), slice(300, None)
    linear = LogisticRegression(C=0.1).fit(x[train] / 64, y[train])
    forest = RandomForestClassifier(12, max_depth=5, random_state=0).fit(x[train], y[train])
    boosting = GradientBoostingClassifier(n_estimators=25, max_depth=3, random_state=0).fit(x[train], y[train])
    return {
        "cancer_rows": x[test],
        "cancer_labels": y[test].astype(np.uint8),
        "cancer_background": x[train][::15],
        "cancer_logistic_weights": whole(linear.coef_[0], 256),
        "cancer_logistic_bias": whole(linear.intercept_, 256),
        "cancer_forest": trees(forest.estimators_, lambda value: value[:, 0, 1] / value[:, 0].sum(1)),
        "cancer_boosting": trees(boosting.estimators_[:, 0], lambda value: value[:, 0, 0] * 0.1),
    }


def wine():
    from sklearn.datasets import load_wine
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import SVC

    x, y = load_wine(return_X_y=True)
    x = standardised(x)
    train, test = x[::2], x[1::2]
    bayes = GaussianNB().fit(train / 64, y[::2])
    svc = SVC(kernel=rational_kernel).fit(train / 64, y[::2] == 1)
    precision = 0.5 / bayes.var_
    constants = np.log(bayes.class_prior_) - 0.5 * np.log(bayes.var_).sum(1) - (precision * bayes.theta_**2).sum(1)
    return {
        "wine_rows": test,
        "wine_labels": y[1::2].astype(np.uint8),
        "wine_train": train,
        "wine_train_labels": y[::2].astype(np.uint8),
        "wine_bayes_squares": whole(precision.T, 256),
        "wine_bayes_weights": whole((2 * precision * bayes.theta_).T, 256),
        "wine_bayes_bias": np.round(constants * 256).astype(np.int32),
        "wine_svc_rows": train[svc.support_],
        "wine_svc_weights": whole(svc.dual_coef_[0], 1024),
        "wine_svc_bias": whole(svc.intercept_, 1024),
    }


def iris():
    from sklearn.datasets import load_iris
    from sklearn.neural_network import MLPClassifier

    x, y = load_iris(return_X_y=True)
    x = standardised(x)
    mlp = MLPClassifier((8,), max_iter=2000, alpha=1e-2, random_state=1).fit(x[::2] / 64, y[::2])
    return {
        "iris_rows": x[1::2],
        "iris_labels": y[1::2].astype(np.uint8),
        "iris_mlp_weights1": whole(mlp.coefs_[0], 256),
        "iris_mlp_bias1": whole(mlp.intercepts_[0], 256),
        "iris_mlp_weights2": whole(mlp.coefs_[1], 256),
        "iris_mlp_bias2": whole(mlp.intercepts_[1], 256),
    }


def rational_kernel(a, b):
    """1 / (1 + |a - b|² / 8)."""
    return 1 / (1 + ((a[:, None] - b[None]) ** 2).sum(2) / 8)


def standardised(x):
    """Columns with mean 0 and variance 1, in 64ths."""
    return whole((x - x.mean(0)) / x.std(0), 64)


def whole(values, per):
    """Integers: `values` in fractions 1 / per."""
    return np.round(np.asarray(values) * per).astype(np.int16)


def trees(estimators, value_of):
    """[T, nodes, 5] feature, threshold, left, right, value in 1024ths; a leaf points at itself."""
    n_nodes = max(estimator.tree_.node_count for estimator in estimators)
    packed = np.zeros((len(estimators), n_nodes, 5), dtype=np.int16)
    for row, estimator in zip(packed, estimators, strict=True):
        tree = estimator.tree_
        n, here = tree.node_count, np.arange(tree.node_count)
        leaf = tree.children_left < 0
        row[:n, 0] = np.where(leaf, 0, tree.feature)
        row[:n, 1] = np.where(leaf, 0, np.floor(tree.threshold))  # features are whole numbers
        row[:n, 2] = np.where(leaf, here, tree.children_left)
        row[:n, 3] = np.where(leaf, here, tree.children_right)
        row[:n, 4] = np.round(value_of(tree.value) * 1024)
    return packed


if __name__ == "__main__":
    main()
