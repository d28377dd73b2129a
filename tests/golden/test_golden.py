"""The answers are those of the golden files: a refactoring changes nothing, a change of the method is seen.

`python tests/golden/make.py` rewrites the files; what they keep, and what may differ, stands in record.py.
"""

import pytest

from tests.golden import classifiers, fields, make, record

BLOCK = 25
KEPT = {file: {line["name"]: line for line in record.read_lines(make.HERE / file)} for file in make.FILES}
SENTENCES = (make.HERE / make.SENTENCES).read_text("utf-8").splitlines()


def check(file, found):
    """Compare with the file what is found of it; the sentences of what was found."""
    found = list(found)
    assert found
    wrong = [
        f"{each[0]}: {where}"
        for each in found
        for where in record.differences(KEPT[file][each[0]], make.kept(file, each))
    ]
    assert not wrong, "\n".join([f"{len(wrong)} differences from {file}, such as", *wrong[:20]])
    lines = [line for each in found if (line := make.sentence(each)) is not None]
    assert [line for line in lines if line not in SENTENCES] == []
    return [each[0] for each in found]


def blocks():
    return [range(i, i + BLOCK) for i in range(0, fields.N_FIELDS, BLOCK)]


@pytest.mark.parametrize("numbers", blocks(), ids=str)
def test_beliefs(numbers):
    check("beliefs.jsonl", make.beliefs(numbers))


def test_beliefs_of_generated_fields():
    check("beliefs.jsonl", make.generated_beliefs())


@pytest.mark.parametrize("numbers", blocks(), ids=str)
def test_explanations_of_fields(numbers):
    check("field_explanations.jsonl", make.field_explanations(numbers))


def test_explanations_of_classifiers():
    check("classifier_explanations.jsonl", make.classifier_explanations())


def test_batches():
    check("field_explanations.jsonl", make.field_batch())
    check("classifier_explanations.jsonl", make.classifier_batch())


def test_the_files_hold_what_is_asked_for_and_no_more():
    runs = {
        f"field {n} {run}" for n in range(fields.N_FIELDS) for run, _ in fields.infer(fields.make_case(n), None)
    }
    assert runs | {f"generated {name}" for name in fields.generated()} == set(KEPT["beliefs.jsonl"])
    runs = {f"field {n} {run}" for n in range(fields.N_FIELDS) for run in fields.METHODS}
    assert runs | {f"batch {i}" for i in range(5)} == set(KEPT["field_explanations.jsonl"])
    runs = {name for problem in classifiers.problems() for name, _ in problem.explain()}
    assert runs | {f"batch {i}" for i in range(3)} == set(KEPT["classifier_explanations.jsonl"])


def test_the_files_are_rich():
    """Engines, warnings, refusals and outcomes all occur, often enough."""
    explained = KEPT["field_explanations.jsonl"].values()
    engines = [line.get("engine", line.get("error")) for line in explained]
    for engine, at_least in {"enumeration": 300, "sampling": 200, "convolution": 50, "none": 20}.items():
        assert engines.count(engine) >= at_least
    assert engines.count("TooLargeError") > 100
    assert sum("ContradictionError" in line.values() for line in explained) == 4
    assert sum(line.get("saturated", False) for line in explained) >= 20
    assert sum(line.get("meets_zero", False) for line in explained) >= 10
    assert sum(line["ball"][3] > 0 for line in explained if "ball" in line) >= 15
    assert {line.get("schedule") for line in KEPT["beliefs.jsonl"].values()} >= {
        "two-pass", "flooding", "sequential", "residual", "exact",
    }  # fmt: skip
    assert sum(not line.get("converged", True) for line in KEPT["beliefs.jsonl"].values()) >= 10
    found = list(KEPT["classifier_explanations.jsonl"].values())
    assert {line["flipped"] for line in found} == {True, False}
    assert {len(line["key_set"]) for line in found} >= {0, 1, 2, 3, 4, 5, 6}
    assert {game["game"] for line in found for game in line["games"]} == {"classification", "misclassification"}


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"value": 0.5}, {"value": 0.5 + 1e-9}),
        ({"value": [1.0, 2.0]}, {"value": [1.0]}),
        ({"engine": "enumeration"}, {"engine": "sampling"}),
        ({"flipped": True}, {"flipped": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"value": None}, {"value": 0.0}),
        ({"players": ["a", "b"], "value": [2.0, 1.0]}, {"players": ["b", "a"], "value": [2.0, 1.0]}),
    ],
)
def test_a_difference_is_seen(expected, found):
    assert list(record.differences(expected, found)) != []


def test_rounding_and_ties_are_no_difference():
    expected = {"players": ["a", "b", "c"], "value": [2.0, 1.0, 1.0], "std_error": [0.1, 0.2, 0.3]}
    found = {"players": ["a", "c", "b"], "value": [2.0, 1.0 + 1e-14, 1.0], "std_error": [0.1, 0.3, 0.2]}
    assert list(record.differences(expected, found)) == []
    assert list(record.differences(expected, found, tolerance=0)) != []
