import numpy as np
import pytest

from keyplayers._base.seeding import child, generator, seed_sequence
from keyplayers.errors import InputError


def test_an_int_gives_the_same_stream_at_every_call():
    assert np.array_equal(generator(7).random(3), generator(7).random(3))


def test_a_generator_is_used_as_it_is_below_the_entry():
    rng = np.random.default_rng(1)
    assert generator(rng) is rng


def test_a_generator_gives_two_different_roots():
    rng = np.random.default_rng(1)
    assert seed_sequence(rng).entropy != seed_sequence(rng).entropy


def test_children_do_not_depend_on_what_was_spawned_before():
    root, other = seed_sequence(3), seed_sequence(3)
    root.spawn(5)
    assert np.array_equal(child(root, 2).generate_state(4), child(other, 2).generate_state(4))
    assert not np.array_equal(child(root, 2).generate_state(4), child(root, 1).generate_state(4))


@pytest.mark.parametrize("bad", [-1, "seven", 1.5, True])
def test_what_is_no_seed_is_refused(bad):
    with pytest.raises(InputError, match="random_state"):
        generator(bad)
