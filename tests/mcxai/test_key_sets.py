"""Key sets that can be trusted: minimal or called otherwise, bounds that are true, budgets that never do worse."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from keyplayers import InputError, McXai, Tabular
from keyplayers.mcxai.present import sentence
from tests.mcxai.games import random_score, saturating_score
from tests.mcxai.test_explainer import explain_game, model_of
from tests.oracles.mask_games import smallest_sets


@pytest.mark.parametrize("max_evals", [2, 5, 6, 8, 10, 20])
def test_a_player_that_can_be_spared_is_not_called_needed(max_evals):
    score = lambda s: 0.1 if {0, 2} <= s else 0.9  # noqa: E731
    for seed in range(20):
        ex = explain_game(score, 5, max_evals=max_evals, random_state=seed)
        assert {0, 2} <= set(ex.key_set)
        assert not ex.minimal or set(ex.key_set) == {0, 2}
        assert ex.minimal or "did not tell whether all of them are needed" in ex.sentence
    assert max_evals < 20 or ex.minimal


@given(seed=st.integers(0, 100_000), n=st.integers(1, 8), max_evals=st.integers(2, 80), rugged=st.booleans())
@settings(max_examples=60, deadline=None)
def test_small_budgets_tell_no_lies(seed, n, max_evals, rugged):
    score = (random_score if rugged else saturating_score)(np.random.default_rng(seed), n)
    starts = score(frozenset()) > 0.5
    ends = lambda s: (score(frozenset(s)) > 0.5) != starts  # noqa: E731
    smallest = smallest_sets(ends, n)
    size = len(smallest[0]) if smallest else n + 1
    ex = explain_game(score, n, max_evals=max_evals, random_state=seed)
    assert ex.n_rows <= max_evals
    assert ex.lower_bound <= size
    if ex.flipped:
        assert ends(ex.key_set)
        assert not ex.minimal or not any(ends(set(ex.key_set) - {player}) for player in ex.key_set)
    if ex.proven:
        assert (len(ex.key_set) if ex.flipped else n + 1) == size


@pytest.mark.parametrize("seed", range(6))
def test_a_number_of_rows_never_does_worse_than_auto_with_as_many(seed):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.2, 1.2, 40)
    score = lambda s: 1 / (1 + np.exp(sum(weights[p] for p in s) - 3.5))  # noqa: E731
    auto = explain_game(score, 40, random_state=seed)
    for more in (0, 1, 50, 400, 1500):
        ex = explain_game(score, 40, max_evals=auto.n_rows + more, random_state=seed)
        assert len(ex.key_set) <= len(auto.key_set)
        assert ex.lower_bound >= auto.lower_bound


def test_more_rows_buy_a_proof():
    weights = np.linspace(1.0, 0.3, 20)
    score = lambda s: 1 / (1 + np.exp(sum(weights[p] for p in s) - 2.5))  # noqa: E731
    few, many = (explain_game(score, 20, max_evals=rows) for rows in ("auto", 2500))
    assert len(few.key_set) == len(many.key_set) == 3
    assert not few.proven
    assert many.proven


def test_that_nothing_changes_the_decision_can_be_proven():
    ex = explain_game(lambda s: 0.9 - 0.01 * len(s), 3)
    assert not ex.flipped
    assert ex.proven
    assert ex.lower_bound == 4
    assert "nothing changes that: all sets of players were masked" in ex.sentence


def test_a_model_that_is_nearly_certain_is_searched_by_log_odds():
    # P(target) is about 1e-20 and moves by factors: no margin of probabilities tells the players apart
    weights = np.random.default_rng(3).permutation(np.linspace(12, 0.5, 40))

    def predict(rows):
        gone = rows == 0
        logits = np.stack([0 * gone[:, 0], gone @ weights - 46.0, gone @ -weights + 1.0], axis=1)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    smallest = int(np.argmax(np.cumsum(np.sort(weights)[::-1]) > 46.0)) + 1
    ex = McXai(predict, baseline=0).explain(np.ones(40), target=1, random_state=0)
    assert ex.p_target < 1e-19
    assert len(ex.key_set) == smallest


def test_the_decision_is_the_models_own():
    from sklearn.model_selection import FixedThresholdClassifier

    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    model = LogisticRegression().fit(x, x.sum(axis=1) > 0)
    strict = FixedThresholdClassifier(model, threshold=0.9).fit(x, x.sum(axis=1) > 0)
    row = np.array([0.2, 0.15, 0.15, 0.1])
    assert 0.5 < model.predict_proba([row])[0, 1] < 0.95
    ex = McXai(strict, baseline=0).explain(row, random_state=0)
    assert ex.predicted == strict.predict([row])[0]
    masked = row.copy()
    masked[list(ex.key_set)] = 0
    assert not ex.flipped or strict.predict([masked])[0] != ex.predicted
    mine = McXai(lambda rows: model.predict_proba(rows), baseline=0, threshold=0.9).explain(row, random_state=0)
    assert bool(mine.classes[mine.classes.index(mine.predicted)]) == bool(ex.predicted)


def test_a_contrast_ends_the_game_only_where_the_model_decides_for_it():
    def predict(rows):
        gone = rows == 0
        logits = np.stack([3.0 - 4.0 * gone[:, 0] - 2.0 * gone[:, 1] - 2.0 * gone[:, 2], 1.0 + 0 * gone[:, 0],
                           0.5 + 1.5 * (gone[:, 1] & gone[:, 2])], axis=1)  # fmt: skip
        p = np.exp(logits)
        return p / p.sum(axis=1, keepdims=True)

    explain = lambda **kw: McXai(predict, baseline=0, class_names=["a", "b", "c"], **kw).explain(  # noqa: E731
        np.ones(4), random_state=0
    )
    assert explain().key_set == (0,)
    assert explain().main.new_class == "b"
    rather = explain(contrast="c")
    assert set(rather.key_set) == {1, 2}
    assert rather.main.new_class == "c"
    with pytest.raises(InputError, match="contrast must be another class"):
        explain(contrast="a")


def test_the_clock_is_looked_at_between_calls():
    import time

    def slow(rows):
        time.sleep(0.01 * len(rows))
        return 0.9 - 0.01 * (rows == 0).sum(axis=1)

    explainer = McXai(slow, baseline=0, max_seconds=0.4, batch_size=1)
    explainer.explain(np.ones(30), random_state=0)  # whatever a first call loads
    started = time.perf_counter()
    ex = explainer.explain(np.ones(30), random_state=0)
    assert time.perf_counter() - started < 1.5
    assert ex.partial
    assert "stopped early" in ex.sentence


def test_the_paper_to_the_letter():
    explainer = McXai.as_published(model_of(lambda s: 0.9 - 0.14 * len(s)), baseline=0, max_evals=200)
    assert explainer.textbook
    assert (explainer.depth, explainer.surrogate, explainer.widening, explainer.rollout) == (
        10, "regression", None, "random",
    )  # fmt: skip
    ex = explainer.explain(np.ones(6), random_state=0)
    assert ex.flipped
    # L as given: 10, although there are six players
    node = next(t for t in range(len(ex.tree)) if ex.tree.ended[t] and ex.tree.n_starts[t] == ex.tree.n_visits[t])
    length = len(ex.tree.path(node))
    reward = ex.tree.rewards[node] / ex.tree.n_visits[node]
    assert reward == pytest.approx(0.5 * (1 - length / 10) + 0.5 * 0.14 * length)


def test_masking_towards_real_rows_reads_as_advice():
    background = np.array([[0.0, 9.0, 5.0], [0.2, 0.1, 5.0], [9.0, 0.0, 5.0], [9.0, 9.0, 5.0]])
    model = lambda rows: 1 / (1 + np.exp(4 - rows[:, 0] - rows[:, 1]))  # noqa: E731
    space = Tabular(
        baseline="nearest_unlike", background=background, feature_names=["a", "b", "c"], n_neighbours=2
    )
    ex = McXai(model, space).explain(np.array([0.3, 0.2, 5.0]), random_state=0)
    assert ex.predicted == 0
    assert len(ex.key_set) == 1
    assert {tuple(each.changes.items()) for each in ex.alternatives} == {
        (("a", ("0.3", "9")),),
        (("b", ("0.2", "9")),),
    }
    assert ex.lower_bound == 1
    changed = np.array([[0.3, 0.2, 5.0]])
    for name, (_, put_in) in ex.alternatives[0].changes.items():
        changed[0, "abc".index(name)] = float(put_in)
    assert model(changed)[0] > 0.5
    (name,) = ex.key_set
    own = ex.alternatives[0].changes[name][0]
    assert f". It would say 1 with {name} 9 instead of {own} (P(0) = " in ex.sentence
    unsure = replace(ex.structure, main=replace(ex.structure.main, minimal=False))
    assert "did not tell whether all of these changes are needed" in sentence(unsure)


def test_advice_quotes_values_of_several_words_and_calls_a_number_a_column():
    background = np.array([["no credits", 1], ["all paid back", 2]], dtype=object)
    model = lambda rows: np.array([float(row[0] == "all paid back") for row in rows])  # noqa: E731
    ex = McXai(model, Tabular(baseline="nearest_unlike", background=background)).explain(
        np.array(["no credits", 2], dtype=object), random_state=0
    )
    assert "with column 0 'all paid back' instead of 'no credits' (P(0) = 0.000)" in ex.sentence
