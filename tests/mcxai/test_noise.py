"""Models whose answers are not the same at each call: it is said, sets are confirmed, no bound is claimed."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from keyplayers import McXai
from keyplayers.mcxai.codec import explanation_from_dict
from keyplayers.mcxai.present import notes
from tests.mcxai.games import additive


def noisy(weights, margin, spread, seed):
    """P(class 1) falls with the weights of the zeros of a row; its log-odds differ at each call."""
    rng = np.random.default_rng(seed)

    def predict(rows):
        return 1 / (1 + np.exp((rows == 0) @ weights - margin - rng.normal(0, spread, len(rows))))

    return predict


WEIGHTS = np.array([1.6, 1.2, 1.1, 0.9, 0.6, 0.4, 0.3, 0.2, 0.2, 0.1])


def test_what_is_reported_holds_without_the_noise():
    clean = additive(WEIGHTS, 2.5)
    right = needed = confirmed = 0
    for seed in range(20):
        ex = McXai(noisy(WEIGHTS, 2.5, 0.5, seed), baseline=0).explain(np.ones(10), 1, random_state=seed)
        assert ex.noise > 0.001
        assert (ex.lower_bound, ex.proven) == (0, False)
        confirmed += ex.main.confirmed
        right += clean(ex.key_set) < 0.5
        needed += all(clean(set(ex.key_set) - {player}) > 0.4 for player in ex.key_set)
        assert "Two answers of the model about the same row differ" in ex.sentence
        assert "no bound is claimed" in notes(ex.structure)[1]
    assert confirmed >= 18
    assert right >= 18
    assert needed >= 18


def test_a_set_that_rows_did_not_allow_to_ask_for_again_may_be_luck():
    ex = McXai(noisy(WEIGHTS, 2.5, 0.5, 0), baseline=0, max_evals=30).explain(np.ones(10), 1, random_state=0)
    assert ex.n_rows <= 30
    assert ex.flipped
    assert not ex.main.confirmed
    assert "so it may have been luck" in ex.sentence


def test_noise_that_a_sure_answer_hides_shows_at_the_set():
    # about the instance and about everything masked the model is certain to eight digits
    predict = noisy(WEIGHTS * 10, 25.0, 1.5, 1)
    ex = McXai(predict, baseline=0).explain(np.ones(10), 1, random_state=0)
    assert ex.noise > 0.001
    assert not ex.proven
    assert ex.main.confirmed


def test_models_that_only_round_have_no_noise():
    rng = np.random.default_rng(0)
    clean = additive(WEIGHTS, 2.5)

    def predict(rows):
        p = np.array([clean(np.flatnonzero(row == 0)) for row in rows])
        return p + rng.uniform(-1e-7, 1e-7, len(rows))

    ex = McXai(predict, baseline=0).explain(np.ones(10), 1, random_state=0)
    assert ex.noise == 0
    assert ex.main.confirmed
    assert ex.lower_bound > 0
    assert "differ" not in ex.sentence


def test_labels_drawn_at_random_are_noise():
    rng = np.random.default_rng(0)
    clean = additive(WEIGHTS, 2.5)

    def predict(rows):
        p = np.array([clean(np.flatnonzero(row == 0)) for row in rows])
        return np.where(rng.random(len(rows)) < p, "yes", "no")

    found = [McXai(predict, baseline=0).explain(np.ones(10), "yes", random_state=seed) for seed in range(8)]
    confirmed = [ex for ex in found if ex.noise and ex.flipped and ex.main.confirmed]
    assert len(confirmed) >= 4
    assert np.mean([clean(ex.key_set) < 0.6 for ex in confirmed]) > 0.7


def test_noise_goes_through_json():
    ex = McXai(noisy(WEIGHTS, 2.5, 0.5, 0), baseline=0).explain(np.ones(10), 1, random_state=0)
    back = explanation_from_dict(ex.to_dict())
    assert (back.noise, back.main.confirmed) == (ex.noise, ex.main.confirmed)


def test_sets_of_a_model_with_dropout_left_on_hold_in_the_mean():
    torch = pytest.importorskip("torch")
    x, y = make_classification(300, 12, n_informative=8, random_state=0)
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(32, 2)
    )
    given, wanted = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    optimiser = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(60):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(given), wanted).backward()
        optimiser.step()

    def asked(rows, training):
        net.train(training)
        with torch.no_grad():
            return torch.softmax(net(torch.tensor(rows, dtype=torch.float32)), 1).numpy()

    means = []
    for row in x[:20]:
        ex = McXai(lambda rows: asked(rows, True), baseline=0).explain(row, random_state=0)
        assert ex.noise > 0 or not ex.flipped
        if ex.flipped and ex.main.confirmed:
            masked = row[None].copy()
            masked[0, list(ex.key_set)] = 0
            means.append(np.mean([asked(masked, True)[0, ex.target] for _ in range(300)]))
    # the mean of 24 answers whose standard deviation is about 0.25
    assert len(means) >= 10
    assert max(means) < 0.5 + 3 * 0.05
    assert np.mean(np.array(means) < 0.5) >= 0.75
