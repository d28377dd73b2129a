import json

import numpy as np
import pandas as pd
import pytest

import keyplayers as kp

pillow = pytest.importorskip("PIL.Image")

MODULE = """
import numpy as np

def mood(texts):
    assert all(isinstance(text, str) for text in texts)
    scores = [text.count("good") - text.count("bad") + 0.5 for text in texts]
    return 1 / (1 + np.exp(-2 * np.array(scores)))

def bright(images):
    return 1 / (1 + np.exp(-(images.reshape(len(images), -1).mean(axis=1) - 60.0)))

def as_asked(images):
    assert images.shape[1:] == (3, 8, 12) and images.dtype == np.float32 and images.max() <= 1
    return bright(images * 255)

def high(series):
    return 1 / (1 + np.exp(-(series.reshape(len(series), -1).max(axis=1) - 5)))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "media_module.py").write_text(MODULE)
    texts = ["a good day, a good night", "bad", "", None]
    pd.DataFrame({"id": range(4), "review": texts, "y": [1, 1, 0, 0]}).to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "pictures").mkdir()
    image = np.zeros((16, 24, 3), dtype=np.uint8)
    image[4:12, 6:18] = 250
    pillow.fromarray(image).save(tmp_path / "pictures" / "a.png")
    pillow.fromarray(image[..., 0]).save(tmp_path / "pictures" / "b.png")
    (tmp_path / "pictures" / "notes.txt").write_text("no image")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG nothing")
    steps = np.sin(np.arange(60) / 5)
    steps[30:33] += 9
    pd.DataFrame({"ecg": steps, "noise": steps[::-1] * 0}).to_csv(tmp_path / "s.csv", index=False)
    return tmp_path


def test_a_text_of_a_table_is_shown_with_its_key_words(cli, folder):
    done = cli("explain-model", "media_module:mood", "d.csv", "--text", "review", "--row", "0", "--seed", "0")
    assert done.status == 0
    assert done.out.startswith("The model says 1 of this text (P(1) = 0.993)")
    assert "a [good] day, a [good] night" not in done.out  # without both it still says 1
    again = cli("explain-model", "media_module:mood", "d.csv", "--text", "review", "--row", "1", "--seed", "0")
    assert '"bad" carries it: without it the model says 1' in again.out
    assert "[bad]" in again.out


def test_many_texts_with_their_labels_and_json(cli, folder):
    done = cli(
        *("explain-model", "media_module:mood", "d.csv", "--text", "review", "--rows", "all", "--label", "y"),
        *("--mask", "[MASK]", "--json", "--seed", "0"),
    )
    assert done.status == 0
    rows = json.loads(done.out)["targets"]
    assert len(rows) == 4
    assert "stands in the way of 1" in rows[1]["sentence"]
    assert "nothing in it to mask" in rows[2]["sentence"]


def test_an_image_is_drawn_and_its_explanation_saved(cli, folder):
    done = cli("explain-model", "media_module:bright", "--image", "pictures/a.png", "--fill", "0", "-o", "a.json")
    assert done.status == 0
    assert "of this image" in done.out
    assert "#" in done.out
    assert "(# carries 1" in done.out
    assert kp.load(folder / "a.json").picture() in done.out.replace("\r", "")


def test_an_image_is_given_as_the_model_wants_it(cli, folder):
    ask = ["explain-model", "media_module:as_asked", "--image", "pictures/a.png"]
    done = cli(*ask, "--size", "12x8", "--floats", "--channels-first", "--players", "4", "--fill", "0")
    assert done.status == 0, done.err
    assert "AssertionError" in cli(*ask).err


def test_a_folder_of_images_goes_into_a_store(cli, folder):
    done = cli(
        *("explain-model", "media_module:bright", "--image", "pictures", "--fill", "0", "--store", "s"),
        *("--seed", "0", "--jobs", "1"),
    )
    assert done.status == 0, done.err
    assert set(kp.open_store(folder / "s")) == {"a.png", "b.png"}


def test_a_series_of_a_table_is_drawn_with_its_windows(cli, folder):
    done = cli(
        *("explain-model", "media_module:high", "--series", "s.csv", "--window", "6", "--channels", "each"),
        *("--fill", "linear", "--seed", "0"),
    )
    assert done.status == 0, done.err
    assert "ecg: steps 30-35 carries it" in done.out
    assert "######" in done.out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--image", "pictures/a.png", "--row", "0"], 2, "leave out DATA, --row and --rows"),
        (["--image", "pictures/a.png", "--series", "s.csv"], 2, "give one of --image and --series"),
        ([], 2, "give DATA, a table of instances, or --image or --series"),
        (["d.csv", "--text", "review"], 2, "give --row N, or --rows"),
        (["d.csv", "--text", "body", "--row", "0"], 1, "--text body: d.csv has the columns id, review, y"),
        (["d.csv", "--text", "review", "--row", "9"], 1, "--row must be between 0 and 3, got 9"),
        (["d.csv", "--text", "review", "--row", "0", "--unit", "page"], 1, "unit must be one of word, sentence"),
        (["--image", "none.png"], 1, "none.png: no such file"),
        (["--image", "broken.png"], 1, "broken.png: not an image that Pillow reads"),
        (["--image", "pictures/a.png", "--size", "9"], 2, "--size is WIDTHxHEIGHT, such as 64x64, got '9'"),
        (["--image", "pictures/a.png", "--players", "cells"], 1, "players must be one of grid, pixels, segments"),
        (["--image", "pictures/a.png", "--fill", "300"], 1, "fill holds 300, which uint8 cannot hold"),
        (["--series", "d.csv"], 1, "d.csv: a series holds numbers, one column per channel"),
    ],
)
def test_wrong_usage_is_told(cli, folder, arguments, status, message):
    done = cli("explain-model", "media_module:bright", *arguments)
    assert done.status == status
    assert message in " ".join(done.err.replace("│", " ").split())
    assert "Traceback" not in done.err
