"""Settings are checked when they are given, and shown where they differ from their defaults."""

from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

from keyplayers import InputError
from keyplayers._base.settings import (
    NOTHING,
    Settings,
    exactly,
    instance_of,
    one_of,
    real,
    registered,
    setting,
    whole,
)

LAWS = {"uniform": 0}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Sampler(Settings):
    model: dict = setting(rule=instance_of(dict, "a dictionary"), positional=True)
    n_draws: int | str | None = setting("auto", exactly("auto") | NOTHING | whole(at_least=1))
    law: str = setting("uniform", registered(lambda: LAWS))
    goal: float | None = setting(None, NOTHING | real(above=0, at_most=1))
    weight: float = setting(1.0, real(at_least=0))
    kind: str = setting("a", one_of("a", "b"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_draws": 0}, "n_draws must be 'auto' or None or a whole number of at least 1, got 0"),
        ({"n_draws": True}, "got True"),
        ({"n_draws": 2.0}, "got 2.0"),
        ({"n_draws": "many"}, "got 'many'"),
        ({"law": "shapley"}, "law must be one of uniform, got 'shapley'"),
        ({"law": ["uniform"]}, "law must be one of uniform, got .'uniform'."),
        ({"goal": 0}, "goal must be None or a number above 0 and at most 1, got 0"),
        ({"goal": float("nan")}, "got nan"),
        ({"weight": -1}, "weight must be a number of at least 0, got -1"),
        ({"weight": np.zeros(3)}, "got <array of shape .3,.>"),
        ({"kind": None}, "kind must be one of a, b, got None"),
    ],
)
def test_a_wrong_value_is_refused_when_it_is_given(wrong, message):
    with pytest.raises(InputError, match=message):
        Sampler({}, **wrong)


def test_what_must_be_given_is_checked_too():
    with pytest.raises(InputError, match=r"model must be a dictionary, got \[\]"):
        Sampler([])


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(FrozenInstanceError):
        Sampler({}).kind = "b"


def test_scalars_of_numpy_become_plain():
    assert type(Sampler({}, n_draws=np.int64(3)).n_draws) is int


def test_only_what_differs_from_the_defaults_is_shown():
    assert repr(Sampler({}, n_draws=7, weight=1.0)) == "Sampler({}, n_draws=7)"
    assert repr(Sampler({i: i for i in range(100)})) == "Sampler(<dict>)"


def test_what_is_registered_later_is_allowed(monkeypatch):
    monkeypatch.setitem(LAWS, "shapley", 1)
    assert Sampler({}, law="shapley").changed() == {"model": {}, "law": "shapley"}
