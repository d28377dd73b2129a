"""A space that the package does not know: words of a text, masked by leaving them out."""

from dataclasses import dataclass

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.cli.explain_model import print_features


@dataclass(frozen=True)
class Words:
    """Texts are cut at blanks."""

    def bind(self, text):
        return BoundWords(tuple(text.split()))


@dataclass(frozen=True)
class BoundWords:
    words: tuple[str, ...]
    n_backgrounds = 1

    @property
    def names(self):
        return tuple(enumerate(self.words))

    @property
    def maskable(self):
        return np.ones(len(self.words), dtype=bool)

    @property
    def display_values(self):
        return self.words

    @property
    def display_masked(self):
        return ("left out",) * len(self.words)

    def rows(self, masked, backgrounds):
        return [" ".join(w for w, gone in zip(self.words, row, strict=True) if not gone) for row in masked]


def sentiment(texts):
    """Good, unless it is negated."""
    good = np.array([0.9 if ("good" in text.split()) != ("not" in text.split()) else 0.2 for text in texts])
    return np.stack([1 - good, good], axis=1)


TEXT = "this was a good day"


@pytest.fixture(scope="module")
def explainer():
    return kp.McXai(sentiment, Words(), class_names=["bad", "good"])


@pytest.fixture(scope="module")
def explained(explainer):
    return explainer.explain(TEXT, random_state=0)


def test_it_is_explained(explained):
    assert explained.target == "good"
    assert explained.key_set == ((3, "good"),)
    assert explained.lower_bound == 1


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_it_is_saved_and_read_back(tmp_path, explained, suffix):
    explained.save(tmp_path / f"a{suffix}")
    found = kp.load(tmp_path / f"a{suffix}")
    assert found.to_dict() == explained.to_dict()
    assert found.key_set == explained.key_set


def test_it_goes_through_a_batch_into_a_store(tmp_path, explainer):
    texts = {"first": TEXT, "second": "not a good day at all"}
    store = kp.explain_many(explainer, texts, store=tmp_path / "s", n_jobs=1, random_state=1)
    assert store["first"].key_set == ((3, "good"),)
    assert store["second"].target == "bad"
    assert store["second"].key_set == ((0, "not"),)


def test_the_command_line_prints_it(explained, capsys):
    print_features(explained, 3)
    shown = capsys.readouterr().out
    assert "good" in shown
    assert "left out" in shown
