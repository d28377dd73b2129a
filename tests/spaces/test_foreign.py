"""A space from outside: two protocols, nothing of the library."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.spaces import FeatureSpace, MaskedInstance


@dataclass(frozen=True)
class Words:
    """Words of a text as players; masking leaves a word out."""

    def bind(self, instance):
        return MaskedWords(tuple(instance.split()))


@dataclass(frozen=True)
class MaskedWords:
    names: tuple[str, ...]
    n_backgrounds: int = 1

    @property
    def maskable(self):
        return np.ones(len(self.names), dtype=bool)

    @property
    def display_values(self):
        return self.names

    @property
    def display_masked(self):
        return ("",) * len(self.names)

    def rows(self, masked, backgrounds):
        return [" ".join(w for w, gone in zip(self.names, row, strict=True) if not gone) for row in masked]


def joy(texts):
    return np.array([0.9 if "glad" in text or "happy" in text else 0.2 for text in texts])


def test_a_space_from_outside_is_explained_stored_and_read_back(tmp_path):
    space: FeatureSpace = Words()
    bound: MaskedInstance = space.bind("what a glad day")
    assert bound.rows(np.eye(4, dtype=bool)[:1], np.zeros(1, dtype=int)) == ["a glad day"]
    explainer = kp.McXai(joy, space)
    ex = explainer.explain("what a glad day", random_state=0)
    assert ex.key_set == ("glad",)
    ex.save(tmp_path / "e.json")
    assert kp.load(tmp_path / "e.json").key_set == ("glad",)
    assert json.loads(json.dumps(ex.to_dict()))["key_set"] == ["glad"]
    texts = {"one": "what a glad day", "two": "glad and happy"}
    found = kp.explain_many(explainer, texts, random_state=0, store=tmp_path / "s")
    assert {name: set(found[name].key_set) for name in texts} == {"one": {"glad"}, "two": {"glad", "happy"}}
    assert kp.open_store(tmp_path / "s")["one"].key_set == ("glad",)
    with pytest.raises(kp.InputError, match="space must be"):
        kp.McXai(joy, "words")
