"""Explanations of balls that enumeration gives up on: which engine, equal players, balls cut down."""

import numpy as np
import pytest

import keyplayers as kp
from keyplayers.graphshapley.game.trimming import trim
from keyplayers.mrf.balls import ball
from tests.oracles import hubs

from .balls import odds, on_subtrees

pytestmark = pytest.mark.filterwarnings("ignore::keyplayers.KeyPlayersWarning")

N = 2_000


@pytest.fixture(scope="module")
def star():
    """A target with 2,000 equal neighbours."""
    edges = [("X", f"leaf{i}") for i in range(N)]
    potential = [[0.9, 0.1], [0.1, 0.9]]
    return kp.MarkovRandomField.from_edges(edges, {f"leaf{i}": [0.4, 0.6] for i in range(N)}, potential=potential)


def test_two_thousand_equal_neighbours(star):
    found = on_subtrees(star, worth="log_odds", state=1).explain("X")
    np.testing.assert_allclose(found.values, 0.322773392, atol=1e-9)
    assert found.engine == "convolution"
    assert "tree" in found.engine_reason
    assert "2,000 equal neighbours" in found.sentence
    assert set(found.groups.tolist()) == {0}


def test_sampling_gives_equal_neighbours_equal_values(star):
    found = on_subtrees(star, worth="log_odds", state=1, method="sampling", max_evals=400).explain(
        "X", random_state=0
    )
    np.testing.assert_allclose(found.values, hubs.message(np.log(1.5), 0.9), atol=1e-9)
    assert len(set(found.values)) == 1


def test_table_of_equal_neighbours_has_one_row(star, tmp_path):
    typer_testing = pytest.importorskip("typer.testing")
    from keyplayers.cli.app import app

    edges = tmp_path / "edges.csv"
    edges.write_text("source,target\n" + "".join(f"X,leaf{i}\n" for i in range(N)))
    priors = tmp_path / "priors.csv"
    priors.write_text("name,0,1\n" + "".join(f"leaf{i},0.4,0.6\n" for i in range(N)))
    arguments = ["explain", str(edges), "--priors", str(priors), "--homophily", "0.9", "--target", "X"]
    shown = typer_testing.CliRunner().invoke(app, [*arguments, "--worth", "log_odds"])
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("equal neighbours") >= 2  # in the sentence and in the table
    assert shown.output.count("leaf") < 10


def test_auto_says_which_engine_and_why():
    chain = [(i, i + 1) for i in range(8)]
    small = on_subtrees(kp.MarkovRandomField.from_edges(chain, homophily=0.8)).explain(0)
    assert small.engine == "enumeration"
    assert "fit" in small.engine_reason
    many = [("X", i) for i in range(40)]
    binary = kp.MarkovRandomField.from_edges(many, {i: odds(i / 10) for i in range(40)}, homophily=0.8)
    assert on_subtrees(binary).explain("X").engine == "convolution"
    priors = {i: [1.0, 1.0 + i, 2.0] for i in range(40)}
    ternary = on_subtrees(kp.MarkovRandomField.from_edges(many, priors, homophily=0.8)).explain(
        "X", random_state=0
    )
    assert ternary.engine == "sampling"
    assert "independently" in ternary.engine_reason
    assert ternary.diagnostics["law"] == "independent"
    cyclic = [*many, *((i, i + 1) for i in range(39))]
    mrf = kp.MarkovRandomField.from_edges(cyclic, {i: odds(i / 10) for i in range(40)}, homophily=0.6)
    chained = on_subtrees(mrf).explain("X", random_state=0)
    assert chained.engine == "sampling"
    assert "Markov chain" in chained.engine_reason
    assert (chained.std_errors > 0).all()
    assert chained.to_dict()["diagnostics"]["effective_sample_size"] > 100


def test_same_seed_same_explanation_on_any_number_of_workers():
    import joblib

    cyclic = [("X", i) for i in range(30)] + [(i, i + 1) for i in range(29)]
    mrf = kp.MarkovRandomField.from_edges(cyclic, {i: odds(i / 8 - 2) for i in range(30)}, homophily=0.7)
    explainer = on_subtrees(mrf, max_evals=2_000)
    found = []
    for n_jobs in (1, 2, 4):
        with joblib.parallel_config("threading", n_jobs=n_jobs):
            found.append(explainer.explain("X", random_state=7))
    assert np.abs(found[0].values).max() > 0.01
    for other in found[1:]:
        assert other.players == found[0].players
        np.testing.assert_array_equal(other.values, found[0].values)
        np.testing.assert_array_equal(other.std_errors, found[0].std_errors)


def test_asked_for_engines_that_cannot_play_say_why():
    mrf = kp.MarkovRandomField.from_edges([("X", "a"), ("a", "b"), ("X", "b")], homophily=0.8)
    with pytest.raises(kp.TooLargeError, match="1 cycle"):
        on_subtrees(mrf, method="convolution").explain("X")
    with pytest.raises(kp.TooLargeError, match="lists?"):
        on_subtrees(mrf, method="sampling", keep_coalitions=True).explain("X")


def test_players_far_behind_weak_edges_are_dropped_first():
    """Three arms: strong edges, weak edges, and strong edges that lead to nobody who says anything."""
    edges, potentials, priors = [], [], {}
    for arm, strength in (("strong", 2.0), ("weak", 0.05), ("mute", 2.0)):
        for i in range(5):
            edges.append(("X" if i == 0 else f"{arm}{i - 1}", f"{arm}{i}"))
            potentials.append([[np.exp(strength), 1.0], [1.0, np.exp(strength)]])
            if arm != "mute":
                priors[f"{arm}{i}"] = odds(1.0)
    mrf = kp.MarkovRandomField.from_edges(edges, priors, potential=potentials)
    around = ball(mrf, "X", None)
    trimmed, cut = trim(around, 6)
    assert set(trimmed.players) == {f"strong{i}" for i in range(5)}
    assert cut is not None
    assert cut.n_dropped == 10
    assert 0.5 < cut.share_kept < 1.0
    assert [mrf.names[int(v)] for v in trimmed.members] == list(trimmed.field.names)
    assert trim(around, 16) == (around, None)

    explainer = on_subtrees(mrf, radius=None, max_ball=6)
    with pytest.warns(kp.PrecisionWarning, match="10 of them were dropped"):
        found = explainer.explain("X")
    assert found.n_dropped == 10
    assert len(found) == 5
    assert found.to_dict()["ball"]["n_dropped"] == 10
    with pytest.raises(kp.InputError, match="max_ball"):
        on_subtrees(mrf, max_ball=0)


def test_equal_players_on_cycles_are_found():
    """Two variables with the same neighbours and priors; a third differs in its prior."""
    edges = [(hub, i) for hub in ("X", "Y") for i in range(3)] + [("X", "Y"), (0, "p"), (1, "q")]
    priors = {0: odds(1.0), 1: odds(1.0), 2: odds(-1.0), "p": odds(0.5), "q": odds(0.5)}
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.7)
    found = on_subtrees(mrf).explain("X")
    group = dict(zip(found.players, found.groups.tolist(), strict=True))
    assert group[0] == group[1] != group[2]
    assert group["p"] == group["q"] != group[0]
    values = dict(found.top())
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    assert values["p"] == pytest.approx(values["q"], abs=1e-12)
