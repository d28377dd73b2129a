"""The oracle itself, against numbers worked out by hand."""

from tests.oracles.elimination import Cheapest, cheapest_elimination


def test_a_chain_of_two_three_and_two_states():
    # from one end to the other: tables of 2·3, 3·2 and 2; the middle first would join all three
    assert cheapest_elimination([2, 3, 2], [(0, 1), (1, 2)]) == Cheapest(1, 6, 14)


def test_whoever_goes_first_joins_two_neighbours_on_a_ring():
    # tables over three, three, two and one of two states each
    assert cheapest_elimination([2] * 4, [(0, 1), (1, 2), (2, 3), (3, 0)]) == Cheapest(2, 8, 22)


def test_variables_without_edges_stand_alone():
    assert cheapest_elimination([2, 5], []) == Cheapest(0, 5, 7)
