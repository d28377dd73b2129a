import importlib
import mmap
import pickle

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import keyplayers as kp
from keyplayers._base.parallel import Workers, workers
from keyplayers._base.sharing import can_be_sent, share
from tests.toy_explainers import Noisy

THREADS, PROCESSES, ELSEWHERE = Workers(2, True, True), Workers(2, False, True), Workers(2, False, False)


class Holder:
    def __init__(self):
        self.big = np.arange(1000.0).reshape(10, 100)
        self.turned = self.big.T
        self.empty = np.zeros((0, 3))
        self.objects = np.array(["a", None], dtype=object)
        self.function = lambda x: x + 1  # what plain pickle cannot


def base_of(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def test_processes_map_arrays_and_threads_get_the_object(tmp_path):
    holder = Holder()
    with share(holder, PROCESSES, tmp_path) as handle:
        (private,) = tmp_path.iterdir()
        assert private.stat().st_mode & 0o077 == 0  # for nobody else
        sent = pickle.loads(pickle.dumps(handle)).thing
        assert sent is not holder
        assert sent is pickle.loads(pickle.dumps(handle)).thing  # mapped once
        for name in ("big", "turned", "empty"):
            np.testing.assert_array_equal(getattr(sent, name), getattr(holder, name))
            assert not getattr(sent, name).flags.writeable or not getattr(sent, name).size
        assert isinstance(base_of(sent.big), mmap.mmap)
        assert sent.objects.tolist() == ["a", None]
        assert sent.function(1) == 2
    assert not list(tmp_path.iterdir())
    with share(holder, THREADS, tmp_path) as handle:
        assert handle.thing is holder
        assert not list(tmp_path.iterdir())
        with pytest.raises(pickle.PicklingError, match="threads only"):
            pickle.dumps(handle)


def test_workers_elsewhere_get_the_object_itself(tmp_path):
    with share(Holder(), ELSEWHERE, tmp_path) as handle:
        assert not list(tmp_path.iterdir())
        assert pickle.loads(pickle.dumps(handle)).thing.big[-1, -1] == 999


class Refusing:
    def __reduce__(self):
        return int, ("no number",)


@pytest.mark.parametrize("crew", [PROCESSES, ELSEWHERE])
def test_a_process_that_cannot_load_the_object_says_so(tmp_path, crew):
    with share(Refusing(), crew, tmp_path) as handle:
        sent = pickle.loads(pickle.dumps(handle))
        with pytest.raises(kp.InputError, match="worker process cannot load what it was sent: invalid literal"):
            _ = sent.thing


def test_workers_may_be_at_home_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with share(Holder(), PROCESSES, ".") as handle:
        sent = pickle.dumps(handle)
        monkeypatch.chdir("/")
        assert pickle.loads(sent).thing.big[-1, -1] == 999


def test_a_process_finds_modules_where_the_sender_does(tmp_path, monkeypatch):
    kp.explain_many(Noisy(), ["a", "b"], n_jobs=2, prefer="processes")  # workers that know nothing of it
    (tmp_path / "later_module.py").write_text(
        "from tests.toy_explainers import Noisy\nclass Later(Noisy):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    later = importlib.import_module("later_module").Later()
    assert all(kp.explain_many(later, ["a", "b"], n_jobs=2, prefer="processes"))


def test_what_cannot_be_pickled_is_told():
    generator = (i for i in range(3))
    assert not can_be_sent(generator)
    with pytest.raises(kp.InputError, match="generator cannot be sent"), share(generator, PROCESSES):
        pass


def test_a_forest_predicts_from_mapped_arrays(tmp_path):
    table, classes = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(table, classes)
    with share(forest, PROCESSES, tmp_path) as handle:
        sent = pickle.loads(pickle.dumps(handle)).thing
        np.testing.assert_array_equal(sent.predict_proba(table), forest.predict_proba(table))


def test_a_field_is_explained_from_mapped_arrays(tmp_path):
    explainer = kp.GraphShapley(kp.random_field(30, 45, random_state=1), radius=1)
    explainer.prepare()
    with share(explainer, PROCESSES, tmp_path) as handle:
        sent = pickle.loads(pickle.dumps(handle)).thing
        assert isinstance(base_of(sent.mrf.log_priors), mmap.mmap)
        assert sent.explain(3).to_dict() == explainer.explain(3).to_dict()


def test_an_explanation_travels_without_the_names_of_the_field():
    found = kp.GraphShapley(kp.chain_field(5, random_state=1)).explain(2)
    assert pickle.loads(pickle.dumps(found)).field_names is None
    assert found.field_names is not None
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_workers_follow_the_callers_context():
    assert workers() == Workers(1, True, True)
    assert workers(2, "threads") == Workers(2, True, True)
    assert workers(2, "processes") == Workers(2, False, True)
    assert workers(-1, "threads").n_workers == joblib.cpu_count()
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert workers(prefer="processes") == Workers(3, True, True)
        assert workers(1) == Workers(1, True, True)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert workers(prefer="threads") == Workers(2, False, True)
