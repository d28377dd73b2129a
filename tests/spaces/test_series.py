import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyplayers as kp

WAVE = np.sin(np.linspace(0, 20, 200))
BUMP = WAVE + 3 * ((np.arange(200) >= 80) & (np.arange(200) < 95))


def has_bump(rows):
    return 1 / (1 + np.exp(-3 * (rows.reshape(len(rows), -1).max(axis=1) - 2)))


def fill_one(space, series, *players):
    bound = space.bind(series)
    masked = np.isin(np.array(bound.names), players)[None]
    assert masked.sum() == len(players)
    return bound.rows(masked, np.zeros(1, dtype=int))[0]


def test_windows_cover_every_step_and_the_last_has_what_is_left():
    bound = kp.Series(window=7).bind(WAVE)
    sizes = [end - begin for begin, end, _ in bound.windows]
    assert sizes == [7] * 28 + [4]
    assert len(kp.Series().bind(WAVE).names) == 20
    assert kp.Series().bind(WAVE[:5]).names == ("step 0", "step 1", "step 2", "step 3", "step 4")


def test_windows_of_each_channel_mask_that_channel_only():
    series = np.arange(12.0).reshape(6, 2)
    space = kp.Series(window=3, channels="each", channel_names=["up", "down"], fill=0)
    assert space.bind(series).names == ("up: steps 0-2", "up: steps 3-5", "down: steps 0-2", "down: steps 3-5")
    found = fill_one(space, series, "down: steps 0-2")
    assert found.tolist() == [[0, 0], [2, 0], [4, 0], [6, 7], [8, 9], [10, 11]]
    assert fill_one(space, np.ascontiguousarray(np.tile(series, (2, 1)).T), "up: steps 3-5").shape == (2, 12)


@given(st.integers(1, 12), st.integers(0, 2**32))
def test_a_bridge_is_the_line_that_numpy_draws(n_steps, seed):
    rng = np.random.default_rng(seed)
    series, masked = rng.random((n_steps, 2)), rng.random((3, n_steps)) < 0.5
    bound = kp.Series(window=1, fill="linear", channel_axis=1).bind(series)
    found = bound.rows(masked, np.zeros(3, dtype=int))
    for row, gone in zip(found, masked, strict=True):
        for channel in (0, 1):
            own, left = series[:, channel], np.flatnonzero(~gone)
            expected = (
                np.interp(np.arange(n_steps), left, own[left]) if len(left) else np.full(n_steps, own.mean())
            )
            np.testing.assert_allclose(row[:, channel], np.where(gone, expected, own), atol=1e-12)


def test_means_are_of_each_channel_and_leave_gaps_out():
    series = np.array([[1.0, 10.0], [np.nan, 20.0], [3.0, 60.0]])
    assert fill_one(kp.Series(window=3, channel_axis=1), series, "steps 0-2").tolist() == [[2, 30]] * 3


def test_a_series_is_explained_refined_shown_and_read_back(tmp_path):
    found = kp.McXai(has_bump, kp.Series(fill="linear", refine=True)).explain(BUMP, random_state=0)
    assert found.key_set
    assert {int(player.split()[1]) for player in found.key_set} == set(range(80, 95))
    assert set(found.coarser[0]) == {"steps 80-89", "steps 90-99"}
    assert set(found.coarser[1]) >= {"steps 80-82", "step 89", "steps 90-92"}
    wave, marks = found.picture().split("\n")
    assert len(wave) == 80
    assert set(marks.strip()) == {"#"}
    assert "of this series" in found.sentence
    found.save(tmp_path / "a.json")
    assert kp.load(tmp_path / "a.json").to_dict() == found.to_dict()


def test_channels_are_shown_one_under_the_other():
    found = kp.McXai(has_bump, kp.Series(channels="each", channel_names=["ecg", "noise"])).explain(
        np.stack([BUMP, WAVE], axis=1), random_state=0
    )
    lines = found.picture().split("\n")
    assert lines[0].startswith("ecg  ")
    assert lines[1].strip("# ") == ""
    assert lines[2].startswith("noise  ")


@pytest.mark.parametrize(
    ("space", "series", "message"),
    [
        (kp.Series(), np.zeros((3, 3)), "leaves in doubt which axis is the channels': give channel_axis"),
        (kp.Series(), np.zeros((3, 3, 3)), r"got shape \(3, 3, 3\)"),
        (kp.Series(), ["a"], r"a series is an array of numbers \[T\], \[T, C\] or \[C, T\]"),
        (kp.Series(fill=0.5), np.arange(5), "fill holds 0.5, which int64 cannot hold"),
        (kp.Series(fill=np.zeros(4)), np.zeros(5), r"the shape of the series.*got \(4,\)"),
        (kp.Series(channel_names=["a"]), np.zeros((5, 2)), "must name 2 channels, got 1 names"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_is_wrong(space, series, message):
    with pytest.raises(kp.InputError, match=message):
        space.bind(series)
