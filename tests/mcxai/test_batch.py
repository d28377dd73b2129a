"""Many instances: a model shared by processes, a deadline, a fingerprint."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier

import keyplayers as kp
from keyplayers.archive import explanation_from_dict
from keyplayers.progress import Deadline, TimeIsUp


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
