"""Randomness in one place: whatever a caller gives as ``random_state`` becomes a Generator."""

from typing import TypeAlias

import numpy as np

from ..errors import InputError

RandomState: TypeAlias = int | np.integer | np.random.SeedSequence | np.random.Generator | None


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """The root from which a run's streams are spawned.

    An int gives the same root at every call, None a fresh one from the operating system. A Generator
    gives a root drawn from its stream, so using it twice gives two different runs.
    """
    match random_state:
        case np.random.SeedSequence():
            return random_state
        case np.random.Generator():
            return np.random.SeedSequence(random_state.integers(0, 2**63, size=4).tolist())
        case None:
            return np.random.SeedSequence()
        case bool():
            raise InputError(f"random_state must be an int, not {random_state!r}")
        case int() | np.integer():
            if random_state < 0:
                raise InputError(f"random_state must not be negative, got {random_state}")
            return np.random.SeedSequence(int(random_state))
        case _:
            raise InputError(
                "random_state must be an int, a SeedSequence, a Generator or None, "
                f"got {type(random_state).__name__}"
            )


def generator(random_state: RandomState) -> np.random.Generator:
    """A Generator for one run; a given Generator is used as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))


def child(root: np.random.SeedSequence, index: int) -> np.random.SeedSequence:
    """The seed of task `index`.

    The same whatever else was spawned before, so a result does not depend on the order of tasks.
    """
    return np.random.SeedSequence(entropy=root.entropy, spawn_key=(*root.spawn_key, index))
