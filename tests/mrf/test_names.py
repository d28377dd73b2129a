import datetime

import pytest

import keyplayers as kp
from keyplayers._base.names import Names


@pytest.mark.parametrize(
    ("names", "text", "name"),
    [
        ([7, "8", "x"], "7", 7),
        ([7, "8", "x"], "8", "8"),
        (["7", 7], "7", "7"),
        (range(3), "2", 2),
        ([1.5, 2.0], "1.50", 1.5),
        ([1.5, 2.0], "2", 2.0),
        ([("a", 1), "x"], "('a', 1)", ("a", 1)),
        ([datetime.date(2020, 1, 2), "x"], "2020-01-02", datetime.date(2020, 1, 2)),
        ([True, "x"], "True", True),
    ],
)
def test_a_text_means_the_name_that_is_spelled_so(names, text, name):
    found = Names(names).parse(text)
    assert (found, type(found)) == (name, type(name))


@pytest.mark.parametrize("names", [[7, "x"], range(10)])
@pytest.mark.parametrize("text", ["007", "+7", "7.0", " 7", "7_0", "٧", ""])
def test_another_spelling_is_another_name(names, text):
    with pytest.raises(kp.UnknownNameError, match="there is no variable"):
        Names(names).parse(text)


def test_nobody_is_taken_for_somebody_who_looks_alike():
    with pytest.raises(kp.UnknownNameError):
        Names([("a", 1), _Odd()]).parse("('a', 1)")
    with pytest.raises(kp.UnknownNameError, match="there are none"):
        Names([]).parse("x")


class _Odd:
    def __str__(self):
        return "('a', 1)"

    def __eq__(self, other):
        return isinstance(other, _Odd)

    def __hash__(self):
        return 0
