"""Figures, by what their artists carry."""

import warnings

import numpy as np
import pytest

import keyplayers as kp
from keyplayers import plots
from keyplayers.errors import InputError
from tests.toy_explainers import toy

pytest.importorskip("matplotlib")

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Circle, RegularPolygon

HOSTILE = ["$\\frac{a}{$", "<script>", "x" * 10_000, "\u202eab", "{}"]


@pytest.fixture(autouse=True)
def settings_stay():
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before


@pytest.fixture
def ax():
    return Figure().subplots()


def explain(mrf, target, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kp.GraphShapley(mrf, **settings).explain(target, random_state=0)


@pytest.fixture(scope="module")
def belief():
    edges = [("t", "for"), ("t", "against"), ("t", "link"), ("link", "far")] + [("t", f"e{i}") for i in range(7)]
    priors = {"for": [0.1, 0.9], "against": [0.7, 0.3], "far": [0.2, 0.8]} | {
        f"e{i}": [0.45, 0.55] for i in range(7)
    }
    return explain(kp.MarkovRandomField.from_edges(edges, priors, homophily=0.9, states=["no", "yes"]), "t")


@pytest.fixture(scope="module")
def prediction():
    names = ["income", "debt", "age", "twin", "spare"]
    rows = np.array([[2.0, 0.0, 30.0, 1.0, 1.0], [0.0, 3.0, 20.0, 0.0, 1.0], [3.0, 1.0, 50.0, 1.0, 0.0]])

    def model(given):
        given = np.asarray(given, dtype=float)
        p = 1 / (1 + np.exp(-(given[:, 0] + given[:, 3] * given[:, 0] - 2 * given[:, 1] - 0.5)))
        return np.column_stack([1 - p, p])

    space = kp.Tabular(baseline="nearest_unlike", background=rows, feature_names=names)
    return kp.McXai(model, space, class_names=["refuse", "grant"]).explain(rows[0], random_state=0)


@pytest.fixture(scope="module")
def sentiment():
    def model(texts):
        p = np.array([0.5 + 0.3 * ("good" in text) - 0.2 * ("bad" in text) for text in texts])
        return np.column_stack([1 - p, p])

    return kp.McXai(model, kp.Text()).explain("A good film,\nbut a bad end. " + "And so on. " * 10, random_state=0)


def labels_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def draw(ax):
    """Draw it, as saving would: what cannot be drawn fails here."""
    ax.get_figure().canvas.draw()


def test_a_ranking_carries_values_parts_and_names(belief, ax):
    plots.ranking(belief, ax, top=3)
    assert labels_of(ax)[0] == "for"
    parts = sorted((bar.get_y(), bar.get_width()) for bar in ax.patches)
    assert sorted(width for _, width in parts[:2]) == pytest.approx(
        sorted([belief.probabilistic[0], belief.topological[0]])
    )
    assert ax.lines[0].get_xdata() == pytest.approx(belief.values[:3])
    assert "log-odds of 'yes'" in ax.get_xlabel()
    draw(ax)


def test_equal_players_share_a_bar(belief, ax):
    plots.ranking(belief, ax, top=100)
    assert sum("7 equal neighbours such as e" in name for name in labels_of(ax)) == 1
    assert len(labels_of(ax)) == 5


def test_standard_errors_are_drawn_where_they_are_known(ax):
    found = toy("t", np.array([2.0, 1.0, -0.5]), 0)
    found.std_errors[:] = [0.5, np.nan, 0.0]
    plots.ranking(found, ax)
    (bars,) = ax.containers[-1:]
    segments = bars.lines[2][0].get_segments()
    assert [segment.tolist() for segment in segments] == [[[1.5, 0.0], [2.5, 0.0]]]


def test_a_classifiers_ranking_says_what_was_put_in_and_colours_the_sets(prediction, ax):
    plots.ranking(prediction, ax)
    player = prediction.key_set[0]
    own, masked = prediction.display_values[player]
    row = prediction.players.index(player)
    assert labels_of(ax)[row] == f"{player}: {own} → {masked}"
    assert mpl.colors.to_hex(ax.patches[row].get_facecolor()) == "#2166ac"
    draw(ax)


def test_a_neighbourhood_carries_roles_colours_and_the_target(belief, ax):
    plots.neighbourhood(belief, ax)
    by_role = {}
    for patch in ax.patches:
        by_role.setdefault(patch.get_gid(), []).append(patch)
    assert {role: len(found) for role, found in by_role.items()} == {
        "target": 1, "for": 3, "against": 1, "connects": 1, "group": 1,
    }  # fmt: skip
    assert isinstance(by_role["against"][0], RegularPolygon)
    assert all(isinstance(patch, Circle) for patch in by_role["for"])
    assert by_role["target"][0].center == (0.0, 0.0)
    largest = max(by_role["for"], key=lambda patch: patch.radius)
    red, _, blue, _ = largest.get_facecolor()
    assert blue > red
    red, _, blue, _ = by_role["against"][0].get_facecolor()
    assert red > blue
    steps = next(lines for lines in ax.collections if lines.get_label() == "best paths")
    assert len(steps.get_segments()) == 5
    assert {"t", "for", "against"} <= set(texts_of(ax))
    assert any(text.startswith("7 like e") for text in texts_of(ax))
    draw(ax)


def test_those_who_are_not_drawn_are_counted(belief, ax):
    plots.neighbourhood(belief, ax, max_nodes=1)
    assert "10 others" in texts_of(ax)


def test_a_belief_builds_up_from_the_target_alone_to_all_values(belief, ax):
    plots.build_up(belief, ax, top=2)
    assert labels_of(ax)[0] == "t alone"
    assert labels_of(ax)[-2:] == ["9 others", "all values"]
    end = ax.patches[-1].get_x() + ax.patches[-1].get_width()
    assert end == pytest.approx(belief.worth_alone + belief.values.sum())
    dashed = next(line for line in ax.lines if line.get_linestyle() == "--")
    assert dashed.get_xdata()[0] == belief.worth_ball
    draw(ax)


def test_convergence_shows_every_sweep_and_the_tolerance(ax):
    state = kp.belief_propagation(kp.grid_field(4, 4, random_state=0), schedule="flooding")
    plots.convergence(state, ax)
    assert ax.lines[0].get_ydata() == pytest.approx(state.log_residuals)
    assert ax.lines[1].get_ydata()[0] == state.tolerance
    assert ax.get_title() == "converged"
    with pytest.raises(InputError, match="not found in sweeps"):
        plots.convergence(kp.exact_marginals(kp.grid_field(2, 2, random_state=0)))


def test_calibration_shows_shares_and_intervals(ax):
    p = np.array([0.05] * 10 + [0.95] * 10)
    plots.calibration(p, np.arange(20) >= 9, ax)
    assert ax.containers[0].lines[0].get_xydata() == pytest.approx(np.array([[0.05, 0.1], [0.95, 1.0]]))
    (low, _), (_, _) = ax.containers[0].lines[2][0].get_segments()
    assert low[1] == pytest.approx(0.0179, abs=1e-4)  # Wilson's interval of 1 in 10
    with pytest.raises(InputError, match="outcomes"):
        plots.calibration([0.5, 1.5], [True, False], ax)


def test_a_trail_shows_each_probability_and_decision(prediction, ax):
    plots.trail(prediction, ax)
    assert ax.lines[0].get_ydata() == pytest.approx(prediction.trail)
    assert "says 'refuse'" in texts_of(ax)[1] or "says refuse" in texts_of(ax)[1]
    assert ax.get_ylabel() == "P(grant)"
    draw(ax)


def test_relations_are_a_symmetric_matrix(prediction, ax):
    plots.relations(prediction, ax)
    matrix = np.asarray(ax.images[0].get_array().filled(np.nan))
    names = labels_of(ax)
    for each in prediction.relations():
        i, j = names.index(each.player), names.index(each.given)
        assert matrix[i, j] == matrix[j, i] == each.change
    draw(ax)


def test_a_game_tree_names_moves_with_their_win_rates(prediction, ax):
    plots.game_tree(prediction, ax, max_depth=1, max_children=2)
    tree = prediction.tree
    first = sorted(tree.children(0), key=lambda node: -tree.n_visits[node])[:2]
    wanted = [
        f"{prediction.main.players[tree.players[n]]}  {tree.win_rates()[n]:.2f} ({tree.n_visits[n]})"
        for n in first
    ]
    assert sorted(texts_of(ax)) == sorted(wanted)
    draw(ax)


def test_alternatives_stand_side_by_side(prediction, ax):
    plots.alternatives(prediction, ax)
    cells = ax.tables[0].get_celld()
    shown = {cell.get_text().get_text() for cell in cells.values()}
    for player, (own, new) in prediction.alternatives[0].changes.items():
        assert {player, own, new} <= shown
    draw(ax)


def test_a_text_has_its_words_on_blue_and_red(sentiment, ax):
    plots.text(sentiment, ax)
    marked = {text.get_text(): text.get_bbox_patch() for text in ax.texts}
    assert mpl.colors.to_hex(marked["good"].get_facecolor()) == "#2166ac"
    assert mpl.colors.to_hex(marked["bad"].get_facecolor()) == "#b2182b"
    words = "".join(text.get_text() for text in ax.texts).replace(" ", "")
    assert words == sentiment.view.text.replace(" ", "").replace("\n", "")
    draw(ax)


def test_plot_takes_the_picture_that_suits_and_others_by_name(belief, prediction, sentiment):
    for found, wanted in ((belief, {"target"}), (prediction, {None}), (toy("t", np.ones(2), 0), {None})):
        drawn = found.plot(ax=Figure().subplots())
        assert wanted <= {patch.get_gid() for patch in drawn.patches}
    assert "good" in texts_of(sentiment.plot(ax=Figure().subplots()))
    with pytest.raises(InputError, match="ranking, neighbourhood"):
        belief.plot("pie")
    for kind in ("trail", "text", "image"):
        with pytest.raises(InputError):
            belief.plot(kind, Figure().subplots())
    for kind in ("neighbourhood", "build_up", "image"):
        with pytest.raises(InputError):
            prediction.plot(kind, Figure().subplots())


def test_without_axes_there_is_a_new_figure(belief):
    import matplotlib.pyplot as plt

    with mpl.rc_context({"backend": "agg"}):
        first, second = belief.plot(), belief.plot("ranking")
        assert first.figure is not second.figure
        plt.close("all")


def test_names_are_no_formulas(ax):
    edges = [("$\\target{$", name) for name in HOSTILE]
    priors = {name: [0.2 + i / 20, 0.8 - i / 20] for i, name in enumerate(HOSTILE)}
    mrf = kp.MarkovRandomField.from_edges(edges, priors, homophily=0.9, states=["$\\a{$", "$b"])
    found = explain(mrf, "$\\target{$")
    for kind in ("ranking", "neighbourhood", "build_up"):
        draw(found.plot(kind, Figure().subplots()))
    names = labels_of(found.plot("ranking", ax))
    assert HOSTILE[0] in names
    assert any("10,000 characters" in name for name in names)


def test_pictures_are_files_and_the_same_twice(belief, tmp_path):
    for suffix, begin in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        paths = [tmp_path / f"{i}{suffix}" for i in range(2)]
        for path in paths:
            plots.save_plot(belief, path)
        first, second = (path.read_bytes() for path in paths)
        assert first.startswith(begin)
        assert first == second
    with pytest.raises(InputError, match=r"\.png"):
        plots.save_plot(belief, tmp_path / "a.gif")
