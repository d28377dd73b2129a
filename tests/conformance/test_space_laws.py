"""The laws of `MaskedInstance`, for every space and every kind of instance that it takes.

A new space adds its instances to `BOUND`: name -> (instance, bound instance).
"""

import json
import pickle

import numpy as np
import pytest
from scipy import sparse

import keyplayers as kp
from keyplayers.spaces.views import view_from_json, view_to_json
from tests.spaces.test_tabular import BOUND as TABULAR
from tests.spaces.test_tabular import cells, layout

RNG = np.random.default_rng(5)
ROW = sparse.random_array((1, 60), density=0.2, rng=RNG, format="csr")
TEXTS = {
    "english": "It doesn't work, it doesn't!  (Or so they say.)\n",
    "chinese": "我喜欢这部电影。很好",
    "hindi": "नमस्ते दुनिया, कैसे हो",
    "arabic": "مرحبا بالعالم يا صديقي",
    "thai": "สวัสดีครับ",
    "emoji": "so good 👩\u200d👩\u200d👧 👍🏽!",
    "combining": "e\u0301te\u0301 a\u0308b e\u0301te\u0301",
    "one word": "hello",
    "a name like another's number": "a a a (2) a",
}


def two_tokens(text):
    return [(0, 2), (3, 10)]


def _texts():
    for name, text in TEXTS.items():
        yield f"text, {name}", text, kp.Text()
    text = TEXTS["english"]
    yield "text, masked by a token", text, kp.Text(mask="[MASK]")
    yield "text, all occurrences", text, kp.Text(occurrences="all")
    yield "text, sentences", text + "Another one? Yes. 很好！", kp.Text(unit="sentence")
    yield "text, own tokens", text, kp.Text(unit=str.split)
    yield "text, own spans", text, kp.Text(unit=two_tokens)
    yield "words in a list", ["not", "good", "not"], kp.Text()
    yield "words in a tuple, masked by a token", ("not", "good"), kp.Text(mask="UNK")


def _sparse_rows():
    for kind in ("csr", "csc", "coo", "lil", "dok"):
        yield f"sparse array, {kind}", ROW.asformat(kind), kp.Sparse()
        yield f"sparse matrix, {kind}", sparse.csr_matrix(ROW).asformat(kind), kp.Sparse()
    yield "sparse, one dimension", sparse.coo_array(ROW.toarray()[0]), kp.Sparse()
    yield "sparse, float32", ROW.astype(np.float32), kp.Sparse(feature_names=[f"c{i}" for i in range(60)])
    yield "sparse, counts", sparse.csr_array(np.array([[0, 3, 0, 1, 2]])), kp.Sparse()
    yield (
        "sparse, a stored zero",
        sparse.csr_array((np.array([1.0, 0.0]), [2, 4], [0, 2]), shape=(1, 5)),
        kp.Sparse(),
    )
    yield "sparse, unsorted", sparse.csr_array((np.array([1.0, 2.0]), [4, 1], [0, 2]), shape=(1, 5)), kp.Sparse()


def _images():
    for shape in ((16, 16), (16, 16, 1), (1, 16, 16), (3, 16, 16), (16, 16, 4), (6, 10), (20, 3), (1, 200)):
        yield f"image {shape} of bytes", RNG.integers(0, 256, shape, dtype=np.uint8), kp.Image()
        yield f"image {shape} of float32", RNG.random(shape, dtype=np.float32), kp.Image(fill="blur")
    image = RNG.integers(0, 256, (12, 9, 3), dtype=np.uint8)
    yield "image, pixels", image, kp.Image(players="pixels", fill=0)
    yield "image, a grid", image, kp.Image(players=(5, 4), fill=[0, 127, 255])
    yield "image, segments", image, kp.Image(players="segments")
    yield "image, a label map", image[:2, :3, 0], kp.Image(players=[[5, 5, 9], [5, 9, 9]])
    yield "image, inpainted", image, kp.Image(fill="inpaint")
    yield "image, a background", image, kp.Image(fill=image[::-1])
    yield "image, several backgrounds", image, kp.Image(fill=np.stack([image[::-1], image[:, ::-1], image]))
    channels_first = np.moveaxis(image, 2, 0).copy()
    yield "image, a background (C, H, W)", channels_first, kp.Image(fill=channels_first[:, ::-1], players=3)
    yield "image, 13 channels", RNG.random((8, 8, 13)), kp.Image(channel_axis=-1)
    yield "image, booleans", image[..., 0] > 99, kp.Image(fill=0)
    yield "image, integers", image.astype(np.int64), kp.Image(fill=0)
    yield "image, not contiguous", image[::2, ::-1], kp.Image(players=2)


def _series():
    long = RNG.normal(size=(50, 3))
    yield "series", long[:, 0].copy(), kp.Series()
    yield "series (T, C), bridged", long, kp.Series(window=7, fill="linear")
    yield "series (C, T)", long.T.copy(), kp.Series(window=7, fill="linear")
    yield (
        "series, each channel",
        long.astype(np.float32),
        kp.Series(channels="each", channel_names=["a", "b", "c"]),
    )
    yield "series of integers", RNG.integers(0, 99, 30), kp.Series(window=4, fill="linear")
    yield "series, a background", long, kp.Series(fill=long[::-1])
    yield "series (C, T), several backgrounds", long.T.copy(), kp.Series(fill=np.stack([long.T + 1, long.T - 1]))
    yield "series, several backgrounds", long[:, 0].copy(), kp.Series(fill=np.stack([long[:, 1], long[:, 2]]))
    yield "series with a gap", np.array([1.0, np.nan, 3.0, 4.0]), kp.Series(window=1, fill=0.5)


CASES = {name: (instance, space) for name, instance, space in [*_texts(), *_sparse_rows(), *_images(), *_series()]}
NAMES = [*CASES, *(f"table, {kind}" for kind in TABULAR)]


def bind(name):
    if name in CASES:
        instance, space = CASES[name]
        return instance, space.bind(instance)
    return None, TABULAR[name.removeprefix("table, ")]()


def plain(rows):
    """A batch as something that == compares whole, byte for byte where it is numbers."""
    if sparse.issparse(rows):
        rows = rows.tocsr()
        return [(row.indices.tolist(), row.data.tobytes()) for row in (rows[[b]] for b in range(rows.shape[0]))]
    if isinstance(rows, np.ndarray) and rows.dtype != object:
        return [row.tobytes() for row in rows]
    return rows if isinstance(rows, list) else cells(rows)


def form(rows):
    """Type, format, dtype and shape of a batch, but for its number of rows."""
    if sparse.issparse(rows):
        return type(rows), rows.format, rows.dtype, rows.shape[1]
    if isinstance(rows, list):
        return {type(row) for row in rows}
    return type(rows), layout(rows)


def states(bound, n_states=12):
    rng = np.random.default_rng(1)
    masked = rng.random((n_states, len(bound.names))) < 0.5
    masked[0], masked[1] = False, True
    return masked, rng.integers(0, bound.n_backgrounds, n_states)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_equals_its_rows_one_by_one(name):
    _, bound = bind(name)
    masked, which = states(bound)
    batch = bound.rows(masked, which)
    singles = [bound.rows(masked[b : b + 1], which[b : b + 1]) for b in range(len(masked))]
    assert plain(batch) == [plain(rows)[0] for rows in singles]
    assert all(form(rows) == form(batch) for rows in singles)


@pytest.mark.parametrize("name", CASES)
def test_masking_nothing_gives_back_the_instance_byte_for_byte(name):
    instance, bound = bind(name)
    rows = bound.rows(np.zeros((2, len(bound.names)), dtype=bool), np.zeros(2, dtype=np.int64))
    if sparse.issparse(instance):
        row = instance if instance.ndim == 2 else instance.reshape((1, -1)).tocsr()
        assert plain(rows) == plain(row) * 2
        assert form(rows) == form(row)
    elif isinstance(instance, np.ndarray):
        assert rows.shape == (2, *instance.shape)
        assert rows.dtype == instance.dtype
        assert plain(rows) == [instance.tobytes()] * 2
    else:
        assert rows == [instance, instance]


@pytest.mark.parametrize("name", NAMES)
def test_players_have_unique_names_and_one_of_everything(name):
    _, bound = bind(name)
    n = len(set(bound.names))
    assert n == len(bound.names) == len(bound.maskable) == len(bound.display_values) == len(bound.display_masked)
    assert bound.maskable.dtype == bool
    assert n > 0


@pytest.mark.parametrize("name", NAMES)
def test_just_what_is_maskable_changes_something(name):
    _, bound = bind(name)
    n, backgrounds = len(bound.names), np.arange(bound.n_backgrounds)
    own = plain(bound.rows(np.zeros((len(backgrounds), n), dtype=bool), backgrounds))
    for player in range(n):
        masked = np.zeros((len(backgrounds), n), dtype=bool)
        masked[:, player] = True
        assert (plain(bound.rows(masked, backgrounds)) != own) == bound.maskable[player], bound.names[player]


@pytest.mark.parametrize("name", NAMES)
def test_the_instance_is_not_written_to_by_us_or_through_the_batch(name):
    instance, bound = bind(name)
    masked, which = states(bound)
    before = None if instance is None else pickle.dumps(instance)
    first = plain(bound.rows(masked, which))
    batch = bound.rows(masked, which)
    for held in (getattr(batch, "data", None), batch):
        if isinstance(held, np.ndarray) and held.dtype.kind in "iuf":
            held[...] = 77
    assert plain(bound.rows(masked, which)) == first
    assert before is None or pickle.dumps(instance) == before


@pytest.mark.parametrize("name", CASES)
def test_an_instance_and_its_space_can_be_sent_to_a_worker(name):
    instance, bound = bind(name)
    masked, which = states(bound)
    sent = pickle.loads(pickle.dumps(bound))
    assert plain(sent.rows(masked, which)) == plain(bound.rows(masked, which))
    assert pickle.loads(pickle.dumps(CASES[name][1])).bind(instance).names == bound.names


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("sparse")])
def test_the_view_names_marks_and_comes_back_from_json(name):
    _, bound = bind(name)
    view = bound.view
    again = view_from_json(json.loads(json.dumps(view_to_json(view))))
    marks = {bound.names[0]: "carries", bound.names[-1]: "opposes"}
    assert again.picture(marks) == view.picture(marks) != view.picture({})
    assert [again.named(player) for player in bound.names] == [view.named(player) for player in bound.names]
    assert (again.noun, again.removes, again.legend) == (view.noun, view.removes, view.legend)
