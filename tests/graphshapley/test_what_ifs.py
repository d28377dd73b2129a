"""What-ifs beside values: fields built anew as the oracle, files, tables, and what a stop leaves of them."""

import json

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.present import player_table

pytestmark = pytest.mark.filterwarnings("ignore::keyplayers.KeyPlayersWarning")

EDGES = [("t", "a"), ("t", "b"), ("b", "c"), ("c", "d"), ("b", "e")]
PRIORS = {"t": [0.4, 0.6], "c": [0.7, 0.3], "e": [0.45, 0.55]}
EVIDENCE = {"a": 1, "d": 0}
COLUMNS = {"evidence", "without_evidence", "without", "otherwise_state", "otherwise", "shift"}


def field(edges=EDGES, priors=PRIORS, evidence=EVIDENCE):
    names = dict.fromkeys(name for edge in edges for name in edge)
    priors = {"t": priors["t"]} | {name: prior for name, prior in priors.items() if name in names}
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.8)
    return mrf.observe({name: state for name, state in evidence.items() if name in names})


def probability(mrf, state):
    return float(kp.exact_marginals(mrf).belief("t")[state])


def left_out(records, name):
    return {key: value for key, value in records.items() if key != name}


def check_against_other_fields(found, beliefs_state):
    asked = found.what_ifs
    for i, name in enumerate(found.players):
        bare = field(priors=left_out(PRIORS, name), evidence=left_out(EVIDENCE, name))
        gone = field([edge for edge in EDGES if name not in edge])
        if name in EVIDENCE or name in PRIORS:
            assert asked.without_evidence[i] == pytest.approx(probability(bare, beliefs_state), abs=1e-4)
        else:
            assert np.isnan(asked.without_evidence[i])
        assert asked.without[i] == pytest.approx(probability(gone, beliefs_state), abs=1e-4)
        if name in EVIDENCE:
            other = 1 - EVIDENCE[name]
            changed = field(evidence=EVIDENCE | {name: other})
            assert (asked.evidence[i], asked.otherwise_state[i]) == (EVIDENCE[name], other)
            assert asked.otherwise[i] == pytest.approx(probability(changed, beliefs_state), abs=1e-4)
        else:
            assert (asked.evidence[i], asked.otherwise_state[i]) == (None, None)
            assert np.isnan(asked.otherwise[i])


@pytest.mark.parametrize("coalitions", ["walks", "subtrees"])
@pytest.mark.parametrize("infer", [kp.belief_propagation, kp.exact_marginals])
def test_they_are_the_beliefs_of_fields_built_anew(coalitions, infer):
    mrf = field()
    explainer = kp.GraphShapley(mrf, radius=None, coalitions=coalitions, beliefs=infer(mrf), what_if=True)
    found = explainer.explain("t")
    check_against_other_fields(found, mrf.states("t").index(found.direction_state))


def test_nobody_asks_unless_told_to():
    found = kp.GraphShapley(field()).explain("t")
    assert found.what_ifs is None
    assert not COLUMNS & set(found.to_dict()["players"][0])
    assert not COLUMNS & set(found.to_frame())


def test_values_are_the_same_with_and_without():
    usual, found = (kp.GraphShapley(field(), what_if=asked).explain("t") for asked in (False, True))
    assert found.values.tobytes() == usual.values.tobytes()
    assert found.sentence == usual.sentence


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_they_go_through_files_frames_and_stores(tmp_path, suffix):
    explainer = kp.GraphShapley(field(), radius=None, what_if=True)
    found = explainer.explain("t")
    found.save(tmp_path / f"x{suffix}")
    again = kp.load(tmp_path / f"x{suffix}")
    assert again.to_dict() == found.to_dict()
    assert again.what_ifs.otherwise_state == found.what_ifs.otherwise_state
    assert found.to_frame()["without"].tolist() == found.what_ifs.without.tolist()
    store = kp.explain_many(explainer, ["t", "b"], store=tmp_path / "s", n_jobs=1)
    assert store["t"].to_dict()["players"] == found.to_dict()["players"]
    assert set(store.manifest["settings"]) >= {"what_if"}


def test_what_the_field_excludes_has_no_answer_and_spoils_nothing():
    agree = kp.MarkovRandomField.from_edges([("a", "x"), ("c", "x"), ("x", "t")], potential=np.eye(2))
    mrf = agree.observe({"a": 1, "c": 1})
    found = kp.GraphShapley(mrf, what_if=True, max_evals=500).explain("t", random_state=0)
    asked = found.what_ifs
    assert asked.otherwise_state == (None, None, None)
    assert np.isnan(asked.otherwise).all()
    assert asked.without[found.players.index("a")] == 1.0  # c says the same
    assert asked.without[found.players.index("x")] == 0.5
    assert found.to_dict()["players"][found.players.index("x")]["shift"] is None


class Impatient:
    """Stops what asks, after some questions."""

    def __init__(self, patience):
        self.patience, self.asking = patience, False

    def begin(self, label, total=None):
        self.asking = label == "what if"

    def advance(self, amount=1, note=""):
        self.patience -= self.asking
        if self.patience < 0:
            raise KeyboardInterrupt

    def end(self):
        self.asking = False


def test_what_was_answered_before_it_was_stopped_is_kept():
    with pytest.warns(kp.PrecisionWarning, match="what-ifs of 3 of the 5 players of 't'"):
        stopped = kp.GraphShapley(field(), radius=None, what_if=True).explain("t", progress=Impatient(2))
    whole = kp.GraphShapley(field(), radius=None, what_if=True).explain("t")
    assert (stopped.partial, whole.partial) == (True, False)
    assert stopped.what_ifs.without[:3].tolist() == whole.what_ifs.without[:3].tolist()
    assert np.isnan(stopped.what_ifs.without[3:]).all()
    assert stopped.values.tobytes() == whole.values.tobytes()
    json.dumps(stopped.to_dict(), allow_nan=False)


def test_players_equal_in_the_ball_show_how_far_their_answers_differ():
    # b and c are equal within one hop, where walks are cut; behind b there is evidence
    mrf = kp.MarkovRandomField.from_edges([("t", "b"), ("t", "c"), ("b", "d")], homophily=0.8).observe({"d": 1})
    explainer = kp.GraphShapley(mrf, radius=1, boundary="cut", what_if=True)
    found = explainer.explain("t")
    assert len(found.equal_to(0)) == 2
    table = player_table(found, 5)
    shown = dict(zip(table.columns, table.rows[0], strict=True))
    low, high = sorted(found.what_ifs.without.tolist())
    assert shown["without it"] == f"{low:.4f} to {high:.4f}"
    assert shown["P(1) without evidence"] == "-"


def test_an_observed_target_and_a_lonely_one_are_no_trouble():
    assert kp.GraphShapley(field(), what_if=True).explain("a").what_ifs.shift.tolist() == [0.0, 0.0]
    alone = kp.MarkovRandomField.from_edges([(1, 2)], {0: [1, 3]}, homophily=0.8)
    assert len(kp.GraphShapley(alone, what_if=True).explain(0).what_ifs.without) == 0


def test_beliefs_of_another_inference_are_asked_by_propagation():
    mrf = field()
    marginals = [kp.exact_marginals(mrf).belief(name) for name in mrf.names]
    state = kp.BeliefState.from_marginals(mrf, marginals, schedule="mine")
    found = kp.GraphShapley(mrf, radius=None, beliefs=state, what_if=True).explain("t")
    check_against_other_fields(found, mrf.states("t").index(found.direction_state))


def test_probabilities_are_of_the_state_that_is_explained_though_propagation_believes_another():
    mrf = field()
    marginals = [kp.exact_marginals(mrf).belief(name) for name in mrf.names]
    t = mrf.index("t")
    marginals[t] = marginals[t][::-1]
    state = kp.BeliefState.from_marginals(mrf, marginals, schedule="contrary")
    found = kp.GraphShapley(mrf, radius=None, beliefs=state, what_if=True).explain("t")
    usual = kp.GraphShapley(mrf, radius=None, what_if=True).explain("t")
    assert found.direction_state != usual.direction_state
    check_against_other_fields(found, mrf.states("t").index(found.direction_state))
    there, here = found.players.index("a"), usual.players.index("a")
    assert found.what_ifs.shift[there] == pytest.approx(-usual.what_ifs.shift[here])
