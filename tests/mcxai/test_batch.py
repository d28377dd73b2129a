"""Many instances: a model shared by processes, a deadline, a fingerprint."""

import os
import subprocess
import sys

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier

import keyplayers as kp
from keyplayers._base.progress import Deadline, TimeIsUp
from keyplayers.archive import explanation_from_dict


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data, RandomForestClassifier(10, random_state=0).fit(data.data, data.target)


def settled(found):
    """All but the clock."""
    return {key: value for key, value in found.to_dict().items() if key != "seconds"}


def test_rows_of_a_frame_are_explained_by_processes_as_alone(iris, tmp_path):
    table, model = iris
    explainer = kp.McXai(model, background=table)
    store = kp.explain_many(explainer, table.iloc[:6], store=tmp_path / "s", n_jobs=2, random_state=0)
    assert list(store) == [0, 1, 2, 3, 4, 5]
    for row, found in store.items():
        alone = explainer.explain(table.iloc[[row]], random_state=found.settings["random_state"])
        assert settled(alone) == settled(found)
    summary = store.summary().set_index("target")
    assert summary["flipped"].tolist() == [found.flipped for found in store.values()]
    assert not summary["partial"].any()


def people():
    return {
        "debt": [3.0, 1.0, 2.5, None],
        "children": [1, 4, 1, 2],
        "home": ["none", "own", "rent", "none"],
        "ok": [True, False, True, True],
    }


REFUSED = set()


def risk(rows):
    """A model of any kind of table, which workers find in this module."""
    if isinstance(rows, np.ndarray):
        columns = dict(zip(people(), rows.T.tolist(), strict=True))
    else:
        frame = nw.from_native(rows, eager_only=True)
        columns = {name: frame[name].to_list() for name in frame.columns}
        if list(columns) != list(people()):
            raise KeyError(list(columns))
    debt, children, home, ok = columns.values()
    if REFUSED & set(home):
        raise ValueError("refused")
    score = [
        (1.0 if pd.isna(d) else d) - c + 2 * (h == "none") + o
        for d, c, h, o in zip(debt, children, home, ok, strict=True)
    ]
    return 1 / (1 + np.exp(-np.array(score, dtype=float)))


TABLES = {
    "pandas": lambda: pd.DataFrame(people(), index=[5, 5, "a", None]),
    "pandas nullable": lambda: pd.DataFrame(people()).convert_dtypes(),
    "pandas arrow": lambda: pd.DataFrame(people()).convert_dtypes(dtype_backend="pyarrow"),
    "pandas categories": lambda: pd.DataFrame(people()).astype({"home": "category"}),
    "polars": lambda: pl.DataFrame(people()),
    "polars lazy": lambda: pl.LazyFrame(people()),
    "pyarrow": lambda: pa.table(people()),
    "objects": lambda: np.array(list(zip(*people().values(), strict=True)), dtype=object),
    "lists": lambda: {name: list(row) for name, row in enumerate(zip(*people().values(), strict=True))},
}
BASELINE = [1.0, 3, "own", False]


@pytest.mark.parametrize("kind", TABLES)
def test_rows_of_any_table_are_explained_alike_by_any_workers(kind, tmp_path, monkeypatch):
    table = TABLES[kind]()
    named = kind not in ("objects", "lists")
    explainer = kp.McXai(risk, baseline=dict(zip(people() if named else range(4), BASELINE, strict=True)))
    serial = kp.explain_many(explainer, table, random_state=0, n_jobs=1)
    assert all(serial)
    names = set(people()) if named else {0, 1, 2, 3}
    assert all(set(found.players) == names for found in serial)
    # what the answer is does not depend on the library: all hold the same values
    scores = [5, -3, 2.5, 2]
    assert [found.p_target for found in serial] == pytest.approx([1 / (1 + np.exp(-abs(s))) for s in scores])
    assert [found.flipped for found in serial] == [True, False, True, True]
    for prefer in ("threads", "processes"):
        many = kp.explain_many(explainer, table, random_state=0, n_jobs=2, prefer=prefer)
        assert [settled(found) for found in many] == [settled(found) for found in serial]
    # a store in which rows are missing goes on with these
    monkeypatch.setattr(sys.modules[__name__], "REFUSED", {"rent"})
    with pytest.warns(kp.KeyPlayersWarning, match="1 of 4 targets failed; the first, 2: .*refused"):
        kp.explain_many(explainer, table, random_state=0, n_jobs=1, store=tmp_path / "s")
    monkeypatch.undo()
    store = kp.explain_many(explainer, table, n_jobs=1, store=tmp_path / "s", retry=["failed"])
    assert [settled(store[row]) for row in range(4)] == [settled(found) for found in serial]
    with pytest.raises(kp.InputError, match="rows are those of another table"):
        kp.explain_many(explainer, np.ones((4, 4)), n_jobs=1, store=tmp_path / "s")


def test_columns_that_are_not_called_by_texts_keep_their_names():
    table = pd.DataFrame({0: [3.0, 1.0], ("a", 1): [1.0, 4.0]})
    found = kp.explain_many(kp.McXai(second_less_than_first, baseline=2.0), table, random_state=0, n_jobs=1)
    assert [set(one.players) for one in found] == [{0, ("a", 1)}] * 2


def second_less_than_first(rows):
    return 1 / (1 + np.exp(rows[("a", 1)] - rows[0]))


class Impatient(Deadline):
    """Time is up after so many signs of life."""

    def __init__(self, n):
        super().__init__()
        self.left = n

    def advance(self, amount=1, note=""):
        self.left -= 1
        if self.left == 0:
            raise TimeIsUp


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_a_search_that_is_stopped_gives_what_there_is(n):
    table, classes = load_wine(return_X_y=True)
    model = RandomForestClassifier(10, random_state=0).fit(table, classes)
    explainer = kp.McXai(model, background=table, batch_size=4)
    found = explainer.explain(table[60], random_state=0, progress=Impatient(n))
    whole = explainer.explain(table[60], random_state=0)
    assert found.partial
    assert not whole.partial
    assert found.n_rows < whole.n_rows
    assert settled(explanation_from_dict(found.to_dict())) == settled(found)


FINGERPRINT = """
import numpy as np, pandas as pd
import keyplayers as kp
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
data = load_iris(as_frame=True)
model = RandomForestClassifier(10, random_state=0).fit(data.data, data.target)
print(kp.McXai(model, background=data.data).identity()[1])
"""


def test_the_fingerprint_is_that_of_the_model_and_the_background(iris):
    table, model = iris
    known = kp.McXai(model, background=table).identity()
    assert known == kp.McXai(model, background=table.copy()).identity()
    done = subprocess.run(
        [sys.executable, "-c", FINGERPRINT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(["src", *sys.path])},
    )
    assert done.stdout.strip() == known[1]
    other = RandomForestClassifier(10, random_state=1).fit(table, load_iris().target)
    changed = pd.concat([table.iloc[1:], table.iloc[:1] + 1])
    for explainer in (kp.McXai(other, background=table), kp.McXai(model, background=changed)):
        assert explainer.identity()[1] != known[1]
    assert kp.McXai(model, background=table, eta=0.4).identity()[0] != known[0]
    assert kp.McXai(lambda rows: np.zeros(len(rows)), baseline=0).identity()[1] is None
