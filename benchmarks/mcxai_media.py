"""Does McXai need fewer words and cells than others to change what a classifier says of a text or an image?

    python benchmarks/mcxai_media.py --data DIR [--quick] [--only NAME] [--first N]

prints, for every problem, the mean number of steps (NoS: players masked until the class changes) and the mean
number of rows given to the model: for McXai with its default settings, for greedy masking, and for LIME and SHAP
(2,000 rows each) where they are installed (benchmarks/requirements-mcxai.txt). LIME and SHAP rank the players of
the same space: they are shown masks, and the space makes texts or images of them. "gap" is the mean distance to
the smallest set that any of them found; an instance that a method does not flip counts for it as one more than
the largest set found there. With --quick a few instances of data that ships with scikit-learn (no --data
needed).
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mcxai_problems import Case, Problem
from mcxai_rankings import RANKINGS
from mcxai_rivals import Game, along, greedy

from keyplayers import Image, McXai, Text

Predict = Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class Task:
    """A fitted classifier, a space, and instances that it classifies correctly."""

    name: str
    predict: Predict
    space: Any
    instances: list[Any]


def as_case(task: Task, instance: Any) -> tuple[Case, Problem]:
    """The same game for those who know rows of numbers only: a player is 1 where it is present, 0 where masked."""
    bound = task.space.bind(instance)
    playable = np.flatnonzero(bound.maskable)

    def predict(rows: np.ndarray) -> np.ndarray:
        out = []
        for start in range(0, len(rows), 256):
            part = rows[start : start + 256]
            masked = np.zeros((len(part), len(bound.names)), dtype=bool)
            masked[:, playable] = part < 0.5
            out.append(task.predict(bound.rows(masked, np.zeros(len(part), dtype=np.int64))))
        return np.concatenate(out)

    n = len(playable)
    label = int(predict(np.ones((1, n)))[0].argmax())
    background = np.random.default_rng(0).integers(0, 2, (200, n)).astype(float)
    case = Case(predict, np.ones(n), label)
    return case, Problem(task.name, np.zeros(n), [case], background=background)


def compare(task: Task) -> None:
    """One problem's table."""
    sizes: dict[str, list[int | None]] = {}
    rows: dict[str, list[int]] = {}
    seconds: dict[str, float] = {}

    def note(name: str, size: int | None, n_rows: int, started: float) -> None:
        sizes.setdefault(name, []).append(size)
        rows.setdefault(name, []).append(n_rows)
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - started

    for seed, instance in enumerate(task.instances):
        started = time.process_time()
        ex = McXai(task.predict, task.space).explain(instance, random_state=seed)
        note("McXai", len(ex.key_set) if ex.flipped else None, ex.n_rows, started)
        case, problem = as_case(task, instance)
        started = time.process_time()
        game = Game(case, problem.tau)
        found = greedy(game)
        note("greedy", None if found is None else len(found), game.rows, started)
        for name, rank in RANKINGS.items():
            started = time.process_time()
            order, n_rows = rank(case, problem, seed)
            steps = along(Game(case, problem.tau), order)
            note(name, None if steps is None else len(steps), n_rows, started)
    tell(task, sizes, rows, seconds)


def tell(
    task: Task, sizes: dict[str, list[int | None]], rows: dict[str, list[int]], seconds: dict[str, float]
) -> None:
    """Print the table; instances that nobody flips are left out, and counted."""
    known = [[found[i] for found in sizes.values() if found[i]] for i in range(len(task.instances))]
    flipped = [i for i, found in enumerate(known) if found]
    print(f"\n{task.name}: {len(flipped)} of {len(task.instances)} instances flipped")
    print(f"  {'':24}{'NoS':>8}{'gap':>8}{'rows':>8}{'lost':>6}{'s each':>8}")
    for name, found in sizes.items():
        steps = [found[i] or max(known[i]) + 1 for i in flipped]
        gap = np.mean([step - min(known[i]) for step, i in zip(steps, flipped, strict=True)])
        lost = sum(not found[i] for i in flipped)
        each = seconds[name] / len(task.instances)
        print(
            f"  {name:24}{np.mean(steps):8.2f}{gap:8.2f}{np.mean(rows[name]):8.0f}{lost:6}{each:8.2f}", flush=True
        )


def correct(predict: Predict, instances: Any, labels: Any, n: int, classes: Any) -> list[Any]:
    """The first n instances that are classified correctly."""
    said = np.asarray(classes)[predict(instances).argmax(axis=1)]
    return [instances[i] for i in np.flatnonzero(said == np.asarray(labels))[:n]]


def text_tasks(texts: list[str], labels: list[Any], name: str, n: int) -> Iterator[Task]:
    """tf-idf with three models; every fifth text is kept back."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    test = np.arange(len(texts)) % 5 == 0
    shown = [texts[i] for i in np.flatnonzero(test) if len(texts[i].split()) >= 8][: 4 * n]
    truth = [labels[i] for i in np.flatnonzero(test) if len(texts[i].split()) >= 8][: 4 * n]
    train = np.flatnonzero(~test)[:8000]
    for kind, model in (
        ("logistic", LogisticRegression(C=10, max_iter=500)),
        ("SVM", CalibratedClassifierCV(LinearSVC(), cv=3)),
        ("naive Bayes", MultinomialNB(alpha=0.1)),
    ):
        pipeline = make_pipeline(TfidfVectorizer(), model).fit(
            [texts[i] for i in train], [labels[i] for i in train]
        )
        chosen = correct(pipeline.predict_proba, shown, truth, n, pipeline.classes_)
        yield Task(f"{name}, {kind}", pipeline.predict_proba, Text(), chosen)


def forest_task(images: np.ndarray, labels: np.ndarray, name: str, n: int) -> Task:
    from sklearn.ensemble import RandomForestClassifier

    flat = images.reshape(len(images), -1)
    test = np.arange(len(images)) % 5 == 0
    model = RandomForestClassifier(50, random_state=0).fit(flat[~test], labels[~test])

    def predict(batch: np.ndarray) -> np.ndarray:
        return model.predict_proba(batch.reshape(len(batch), -1))

    chosen = correct(predict, images[test], labels[test], n, model.classes_)
    return Task(f"{name}, forest, 8 x 8 cells", predict, Image(fill=0), chosen)


def svm_task(images: np.ndarray, labels: np.ndarray, name: str, n: int) -> Task:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    flat = images.reshape(len(images), -1) / 255
    test = np.arange(len(images)) % 5 == 0
    model = make_pipeline(PCA(60, whiten=True, random_state=0), SVC()).fit(flat[~test], labels[~test])

    def predict(batch: np.ndarray) -> np.ndarray:
        scores = model.decision_function(batch.reshape(len(batch), -1) / 255)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    chosen = correct(predict, images[test], labels[test], n, model.classes_)
    return Task(f"{name}, SVM, 16 x 16 cells", predict, Image(players=16), chosen)


def network_task(images: np.ndarray, labels: np.ndarray, name: str, n: int, space: Any, what: str) -> Task:
    """A small convolutional network on images [N, H, W, C] of bytes."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    x = torch.as_tensor(images).permute(0, 3, 1, 2).float() / 255
    y = torch.as_tensor(labels.astype(np.int64))
    test = np.arange(len(images)) % 5 == 0
    net = nn.Sequential(
        nn.Conv2d(x.shape[1], 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.LazyLinear(64), nn.ReLU(), nn.Linear(64, int(y.max()) + 1),
    )  # fmt: skip
    net(x[:1])
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    train = np.flatnonzero(~test)
    for _ in range(4):
        for part in np.array_split(np.random.default_rng(0).permutation(train), len(train) // 64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[part]), y[part]).backward()
            optimizer.step()
    net.eval()

    def predict(batch: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            given = torch.as_tensor(np.ascontiguousarray(batch)).permute(0, 3, 1, 2).float() / 255
            return net(given).softmax(1).double().numpy()

    chosen = correct(predict, images[test][: 20 * n], labels[test][: 20 * n], n, np.arange(int(y.max()) + 1))
    return Task(f"{name}, network, {what}", predict, space, chosen)


def tasks(data: Path, n: int) -> Iterator[Task]:
    """The problems on real data."""
    import pandas as pd

    for name in ("newsgroups6", "sst2"):
        table = pd.read_csv(data / name / f"{name}.csv.gz").dropna()
        table = table.sample(min(len(table), 12_000), random_state=0)
        yield from text_tasks(table["text"].tolist(), table["label"].tolist(), name, n)
    for name in ("mnist_t10k", "fashion_t10k"):
        held = np.load(data / name / f"{name}.npz")
        images, labels = held["images"], held["labels"]
        yield forest_task(images, labels, name, n)
        yield network_task(images[..., None], labels, name, n, Image(fill=0), "8 x 8 cells")
    held = np.load(data / "olivetti/olivetti.npz")
    yield svm_task(held["images"], held["labels"], "olivetti", n)
    held = np.load(data / "cats_dogs64/cats_dogs64.npz")
    for space, what in ((Image(players=16), "16 x 16 cells"), (Image(players="segments"), "segments")):
        yield network_task(held["images"], held["labels"], "cats_dogs64", n, space, what)


def quick_tasks() -> Iterator[Task]:
    """Few instances of data that ships with scikit-learn."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    yield forest_task(pixels.reshape(-1, 8, 8), labels, "digits", 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="a few instances of scikit-learn's digits")
    parser.add_argument("--only", default="", help="problems whose name holds this")
    parser.add_argument("--first", type=int, default=20, help="instances of each problem")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.data is None and not asked.quick:
        parser.error("give --data DIR, or --quick")
    for task in quick_tasks() if asked.quick else tasks(asked.data, asked.first):
        if asked.only in task.name:
            compare(task)


if __name__ == "__main__":
    main()
