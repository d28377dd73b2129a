import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyplayers as kp
from keyplayers.spaces.image.players import grid, grid_shape

RNG = np.random.default_rng(3)
PHOTO = RNG.integers(0, 256, (24, 16, 3), dtype=np.uint8)


def checked(image):
    """A model that takes nothing but images of the shape and dtype of this one."""

    def model(rows):
        assert rows.shape[1:] == image.shape
        assert rows.dtype == image.dtype
        assert rows.flags.c_contiguous
        corner = rows.reshape(len(rows), -1)[:, : image.size // 4].mean(axis=1, dtype=float)
        return 1 / (1 + np.exp(-corner))

    return model


@pytest.mark.parametrize(
    "shape", [(16, 16), (16, 16, 1), (1, 16, 16), (3, 16, 16), (16, 16, 4), (6, 10), (16, 16, 7)]
)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_the_model_gets_the_shape_and_dtype_of_the_image(shape, dtype):
    image = RNG.integers(1, 100, shape).astype(dtype)
    space = kp.Image(fill=0, channel_axis=2 if shape[-1] == 7 else None)
    found = kp.McXai(checked(image), space).explain(image, random_state=0)
    assert found.p_target > 0.5
    assert 25 <= len(found) <= 100
    assert found.n_rows <= 700


@given(st.integers(5, 400), st.integers(5, 400))
def test_the_default_grid_has_25_to_100_cells_at_any_size(height, width):
    n_rows, n_columns = grid_shape((height, width), "grid")
    assert 25 <= n_rows * n_columns <= 100
    labels = grid((height, width), n_rows, n_columns)
    sizes = np.bincount(labels.ravel(), minlength=n_rows * n_columns)
    assert len(sizes) == n_rows * n_columns
    assert sizes.min() > 0
    assert sizes.max() <= (height // n_rows + 1) * (width // n_columns + 1)


@pytest.mark.parametrize("image", [RNG.random((20, 20)), PHOTO, np.zeros((30, 30)), RNG.random((3, 64, 64))])
def test_segments_are_25_to_100_whatever_the_image(image):
    assert 25 <= len(kp.Image(players="segments").bind(image).names) <= 100


def test_labels_are_renumbered_and_keep_their_names():
    bound = kp.Image(players=[[5, 5, 9], [5, 9, 9]], fill=0).bind(np.ones((2, 3)))
    assert bound.names == ("segment 5", "segment 9")
    assert bound.rows(np.array([[False, True]]), np.zeros(1, dtype=int))[0].tolist() == [[1, 1, 0], [1, 0, 0]]


def masked_all(space, image):
    bound = space.bind(image)
    everything = np.ones((bound.n_backgrounds, len(bound.names)), dtype=bool)
    return bound.rows(everything, np.arange(bound.n_backgrounds))


def test_what_masking_puts_in():
    assert (masked_all(kp.Image(fill=[1, 2, 3]), PHOTO)[0] == [1, 2, 3]).all()
    assert (masked_all(kp.Image(), PHOTO)[0] == PHOTO.mean(axis=(0, 1)).round()).all()
    assert (masked_all(kp.Image(fill="inpaint"), PHOTO)[0] == PHOTO.mean(axis=(0, 1)).round()).all()
    assert (masked_all(kp.Image(fill=PHOTO[::-1]), PHOTO)[0] == PHOTO[::-1]).all()
    several = np.stack([PHOTO[::-1], PHOTO[:, ::-1]])
    assert (masked_all(kp.Image(fill=several), PHOTO) == several).all()
    first = np.moveaxis(several, 3, 1)
    assert (masked_all(kp.Image(fill=first), first[0]) == first).all()
    blurred = masked_all(kp.Image(fill="blur"), PHOTO)[0].astype(float)
    assert blurred.std() < PHOTO.std() / 3
    assert abs(blurred.mean() - PHOTO.mean()) < 5


def test_inpainting_goes_on_with_what_is_around_and_looks_at_what_is_left():
    ramp = np.tile(np.arange(32.0), (32, 1))
    bound = kp.Image(players="pixels", fill="inpaint").bind(ramp)
    masked = np.zeros((3, 32, 32), dtype=bool)
    masked[0, 10:14, 20:24] = masked[1, 5, 5] = True
    masked[2, :, 8:] = True  # what is left is at most 7
    found = bound.rows(masked.reshape(3, -1), np.zeros(3, dtype=int))
    assert (found[~masked] == np.broadcast_to(ramp, found.shape)[~masked]).all()
    assert np.abs(found[0] - ramp).max() < 4
    assert np.abs(found[1] - ramp).max() <= 1
    assert found[2].max() <= 7


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32))
def test_inpainting_stays_within_what_is_left(height, width, seed):
    rng = np.random.default_rng(seed)
    image, masked = rng.random((height, width)), rng.random((1, height * width)) < 0.7
    found = kp.Image(players="pixels", fill="inpaint").bind(image).rows(masked, np.zeros(1, dtype=int))[0]
    left = image[~masked.reshape(height, width)]
    if left.size:
        assert left.min() - 1e-12 <= found.min() <= found.max() <= left.max() + 1e-12
    else:
        assert np.allclose(found, image.mean())


@pytest.mark.parametrize(
    ("space", "image", "message"),
    [
        (kp.Image(fill=127.5), PHOTO, "fill holds 127.5, which uint8 cannot hold"),
        (kp.Image(fill=300), PHOTO, "fill holds 300, which uint8 cannot hold"),
        (kp.Image(fill=[1, 2]), PHOTO, "fill has 2 numbers, and the image 3 channels"),
        (kp.Image(fill=np.zeros((3, 3, 3))), PHOTO, r"the shape of the image, \(24, 16, 3\).*got \(3, 3, 3\)"),
        (kp.Image(players=np.zeros((24, 16), dtype=int)), PHOTO, "one label only .0.*finer segments"),
        (kp.Image(players=np.zeros((2, 2), dtype=int)), PHOTO, r"each of the 24 x 16 pixels, got shape \(2, 2\)"),
        (kp.Image(players=17), PHOTO, "more cells than an image of 24 x 16 pixels has"),
        (kp.Image(), np.zeros((9, 9, 9)), r"\(9, 9, 9\) leave it in doubt \(neither .* give channel_axis"),
        (kp.Image(), np.zeros((3, 9, 3)), "both could be channels"),
        (kp.Image(), np.zeros((2, 9, 9, 3)), "of a batch give one image at a time"),
        (kp.Image(channel_axis=0), np.zeros((9, 9)), "channel_axis=0 is for images of three axes"),
        (kp.Image(), np.array([["a"]]), "an image is an array of numbers, got ndarray of dtype"),
        (kp.Image(), np.zeros((0, 3)), r"got ndarray of shape \(0, 3\)"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_is_wrong(space, image, message):
    with pytest.raises(kp.InputError, match=message):
        space.bind(image)


@pytest.mark.parametrize("players", [0, (1,), (2, 0), "cells", True])
def test_players_are_checked_when_they_are_given(players):
    with pytest.raises(kp.InputError, match="players must be one of grid, pixels, segments or"):
        kp.Image(players=players)


def test_tensors_and_pillow_images_are_taken():
    torch, pillow = pytest.importorskip("torch"), pytest.importorskip("PIL.Image")
    tensor = torch.rand(3, 8, 8, requires_grad=True)
    assert kp.Image().bind(tensor).rows(np.zeros((1, 64), dtype=bool), np.zeros(1, dtype=int)).shape == (
        1,
        3,
        8,
        8,
    )
    assert (masked_all(kp.Image(fill=7), pillow.fromarray(PHOTO)) == 7).all()


def bright(rows):
    """Whether the patch in rows 44-51, columns 74-81 is bright."""
    return 1 / (1 + np.exp(-30 * (rows[:, 44:52, 74:82].mean(axis=(1, 2)) - 0.7)))


@pytest.fixture(scope="module")
def large():
    image = np.full((128, 128), 0.1)
    image[40:56, 70:90] = 1.0
    return image


def test_a_key_set_of_large_cells_is_sought_again_among_their_pixels(large):
    found = kp.McXai(bright, kp.Image(fill=0.1, refine=True)).explain(large, random_state=0)
    coarse = kp.McXai(bright, kp.Image(fill=0.1)).explain(large, random_state=0)
    assert found.coarser[0] == coarse.key_set
    assert len(found.coarser) == 2  # of 16, 4 and 1 pixels a side
    painted = large.copy()
    where = found.view.where(found.key_set)
    painted[where] = 0.1
    assert bright(painted[None])[0] < 0.5
    inside = np.zeros_like(where)
    inside[44:52, 74:82] = True
    assert (where & ~inside).sum() == 0  # only what the model looks at
    assert where.sum() == len(found.key_set) == 22  # (1 - 0.7) / 0.9 of 64 pixels
    assert found.n_rows < 2500
    assert "#" in found.picture()


def test_rows_are_shared_between_levels(large):
    found = kp.McXai(bright, kp.Image(fill=0.1, refine=True), max_evals=900).explain(large, random_state=0)
    assert found.n_rows <= 900
    assert found.n_evaluations == found.n_rows
    assert found.coarser


def test_a_refined_explanation_comes_back_from_a_file(tmp_path, large):
    found = kp.McXai(bright, kp.Image(fill=0.1, refine=True)).explain(large, random_state=0)
    found.save(tmp_path / "a.json.gz")
    again = kp.load(tmp_path / "a.json.gz")
    assert again.to_dict() == found.to_dict()
    assert again.coarser == found.coarser


def test_a_batch_of_images_goes_into_a_store(tmp_path, large):
    images = np.stack([large, np.full((128, 128), 0.1)])
    store = kp.explain_many(
        kp.McXai(bright, kp.Image(fill=0)), images, store=tmp_path / "s", n_jobs=1, random_state=0
    )
    assert store.counts["done"] == 2
    assert store[0].picture().count("#") > 0
    assert kp.explain_many(kp.McXai(bright, kp.Image(fill=0)), list(images), n_jobs=1, random_state=0)[0].flipped
