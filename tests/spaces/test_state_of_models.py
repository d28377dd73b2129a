"""Models and the program around them are after an explanation what they were before."""

import random

import numpy as np
import pytest

import keyplayers as kp

torch = pytest.importorskip("torch")


@pytest.fixture
def network():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Dropout(0.5), torch.nn.Flatten(),
        torch.nn.Linear(4 * 6 * 6, 2), torch.nn.Softmax(dim=1),
    )  # fmt: skip
    net.train()
    net[1].eval()  # one part in another mode than the rest
    net[0].weight.requires_grad_(False)
    net[4].weight.grad = torch.ones_like(net[4].weight)
    return net


def state_of(net):
    return (
        [part.training for part in net.modules()],
        [(p.requires_grad, p.device, p.dtype, p.grad is None) for p in net.parameters()],
        [value.clone() for value in net.state_dict().values()],
        net[4].weight.grad.clone(),
        torch.is_grad_enabled(),
    )


def test_a_network_keeps_its_modes_gradients_and_statistics(network):
    before = state_of(network)
    image = np.random.default_rng(0).random((3, 8, 8), dtype=np.float32)
    found = kp.McXai(network, kp.Image(players=4, fill=0)).explain(image, random_state=0)
    after = state_of(network)
    assert found.n_rows > 2
    assert before[:2] == after[:2]
    assert all(torch.equal(a, b) for a, b in zip(before[2], after[2], strict=True))
    assert torch.equal(before[3], after[3])
    assert before[4] == after[4]


def whiteness(rows):
    return 1 / (1 + np.exp(-(rows.reshape(len(rows), -1).mean(axis=1) - 0.4)))


def goodness(texts):
    return np.array([0.9 if "good" in text else 0.1 for text in texts])


@pytest.mark.parametrize(
    ("model", "space", "instance"),
    [
        (goodness, kp.Text(), "a good day"),
        (whiteness, kp.Image(players="segments"), np.random.default_rng(0).random((20, 20))),
        (whiteness, kp.Image(fill="inpaint", players=3), np.random.default_rng(0).random((9, 9))),
        (whiteness, kp.Series(window=5), np.random.default_rng(0).random(50)),
    ],
    ids=["text", "segments", "inpainting", "series"],
)
def test_global_random_states_are_untouched(model, space, instance):
    def states():
        return random.getstate(), [str(part) for part in np.random.get_state()], torch.get_rng_state().tolist()  # noqa: NPY002

    before = states()
    first = kp.McXai(model, space).explain(instance, random_state=3)
    assert states() == before
    again = kp.McXai(model, space, batch_size=7).explain(instance, random_state=3)
    assert again.key_set == first.key_set
    assert again.values.tolist() == first.values.tolist()


def test_no_call_is_larger_than_the_batch_size():
    calls = []

    def model(rows):
        calls.append(len(rows))
        return whiteness(rows)

    image = np.zeros((64, 64, 3), dtype=np.float32)
    image[:30] = 1
    backgrounds = np.zeros((3, 64, 64, 3), dtype=np.float32)
    kp.McXai(model, kp.Image(fill=backgrounds), batch_size=32).explain(image, random_state=0)
    assert 1 < max(calls) <= 32


class Pipeline:
    """Called as a text-classification pipeline of transformers is: texts in, labels with scores out."""

    def __call__(self, texts, top_k=None):
        assert isinstance(texts, list)
        return [[{"label": "NEG", "score": 1 - p}, {"label": "POS", "score": p}] for p in goodness(texts).tolist()]


def test_a_pipeline_of_labels_and_scores_needs_a_line():
    pipeline, labels = Pipeline(), ["NEG", "POS"]

    def predict(texts):
        found = [{each["label"]: each["score"] for each in row} for row in pipeline(texts, top_k=None)]
        return np.array([[row[label] for label in labels] for row in found])

    found = kp.McXai(predict, class_names=labels).explain("a good day", random_state=0)
    assert found.target == "POS"
    assert found.key_set == ("good",)
