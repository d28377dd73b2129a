"""The letter to a refused customer: what would change the decision, replayed on the model that took it."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

N_ROWS = 400
FIXED = ("age", "sex", "foreign_worker")
CODES = {
    "status": ["A11", "A12", "A13", "A14"],
    "credit_history": ["all paid back", "delay in the past", "critical account"],
    "savings": ["A61", "A62", "A65"],
    "sex": ["female", "male"],
    "foreign_worker": ["no", "yes"],
}
CHANGE = re.compile(r"(\w+) ('[^']*'|\S+) instead of ('[^']*'|[^\s,]+)")


def applicants():
    """Applications in the shape of German credit: codes, texts, counts and amounts."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({name: rng.choice(codes, N_ROWS) for name, codes in CODES.items()})
    table["duration"] = rng.choice([6, 12, 18, 24, 36, 48], N_ROWS)
    table["credit_amount"] = rng.integers(250, 15_000, N_ROWS)
    table["age"] = rng.integers(19, 75, N_ROWS)
    return table


def decided(table):
    """Who paid back: by status, history, savings, duration and amount, and a little by what nobody can change."""
    log_odds = (
        (table["status"] == "A14") * 1.5
        + (table["credit_history"] == "all paid back") * 1.2
        + (table["savings"] == "A65") * 0.8
        - table["duration"] / 12
        - table["credit_amount"] / 5_000
        + table["age"] / 40
        + (table["sex"] == "male") * 0.5
    )
    noisy = log_odds + np.random.default_rng(4).logistic(size=N_ROWS) / 4
    return np.where(noisy > 0, "accepted", "refused")


@pytest.fixture(scope="module")
def bank():
    table = applicants()
    columns = make_column_transformer(
        (OneHotEncoder(), list(CODES)), (StandardScaler(), ["duration", "credit_amount", "age"])
    )
    model = make_pipeline(columns, LogisticRegression()).fit(table, decided(table))
    return model, table


def read_changes(sentence):
    """Column -> (what it should be, what it is), as the sentence says."""
    return {name: (to.strip("'"), own.strip("'")) for name, to, own in CHANGE.findall(sentence)}


def changed(row, changes):
    """The row as the letter advises it."""
    after = row.copy()
    for name, (to, own) in changes.items():
        assert str(row[name].iloc[0]) == own
        after[name] = pd.Series([to], index=row.index).astype(row[name].dtype)
    return after


def test_the_advice_holds_when_it_is_replayed_on_the_model(cli, bank, tmp_path):
    model, table = bank
    table.to_csv(tmp_path / "applicants.csv", index=False)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    refused = np.flatnonzero(model.predict(table) == "refused")[:8]
    ask = ["explain-model", "model.pkl", "applicants.csv", "--trust-pickle", "--seed", "0", "--json"]
    ask += ["--baseline", "nearest_unlike", "--background", "applicants.csv"]
    ask += [word for name in FIXED for word in ("--fixed", name)]
    sizes = set()
    for place in refused:
        done = cli(*ask, "--row", place)
        assert done.status == 0, done.err
        told, row = json.loads(done.out), table.iloc[[place]]
        changes = read_changes(told["sentence"])
        assert set(changes) == set(told["key_set"])
        assert not set(changes) & set(FIXED)
        assert model.predict(changed(row, changes)) == ["accepted"], told["sentence"]
        for spared in changes:
            fewer = {name: each for name, each in changes.items() if name != spared}
            assert model.predict(changed(row, fewer)) == ["refused"], (spared, told["sentence"])
        sizes.add(len(changes))
        assert ("all of these changes are needed" in told["sentence"]) == (len(changes) > 1)
    assert max(sizes) > 1
